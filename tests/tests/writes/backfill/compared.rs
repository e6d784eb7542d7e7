//! Comparisons: what only one side has is named, to the record, and nothing else.

use std::collections::HashMap;

use bucket_mongo::{Comparison, action::Difference, bson::Bson};
use bucket_tests::Load;

use super::*;

/// What is missing by its `_id`, and what is extra by its number.
fn named(comparison: &Comparison) -> (Vec<i64>, Vec<i64>) {
    let number = |one: &&Difference| one.record.get_i64("number").unwrap();
    let all = comparison.differences.iter();
    let (missing, extra): (Vec<_>, Vec<_>) = all.partition(|one| one.missing.is_some());
    let numbers = |of: Vec<&Difference>| {
        let mut numbers: Vec<i64> = of.iter().map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    (numbers(missing), numbers(extra))
}

async fn is_the_same_after_a_backfill<T: Event>() {
    let database = database().await;
    let buckets = handle::<T>(&database).await;
    let records = fill::<T>(&database, 3, 2_000).await;
    let source = flat(&database);
    let before = buckets.compare_with(&source).await.unwrap();
    assert_eq!((before.missing, before.extra), (2_000, 0), "{before}");
    assert!(!before.is_same() && before.is_complete);
    assert_eq!(before.differences.len(), 100);

    let _ = buckets.backfill_from(&source).await.unwrap();
    let same = buckets.compare_with(&source).await.unwrap();
    assert!(same.is_same(), "{same}\n{:?}", same.differences);
    assert_eq!((same.documents, same.records), (2_000, 2_000));

    // One is stored twice, one goes, one changes on each side, and one document is new.
    let twice = &records[700];
    buckets.offer([twice.clone()]).await;
    let refs = buckets.range(T::of("d1", 4).key(), ..).with_refs().await;
    let gone = refs.unwrap().swap_remove(5);
    buckets
        .delete(T::of("d1", 4).key(), &gone.reference)
        .await
        .unwrap();
    source
        .update_one(
            doc! { "number": 1_000_i64 },
            doc! { "$set": { "value": -0.5 } },
        )
        .await
        .unwrap();
    source
        .insert_one(doc! { "device": "new", "at": date(1), "number": 9_000_i64, "value": -0.0 })
        .await
        .unwrap();
    let changed = buckets.compare_with(&source).await.unwrap();
    let (missing, extra) = named(&changed);
    assert_eq!(missing, [gone.record.number(), 1_000, 9_000], "{changed}");
    let is_kept = T::SPEC.record() != "Identified";
    let expected: Vec<i64> = is_kept.then_some(700).into_iter().chain([1_000]).collect();
    assert_eq!(extra, expected, "{changed}");
    assert_eq!((changed.missing, changed.extra), (3, expected.len() as u64));
    let id_of_new = source
        .find_one(doc! { "device": "new" })
        .await
        .unwrap()
        .unwrap();
    let new = changed
        .differences
        .iter()
        .find(|one| one.missing.as_ref() == id_of_new.get("_id"));
    assert_eq!(new.unwrap().record.get_str("device").unwrap(), "new");
}

macro_rules! forms {
    ($($name:ident $model:ident;)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            is_the_same_after_a_backfill::<$model>().await;
        }
    )*};
}

forms! {
    differences_of_count_buckets_are_named Counted;
    differences_of_windows_are_named Windowed;
    differences_of_windows_with_object_ids_are_named WindowedObjects;
    differences_of_parts_are_named Parts;
    differences_of_hybrid_buckets_are_named Hybrid;
    differences_of_numbered_buckets_are_named Numbered;
    differences_of_buckets_with_a_size_are_named Bytes;
    differences_of_records_with_ids_are_named Identified;
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_and_merged_buckets_compare_as_the_rows_did() {
    let database = database().await;
    let buckets = handle::<Merged>(&database).await;
    fill::<Merged>(&database, 3, 2_000).await;
    let source = flat(&database);
    let _ = buckets.backfill_from(&source).await.unwrap();
    assert!(buckets.seal().await.unwrap().buckets > 10);
    let merged = buckets.merge().settled(Duration::ZERO).await.unwrap();
    assert!(merged.merged > 0, "{merged}");
    let same = buckets.compare_with(&source).await.unwrap();
    assert!(same.is_same(), "{same}\n{:?}", same.differences);
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_no_records_are_named_and_nothing_is_the_same_with_them() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    fill::<Counted>(&database, 2, 50).await;
    let source = flat(&database);
    let foreign =
        doc! { "_id": 5, "device": "d0", "at": date(1), "number": 1_i64, "value": 0.5, "__v": 1 };
    source.insert_one(foreign).await.unwrap();
    source
        .insert_one(doc! { "_id": "none", "device": "d0" })
        .await
        .unwrap();
    let _ = buckets.backfill_from(&source).await.unwrap();
    let found = buckets.compare_with(&source).await.unwrap();
    assert_eq!(
        (found.documents, found.records, found.rejected),
        (50, 50, 2)
    );
    assert_eq!(
        (found.missing, found.extra, found.is_same()),
        (0, 0, false),
        "{found}"
    );
    let ids: Vec<&Bson> = found.rejects.iter().map(|one| &one.id).collect();
    assert!(ids.contains(&&Bson::Int32(5)) && ids.contains(&&Bson::String("none".into())));
    assert!(found.rejects.iter().any(|one| one.reason.contains("__v")));
    // Without its field it is a record that the buckets lack.
    let found = buckets
        .compare_with(&source)
        .ignore_fields(["__v"])
        .await
        .unwrap();
    assert_eq!((found.rejected, found.missing), (1, 1), "{found}");
    assert_eq!(found.differences[0].missing, Some(Bson::Int32(5)));
}

#[tokio::test(flavor = "multi_thread")]
async fn only_records_of_the_range_are_compared() {
    let database = database().await;
    let buckets = handle::<Windowed>(&database).await;
    fill::<Windowed>(&database, 2, 300).await;
    let source = flat(&database);
    let _ = buckets.backfill_from(&source).await.unwrap();
    buckets
        .load([Windowed::of("d0", 300), Windowed::of("later", 400)])
        .await;
    source.delete_one(doc! { "number": 17_i64 }).await.unwrap();
    let all = buckets.compare_with(&source).await.unwrap();
    assert_eq!(named(&all), (vec![], vec![17, 300, 400]), "{all}");
    let until = buckets
        .compare_with(&source)
        .between(..date(300))
        .await
        .unwrap();
    assert_eq!(named(&until), (vec![], vec![17]), "{until}");
    let part = buckets
        .compare_with(&source)
        .between(date(18)..date(300))
        .await
        .unwrap();
    assert!(part.is_same(), "{part}");
    assert_eq!((part.documents, part.records), (282, 282));
    let reversed = buckets
        .compare_with(&source)
        .between(date(2)..date(1))
        .await;
    assert!(reversed.unwrap_err().is_invalid_input());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_compared_is_refused() {
    let database = database().await;
    let buckets = handle::<Counted>(&database).await;
    let view = doc! { "create": "view", "viewOn": "flat", "pipeline": [] };
    database.run_command(view).await.unwrap();
    for (name, text) in [
        ("view", "no plain collection"),
        ("events", "the collection of the buckets"),
        ("nowhere", "there is no collection"),
    ] {
        let source = database.collection::<Document>(name);
        let error = buckets.compare_with(&source).await.unwrap_err();
        assert!(
            error.is_invalid_input() && error.to_string().contains(text),
            "{error}"
        );
    }
    database.create_collection("flat").await.unwrap();
    let empty = buckets.compare_with(&flat(&database)).await.unwrap();
    assert!(empty.is_same(), "{empty}");
    assert_eq!(empty.to_string(), "0 documents and 0 records: the same");
}

/// A record whose map has its entries in another order each time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "maps", items = "items", capacity = 20)]
struct Mapped {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    values: HashMap<String, f64>,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_a_map_is_no_difference() {
    let database = database().await;
    let buckets = Mapped::buckets(&database).with_deadline(PATIENCE);
    buckets.ensure().await.unwrap();
    let records: Vec<Mapped> = (0..200)
        .map(|number| Mapped {
            device: format!("d{}", number % 3),
            at: date(number),
            values: (0..20)
                .map(|value| (format!("v{value}"), f64::from(value)))
                .collect(),
        })
        .collect();
    database
        .collection::<Mapped>("flat")
        .insert_many(&records)
        .await
        .unwrap();
    buckets.load(&records).await;
    let mut told = 0;
    let source = flat(&database);
    let comparing = buckets.compare_with(&source).on_progress(|_| told += 1);
    let same = comparing.await.unwrap();
    assert!(same.is_same(), "{same}");
    assert!(told > 0);
}
