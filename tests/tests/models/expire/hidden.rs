//! Expired records are hidden, whether they are stored or not.

use std::collections::BTreeSet;

use bucket_mongo::bson::DateTime;

use super::{
    models::{Event, LIMIT_S},
    shown::shown,
    stored::{ago, database, documents, numbers, removed},
};

/// Ages around the limit, but none so near that the clock could decide.
fn ages() -> impl Iterator<Item = i64> {
    (0..60)
        .map(|n| 7_000 - n * 120)
        .filter(|age| (age - LIMIT_S).abs() > 300)
}

pub(crate) async fn reads_show_the_same_before_and_after_the_server_has_removed_buckets<
    L: Event,
    S: Event,
    W: Event,
>() {
    let database = database().await;
    let long = L::buckets(&database);
    long.ensure().await.unwrap();
    let now = DateTime::now();
    // Key 1 has a history, key 2 only an old open bucket, and key 3 a clock that is years ahead.
    let history: Vec<L> = ages()
        .enumerate()
        .map(|(n, age)| L::of(1, ago(now, age), i64::try_from(n).unwrap()))
        .collect();
    for part in history.chunks(7) {
        long.insert_many(part).await.unwrap().into_result().unwrap();
    }
    long.insert(&L::of(2, ago(now, 7_200), 1_000))
        .await
        .unwrap();
    let future = DateTime::from_millis(now.timestamp_millis() + 1_000 * 86_400_000);
    long.insert(&L::of(3, future, 2_000)).await.unwrap();
    // Enough to fill a bucket of each form with old ones only.
    for n in 0..50 {
        let old = L::of(3, ago(now, 7_000 - n), 2_001 + n);
        long.insert(&old).await.unwrap();
    }
    for n in 0..9 {
        let new = L::of(3, ago(now, 100 - n), 2_100 + n);
        long.insert(&new).await.unwrap();
    }

    let short = S::buckets(&database);
    let before = [
        shown(&short, 1).await,
        shown(&short, 2).await,
        shown(&short, 3).await,
    ];
    let before_removal = documents(&database).await;
    assert_eq!(documents(&database).await.len(), before_removal.len());
    let visible: BTreeSet<i64> = history
        .iter()
        .zip(ages())
        .filter(|(_, age)| *age < LIMIT_S)
        .map(|(record, _)| record.number())
        .collect();
    assert_eq!(
        before[0].records.iter().copied().collect::<BTreeSet<_>>(),
        visible
    );
    assert_eq!(before[0].records.len(), visible.len());
    assert!(before[1].records.is_empty());
    let third: BTreeSet<i64> = before[2].records.iter().copied().collect();
    let expected: BTreeSet<i64> = [2_000].into_iter().chain(2_100..2_109).collect();
    assert_eq!(third, expected);
    for shown in &before {
        assert_eq!(shown.count, u64::try_from(shown.records.len()).unwrap());
        assert_eq!(shown.page_count, u64::try_from(shown.pages.len()).unwrap());
        assert_eq!(shown.pages.concat(), shown.records);
        let by_number: Vec<Vec<i64>> = shown
            .by_number
            .iter()
            .filter(|page| !page.is_empty())
            .cloned()
            .collect();
        let pages: Vec<Vec<i64>> = shown
            .pages
            .iter()
            .filter(|page| !page.is_empty())
            .cloned()
            .collect();
        assert_eq!(by_number, pages);
    }

    short.ensure().change_expiry().await.unwrap();
    let left = removed::<S>(&database).await;
    assert!(left.len() < before_removal.len());
    let after = [
        shown(&short, 1).await,
        shown(&short, 2).await,
        shown(&short, 3).await,
    ];
    assert_eq!(after, before);
    // Buckets that accept records stay: the open bucket of the idle key.
    let idle = left
        .iter()
        .filter(|bucket| bucket.get_i64("device").unwrap() == 2)
        .count();
    let has_open = S::SPEC.open_index_name().is_some();
    assert_eq!(idle, usize::from(has_open));
    // The old records of the key with the wrong clock were not pinned by it.
    let pinned: Vec<i64> = numbers(&left)
        .into_iter()
        .filter(|n| (2_001..2_051).contains(n))
        .collect();
    assert!(pinned.len() < 30, "{pinned:?}");
}
