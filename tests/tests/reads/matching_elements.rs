//! Filters that name an element of an array by its number.

use bucket_mongo::{
    AttributeFilter, Bucketed, FieldPath,
    bson::{Bson, DateTime, Document, bson, doc},
};
use futures_util::TryStreamExt as _;
use serde::{Deserialize, Serialize};

use bucket_tests::database;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "lists", items = "items", capacity = 1)]
struct List {
    #[bucket(key)]
    device: i32,
    #[bucket(time)]
    at: DateTime,
    number: i32,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    value: Option<Bson>,
}

/// Arrays, arrays in arrays and in documents, and documents whose fields are numbers.
fn values() -> Vec<Bson> {
    vec![
        bson!(null),
        bson!(5),
        bson!([]),
        bson!([5]),
        bson!([null, 5]),
        bson!([5, null]),
        bson!([1, 5]),
        bson!([[5], 1]),
        bson!([1, [5, null]]),
        bson!([[], [[5]]]),
        bson!([[{ "of": 5 }], 1]),
        bson!({ "0": 5 }),
        bson!({ "0": [5, 1], "1": null }),
        bson!({ "of": [5, 1] }),
        bson!({ "of": 5 }),
        bson!([{ "of": 5 }]),
        bson!([{ "of": 1 }, { "of": 5 }]),
        bson!([{ "of": [1, 5] }, 1]),
        bson!([{ "of": null }, { "0": 5 }]),
        bson!([{ "0": { "of": 5 } }]),
        bson!([{ "0": 1, "1": 5 }, { "1": [5] }]),
        bson!([1, { "of": [{ "0": 5 }] }]),
        bson!([{ "other": 1 }, { "of": 5 }]),
        bson!([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5]),
    ]
}

#[tokio::test]
async fn a_number_in_a_path_is_an_element_or_a_field_as_on_the_server() {
    let database = database().await;
    let lists = List::buckets(&database);
    lists.ensure().await.unwrap();
    let stored = values().into_iter().map(Some).chain([None]);
    let stored = (0..).zip(stored).map(|(number, value)| List {
        device: 1,
        at: DateTime::from_millis(i64::from(number) * 1_000),
        number,
        value,
    });
    let stored: Vec<List> = stored.collect();
    let report = lists.insert_many(&stored).await.unwrap();
    report.into_result().unwrap();
    let paths = [
        "items.value.0",
        "items.value.1",
        "items.value.00",
        "items.value.+1",
        "items.value.10",
        "items.value.0.0",
        "items.value.0.1",
        "items.value.1.0",
        "items.value.1.1",
        "items.value.0.of",
        "items.value.1.of",
        "items.value.of.0",
        "items.value.of.1",
        "items.value.0.of.0",
        "items.value.0.of.1",
        "items.value.1.of.0",
        "items.value.1.of.0.0",
        "items.value.0.0.of",
        "items.value.1.0.0",
        "items.value.0.other",
        "items.value.of.of",
    ];
    let mut differing = Vec::new();
    for path in paths {
        let field = || FieldPath::new(path);
        let mut filters: Vec<AttributeFilter> = vec![
            field().exists(),
            field().is_missing(),
            field().eq(5),
            field().lt(3),
            field().between(2..6),
            field().is_in([1, 9]),
        ];
        filters.extend(
            [
                doc! { path: { "$not": { "$gte": 5 } } },
                doc! { path: { "$ne": 5 } },
                doc! { path: { "$type": "number" } },
                doc! { path: { "$elemMatch": { "of": 5 } } },
                doc! { path: { "$in": [null] } },
            ]
            .map(AttributeFilter::from),
        );
        for filter in filters {
            let found = lists.records(1).matching(filter.clone()).collect().await;
            let found: Vec<i32> = found.unwrap().iter().map(|of| of.number).collect();
            let expected = on_the_server(&lists.collection(), &filter).await;
            if found != expected {
                differing.push(format!("{filter:?}: {found:?}, the server: {expected:?}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}: {differing:#?}", differing.len());
}

async fn on_the_server(
    lists: &bucket_mongo::mongodb::Collection<Document>,
    filter: &AttributeFilter,
) -> Vec<i32> {
    let stages = [
        doc! { "$unwind": "$items" },
        doc! { "$match": Document::from(filter.clone()) },
        doc! { "$sort": { "items.number": 1 } },
        doc! { "$replaceWith": { "number": "$items.number" } },
    ];
    let found: Vec<Document> = lists
        .aggregate(stages)
        .await
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    found
        .iter()
        .map(|of| of.get_i32("number").unwrap())
        .collect()
}
