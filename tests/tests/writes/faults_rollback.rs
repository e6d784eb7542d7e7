//! Rollbacks: one primary had stored a bucket that the next one does not have. The bucket was read,
//! then rolled back, and nothing may have been built on it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, ErrorKind, RecordOutcome, Which,
    bson::{DateTime, Document, doc},
    mongodb::{
        Client,
        event::{EventHandler, command::CommandEvent},
        options::{ClientOptions, WriteConcern},
    },
    testing::{DevServer, Member, TestDatabase},
};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Mutex, MutexGuard},
    task::JoinHandle,
    time::{sleep, timeout},
};

/// Far longer than anything takes, so that a hang becomes a failure.
const HANGS: Duration = Duration::from_secs(90);
/// A writer of data that is rolled back waits no longer than this for a majority. An election takes
/// 2 s and more.
const IMPATIENT: Duration = Duration::from_millis(500);
const SOON: Duration = Duration::from_millis(10);

macro_rules! models {
    ($($name:ident: [$($attributes:tt)*] $([$unique:ident])?)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", capacity = 2, $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: i64,
            #[bucket(time)]
            at: DateTime,
            $(#[bucket($unique)])?
            id: i64,
        }

        impl From<i64> for $name {
            fn from(id: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + id);
                Self { device: 1, at, id }
            }
        }
    )*};
}

models! {
    Counted: []
    Windowed: [window = "1h"]
    Numbered: [numbered]
    Identified: [] [unique]
}

/// A replica set whose primary can be cut off: what it stores afterwards is rolled back.
struct Set {
    server: DevServer,
    database: TestDatabase,
    /// One set at a time: on a slow machine, elections happen without a fault.
    _turn: MutexGuard<'static, ()>,
}

impl Set {
    async fn of<T: Bucketed>() -> (Self, Buckets<T>) {
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        // A primary that streams its oplog would leave it in the connections of stopped members.
        let asks = ["--setParameter", "oplogFetcherUsesExhaust=false"];
        let server = DevServer::builder().own().members(3).arguments(asks);
        let server = server.await.unwrap();
        let database = server.database("rollback").await.unwrap();
        let buckets = T::buckets(&database);
        buckets.ensure().await.unwrap();
        let set = Self {
            server,
            database,
            _turn: turn,
        };
        (set, buckets)
    }

    /// Stops all members but the primary. The primary steps down about 2 s later.
    async fn cut_off_the_primary(&self) -> &Member {
        let primary = self.server.primary().await.unwrap();
        for other in self.server.members() {
            if other.address() != primary.address() {
                other.pause().await.unwrap();
            }
        }
        // This answers the pending requests of the others.
        let answer = self.database.collection("answer");
        let answer = answer.insert_one(doc! {}).write_concern(weak());
        answer.await.unwrap();
        sleep(10 * SOON).await;
        primary
    }

    /// Kills the primary, and lets the others continue without the data that only it had.
    async fn fail_over(&self, primary: &Member) {
        primary.kill().await.unwrap();
        for other in self.server.members() {
            if other.address() != primary.address() {
                other.resume().await.unwrap();
            }
        }
    }

    /// A separate handle, and whether it has sent a write.
    async fn other_writer<T: Bucketed>(&self) -> (Buckets<T>, Arc<AtomicBool>) {
        let wrote = Arc::new(AtomicBool::new(false));
        let mut options = ClientOptions::parse(self.server.uri()).await.unwrap();
        options.connect_timeout = Some(Duration::from_secs(1));
        options.heartbeat_freq = Some(Duration::from_millis(500));
        let seen = Arc::clone(&wrote);
        options.command_event_handler = Some(EventHandler::callback(move |event| {
            if let CommandEvent::Started(started) = event
                && ["insert", "update"].contains(&started.command_name.as_str())
            {
                seen.store(true, Ordering::SeqCst);
            }
        }));
        let client = Client::with_options(options).unwrap();
        // It must find the primary before that is cut off.
        let admin = client.database("admin");
        admin.run_command(doc! { "ping": 1 }).await.unwrap();
        (T::buckets(&client.database(self.database.name())), wrote)
    }

    /// Waits until only this member has this number of buckets.
    async fn has_buckets(&self, member: &Member, number: u64) {
        let uri = format!("mongodb://{}/?directConnection=true", member.address());
        let client = Client::with_uri_str(uri).await.unwrap();
        let buckets = client
            .database(self.database.name())
            .collection::<Document>("readings");
        let come = async {
            while buckets.count_documents(doc! {}).await.unwrap() < number {
                sleep(SOON).await;
            }
        };
        timeout(HANGS, come).await.expect("the buckets");
    }

    /// The stored buckets at the end.
    async fn buckets(&self) -> Vec<Document> {
        let client = self.server.client().await.unwrap();
        let buckets = client
            .database(self.database.name())
            .collection::<Document>("readings");
        let found = buckets.find(doc! {}).sort(doc! { "_id": 1 }).await;
        found.unwrap().try_collect().await.unwrap()
    }

    async fn numbers(&self) -> Vec<i64> {
        let number = |bucket: &Document| {
            let number = bucket.get("bucket_number").unwrap();
            number.as_i64().or(number.as_i32().map(i64::from)).unwrap()
        };
        self.buckets().await.iter().map(number).collect()
    }
}

/// Waits until the writer has sent a write or is done; a writer that waits for a majority does
/// neither.
async fn has_gone_on<R>(writer: &JoinHandle<R>, wrote: &AtomicBool) {
    let goes_on = async {
        while !writer.is_finished() && !wrote.load(Ordering::SeqCst) {
            sleep(SOON).await;
        }
    };
    let _ = timeout(2 * IMPATIENT, goes_on).await;
}

async fn end<R>(writer: JoinHandle<R>) -> R {
    timeout(HANGS, writer).await.expect("no hang").unwrap()
}

/// Records that will never reach a majority; their writer gives up before there is another primary.
fn write_in_vain<T>(buckets: &Buckets<T>, ids: std::ops::Range<i64>) -> JoinHandle<()>
where
    T: Bucketed + From<i64> + Clone + Send + Sync + 'static,
{
    let buckets = buckets.clone();
    tokio::spawn(async move {
        let records: Vec<T> = ids.map(T::from).collect();
        let told = buckets.insert_many(records).deadline(IMPATIENT).await;
        let error = told.unwrap().into_result().unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
    })
}

fn write<T>(buckets: &Buckets<T>, id: i64) -> JoinHandle<RecordOutcome>
where
    T: Bucketed + From<i64> + Send + Sync + 'static,
{
    let buckets = buckets.clone();
    tokio::spawn(async move {
        let told = buckets.insert(&T::from(id)).deadline(HANGS).await;
        told.unwrap().outcome
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_begin_at_1_without_gaps_though_a_bucket_that_was_seen_is_rolled_back() {
    let (set, buckets) = Set::of::<Numbered>().await;
    let (other, wrote) = set.other_writer::<Numbered>().await;
    let primary = set.cut_off_the_primary().await;
    let in_vain = write_in_vain(&buckets, 0..2);
    set.has_buckets(primary, 1).await;
    let writer = write(&other, 2);
    has_gone_on(&writer, &wrote).await;
    end(in_vain).await;
    set.fail_over(primary).await;
    assert_eq!(end(writer).await, RecordOutcome::Stored);
    assert_eq!(set.numbers().await, [1]);
    let page = other.page(1, 1).await.unwrap();
    assert_eq!(page.into_iter().collect::<Vec<_>>(), [Numbered::from(2)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_full_bucket_without_its_mark_leaves_no_gap() {
    let (set, _) = Set::of::<Numbered>().await;
    let (other, wrote) = set.other_writer::<Numbered>().await;
    // As another tool may leave it; the library creates it, so that only the mark is missing.
    let model = set.server.database("model").await.unwrap();
    let made = Numbered::buckets(&model);
    made.ensure().await.unwrap();
    let full = made.insert_many((0..2).map(Numbered::from).collect::<Vec<_>>());
    full.await.unwrap().into_result().unwrap();
    let mut full: Document = made.collection().find_one(doc! {}).await.unwrap().unwrap();
    full.insert("is_full", false);
    let primary = set.cut_off_the_primary().await;
    let readings = set.database.collection::<Document>("readings");
    readings
        .insert_one(full)
        .write_concern(weak())
        .await
        .unwrap();
    let writer = write(&other, 2);
    has_gone_on(&writer, &wrote).await;
    set.fail_over(primary).await;
    assert_eq!(end(writer).await, RecordOutcome::Stored);
    assert_eq!(set.numbers().await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_does_not_rely_on_a_write_that_the_majority_does_not_have() {
    let (set, buckets) = Set::of::<Numbered>().await;
    let primary = set.cut_off_the_primary().await;
    let mut concern = WriteConcern::majority();
    concern.w_timeout = Some(Duration::from_millis(100));
    let records: Vec<_> = (0..2).map(Numbered::from).collect();
    let told = buckets.insert_many(records).write_concern(concern);
    let told = told.deadline(IMPATIENT).await.unwrap().into_result();
    let error = told.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::OutcomeUnknown { .. }),
        "{error}"
    );
    set.fail_over(primary).await;
    assert_eq!(end(write(&buckets, 2)).await, RecordOutcome::Stored);
    assert_eq!(set.numbers().await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_does_not_rely_on_a_write_of_its_clone_with_less_than_a_majority() {
    let (set, buckets) = Set::of::<Numbered>().await;
    let primary = set.cut_off_the_primary().await;
    let clone = buckets.clone().with_write_concern(weak());
    let records: Vec<_> = (0..2).map(Numbered::from).collect();
    let told = clone.insert_many(records).await.unwrap();
    told.into_result().unwrap();
    set.fail_over(primary).await;
    assert_eq!(end(write(&buckets, 2)).await, RecordOutcome::Stored);
    assert_eq!(set.numbers().await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_has_no_gap_though_a_part_that_was_seen_in_a_session_is_rolled_back() {
    let (set, buckets) = Set::of::<Windowed>().await;
    let (other, wrote) = set.other_writer::<Windowed>().await;
    let first = buckets.insert_many((0..2).map(Windowed::from).collect::<Vec<_>>());
    first.await.unwrap().into_result().unwrap();
    let primary = set.cut_off_the_primary().await;
    let in_vain = write_in_vain(&buckets, 2..4);
    set.has_buckets(primary, 2).await;
    let writer = tokio::spawn({
        let other = other.clone();
        async move {
            let client = other.database().client().clone();
            let mut session = client.start_session().await.unwrap();
            let record = Windowed::from(4);
            let told = other.insert(&record).session(&mut session);
            told.deadline(HANGS).await.unwrap().outcome
        }
    });
    has_gone_on(&writer, &wrote).await;
    end(in_vain).await;
    set.fail_over(primary).await;
    assert_eq!(end(writer).await, RecordOutcome::Stored);
    let buckets = set.buckets().await;
    let ids: Vec<&str> = buckets
        .iter()
        .map(|it| it.get_str("_id").unwrap())
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert_eq!(ids[1], format!("{}_1", ids[0]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_no_duplicate_of_one_that_is_rolled_back() {
    let (set, buckets) = Set::of::<Identified>().await;
    let (other, wrote) = set.other_writer::<Identified>().await;
    let primary = set.cut_off_the_primary().await;
    let in_vain = write_in_vain(&buckets, 0..1);
    set.has_buckets(primary, 1).await;
    let writer = write(&other, 0);
    has_gone_on(&writer, &wrote).await;
    end(in_vain).await;
    set.fail_over(primary).await;
    assert_eq!(end(writer).await, RecordOutcome::Stored);
    assert_eq!(other.count(1).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_position_of_a_source_is_not_reported_as_stored() {
    let (set, _) = Set::of::<Counted>().await;
    let (earlier, _) = set.other_writer::<Counted>().await;
    let (later, wrote) = set.other_writer::<Counted>().await;
    let records = |ids: std::ops::Range<i64>| ids.map(Counted::from).collect::<Vec<_>>();
    let told = earlier.insert_many(records(0..1)).from_source("orders", 0);
    told.await.unwrap().into_result().unwrap();
    let primary = set.cut_off_the_primary().await;
    let in_vain = tokio::spawn(async move {
        let told = earlier.insert_many(records(1..4)).from_source("orders", 1);
        let told = told.deadline(IMPATIENT).await.unwrap();
        assert!(told.into_result().unwrap_err().is_outcome_unknown());
    });
    set.has_buckets(primary, 2).await;
    let writer = tokio::spawn({
        let later = later.clone();
        async move {
            let told = later.insert_many(records(0..4)).from_source("orders", 0);
            told.deadline(HANGS).await.unwrap()
        }
    });
    has_gone_on(&writer, &wrote).await;
    end(in_vain).await;
    set.fail_over(primary).await;
    let told = end(writer).await;
    assert_eq!(
        (told.stored(), told.duplicates()),
        (3, &[0][..]),
        "{told:?}"
    );
    assert_eq!(later.count(1).await.unwrap(), 4);
}

/// It has no majority to ask, and it rolls nothing back.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_replica_set_accepts_numbers_windows_ids_and_sources() {
    let server = DevServer::builder().own().standalone().await.unwrap();
    let numbered = Numbered::buckets(&server.database("numbered").await.unwrap());
    let windowed = Windowed::buckets(&server.database("windowed").await.unwrap());
    let identified = Identified::buckets(&server.database("identified").await.unwrap());
    numbered.ensure().await.unwrap();
    windowed.ensure().await.unwrap();
    identified.ensure().await.unwrap();
    for id in 0..5 {
        // Each through a handle that remembers nothing.
        let numbered = Numbered::buckets(numbered.database());
        let records = [Numbered::from(id), Numbered::from(id + 1)];
        let told = numbered.insert_many(records.to_vec());
        let told = told.from_source("orders", u64::try_from(id).unwrap()).await;
        assert_eq!(told.unwrap().duplicates().len(), usize::from(id > 0));
        let windowed = Windowed::buckets(windowed.database());
        windowed.insert(&Windowed::from(id)).await.unwrap();
        let identified = Identified::buckets(identified.database());
        for outcome in [RecordOutcome::Stored, RecordOutcome::Duplicate] {
            let told = identified.insert(&Identified::from(id)).await.unwrap();
            assert_eq!(told.outcome, outcome);
        }
    }
    assert_eq!(numbered.count(1).await.unwrap(), 6);
    assert_eq!(numbered.page_count(1).await.unwrap(), 3);
    assert_eq!(windowed.count(1).await.unwrap(), 5);
}

/// Acknowledged only by the primary.
fn weak() -> WriteConcern {
    let mut concern = WriteConcern::default();
    concern.w = Some(1.into());
    concern
}

/// A removal is applied at the primary only. The next ones find nothing to remove there, and nothing has been
/// removed.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_failover_brings_back_is_not_called_removed() {
    /// The primary steps down 2 s after it is cut off.
    const HASTY: Duration = Duration::from_millis(200);
    let (set, buckets) = Set::of::<Identified>().await;
    let records = [1, 2].map(Identified::from);
    let report = buckets.insert_many(&records).await.unwrap();
    report.into_result().unwrap();
    let (other, _) = set.other_writer::<Identified>().await;
    let primary = set.cut_off_the_primary().await;
    let first = buckets.delete_range(1, ..).deadline(HASTY).await;
    assert!(first.is_err(), "{first:?}");
    let (by_id, range, update) = tokio::join!(
        buckets.delete(1, Which::id(&1_i64)).deadline(HASTY),
        buckets.delete_range(1, ..).deadline(HASTY),
        buckets.update(1, Which::id(&1_i64), |_| {}).deadline(HASTY),
    );
    assert!(by_id.is_err(), "{by_id:?}");
    assert!(range.is_err(), "{range:?}");
    assert!(update.is_err(), "{update:?}");
    set.fail_over(primary).await;
    let left = timeout(HANGS, other.delete(1, Which::id(&1_i64))).await;
    assert_eq!(left.unwrap().unwrap(), Some(records[0].clone()));
    let left = other.delete_range(1, ..).await.unwrap();
    assert_eq!(left.records, 1);
}
