//! Writers of every kind on one collection, all at the same time, and the check afterwards.

use std::time::Duration;

use bucket_mongo::{
    Bucketed,
    bson::{Document, doc},
    mongodb::{Client, Collection},
    testing::TestDatabase,
};
use futures_util::future::join_all;
use tokio::time;

use super::{
    ledger::{Ledger, Verdict},
    sample::Sample,
    writer::{Habit, Span, Writer},
};

/// Far longer than anything takes, so that a hang becomes a failure.
const HANGS: Duration = Duration::from_secs(60);
/// Ordinary writes of the driver at the same time.
const ORDINARY: usize = 20;

/// A collection of one form, its writers and the answers that they got.
#[derive(Debug)]
pub struct Storm<const F: usize> {
    /// The handle of the test.
    calm: TestDatabase,
    /// The handles of the writers: the client that some of them share, and those of the others.
    client: Client,
    others: Vec<Client>,
    ledger: Ledger<F>,
}

impl<const F: usize> Storm<F> {
    /// A new collection with its indexes. Each of the other writers gets one of the `others` and
    /// its own handle, as long as there are some; the rest share `client` and a handle.
    ///
    /// # Panics
    ///
    /// If the indexes cannot be created.
    pub async fn new(calm: TestDatabase, client: Client, others: Vec<Client>) -> Self {
        Sample::<F>::buckets(&calm).ensure().await.expect("indexes");
        Self {
            calm,
            client,
            others,
            ledger: Ledger::default(),
        }
    }

    /// Runs writers of these habits.
    ///
    /// # Panics
    ///
    /// If a writer panics.
    pub async fn blow(&self, habits: &[Habit], seed: u64, span: &Span) {
        let handle = |client: &Client| Sample::<F>::buckets(&client.database(self.calm.name()));
        let shared = handle(&self.client);
        let mut others = self.others.iter();
        let mut writers = Vec::new();
        for (number, habit) in habits.iter().enumerate() {
            let own = if number % 2 == 1 { others.next() } else { None };
            let buckets = own.map_or_else(
                || shared.clone(),
                |client| handle(client).with_deadline(Duration::from_millis(300)),
            );
            let writer = Writer::new(buckets, &self.ledger, seed, number);
            writers.push(tokio::spawn(writer.run(*habit, span.clone())));
        }
        for writer in join_all(writers).await {
            writer.expect("a writer that ends");
        }
    }

    /// Compares the stored records with the answers to the writers.
    ///
    /// # Panics
    ///
    /// If a promise of the form is broken.
    pub async fn verdict(&self) -> Verdict {
        self.ledger.audit(&self.calm).await
    }

    /// Uses the writers' clients like a service: for other writes, and for a shutdown.
    ///
    /// # Panics
    ///
    /// If a client does not work any more.
    pub async fn use_clients(self) {
        for client in std::iter::once(self.client).chain(self.others) {
            let database = client.database(self.calm.name());
            let used = use_and_shut_down(client, database.collection("ordinary"));
            let used = time::timeout(HANGS, used).await;
            used.expect("a client that does not hang");
        }
    }
}

async fn use_and_shut_down(client: Client, collection: Collection<Document>) {
    let write = || {
        collection
            .insert_one(doc! { "ordinary": true })
            .into_future()
    };
    for written in join_all((0..ORDINARY).map(|_| write())).await {
        written.expect("an ordinary write on the same client");
    }
    drop(collection);
    client.shutdown().await;
}
