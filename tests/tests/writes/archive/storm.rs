//! Members that are killed, stopped and replaced while items move: nothing is lost, doubled or hidden.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use bucket_mongo::{
    mongodb::{Client, Database, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::faults::{Seed, duration, random::Random, replica_set};
use tokio::time;

use super::*;

/// What comes late has ended by then.
const SETTLED: Duration = Duration::from_secs(4);
/// One key: each mover meets the others.
const DEVICE: &str = "a";

async fn client(set: &DevServer) -> Client {
    let mut options = ClientOptions::parse(set.uri()).await.unwrap();
    options.connect_timeout = Some(Duration::from_secs(1));
    options.heartbeat_freq = Some(Duration::from_millis(500));
    Client::with_options(options).unwrap()
}

/// The values that each record may have; `None` where it may be absent.
type Book = BTreeMap<i64, Vec<Option<f64>>>;

/// A collection, its archive in another database, and what the answers say about its records.
struct Storm<T: Event> {
    hot: String,
    cold: String,
    set: Arc<DevServer>,
    book: Mutex<Book>,
    stop: Arc<AtomicBool>,
    form: std::marker::PhantomData<fn() -> T>,
}

/// What may fail while members are away may be repeated.
fn in_a_storm<R>(result: Result<R, Error>) -> Option<R> {
    match result {
        Ok(result) => Some(result),
        Err(error) => {
            assert!(
                error.is_retryable() || error.is_outcome_unknown(),
                "{error}"
            );
            None
        }
    }
}

impl<T: Event> Storm<T> {
    async fn new(set: &Arc<DevServer>, stop: &Arc<AtomicBool>) -> Arc<Self> {
        let hot = set.database("hot").await.unwrap();
        let cold = set.database("cold").await.unwrap();
        T::buckets(&hot).ensure().await.unwrap();
        Arc::new(Self {
            hot: hot.name().to_owned(),
            cold: cold.name().to_owned(),
            set: Arc::clone(set),
            book: Mutex::default(),
            stop: Arc::clone(stop),
            form: std::marker::PhantomData,
        })
    }

    /// A handle of its own, and the archive.
    async fn handle(&self) -> (Buckets<T>, Collection<Document>) {
        let client = client(&self.set).await;
        let hot: Database = client.database(&self.hot);
        let cold = client.database(&self.cold).collection("archive");
        (T::buckets(&hot).with_archive(cold.clone()), cold)
    }

    fn is_over(&self) -> bool {
        self.stop.load(Relaxed)
    }

    async fn write(self: Arc<Self>) -> usize {
        let (events, _) = self.handle().await;
        let mut written = 0;
        for first in (0..).step_by(10) {
            if self.is_over() {
                break;
            }
            let records: Vec<T> = (first..first + 10).map(|it| T::of(DEVICE, it)).collect();
            let report = events.insert_many(&records).await.unwrap();
            {
                let mut book = self.book.lock().unwrap();
                for record in &records {
                    book.insert(record.number(), vec![Some(0.5)]);
                }
                for failed in report.failed() {
                    let of = records[failed.index].number();
                    if failed.error.is_outcome_unknown() {
                        book.insert(of, vec![Some(0.5), None]);
                    } else {
                        book.remove(&of);
                    }
                }
            }
            written += report.stored();
            time::sleep(Duration::from_millis(20)).await;
        }
        written
    }

    /// Corrects records wherever they are.
    async fn correct(self: Arc<Self>, seed: u64) -> usize {
        let (events, _) = self.handle().await;
        let mut random = Random::new(seed, 7);
        let mut corrected = 0;
        while !self.is_over() {
            time::sleep(Duration::from_millis(10)).await;
            let known = {
                let book = self.book.lock().unwrap();
                let at = random.below(u64::try_from(book.len().max(1)).unwrap());
                let known = book.iter().nth(usize::try_from(at).unwrap());
                known.map(|(number, values)| (*number, values.clone()))
            };
            let Some((number, before)) = known else {
                continue;
            };
            let found = events.range(T::key_of(DEVICE), date(number)..date(number + 1));
            let Some(found) = in_a_storm(found.with_refs().await) else {
                continue;
            };
            let Some(found) = found.into_iter().next() else {
                assert!(before.contains(&None), "record {number} is hidden");
                continue;
            };
            let value = f64::from(u32::try_from(random.below(1_000)).unwrap());
            let edit = events
                .update(T::key_of(DEVICE), found.reference, |record| {
                    *record.value() = value;
                })
                .await;
            let mut book = self.book.lock().unwrap();
            match edit {
                Ok(_) => {
                    corrected += 1;
                    book.insert(number, vec![Some(value)]);
                }
                Err(error) if error.is_outcome_unknown() => {
                    book.entry(number).or_default().push(Some(value));
                }
                // A try of an earlier edit arrived late.
                Err(error) if error.is_changed() && before.len() > 1 => {}
                Err(error) => {
                    assert!(error.is_retryable() || error.is_archived(), "{error}");
                }
            }
        }
        corrected
    }

    async fn move_items(self: Arc<Self>, seed: u64, mover: u64) -> u64 {
        let (events, cold) = self.handle().await;
        let mut random = Random::new(seed, mover);
        let mut buckets = 0;
        while !self.is_over() {
            in_a_storm(events.seal().after(Duration::ZERO).await);
            in_a_storm(merge(&events).await);
            let archived = in_a_storm(events.archive_to(&cold).await);
            buckets += archived.map_or(0, |report| report.buckets);
            if random.below(3) == 0 {
                in_a_storm(events.restore_from(&cold).await);
            }
        }
        buckets
    }

    /// Each record that was there before a read is in it once.
    async fn read(self: Arc<Self>) -> usize {
        let (events, _) = self.handle().await;
        let mut reads = 0;
        while !self.is_over() {
            let before = self.book.lock().unwrap().clone();
            let Some(seen) = in_a_storm(try_stored(&events, DEVICE).await) else {
                continue;
            };
            let hidden = before
                .iter()
                .filter(|(number, values)| !values.contains(&None) && !seen.contains_key(number));
            let hidden: Vec<&i64> = hidden.map(|(number, _)| number).collect();
            assert!(hidden.is_empty(), "{:?}: {hidden:?}", T::SPEC.form());
            reads += 1;
            time::sleep(Duration::from_millis(30)).await;
        }
        reads
    }

    async fn blow(self: Arc<Self>, seed: u64) {
        let (written, corrected, one, other, reads) = tokio::join!(
            tokio::spawn(Arc::clone(&self).write()),
            tokio::spawn(Arc::clone(&self).correct(seed)),
            tokio::spawn(Arc::clone(&self).move_items(seed, 1)),
            tokio::spawn(Arc::clone(&self).move_items(seed, 2)),
            tokio::spawn(Arc::clone(&self).read()),
        );
        let moved = one.unwrap() + other.unwrap();
        let (written, corrected, reads) = (written.unwrap(), corrected.unwrap(), reads.unwrap());
        eprintln!(
            "{:?}: {written} written, {corrected} corrected, {moved} moved, {reads} reads",
            T::SPEC.form()
        );
        assert!(written > 0 && corrected > 0 && moved > 0 && reads > 0);
    }

    async fn check(&self) {
        let (events, cold) = self.handle().await;
        let form = T::SPEC.form();
        let check = |seen: Ledger<T>| {
            let book = self.book.lock().unwrap();
            for (number, values) in &*book {
                let value = seen.get(number).map(|record| *record.clone().value());
                assert!(
                    values.contains(&value),
                    "{form:?}: record {number} has {value:?}, not one of {values:?}"
                );
            }
            let made_up = seen.keys().filter(|number| !book.contains_key(number));
            assert_eq!(made_up.collect::<Vec<_>>(), Vec::<&i64>::new(), "{form:?}");
        };
        check(stored(&events, DEVICE).await);
        is_sound(&events).await;
        events.archive_to(&cold).await.unwrap();
        check(stored(&events, DEVICE).await);
        is_sound(&events).await;
        events.restore_from(&cold).await.unwrap();
        check(
            stored(
                &T::buckets(&client(&self.set).await.database(&self.hot)),
                DEVICE,
            )
            .await,
        );
        is_sound(&events).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_that_move_stay_exact_while_members_are_killed_and_replaced() {
    let seed = Seed::from_environment().get();
    let set = Arc::new(DevServer::builder().own().members(3).await.unwrap());
    let stop = Arc::new(AtomicBool::new(false));
    let counted = Storm::<counted::Record>::new(&set, &stop).await;
    let merged = Storm::<merged::Record>::new(&set, &stop).await;
    let windows = Storm::<windows_with_object_ids::Record>::new(&set, &stop).await;
    let hybrid = Storm::<hybrid::Record>::new(&set, &stop).await;
    let numbered = Storm::<numbered::Record>::new(&set, &stop).await;
    let disturbed = async {
        let disturbed = replica_set::disturb(&set, seed, duration()).await;
        stop.store(true, Relaxed);
        disturbed
    };
    let (disturbed, ..) = tokio::join!(
        disturbed,
        Arc::clone(&counted).blow(seed),
        Arc::clone(&merged).blow(seed),
        Arc::clone(&windows).blow(seed),
        Arc::clone(&hybrid).blow(seed),
        Arc::clone(&numbered).blow(seed),
    );
    eprintln!("seed {seed}: {disturbed:?}");
    time::sleep(SETTLED).await;
    counted.check().await;
    merged.check().await;
    windows.check().await;
    hybrid.check().await;
    numbered.check().await;
}
