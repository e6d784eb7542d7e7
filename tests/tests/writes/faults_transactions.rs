//! Transactions whose writes are damaged: retried until they are committed, each is stored once.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use bucket_mongo::{
    Bucketed, Buckets, Result,
    mongodb::{ClientSession, error::UNKNOWN_TRANSACTION_COMMIT_RESULT},
};
use bucket_tests::faults::{
    Seed,
    ledger::Ledger,
    plan::Plan,
    sample::{self, Sample},
    server,
    writer::Writer,
};
use futures_util::future::join_all;

/// This percentage of the writes is damaged; a transaction has several.
const PERCENT: u64 = 10;

/// Whether the transaction is committed; if not, nothing of it is, and it may be retried.
async fn transaction<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    session: &mut ClientSession,
    records: &[Sample<F>],
) -> bool {
    session.start_transaction().await.unwrap();
    let body: Result<()> = async {
        buckets.insert(&records[0]).session(&mut *session).await?;
        let report = buckets
            .insert_many(&records[1..])
            .session(&mut *session)
            .await?;
        report.into_result().map(drop)
    }
    .await;
    if body.is_err() {
        // The server may have aborted it by itself.
        let _ = session.abort_transaction().await;
        return false;
    }
    while let Err(error) = session.commit_transaction().await {
        if !error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) {
            return false;
        }
    }
    true
}

/// A damaged write ends its transaction, which is then retried as the manual says.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_under_damaged_messages_store_all_or_nothing() {
    const WRITERS: usize = 4;
    const TRANSACTIONS: usize = 12;
    let seed = Seed::from_environment();
    let proxy = server::proxy().await;
    let calm = server::start()
        .await
        .database("transactions")
        .await
        .unwrap();
    Sample::<{ sample::COUNT }>::buckets(&calm)
        .ensure()
        .await
        .unwrap();
    let database = proxy.client().await.database(calm.name());
    let buckets = Sample::<{ sample::COUNT }>::buckets(&database);
    proxy.set_plan(Plan::drawn(seed.get(), PERCENT));
    let ledger = Ledger::default();
    let again = AtomicU64::new(0);
    let writers = (0..WRITERS).map(|number| {
        let (buckets, ledger, again) = (&buckets, &ledger, &again);
        let mut writer = Writer::new(buckets.clone(), ledger, seed.get(), number);
        async move {
            let mut session = buckets.database().client().start_session().await.unwrap();
            for _ in 0..TRANSACTIONS {
                let records: Vec<_> = (0..5).map(|_| writer.record(3)).collect();
                while !transaction(buckets, &mut session, &records).await {
                    again.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                for record in &records {
                    ledger.tell(record, Ok(()));
                }
            }
        }
    });
    join_all(writers).await;
    proxy.calm_down().await;
    eprintln!(
        "seed {}: {:?}, {again:?} retried",
        seed.get(),
        proxy.injected()
    );
    let verdict = ledger.audit(&calm).await;
    eprintln!("transactions: {verdict}");
    verdict.assert_true();
    assert_eq!(verdict.stored, 5 * (WRITERS * TRANSACTIONS) as u64);
    assert!(again.load(Ordering::Relaxed) > 0, "nothing was damaged");
}
