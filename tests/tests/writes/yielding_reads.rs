//! Reads of a server that yields after each index entry, with eight concurrent writers on the key:
//! every record stored before a read began is in it once, and a follower in arrival order misses
//! nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Buckets, CursorToken, Record, TimeRange,
    bson::DateTime,
    testing::{DevServer, TestDatabase},
};
use bucket_tests::Load;
use futures_util::TryStreamExt;
use proptest::collection::vec;
use tokio::{sync::OnceCell, task::JoinSet};

use crate::common::{
    draw::Draw,
    expected::{in_order, numbers},
    sample::{self, Sample, SampleBucket},
};

const WRITERS: usize = 8;
/// The number of records of each writer.
const EACH: usize = 250;
const KEY: &str = "1";

/// A server whose reads always yield; most servers yield after a thousand entries.
pub(crate) async fn database() -> TestDatabase {
    static SERVER: OnceCell<DevServer> = OnceCell::const_new();
    let start = || async {
        let arguments = ["--setParameter", "internalQueryExecYieldIterations=1"];
        let server = DevServer::builder().own().arguments(arguments);
        server.await.unwrap()
    };
    let server = SERVER.get_or_init(start).await;
    server.database("yields").await.unwrap()
}

/// The buckets that the writers use.
struct Busy<const F: usize> {
    _database: TestDatabase,
    buckets: Buckets<Sample<F>>,
    /// The acknowledged records, with their times.
    stored: Mutex<BTreeMap<i64, DateTime>>,
    writing: AtomicUsize,
}

impl<const F: usize> Busy<F> {
    async fn start(seed: u8) -> Arc<Self> {
        let database = database().await;
        let buckets = Sample::<F>::buckets(&database);
        buckets.ensure().await.unwrap();
        let busy = Arc::new(Self {
            _database: database,
            buckets,
            stored: Mutex::default(),
            writing: AtomicUsize::new(WRITERS),
        });
        let mut draw = Draw::new(seed);
        for writer in 0..WRITERS {
            let mut samples = draw.samples::<F>(writer * EACH, EACH);
            let lengths: Vec<usize> = draw.draw(vec(1..40_usize, 50));
            for sample in &mut samples {
                KEY.clone_into(&mut sample.device);
            }
            let busy = Arc::clone(&busy);
            tokio::spawn(async move {
                let mut rest = samples.as_slice();
                let mut lengths = lengths.iter().cycle();
                while !rest.is_empty() {
                    let length = lengths.next().unwrap();
                    let (chunk, behind) = rest.split_at(rest.len().min(*length));
                    busy.buckets.load(chunk).await;
                    let chunk = chunk.iter().map(|sample| (sample.unique, sample.at));
                    busy.stored.lock().unwrap().extend(chunk);
                    rest = behind;
                }
                busy.writing.fetch_sub(1, Ordering::Release);
            });
        }
        busy
    }

    fn is_written(&self) -> bool {
        self.writing.load(Ordering::Acquire) == 0
    }

    fn stored(&self) -> BTreeMap<i64, DateTime> {
        self.stored.lock().unwrap().clone()
    }
}

/// Every record stored before the read is in it, and nothing twice.
fn check(before: &BTreeMap<i64, DateTime>, seen: &[i64], read: &str) {
    let distinct: BTreeSet<i64> = seen.iter().copied().collect();
    assert_eq!(distinct.len(), seen.len(), "{read} returned records twice");
    let missed = before.keys().filter(|number| !distinct.contains(number));
    let missed: Vec<&i64> = missed.collect();
    assert!(missed.is_empty(), "{read} missed {missed:?}");
}

/// Pages from the first one to the one after the last record, as long as others write and once
/// more.
async fn follow<const F: usize>(busy: Arc<Busy<F>>, limit: usize, range: TimeRange) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut token: Option<CursorToken> = None;
    loop {
        let is_written = busy.is_written();
        let query = busy.buckets.records(KEY).between(range).limit(limit);
        let page = query.after(token.clone()).await.unwrap();
        seen.extend(numbers(page.records()));
        token = page.end_token().cloned().or(token);
        if is_written && page.next_token().is_none() {
            return seen;
        }
    }
}

/// The same through streams that continue where the last one ended.
async fn follow_by_streams<const F: usize>(busy: Arc<Busy<F>>) -> Vec<i64> {
    let mut seen = Vec::new();
    let mut token: Option<CursorToken> = None;
    loop {
        let is_written = busy.is_written();
        let mut stream = busy.buckets.records(KEY).after(token.clone()).stream();
        while let Some(record) = stream.try_next().await.unwrap() {
            seen.push(record.unique);
        }
        token = stream.position().or(token);
        if is_written {
            return seen;
        }
    }
}

async fn a_follower_misses_nothing<const F: usize>(start: u8) {
    let busy = Busy::<F>::start(start).await;
    let mut whole = JoinSet::new();
    for limit in [1, 4, 7, 37, 100] {
        whole.spawn(follow(Arc::clone(&busy), limit, TimeRange::ALL));
    }
    whole.spawn(follow_by_streams(Arc::clone(&busy)));
    let some = TimeRange::new(Some(DateTime::from_millis(2_000)), None);
    let narrow = tokio::spawn(follow(Arc::clone(&busy), 11, some));
    let seen = whole.join_all().await;
    let narrow = narrow.await.unwrap();
    let expected = in_order(&busy.buckets, KEY).await;
    assert_eq!(expected.len(), busy.stored().len());
    for seen in seen {
        assert_eq!(seen, numbers(&expected));
    }
    let inside = expected.iter().filter(|record| some.contains(record.at));
    let inside: Vec<i64> = inside.map(|record| record.unique).collect();
    assert_eq!(narrow, inside);
}

/// Reads of all kinds, one after the other, as long as others write.
async fn read<const F: usize>(busy: Arc<Busy<F>>, start: u8) {
    let buckets = &busy.buckets;
    let mut draw = Draw::new(start);
    let form = Sample::<F>::SPEC.form();
    let of_arrivals = matches!(form, Form::Count { .. } | Form::Numbered { .. });
    // Full pages by their number.
    let mut pages = BTreeMap::new();
    while !busy.is_written() {
        let before = busy.stored();
        let records = buckets.range(KEY, ..).await.unwrap();
        check(&before, &numbers(&records), "range");
        assert!(records.is_sorted_by_key(|record| record.at));

        let before = busy.stored();
        let newest_first = || buckets.records(KEY).newest_first();
        let records = newest_first().collect().await.unwrap();
        check(&before, &numbers(&records), "all records at once");

        let before = busy.stored();
        let (mut seen, mut token) = (Vec::new(), None::<CursorToken>);
        loop {
            let limit = draw.draw(1..200_usize);
            let page = newest_first().limit(limit).after(token).await.unwrap();
            seen.extend(numbers(page.records()));
            token = page.next_token().cloned();
            if token.is_none() {
                break;
            }
        }
        check(&before, &seen, "records page by page");

        let before = busy.stored();
        let all = buckets.pages(KEY).stream();
        let all: Vec<_> = all.try_collect().await.unwrap();
        let number = draw.draw(0..all.len().max(1));
        let seen: Vec<i64> = all.into_iter().flat_map(items).collect();
        check(&before, &seen, "pages");

        let number = u64::try_from(number).unwrap() + 1;
        let page = buckets.page(KEY, number).await.unwrap();
        if let Some(bucket) = page.into_bucket()
            && bucket.count == sample::CAPACITY
            && of_arrivals
        {
            let (id, items) = (bucket.id.to_string(), items(bucket));
            let first = pages
                .entry(number)
                .or_insert_with(|| (id.clone(), items.clone()));
            assert_eq!(*first, (id, items), "page {number} has changed");
        }

        let newest = busy.stored().into_values().max();
        let latest = buckets.latest(KEY).await.unwrap();
        if of_arrivals {
            assert!(latest.is_some() || newest.is_none());
        } else {
            assert!(latest.map(|record| record.at) >= newest, "{newest:?}");
        }
    }
}

fn items<const F: usize>(bucket: SampleBucket<F>) -> Vec<i64> {
    let items = bucket.items.into_iter();
    items.map(|item| item.unique).collect()
}

async fn no_read_misses_existing_records<const F: usize>(start: u8) {
    let busy = Busy::<F>::start(start).await;
    let mut readers = JoinSet::new();
    for reader in 0..2 {
        readers.spawn(read(Arc::clone(&busy), start + reader));
    }
    readers.join_all().await;
    let expected = in_order(&busy.buckets, KEY).await;
    assert_eq!(expected.len(), WRITERS * EACH);
}

macro_rules! forms {
    ($($name:ident: $form:ident, $start:literal;)+) => {$(
        mod $name {
            #[tokio::test(flavor = "multi_thread")]
            async fn a_follower_misses_nothing() {
                super::a_follower_misses_nothing::<{ super::sample::$form }>($start).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn no_read_misses_existing_records() {
                super::no_read_misses_existing_records::<{ super::sample::$form }>($start).await;
            }
        }
    )+};
}

forms! {
    count: COUNT, 51;
    count_bytes: COUNT_BYTES, 52;
    numbered: NUMBERED, 53;
    numbered_object_ids: NUMBERED_OBJECT, 54;
}

// In time order, a late record belongs after the position of a reader that has passed its time.
#[tokio::test(flavor = "multi_thread")]
async fn no_read_of_windows_misses_existing_records() {
    no_read_misses_existing_records::<{ sample::WINDOW_CAPACITY }>(55).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_read_of_hybrid_buckets_misses_existing_records() {
    no_read_misses_existing_records::<{ sample::HYBRID_MERGE }>(56).await;
}
