//! Lost, stopped and replaced members of a replica set: the answers to the writers stay true.

use std::time::Duration;

use bucket_mongo::{
    Bucketed, Record,
    mongodb::{Client, options::ClientOptions},
    testing::DevServer,
};
use bucket_tests::faults::{
    Seed, duration,
    ledger::Ledger,
    plan::{Fault, Plan},
    proxy::Proxy,
    replica_set::{self, Disturbance},
    sample::{self, Sample},
    storm::Storm,
    writer::{Habit, Span, Writer},
};

const ROUNDS: u64 = 5;
/// A stopped primary is noticed within this time.
const CONNECT: Duration = Duration::from_secs(1);
const HEARTBEAT: Duration = Duration::from_millis(500);

async fn client(set: &DevServer) -> Client {
    let mut options = ClientOptions::parse(set.uri()).await.unwrap();
    options.connect_timeout = Some(CONNECT);
    options.heartbeat_freq = Some(HEARTBEAT);
    Client::with_options(options).unwrap()
}

async fn storm<const F: usize>(set: &DevServer) -> Storm<F> {
    let calm = set.database("faults").await.unwrap();
    Storm::new(calm, client(set).await, vec![client(set).await]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_form_and_every_kind_of_writer_gets_true_answers_through_failovers() {
    let seed = Seed::from_environment();
    let set = DevServer::builder().own().members(3).await.unwrap();
    let (count, window, numbered, hybrid, average) = tokio::join!(
        storm::<{ sample::COUNT }>(&set),
        storm::<{ sample::WINDOW_CAPACITY }>(&set),
        storm::<{ sample::NUMBERED }>(&set),
        storm::<{ sample::HYBRID_MERGE }>(&set),
        storm::<{ sample::COUNT_AVG }>(&set),
    );
    // Those at even positions share a handle.
    let more = [Habit::Batches, Habit::Wide, Habit::Hot, Habit::Wide];
    let habits = [Habit::ALL.as_slice(), &more].concat();
    // Until the set has been disturbed in every way, and as long as that continues.
    let span = Span::new(ROUNDS);
    let disturbed = async {
        let disturbed = replica_set::disturb(&set, seed.get(), duration()).await;
        span.stop();
        disturbed
    };
    let (disturbed, ..) = tokio::join!(
        disturbed,
        count.blow(&habits, seed.get(), &span),
        window.blow(&habits, seed.get(), &span),
        numbered.blow(&habits, seed.get(), &span),
        hybrid.blow(&habits, seed.get(), &span),
        average.blow(&habits, seed.get(), &span),
    );
    // Writes of impatient writers may still be in flight.
    tokio::time::sleep(Duration::from_secs(3)).await;
    eprintln!("seed {}: {disturbed:?}", seed.get());
    let verdicts = [
        ("count", count.verdict().await),
        ("window and count", window.verdict().await),
        ("numbered", numbered.verdict().await),
        ("hybrid", hybrid.verdict().await),
        ("stored average", average.verdict().await),
    ];
    for (form, verdict) in &verdicts {
        eprintln!("{form}: {verdict}");
    }
    for (_, verdict) in verdicts {
        verdict.assert_true();
    }
    tokio::join!(
        count.use_clients(),
        window.use_clients(),
        numbered.use_clients(),
        hybrid.use_clients(),
        average.use_clients(),
    );
    for disturbance in Disturbance::ALL {
        assert!(disturbed.contains_key(&disturbance), "no {disturbance:?}");
    }
}

/// Until it has reached a server, a driver says that transactions are not supported. A window's
/// first write asks the server nothing in advance.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_began_while_the_server_was_down_is_stored_once() {
    let server = DevServer::builder().own().await.unwrap();
    let [member] = server.members() else {
        panic!("one member: {server:?}");
    };
    let calm = server.database("down").await.unwrap();
    Sample::<{ sample::WINDOW_CAPACITY }>::buckets(&calm)
        .ensure()
        .await
        .unwrap();
    member.kill().await.unwrap();
    let proxy = Proxy::start(member.address(), Plan::next(Fault::CutAfter, 2)).await;
    let database = proxy.client().await.database(calm.name());
    let buckets = Sample::<{ sample::WINDOW_CAPACITY }>::buckets(&database);
    // The driver's first check of the server fails.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let record = Writer::new(buckets.clone(), &Ledger::default(), 1, 0).record(1);
    let write = tokio::spawn({
        let record = record.clone();
        async move { buckets.insert(&record).await }
    });
    tokio::time::sleep(Duration::from_millis(300)).await;
    member.restart().await.unwrap();
    let told = write.await.unwrap();
    proxy.calm_down().await;
    let client = server.client().await.unwrap();
    let calm = Sample::<{ sample::WINDOW_CAPACITY }>::buckets(&client.database(calm.name()));
    assert_eq!(calm.count(record.key()).await.unwrap(), 1);
    told.unwrap();
    assert_eq!(proxy.injected()[&Fault::CutAfter], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_member_comes_back_with_its_data() {
    use bucket_mongo::bson::{Document, doc};
    let server = DevServer::builder().own().await.unwrap();
    let [member] = server.members() else {
        panic!("one member: {server:?}");
    };
    let things = server.database("restart").await.unwrap();
    things
        .collection("things")
        .insert_one(doc! { "_id": 1 })
        .await
        .unwrap();
    let (id, address) = (member.process_id(), member.address());
    member.kill().await.unwrap();
    member.kill().await.unwrap();
    assert!(member.pause().await.is_err(), "nothing is there to pause");
    member.restart().await.unwrap();
    member.restart().await.unwrap();
    assert_ne!(member.process_id(), id);
    assert_eq!(member.address(), address);
    let things = server.client().await.unwrap().database(things.name());
    let found = things
        .collection::<Document>("things")
        .find_one(doc! {})
        .await;
    assert_eq!(found.unwrap(), Some(doc! { "_id": 1 }));
    member.pause().await.unwrap();
    member.resume().await.unwrap();
    server.step_down().await.unwrap();
    assert_eq!(server.primary().await.unwrap().address(), address);
    server.kill().await.unwrap();
    assert!(member.restart().await.is_err(), "its data are gone");
}
