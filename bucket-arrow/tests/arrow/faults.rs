//! Exports that fail: what they leave, and what the next one makes of it.

use std::{
    collections::BTreeMap,
    fmt, fs,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bucket_arrow::{
    Error, ExportReport, PartitionBy, ToArrow,
    object_store::{
        self, CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
        ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult,
        memory::InMemory, path::Path,
    },
};
use bucket_mongo::{
    Bucketed, Buckets,
    bson::{DateTime, doc},
    testing::DevServer,
};
use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};

use super::{
    exports::{assert_holds, data, files},
    program::folder,
    server::{Counted, DAY, START, Sample, Windowed, database, records, store},
};

type Later<'t, R> = Pin<Box<dyn Future<Output = object_store::Result<R>> + Send + 't>>;

/// A store that takes some writes, and then none any more, as if the process had ended.
#[derive(Debug)]
struct Failing {
    store: Arc<InMemory>,
    left: Arc<AtomicUsize>,
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store that fails")
    }
}

fn spend(left: &AtomicUsize) -> object_store::Result<()> {
    let spent = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
        left.checked_sub(1)
    });
    spent.map(|_| ()).map_err(|_| object_store::Error::Generic {
        store: "test",
        source: "no write is left".into(),
    })
}

// As `async_trait` writes it.
impl ObjectStore for Failing {
    fn put_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Later<'async_trait, PutResult>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            spend(&self.left)?;
            self.store.put_opts(location, payload, options).await
        })
    }

    fn put_multipart_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        options: PutMultipartOptions,
    ) -> Later<'async_trait, Box<dyn MultipartUpload>>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        Box::pin(async move {
            spend(&self.left)?;
            self.store.put_multipart_opts(location, options).await
        })
    }

    fn get_opts<'life0, 'life1, 'async_trait>(
        &'life0 self,
        location: &'life1 Path,
        options: GetOptions,
    ) -> Later<'async_trait, GetResult>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.store.get_opts(location, options)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        let (store, left) = (Arc::clone(&self.store), Arc::clone(&self.left));
        let removed = locations.and_then(move |path| {
            let (store, left) = (Arc::clone(&store), Arc::clone(&left));
            async move {
                spend(&left)?;
                store.delete(&path).await?;
                Ok(path)
            }
        });
        removed.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.store.list(prefix)
    }

    fn list_with_delimiter<'life0, 'life1, 'async_trait>(
        &'life0 self,
        prefix: Option<&'life1 Path>,
    ) -> Later<'async_trait, ListResult>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        Self: 'async_trait,
    {
        self.store.list_with_delimiter(prefix)
    }

    fn copy_opts<'life0, 'life1, 'life2, 'async_trait>(
        &'life0 self,
        from: &'life1 Path,
        to: &'life2 Path,
        options: CopyOptions,
    ) -> Later<'async_trait, ()>
    where
        'life0: 'async_trait,
        'life1: 'async_trait,
        'life2: 'async_trait,
        Self: 'async_trait,
    {
        self.store.copy_opts(from, to, options)
    }
}

/// Exports with this number of writes.
async fn export(
    buckets: &Buckets<Counted>,
    store: &Arc<InMemory>,
    writes: usize,
) -> bucket_arrow::Result<ExportReport> {
    let failing = Failing {
        store: Arc::clone(store),
        left: Arc::new(AtomicUsize::new(writes)),
    };
    buckets.to_arrow().to_store(Arc::new(failing), "").await
}

async fn objects(store: &InMemory) -> BTreeMap<String, Vec<u8>> {
    let listed: Vec<ObjectMeta> = store.list(None).try_collect().await.unwrap();
    let mut found = BTreeMap::new();
    for object in listed {
        let read = store.get(&object.location).await.unwrap();
        let bytes = read.bytes().await.unwrap();
        found.insert(object.location.to_string(), bytes.to_vec());
    }
    found
}

/// What a new export has.
async fn whole(buckets: &Buckets<Counted>) -> BTreeMap<String, Vec<u8>> {
    let store = Arc::new(InMemory::new());
    export(buckets, &store, usize::MAX).await.unwrap();
    objects(&store).await
}

#[tokio::test]
async fn an_export_that_ends_at_any_write_leaves_nothing_that_the_next_one_does_not_mend() {
    let database = database("faults_any").await;
    let buckets = Counted::buckets(&database);
    store(&buckets, records("a", 40)).await;
    let before = Arc::new(InMemory::new());
    export(&buckets, &before, usize::MAX).await.unwrap();

    // One month has no records any more, one has others, and two are new.
    let at = |days: i64| DateTime::from_millis(START + days * DAY);
    let long_ago = DateTime::from_millis(-100 * DAY);
    buckets.delete_range("a", long_ago..at(0)).await.unwrap();
    let late = [25, 40, 70].map(|days| Counted::sample("a", START + days * DAY, Some(0.5)));
    store(&buckets, late.to_vec()).await;
    let expected = whole(&buckets).await;
    let mut halves = Vec::new();
    for writes in 0.. {
        let half = Arc::new(before.fork());
        let ended = export(&buckets, &half, writes).await;
        halves.push(half.fork());
        if ended.is_ok() {
            break;
        }
        export(&buckets, &half, usize::MAX).await.unwrap();
        assert_eq!(objects(&half).await, expected, "after {writes} writes");
    }
    // A marker, a file and a marker for each part, and a file and a marker that are removed.
    assert!(halves.len() > 3 * 3 + 2, "{}", halves.len());

    // Months whose files were about to be written have no records any more.
    buckets.delete_range("a", at(0)..at(60)).await.unwrap();
    let expected = whole(&buckets).await;
    for (writes, half) in halves.into_iter().enumerate() {
        let half = Arc::new(half);
        export(&buckets, &half, usize::MAX).await.unwrap();
        assert_eq!(objects(&half).await, expected, "after {writes} writes");
    }
}

#[tokio::test]
async fn a_file_that_cannot_have_its_name_leaves_no_temporary_one() {
    let database = database("faults_name").await;
    let buckets = Counted::buckets(&database);
    store(&buckets, records("a", 10)).await;
    let folder = folder("faults_name");
    let in_the_way = folder.join("key_sensor=a/month=2024-01/data.parquet");
    fs::create_dir_all(&in_the_way).unwrap();
    let refused = buckets.to_arrow().to_folder(&folder).await;
    assert!(matches!(refused, Err(Error::Io { .. })), "{refused:?}");
    let left: Vec<String> = files(&folder).into_keys().collect();
    assert!(left.iter().all(|name| !name.contains(".part")), "{left:?}");

    fs::remove_dir(&in_the_way).unwrap();
    buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_holds(&files(&folder), &records::<Counted>("a", 10));
}

#[tokio::test]
async fn a_part_whose_snapshot_is_too_old_begins_again() {
    const TOO_OLD: i32 = 239;
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    let server = server.await.unwrap();
    let database = server.database("faults_snapshot").await.unwrap();
    let buckets = Windowed::buckets(&database);
    let all = records::<Windowed>("a", 400);
    store(&buckets, all.clone()).await;
    let admin = database.client().database("admin");
    // Each read that needs a second batch ends after the first one; the look at the buckets needs one before.
    let fail = doc! {
        "configureFailPoint": "failCommand",
        "mode": { "skip": 1 },
        "data": { "failCommands": ["getMore"], "errorCode": TOO_OLD },
    };
    let off = doc! { "configureFailPoint": "failCommand", "mode": "off" };

    let whole = folder("faults_snapshot");
    admin.run_command(fail.clone()).await.unwrap();
    let report = buckets.to_arrow().to_folder(&whole).await.unwrap();
    let state = admin.run_command(off.clone()).await.unwrap();
    assert!(state.get_i32("count").unwrap_or(0) > 2, "{state}");
    assert_holds(&files(&whole), &all);
    let parts = data(&files(&whole)).len() as u64;
    assert_eq!((report.records, report.parts), (400, parts));

    // It is no shorter when it is read again.
    let one = folder("faults_snapshot_key");
    admin.run_command(fail).await.unwrap();
    let export = buckets.to_arrow().to_folder(&one);
    let ended = export.partition_by(PartitionBy::Key).await;
    admin.run_command(off).await.unwrap();
    let Err(Error::Buckets(error)) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(error.code(), Some(TOO_OLD));
    assert!(data(&files(&one)).is_empty());
}
