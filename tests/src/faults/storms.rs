//! A storm for each way in which buckets are written, all at the same time.

use bucket_mongo::{mongodb::Client, testing::TestDatabase};

use super::{
    ledger::Verdict,
    sample,
    storm::Storm,
    writer::{Habit, Span},
};

/// The parts of a storm: a database for the test, the client that some of the writers share, and
/// those of the others.
pub type Parts = (TestDatabase, Client, Vec<Client>);

/// One storm for each form, and one for stored averages.
#[derive(Debug)]
pub struct Storms {
    count: Storm<{ sample::COUNT }>,
    window: Storm<{ sample::WINDOW_CAPACITY }>,
    parts: Storm<{ sample::PARTS }>,
    numbered: Storm<{ sample::NUMBERED }>,
    hybrid: Storm<{ sample::HYBRID_MERGE }>,
    average: Storm<{ sample::COUNT_AVG }>,
}

impl Storms {
    /// New collections with their indexes, each with its own parts.
    ///
    /// # Panics
    ///
    /// If the indexes cannot be created.
    pub async fn new(parts: impl AsyncFn() -> Parts) -> Self {
        let (count, window, in_parts, numbered, hybrid, average) = tokio::join!(
            storm(&parts),
            storm(&parts),
            storm(&parts),
            storm(&parts),
            storm(&parts),
            storm(&parts),
        );
        Self {
            count,
            window,
            parts: in_parts,
            numbered,
            hybrid,
            average,
        }
    }

    /// Runs writers of these habits in each.
    ///
    /// # Panics
    ///
    /// If a writer panics.
    pub async fn blow(&self, habits: &[Habit], seed: u64, span: &Span) {
        tokio::join!(
            self.count.blow(habits, seed, span),
            self.window.blow(habits, seed, span),
            self.parts.blow(habits, seed, span),
            self.numbered.blow(habits, seed, span),
            self.hybrid.blow(habits, seed, span),
            self.average.blow(habits, seed, span),
        );
    }

    /// Compares the stored records with the answers to the writers, and uses the writers' clients.
    ///
    /// # Panics
    ///
    /// If a promise is broken, or a client does not work any more.
    pub async fn assert_true(self) {
        let verdicts: [(&str, Verdict); 6] = [
            ("count", self.count.verdict().await),
            ("window and count", self.window.verdict().await),
            ("parts", self.parts.verdict().await),
            ("numbered", self.numbered.verdict().await),
            ("hybrid", self.hybrid.verdict().await),
            ("stored average", self.average.verdict().await),
        ];
        for (form, verdict) in &verdicts {
            eprintln!("{form}: {verdict}");
        }
        for (_, verdict) in verdicts {
            verdict.assert_true();
        }
        tokio::join!(
            self.count.use_clients(),
            self.window.use_clients(),
            self.parts.use_clients(),
            self.numbered.use_clients(),
            self.hybrid.use_clients(),
            self.average.use_clients(),
        );
    }
}

async fn storm<const F: usize>(parts: &impl AsyncFn() -> Parts) -> Storm<F> {
    let (calm, client, others) = parts().await;
    Storm::new(calm, client, others).await
}
