//! What `verify` and `repair` make of merged buckets.

use super::*;

/// As a dump that is restored over the collection inserts it.
#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_was_merged_and_comes_again_moves_into_the_quarantine() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    let expected = all(&readings, 1).await;
    let stored = readings.collection::<Document>();
    let third = doc! { "bucket_start": date(START + 3 * HOUR) };
    let rows = stored.find_one(third.clone()).await.unwrap().unwrap();
    readings.seal().after(Duration::ZERO).await.unwrap();
    let packed = stored.find_one(third).await.unwrap().unwrap();
    assert_eq!(seal_and_merge(&readings).await, 10);
    for again in [rows, packed] {
        stored.insert_one(&again).await.unwrap();
        assert_eq!(all(&readings, 1).await.len(), 132);
        let found = readings.verify().await.unwrap();
        let kinds: Vec<ProblemKind> = found.findings.iter().map(|of| of.problem.kind()).collect();
        assert_eq!(kinds, [ProblemKind::SamePlace], "{found}");
        let dry = readings.repair(&found).dry_run().await.unwrap();
        let repaired = readings.repair(&found).await.unwrap();
        assert_eq!((repaired.quarantined, repaired.fine), (1, 0), "{repaired}");
        assert_eq!(dry.quarantined, 1, "{dry}");
        assert_eq!(all(&readings, 1).await, expected);
        sound(&readings).await;
    }
}

/// The one that comes again was itself made of several.
#[tokio::test(flavor = "multi_thread")]
async fn a_merged_bucket_that_comes_again_moves_into_the_quarantine() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    let expected = all(&readings, 1).await;
    readings.seal().after(Duration::ZERO).await.unwrap();
    let part = date(START + 3 * HOUR)..date(START + 6 * HOUR);
    let merge = readings.merge().settled(Duration::ZERO);
    let stored = readings.collection::<Document>();
    let rest = doc! { "bucket_start": { "$lt": date(START + 3 * HOUR) } };
    let first: Vec<Document> = stored
        .find(rest.clone())
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    stored.delete_many(rest).await.unwrap();
    let later = doc! { "bucket_start": { "$gte": date(START + 6 * HOUR) } };
    let last: Vec<Document> = stored
        .find(later.clone())
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    stored.delete_many(later).await.unwrap();
    assert_eq!(merge.between(part).await.unwrap().buckets, 3);
    let merged = stored.find_one(doc! {}).await.unwrap().unwrap();
    stored.insert_many(first.iter().chain(&last)).await.unwrap();
    let report = readings.merge().settled(Duration::ZERO).await.unwrap();
    assert_eq!((report.buckets, report.merged), (8, 1), "{report}");
    stored.insert_one(&merged).await.unwrap();
    assert_eq!(all(&readings, 1).await.len(), 120 + 36);
    let found = readings.verify().await.unwrap();
    let repaired = readings.repair(&found).await.unwrap();
    assert_eq!((repaired.quarantined, repaired.fine), (1, 0), "{repaired}");
    assert_eq!(all(&readings, 1).await, expected);
    sound(&readings).await;
}

/// What a dump from between two merges has: a merged bucket inside of that of today, and windows that were merged later. One
/// of them had two parts.
#[tokio::test(flavor = "multi_thread")]
async fn all_that_comes_again_beside_a_merged_bucket_is_found_at_once() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    readings.seal().after(Duration::ZERO).await.unwrap();
    // Late ones, which get a part of their own.
    readings.load((0..6).map(|_| reading(1, 7 * 12))).await;
    readings.seal().after(Duration::ZERO).await.unwrap();
    let expected = all(&readings, 1).await;
    let stored = readings.collection::<Document>();
    let of_hours = |from: i64, to: i64| {
        let hours = date(START + from * HOUR)..date(START + to * HOUR);
        doc! { "bucket_start": { "$gte": hours.start, "$lt": hours.end } }
    };
    let take = async |filter: Document| {
        let found = stored.find(filter.clone()).await.unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        stored.delete_many(filter).await.unwrap();
        found
    };
    let first = take(of_hours(0, 3)).await;
    let last = take(of_hours(6, 10)).await;
    assert_eq!((first.len(), last.len()), (3, 5));
    let merge = async || {
        let merge = readings.merge().settled(Duration::ZERO);
        merge.await.unwrap().merged
    };
    assert_eq!(merge().await, 1);
    let inner = take(doc! {}).await;
    stored
        .insert_many(first.iter().chain(&inner))
        .await
        .unwrap();
    stored.insert_many(&last).await.unwrap();
    assert_eq!(merge().await, 1);
    assert_eq!(self::stored(&readings).await, 1);
    assert_eq!(all(&readings, 1).await, expected);
    // The windows without a merged one before them, or with it, or only that.
    let dumps = [last.clone(), [inner.clone(), last].concat(), inner];
    for dump in dumps {
        stored.insert_many(&dump).await.unwrap();
        let found = readings.verify().await.unwrap();
        let harmful = found.findings.iter().filter(|it| it.is_harmful());
        let kinds: Vec<ProblemKind> = harmful.map(|of| of.problem.kind()).collect();
        assert_eq!(kinds, vec![ProblemKind::SamePlace; dump.len()], "{found}");
        let repaired = readings.repair(&found).await.unwrap();
        let number = u64::try_from(dump.len()).unwrap();
        assert_eq!(
            (repaired.quarantined, repaired.fine),
            (number, 0),
            "{repaired}"
        );
        assert_eq!(all(&readings, 1).await, expected);
        sound(&readings).await;
    }
}

/// What it meets first is in the middle of what was merged.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_goes_on_knows_what_was_merged_before() {
    let database = database().await;
    let readings = stored_readings(&database, 120).await;
    assert_eq!(seal_and_merge(&readings).await, 10);
    let mut positions = Vec::new();
    for hour in 1..10 {
        // A bucket of its own, the last one so far.
        readings.insert(&reading(1, hour * 12)).await.unwrap();
        let report = readings.verify().await.unwrap();
        assert!(report.is_clean(), "{report}");
        positions.push(report.position.unwrap());
    }
    assert_eq!(stored(&readings).await, 10);
    for position in &positions {
        let rest = readings.verify().after(position.clone()).await.unwrap();
        assert!(rest.is_clean(), "{rest}");
    }
    // What is missing is missed, whoever begins where.
    let buckets = readings.collection::<Document>();
    let seventh = doc! { "bucket_start": date(START + 7 * HOUR) };
    let part = buckets.find_one(seventh).await.unwrap().unwrap();
    let id = part.get_str("_id").unwrap().to_owned();
    let mut third = part.clone();
    third.insert("_id", format!("{}_3", id.strip_suffix("_1").unwrap()));
    let changed = doc! { "_id": &id };
    buckets.delete_one(changed).await.unwrap();
    buckets.insert_one(third).await.unwrap();
    for report in [
        readings.verify().await.unwrap(),
        readings.verify().after(positions[1].clone()).await.unwrap(),
    ] {
        let [finding] = &*report.findings else {
            panic!("{report}");
        };
        assert!(
            matches!(finding.problem, Problem::Gap { from: 1, to: 2, .. }),
            "{finding}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_merged_bucket_gets_its_span_back() {
    let database = database().await;
    let readings = stored_readings(&database, 300).await;
    seal_and_merge(&readings).await;
    let before = shown(&readings, 1).await;
    let stored = readings.collection::<Document>();
    let wrong = DateTime::from_millis(START + 3 * HOUR);
    for damage in [
        doc! { "$set": { "bucket_start": wrong } },
        doc! { "$set": { "bucket_end": wrong } },
        doc! { "$set": { "bucket_start": wrong, "bucket_end": wrong } },
        doc! { "$unset": { "bucket_end": "" } },
        doc! { "$set": { "bucket_start": "then" } },
    ] {
        stored.update_one(doc! {}, damage.clone()).await.unwrap();
        let report = readings.verify().await.unwrap();
        let report = readings.repair(&report).await.unwrap();
        assert_eq!(
            (report.mended, report.quarantined),
            (1, 0),
            "{damage}: {report}"
        );
        sound(&readings).await;
        assert_eq!(shown(&readings, 1).await, before, "{damage}");
    }
}
