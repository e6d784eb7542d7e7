//! Rollups in sessions: they see what their transaction has written, and others do not.

use bucket_mongo::{Buckets, Fill, Rollup, mongodb::ClientSession};

use super::model::{Cut, Known, at, between, filled, store};
use crate::common::{
    drawn_records::{key, record},
    sample::{self, Sample},
};

const CUTS: [Cut; 4] = [
    Cut::Seconds(1),
    Cut::Seconds(3),
    Cut::Seconds(86_400),
    Cut::Day("Europe/Berlin"),
];

/// Reads within the session, if there is one, and compares.
async fn check<const F: usize>(
    buckets: &Buckets<Sample<F>>,
    mut session: Option<&mut ClientSession>,
    known: &Known<F>,
) {
    let range = between(-1_750, 14_750);
    for cut in CUTS {
        let query = buckets.rollup(key("1"), range, cut.every());
        let query = query.fill(Fill::Previous);
        let rollup = match session.as_deref_mut() {
            Some(session) => query.session(session).await.unwrap(),
            None => query.await.unwrap(),
        };
        known.compare(&rollup, cut, range, Fill::Previous);
        let first: Option<f64> = first_value(&rollup);
        // The records before the range belong to one step, whatever the steps.
        let (from, to) = cut.span(at(-2_500));
        let before = known.inside(between(i64::MIN / 2, -1_750), (from, to));
        let step = cut.steps(range)[0];
        let value = |records: Vec<&Sample<F>>| records.iter().map(|record| record.value).max();
        let expected = value(known.inside(range, step)).or(value(before));
        let float = |value: i64| f64::from(i32::try_from(value).unwrap());
        assert_eq!(first, expected.map(float), "{cut:?}");
    }
}

fn first_value<const F: usize>(rollup: &Rollup<Sample<F>>) -> Option<f64> {
    let series = rollup.series(|stats| {
        let max = stats.value::<i64>(sample::at::MAX)?;
        Some(f64::from(i32::try_from(max).unwrap()))
    });
    series[0].value
}

async fn rollups_see_their_transaction<const F: usize>() {
    let before: Vec<Sample<F>> = (0..40).map(|n| record("1", n * 250 + 3_000, n)).collect();
    let (database, buckets) = filled(&before).await;
    // Before the range, into existing buckets, late, and after them.
    let mut added = vec![record("1", -2_500, 100), record("1", -2_400, 101)];
    added.extend((0..8).map(|n| record("1", n * 1_100 - 700, 110 + n)));
    added.extend((0..6).map(|n| record("1", n * 400 + 13_100, 120 + n)));
    let all: Vec<Sample<F>> = before.iter().chain(&added).cloned().collect();
    let known_before = Known::new(&buckets, before).await;
    let known_all = Known::new(&buckets, all).await;

    let mut session = database.client().start_session().await.unwrap();
    check(&buckets, Some(&mut session), &known_before).await;
    for commit in [false, true] {
        session.start_transaction().await.unwrap();
        let report = buckets.insert_many(&added).session(&mut session);
        report.await.unwrap().into_result().unwrap();
        check(&buckets, Some(&mut session), &known_all).await;
        check(&buckets, None, &known_before).await;
        if commit {
            session.commit_transaction().await.unwrap();
        } else {
            session.abort_transaction().await.unwrap();
            check(&buckets, Some(&mut session), &known_before).await;
        }
    }
    check(&buckets, None, &known_all).await;
    // In a session without a transaction in progress.
    check(&buckets, Some(&mut session), &known_all).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollups_of_windows_see_what_their_transaction_has_written_and_others_do_not() {
    rollups_see_their_transaction::<{ sample::WINDOW }>().await;
    rollups_see_their_transaction::<{ sample::WINDOW_OBJECT }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollups_of_hybrid_buckets_see_what_their_transaction_has_written_and_others_do_not() {
    rollups_see_their_transaction::<{ sample::HYBRID_MERGE }>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rollups_of_counted_buckets_see_what_their_transaction_has_written_and_others_do_not() {
    rollups_see_their_transaction::<{ sample::COUNT }>().await;
    rollups_see_their_transaction::<{ sample::NUMBERED }>().await;
}

/// All reads of a transaction, including those by id and those before the range, see one moment.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_reads_the_state_at_its_beginning() {
    const F: usize = sample::COUNT;
    let before: Vec<Sample<F>> = (0..40).map(|n| record("1", n * 250 + 3_000, n)).collect();
    let (database, buckets) = filled(&before).await;
    let known = Known::new(&buckets, before).await;
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    check(&buckets, Some(&mut session), &known).await;
    let later: Vec<Sample<F>> = (0..30)
        .map(|n| record("1", n * 700 - 2_500, 100 + n))
        .collect();
    store(&buckets, &later).await;
    check(&buckets, Some(&mut session), &known).await;
    session.commit_transaction().await.unwrap();
}
