//! Calls that are dropped while the server is away: what was dropped before anything was sent is
//! never stored, the other calls are stored once, and nothing is stored twice.

use std::{collections::BTreeMap, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, Ingestor,
    ingest::Receipt,
    mongodb::{
        Client, ServerType,
        event::{EventHandler, sdam::SdamEvent},
    },
    testing::{DevServer, TestDatabase},
};
use bucket_tests::faults::{
    Seed, duration,
    ledger::Ledger,
    plan::Plan,
    proxy::Proxy,
    random::Random,
    sample::{self, Sample},
    writer::{Writer, note},
};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

/// Far longer than anything takes, so that a hang becomes a failure.
const HANGS: Duration = Duration::from_secs(60);
const SOON: Duration = Duration::from_millis(5);
/// This percentage of the writes is damaged as well.
const PERCENT: u64 = 5;
/// The number of keys in batches, and in batches so wide that they wait for each other and are
/// combined.
const KEYS: u64 = 5;
const WIDE: u64 = 70;
const BATCH: u64 = 30;
/// A caller that does not wait gives up after less than this many milliseconds.
const PATIENCE: u64 = 80;
const INGESTED: usize = 20;

/// How the server becomes unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Away {
    /// It cannot be reached.
    CutOff,
    /// It answers nothing, and its connections stay open.
    Stopped,
    Killed,
}

impl Away {
    const ALL: [Self; 3] = [Self::CutOff, Self::Stopped, Self::Killed];

    async fn begin(self, server: &DevServer, proxy: &Proxy) {
        let member = &server.members()[0];
        match self {
            Self::CutOff => proxy.go_away(),
            Self::Stopped => member.pause().await.unwrap(),
            Self::Killed => member.kill().await.unwrap(),
        }
    }

    async fn end(self, server: &DevServer, proxy: &Proxy) {
        let member = &server.members()[0];
        match self {
            Self::CutOff => proxy.come_back(),
            Self::Stopped => member.resume().await.unwrap(),
            Self::Killed => member.restart().await.unwrap(),
        }
    }
}

/// The calls of one collection.
struct Calls<const F: usize> {
    calm: TestDatabase,
    buckets: Buckets<Sample<F>>,
    ledger: Ledger<F>,
    writer: Writer<F>,
    random: Random,
    /// Records of calls that were dropped before anything could be sent.
    never_sent: usize,
}

impl<const F: usize> Calls<F> {
    async fn new(server: &DevServer, client: &Client, seed: u64) -> Self {
        let calm = server.database("dropped").await.unwrap();
        Sample::<F>::buckets(&calm).ensure().await.unwrap();
        let buckets = Sample::<F>::buckets(&client.database(calm.name()));
        let ledger = Ledger::default();
        Self {
            writer: Writer::new(buckets.clone(), &ledger, seed, F),
            random: Random::new(seed, u64::try_from(F).unwrap() + 1),
            calm,
            buckets,
            ledger,
            never_sent: 0,
        }
    }

    /// A single record, a batch, or a batch so wide that calls wait for each other.
    fn records(&mut self) -> Vec<Sample<F>> {
        let (number, keys) = match self.random.below(3) {
            0 => (1, KEYS),
            1 => (self.random.below(BATCH) + 2, KEYS),
            _ => (WIDE + 10, WIDE),
        };
        (0..number).map(|_| self.writer.record(keys)).collect()
    }

    /// Writes, and notes the answer.
    fn write(&self, records: &[Sample<F>]) -> impl Future<Output = ()> + Send + 'static {
        let (buckets, ledger) = (self.buckets.clone(), self.ledger.clone());
        let records = records.to_vec();
        async move {
            if let [record] = records.as_slice() {
                let told = buckets.insert(record).await;
                ledger.tell(record, told.as_ref().map(|_| ()));
            } else {
                let report = buckets.insert_many(&records).await;
                note(&ledger, &records, report);
            }
        }
    }

    /// A call that is dropped after a moment, in one of the ways in which services do it; returns
    /// whether it had already ended.
    fn dropped(&mut self, records: &[Sample<F>], patience: u64) -> JoinHandle<bool> {
        let patience = Duration::from_millis(self.random.below(patience));
        let way = self.random.below(3);
        let write = self.write(records);
        tokio::spawn(async move {
            match way {
                0 => timeout(patience, write).await.is_ok(),
                1 => tokio::select! {
                    () = write => true,
                    () = sleep(patience) => false,
                },
                _ => {
                    let call = tokio::spawn(write);
                    sleep(patience).await;
                    call.abort();
                    // Its future is dropped at the end of this function.
                    call.await.is_ok()
                }
            }
        })
    }

    /// Calls that are in flight when the server becomes unavailable.
    async fn go_away(&mut self) {
        let calls: Vec<_> = (0..6)
            .map(|_| {
                let records = self.records();
                self.dropped(&records, 4 * PATIENCE)
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
    }

    /// Calls that begin while no server can be selected. Some are dropped; the others are returned.
    async fn while_away(&mut self) -> Vec<JoinHandle<()>> {
        let (mut stays, mut dropped) = (Vec::new(), Vec::new());
        for number in 0..10 {
            let records = self.records();
            if number % 4 == 3 {
                stays.push(tokio::spawn(self.write(&records)));
            } else {
                let call = self.dropped(&records, PATIENCE);
                dropped.push((records, call));
            }
        }
        self.abort_an_ingestor().await;
        stays.push(self.let_an_ingestor_go().await);
        for (records, call) in dropped {
            if !call.await.unwrap() {
                self.was_never_sent(&records);
            }
        }
        stays
    }

    async fn abort_an_ingestor(&mut self) {
        let ingestor = self.buckets.ingestor().linger(SOON).start().unwrap();
        let (records, receipts) = self.push(&ingestor).await;
        sleep(Duration::from_millis(self.random.below(PATIENCE))).await;
        if self.random.below(2) == 0 {
            // Nobody waits for its end either.
            let _ = timeout(SOON, ingestor.shutdown()).await;
        }
        let report = timeout(HANGS, ingestor.abort()).await.unwrap();
        assert_eq!(report.stored(), 0, "{report:?}");
        for receipt in receipts {
            timeout(HANGS, receipt).await.unwrap().unwrap_err();
        }
        self.was_never_sent(&records);
    }

    async fn let_an_ingestor_go(&mut self) -> JoinHandle<()> {
        let ingestor = self.buckets.ingestor().linger(SOON).start().unwrap();
        let (records, receipts) = self.push(&ingestor).await;
        let ledger = self.ledger.clone();
        tokio::spawn(async move {
            for (record, receipt) in records.iter().zip(receipts) {
                let told = receipt.await;
                ledger.tell(record, told.as_ref().map(|_| ()));
            }
        })
    }

    async fn push(&mut self, ingestor: &Ingestor<Sample<F>>) -> (Vec<Sample<F>>, Vec<Receipt>) {
        let records = (0..INGESTED).map(|_| self.writer.record(KEYS));
        let records: Vec<_> = records.collect();
        let mut receipts = Vec::new();
        for record in &records {
            receipts.push(ingestor.push(record).await.unwrap());
        }
        (records, receipts)
    }

    fn was_never_sent(&mut self, records: &[Sample<F>]) {
        self.never_sent += records.len();
        for record in records {
            self.ledger.take_back(record);
        }
    }

    /// The remaining calls end, and the handle works as before.
    async fn come_back(&mut self, stays: Vec<JoinHandle<()>>) {
        for stay in stays {
            timeout(HANGS, stay).await.expect("no hang").unwrap();
        }
        let records = self.records();
        timeout(HANGS, self.write(&records)).await.expect("no hang");
    }

    async fn check(self, name: &str) {
        let verdict = self.ledger.audit(&self.calm).await;
        eprintln!("{name}: {verdict}; {} dropped unsent", self.never_sent);
        verdict.assert_true();
        assert!(self.never_sent > 0, "{name}: no call was dropped");
    }
}

/// A client that reaches the server through the proxy, and whether it knows of a writable server.
async fn watched_client(proxy: &Proxy) -> (Client, watch::Receiver<bool>) {
    let (known, is_known) = watch::channel(false);
    let mut options = proxy.client_options("&connectTimeoutMS=600").await;
    options.sdam_event_handler = Some(EventHandler::callback(move |event| {
        if let SdamEvent::ServerDescriptionChanged(event) = event {
            let kind = event.new_description.server_type();
            known.send_replace(kind == ServerType::RsPrimary);
        }
    }));
    (Client::with_options(options).unwrap(), is_known)
}

async fn until(is_known: &mut watch::Receiver<bool>, wanted: bool) {
    let change = is_known.wait_for(|is_known| *is_known == wanted);
    timeout(HANGS, change).await.expect("no hang").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_dropped_while_the_server_is_away_are_never_stored_and_nothing_is_stored_twice() {
    let seed = Seed::from_environment();
    let server = DevServer::builder().own().await.unwrap();
    let proxy = Proxy::start(server.members()[0].address(), Plan::off()).await;
    let (client, mut is_known) = watched_client(&proxy).await;
    let (mut count, mut window, mut numbered, mut hybrid) = tokio::join!(
        Calls::<{ sample::COUNT }>::new(&server, &client, seed.get()),
        Calls::<{ sample::WINDOW_CAPACITY }>::new(&server, &client, seed.get()),
        Calls::<{ sample::NUMBERED }>::new(&server, &client, seed.get()),
        Calls::<{ sample::HYBRID_MERGE }>::new(&server, &client, seed.get()),
    );
    proxy.set_plan(Plan::drawn(seed.get(), PERCENT));
    let start = Instant::now();
    let mut random = Random::new(seed.get(), 0);
    let mut ways = Away::ALL.iter().cycle();
    let mut rounds = BTreeMap::new();
    while rounds.len() < Away::ALL.len() || start.elapsed() < duration() {
        let way = *ways.next().unwrap();
        *rounds.entry(way).or_insert(0) += 1;
        until(&mut is_known, true).await;
        tokio::join!(
            count.go_away(),
            window.go_away(),
            numbered.go_away(),
            hybrid.go_away(),
            async {
                sleep(Duration::from_millis(random.below(3 * PATIENCE))).await;
                way.begin(&server, &proxy).await;
            }
        );
        // The server's earlier answers are read by now.
        sleep(10 * SOON).await;
        until(&mut is_known, false).await;
        let (of_count, of_window, of_numbered, of_hybrid) = tokio::join!(
            count.while_away(),
            window.while_away(),
            numbered.while_away(),
            hybrid.while_away(),
        );
        way.end(&server, &proxy).await;
        tokio::join!(
            count.come_back(of_count),
            window.come_back(of_window),
            numbered.come_back(of_numbered),
            hybrid.come_back(of_hybrid),
        );
    }
    proxy.calm_down().await;
    let injected = proxy.injected();
    eprintln!("seed {}: {rounds:?}, {injected:?}", seed.get());
    count.check("count").await;
    window.check("window and count").await;
    numbered.check("numbered").await;
    hybrid.check("hybrid").await;
    timeout(HANGS, client.shutdown()).await.expect("no hang");
}
