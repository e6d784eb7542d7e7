//! Damaged messages: whatever happens to a write on its way, the answers to the writers are true,
//! and the client keeps working.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{Bucketed, Record, mongodb::Database, testing::DevServer};
use bucket_tests::Load;
use bucket_tests::faults::{
    Seed, duration,
    ledger::Ledger,
    plan::{Fault, Plan},
    proxy::Proxy,
    sample::{self, Sample},
    server,
    storm::Storm,
    storms::{Parts, Storms},
    writer::{Habit, Span, Writer},
};
use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

/// This percentage of the writes is damaged.
const PERCENT: u64 = 6;
/// With fewer writers.
const PERCENT_OF_FEW: u64 = 12;
/// Clients of one form besides the shared one. A driver that has lost a connection does not use the
/// server for half a second: more clients cause more faults.
const OTHERS: usize = 3;
/// The minimum number of rounds of a writer, on any machine.
const ROUNDS: u64 = 5;
/// The longest time of a storm in which nothing was damaged that should be.
const LONGEST: Duration = Duration::from_secs(120);

/// The parts of a storm whose writes go through the proxy.
async fn parts(proxy: &Proxy) -> Parts {
    let calm = server::start().await.database("faults").await.unwrap();
    let others = join_all((0..OTHERS).map(|_| proxy.client())).await;
    (calm, proxy.client().await, others)
}

/// Waits for this number of kinds of faults: on a busy machine few writes come in the time of a storm.
async fn until_damaged(proxy: &Proxy, kinds: usize) {
    let waited = timeout(LONGEST, async {
        while proxy.injected().len() < kinds {
            sleep(Duration::from_millis(50)).await;
        }
    });
    // What the test says about it is more than that it took too long.
    waited.await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_and_every_kind_of_writer_gets_true_answers_under_damaged_messages() {
    let seed = Seed::from_environment();
    let proxy = server::proxy().await;
    let storms = Storms::new(async || parts(&proxy).await).await;
    proxy.set_plan(Plan::drawn(seed.get(), PERCENT));
    // Those at even positions share a handle.
    let more = [Habit::Hot, Habit::Wide, Habit::Batches, Habit::Wide];
    let habits = [Habit::ALL.as_slice(), &more].concat();
    let span = Span::new(ROUNDS);
    let stop = async {
        sleep(duration()).await;
        until_damaged(&proxy, Fault::ALL.len()).await;
        span.stop();
    };
    tokio::join!(stop, storms.blow(&habits, seed.get(), &span));
    proxy.calm_down().await;
    let injected = proxy.injected();
    eprintln!(
        "seed {}: {injected:?} in {} writes",
        seed.get(),
        proxy.writes()
    );
    storms.assert_true().await;
    for fault in Fault::ALL {
        assert!(injected.contains_key(&fault), "no {fault:?}: {injected:?}");
    }
}

/// Runs writers of these habits on one form, for half of the time.
async fn hold<const F: usize>(habits: &[Habit]) {
    let seed = Seed::from_environment();
    let proxy = server::proxy().await;
    let (calm, client, others) = parts(&proxy).await;
    let storm = Storm::<F>::new(calm, client, others).await;
    proxy.set_plan(Plan::drawn(seed.get(), PERCENT_OF_FEW));
    let span = Span::new(ROUNDS);
    let stop = async {
        sleep(duration() / 2).await;
        until_damaged(&proxy, 1).await;
        span.stop();
    };
    tokio::join!(stop, storm.blow(habits, seed.get(), &span));
    proxy.calm_down().await;
    let verdict = storm.verdict().await;
    eprintln!(
        "seed {}: {:?}, {habits:?}: {verdict}",
        seed.get(),
        proxy.injected()
    );
    verdict.assert_true();
    assert!(!proxy.injected().is_empty(), "nothing was damaged");
    storm.use_clients().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_callers_get_true_answers_and_keep_working() {
    hold::<{ sample::COUNT }>(&[Habit::Session; 6]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_futures_double_nothing_under_damaged_messages() {
    let habits = [[Habit::Impatient; 5].as_slice(), &[Habit::Hot]].concat();
    hold::<{ sample::NUMBERED }>(&habits).await;
}

/// The number of faults in a row, and of earlier records of the key.
type Case = (u64, i64);

/// Stores one record whose write is damaged; returns whether it was reported as stored, and how
/// often it is stored.
async fn one_record<const F: usize>(
    calm: &Database,
    fault: Fault,
    (in_a_row, earlier): Case,
) -> (bool, u64) {
    let proxy = server::proxy().await;
    if fault == Fault::Retried {
        proxy.be_a_router();
    }
    let buckets = Sample::<F>::buckets(&proxy.client().await.database(calm.name()));
    let mut writer = Writer::new(buckets.clone(), &Ledger::default(), 1, 0);
    let mut record = || Sample {
        device: format!("{in_a_row} on {earlier}"),
        ..writer.record(1)
    };
    for _ in 0..earlier {
        buckets.insert(&record()).await.unwrap();
    }
    proxy.set_plan(Plan::next(fault, in_a_row));
    let record = record();
    let told = buckets.insert(&record).await;
    proxy.calm_down().await;
    let injected = proxy.injected();
    let stored = Sample::<F>::buckets(calm)
        .count(record.key())
        .await
        .unwrap();
    if told.is_ok() && fault != Fault::Delay {
        assert_eq!(injected, BTreeMap::from([(fault, in_a_row)]));
    }
    assert!(injected[&fault] > 0);
    (told.is_ok(), stored - u64::try_from(earlier).unwrap())
}

/// On a key without a bucket, with an open one, and with a full one.
async fn stored_once<const F: usize>(fault: Fault, in_a_row: &[u64]) {
    let calm = server::start().await.database("one").await.unwrap();
    Sample::<F>::buckets(&calm).ensure().await.unwrap();
    let earlier = [0, 1, i64::from(sample::CAPACITY)];
    let cases = in_a_row
        .iter()
        .flat_map(|number| earlier.map(|earlier| (*number, earlier)));
    let cases: Vec<Case> = cases.collect();
    let runs = cases
        .iter()
        .map(|case| one_record::<F>(&calm, fault, *case));
    for ((in_a_row, earlier), found) in cases.iter().zip(join_all(runs).await) {
        let form = Sample::<F>::SPEC.form();
        assert_eq!(
            found,
            (true, 1),
            "(acknowledged, stored) after {in_a_row} x {fault:?} after {earlier} records in {form:?}"
        );
    }
}

async fn stored_once_in_every_form(fault: Fault) {
    tokio::join!(
        stored_once::<{ sample::COUNT }>(fault, &[1, 2, 5]),
        stored_once::<{ sample::WINDOW_CAPACITY }>(fault, &[2]),
        stored_once::<{ sample::PARTS }>(fault, &[2]),
        stored_once::<{ sample::NUMBERED }>(fault, &[2]),
        stored_once::<{ sample::HYBRID_MERGE }>(fault, &[2]),
        stored_once::<{ sample::COUNT_AVG }>(fault, &[2]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_request_is_lost_is_stored_once() {
    tokio::join!(
        stored_once_in_every_form(Fault::CutBefore),
        stored_once_in_every_form(Fault::HalfRequest),
    );
}

/// The server answers the second one from its record, and the client has sent one.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_a_router_sends_again_is_stored_once() {
    let fault = Fault::Retried;
    tokio::join!(
        stored_once::<{ sample::COUNT }>(fault, &[1]),
        stored_once::<{ sample::WINDOW_CAPACITY }>(fault, &[1]),
        stored_once::<{ sample::NUMBERED }>(fault, &[1]),
        stored_once::<{ sample::HYBRID_MERGE }>(fault, &[1]),
        stored_once::<{ sample::COUNT_AVG }>(fault, &[1]),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_reply_is_lost_is_stored_once() {
    tokio::join!(
        stored_once_in_every_form(Fault::CutAfter),
        stored_once_in_every_form(Fault::HalfReply),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_whose_request_arrives_late_is_stored_once() {
    tokio::join!(
        stored_once_in_every_form(Fault::Delay),
        stored_once_in_every_form(Fault::Ghost),
    );
}

/// Stores a batch that fills buckets and opens new ones, whose writes are damaged.
async fn one_batch<const F: usize>(fault: Fault, in_a_row: u64) {
    let proxy = server::proxy().await;
    let calm = server::start().await.database("batch").await.unwrap();
    Sample::<F>::buckets(&calm).ensure().await.unwrap();
    let buckets = Sample::<F>::buckets(&proxy.client().await.database(calm.name()));
    let ledger = Ledger::default();
    let mut writer = Writer::new(buckets.clone(), &ledger, 1, 0);
    for plan in [Plan::off(), Plan::next(fault, in_a_row), Plan::off()] {
        let records: Vec<_> = (0..30).map(|_| writer.record(3)).collect();
        proxy.set_plan(plan);
        let report = buckets.insert_many(&records).await.unwrap();
        let failed = report.failed();
        assert!(failed.is_empty(), "{in_a_row} x {fault:?}: {failed:#?}");
        for record in &records {
            ledger.tell(record, Ok(()));
        }
    }
    proxy.calm_down().await;
    let verdict = ledger.audit(&calm).await;
    verdict.assert_true();
    assert_eq!(verdict.stored, 90);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_writes_are_damaged_is_stored_once() {
    let cases = Fault::ALL
        .iter()
        .flat_map(|fault| [1, 2, 5].map(|in_a_row| (*fault, in_a_row)));
    join_all(cases.map(|(fault, in_a_row)| async move {
        tokio::join!(
            one_batch::<{ sample::COUNT }>(fault, in_a_row),
            one_batch::<{ sample::NUMBERED }>(fault, in_a_row),
        )
    }))
    .await;
}

/// The connection string only affects the driver's own writes. The library's writes carry their own
/// write concern and their transaction numbers.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_asks_for_no_acknowledgement_still_stores_each_record_once() {
    let calm = server::start().await.database("weak").await.unwrap();
    Sample::<{ sample::COUNT }>::buckets(&calm)
        .ensure()
        .await
        .unwrap();
    let proxy = server::proxy().await;
    let client = proxy.client_with("&w=0").await;
    let buckets = Sample::<{ sample::COUNT }>::buckets(&client.database(calm.name()));
    let mut writer = Writer::new(buckets.clone(), &Ledger::default(), 1, 0);
    for number in 0..6 {
        let record = Sample {
            device: format!("weak {number}"),
            ..writer.record(1)
        };
        proxy.set_plan(Plan::next(Fault::CutAfter, 2));
        let told = buckets.insert(&record).await;
        assert!(told.is_ok(), "{told:?}");
        assert_eq!(proxy.injected()[&Fault::CutAfter], 2);
        let stored = Sample::<{ sample::COUNT }>::buckets(&calm)
            .count(record.key())
            .await;
        assert_eq!(stored.unwrap(), 1);
    }
    let mut session = client.start_session().await.unwrap();
    proxy.set_plan(Plan::next(Fault::CutAfter, 2));
    let record = writer.record(1);
    let insert = buckets.insert(&record).session(&mut session);
    insert.await.unwrap();
    assert_eq!(proxy.injected()[&Fault::CutAfter], 2);
}

/// A server without a replica set keeps no transaction numbers: only the outcome of the lost
/// command is unknown.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_reply_of_a_server_without_transaction_numbers_concerns_only_the_records_of_its_command()
 {
    const KEYS: i64 = 70;
    let server = DevServer::builder().own().standalone().await.unwrap();
    let database = server.database("standalone").await.unwrap();
    let calm = Sample::<{ sample::COUNT }>::buckets(&database);
    calm.ensure().await.unwrap();
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    let database = proxy.client().await.database(database.name());
    let buckets = Sample::<{ sample::COUNT }>::buckets(&database);
    let mut writer = Writer::new(buckets.clone(), &Ledger::default(), 1, 0);
    // Each key has an open bucket, so the records that fill it are sent first.
    let first = (0..KEYS).map(|number| Sample {
        device: format!("key {number}"),
        ..writer.record(1)
    });
    let first: Vec<_> = first.collect();
    calm.load(&first).await;
    let mut batches = Vec::new();
    for _ in 0..8 {
        // More than one statement for each key.
        let records = (0..KEYS * i64::from(sample::CAPACITY) * 3).map(|number| Sample {
            device: format!("key {}", number % KEYS),
            ..writer.record(1)
        });
        batches.push(records.collect::<Vec<_>>());
    }
    proxy.set_plan(Plan::next(Fault::CutAfter, 1));
    let calls = batches
        .iter()
        .map(|records| buckets.insert_many(records).into_future());
    let mut stored = 0;
    let mut unknown = 0;
    for report in join_all(calls).await {
        let report = report.unwrap();
        stored += report.stored();
        for failed in report.failed() {
            assert!(failed.error.is_outcome_unknown(), "{}", failed.error);
            unknown += 1;
        }
        if report.failed().is_empty() {
            assert!(report.stopped_by().is_none());
        }
    }
    assert!(unknown > 0, "nothing was lost");
    assert!(stored > unknown, "{stored} stored, {unknown} unknown");
}
