//! Documents with attributes through their handle: stored, found, and the errors.

use bucket_mongo::{
    Attributed, Documents, ErrorKind,
    bson::{Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{database, documents};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::common::explained::explain;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "height", u = "inches"))]
    height_inches: Option<i32>,
}

fn bottle(id: i32) -> Bottle {
    Bottle {
        id,
        volume_ml: (id % 3 != 0).then_some(id * 10),
        height_inches: (id % 2 == 0).then_some(id),
    }
}

async fn bottles(numbers: std::ops::RangeInclusive<i32>) -> (TestDatabase, Documents<Bottle>) {
    let database = database().await;
    let bottles = Bottle::documents(&database);
    bottles.ensure().await.unwrap();
    let all: Vec<Bottle> = numbers.map(bottle).collect();
    let report = bottles.insert_many(&all).await.unwrap();
    assert_eq!(report.stored(), all.len());
    (database, bottles)
}

#[tokio::test]
async fn what_is_stored_is_found_by_its_attributes() {
    let (_database, bottles) = bottles(1..=60).await;
    let volume = || Bottle::specs().volume().ml();
    let found = bottles.find(volume().gte(500)).sort(doc! { "_id": 1 });
    let expected: Vec<Bottle> = (50..=60).filter(|id| id % 3 != 0).map(bottle).collect();
    assert_eq!(found.await.unwrap(), expected);
    let first = bottles.find(volume().gte(500)).sort(doc! { "_id": 1 });
    assert_eq!(first.limit(2).await.unwrap(), expected[..2]);
    let stream = bottles.find(volume().exists()).stream();
    assert_eq!(stream.count().await, 40);
    assert!(bottles.find(volume().eq(1)).await.unwrap().is_empty());

    bottles.insert(&bottle(1_000)).await.unwrap();
    let found = bottles.find(volume().eq(10_000)).await.unwrap();
    assert_eq!(found, [bottle(1_000)]);
}

#[tokio::test]
async fn the_index_is_created_once_and_an_equivalent_one_is_kept() {
    let database = database().await;
    let bottles = Bottle::documents(&database);
    let first = bottles.ensure().await.unwrap();
    assert_eq!(first.to_string(), "created `attributes_specs`");
    let again = bottles.ensure().await.unwrap();
    assert_eq!(again.to_string(), "found `attributes_specs`");

    let collection = bottles.collection::<Document>();
    collection.drop_index("attributes_specs").await.unwrap();
    let keys = doc! { "specs.k": 1, "specs.u": 1, "specs.v": 1 };
    let command = doc! {
        "createIndexes": "bottles", "indexes": [{ "key": keys, "name": "by_hand" }],
    };
    database.run_command(command).await.unwrap();
    let report = bottles.ensure().await.unwrap();
    assert_eq!(report.to_string(), "found `by_hand`");
}

/// What `ensure` reports the first and the second time if this index exists, and then the names of
/// all indexes.
async fn ensured(index: Document, options: Document) -> (String, Vec<String>) {
    let database = database().await;
    let bottles = Bottle::documents(&database);
    let mut create = doc! { "create": "bottles" };
    create.extend(options);
    database.run_command(create).await.unwrap();
    let command = doc! { "createIndexes": "bottles", "indexes": [index] };
    database.run_command(command).await.unwrap();
    let report = bottles.ensure().await.unwrap();
    let again = bottles.ensure().await.unwrap();
    assert_eq!(again.drift, report.drift);
    assert!(again.created_indexes.is_empty(), "{again}");
    let collection = bottles.collection::<Document>();
    let mut names = collection.list_index_names().await.unwrap();
    names.sort_unstable();
    (report.to_string(), names)
}

#[tokio::test]
async fn an_index_is_recognised_by_its_keys_and_options_and_not_by_its_name() {
    let keys = || doc! { "specs.k": 1, "specs.u": 1, "specs.v": 1 };
    let of_shell = doc! { "specs.k": 1.0, "specs.u": 1_i64, "specs.v": 1.0 };
    let (text, names) = ensured(doc! { "key": of_shell, "name": "old" }, doc! {}).await;
    assert_eq!((text.as_str(), names.len()), ("found `old`", 2));

    // An index with another key order, or one that leaves out documents: the model's own index is
    // created next to it.
    let backwards = doc! { "specs.v": 1, "specs.u": 1, "specs.k": 1 };
    let partial = doc! { "_id": { "$gt": 5 } };
    let english = doc! { "locale": "en", "strength": 2 };
    for other in [
        doc! { "key": backwards.clone(), "name": "other" },
        doc! { "key": keys(), "name": "other", "partialFilterExpression": partial.clone() },
        doc! { "key": keys(), "name": "other", "collation": english.clone() },
        doc! { "key": keys(), "name": "other", "sparse": true },
    ] {
        let (text, names) = ensured(other.clone(), doc! {}).await;
        assert_eq!(text, "created `attributes_specs`", "{other}");
        assert_eq!(names, ["_id_", "attributes_specs", "other"], "{other}");
    }

    // A conflicting index is named, whatever its name is, and does not change.
    for other in [
        doc! { "key": keys(), "name": "by_hand", "hidden": true },
        doc! { "key": keys(), "name": "attributes_specs", "hidden": true },
        doc! { "key": backwards, "name": "attributes_specs" },
        doc! { "key": { "specs": 1 }, "name": "attributes_specs" },
        doc! { "key": { "specs.v": "text" }, "name": "attributes_specs" },
        doc! { "key": keys(), "name": "attributes_specs", "partialFilterExpression": partial },
    ] {
        let name = other.get_str("name").unwrap().to_owned();
        let (text, names) = ensured(other.clone(), doc! {}).await;
        let expected = format!("created none\ndrift: index `{name}` is {{");
        assert!(text.starts_with(&expected), "{other}: {text}");
        assert_eq!(names, ["_id_", name.as_str()], "{other}");
    }

    // The default collation of a collection applies to its queries and its indexes.
    let index = doc! { "key": { "other": 1 }, "name": "other" };
    let (text, _) = ensured(index, doc! { "collation": english }).await;
    assert_eq!(text, "created `attributes_specs`");
}

#[tokio::test]
async fn a_duplicate_or_unstorable_document_is_an_error_that_says_so() {
    let (database, bottles) = bottles(1..=3).await;
    let error = bottles.insert(&bottle(2)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::DuplicateKey { .. }),
        "{error:?}"
    );
    assert!(
        error.to_string().starts_with("insert on `bottles` for 2: "),
        "{error}"
    );
    let all: Vec<Bottle> = (3..=6).map(bottle).collect();
    let report = bottles.insert_many(&all).await.unwrap();
    let error = report.into_result().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::DuplicateKey { .. }),
        "{error:?}"
    );
    assert_eq!(documents(&database, "bottles").await.len(), 6);
}

#[tokio::test]
async fn a_document_of_another_shape_is_named_and_the_others_are_read() {
    let (_database, bottles) = bottles(1..=3).await;
    let collection = bottles.collection::<Document>();
    for (id, specs) in [
        (10, doc! { "specs": "none" }),
        (11, doc! { "specs": [{ "k": "weight", "v": 1 }] }),
        (12, doc! { "specs": [{ "v": 1 }] }),
        (
            13,
            doc! { "specs": [{ "k": "volume", "v": "500", "u": "ml" }] },
        ),
    ] {
        let mut document = doc! { "_id": id };
        document.extend(specs);
        collection.insert_one(document).await.unwrap();
        let error = bottles.find(doc! { "_id": id }).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Document(_)), "{error:?}");
        let text = error.to_string();
        assert!(
            text.contains(&format!("document {id}")) && text.contains("`specs`"),
            "{text}"
        );
    }
    let stream = bottles.find(doc! {}).stream();
    let found: Vec<_> = stream.collect().await;
    let right = found.iter().filter(|found| found.is_ok()).count();
    assert_eq!((right, found.len()), (3, 7));
}

#[tokio::test]
async fn a_transaction_sees_its_own_documents_and_others_do_not() {
    let (database, bottles) = bottles(1..=3).await;
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    bottles
        .insert(&bottle(4))
        .session(&mut session)
        .await
        .unwrap();
    let inside = bottles.find(doc! {}).session(&mut session).await.unwrap();
    let streamed = bottles.find(doc! {}).session(&mut session).stream();
    let streamed: Vec<Bottle> = streamed.try_collect().await.unwrap();
    assert_eq!(streamed, inside);
    assert_eq!(
        (inside.len(), bottles.find(doc! {}).await.unwrap().len()),
        (4, 3)
    );
    session.abort_transaction().await.unwrap();
    assert_eq!(bottles.find(doc! {}).await.unwrap().len(), 3);
}

macro_rules! indexed {
    ($($name:ident: $index:literal;)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
        #[bucket(collection = "movies")]
        #[bucket(attributes(array = "releases", k = "location", v = "date", index = $index))]
        struct $name {
            #[serde(rename = "_id")]
            id: i32,
            #[bucket(attribute(array = "releases", k = "USA"))]
            usa: Option<i32>,
            #[bucket(attribute(array = "releases", k = "France"))]
            france: Option<i32>,
        }
    )*};
}

indexed! {
    ByKeyAndValue: "key_unit_value";
    ByValue: "key_value_unit";
    Whole: "whole";
    Wildcard: "wildcard";
    Unindexed: "none";
}

/// The keys of the index that `ensure` creates, and what the server examined for a filter: index
/// keys and documents.
async fn examined<T: Attributed>(all: &[T], filter: Document) -> (Option<Document>, (i64, i64)) {
    let database = database().await;
    let movies = T::documents(&database);
    movies.ensure().await.unwrap();
    movies
        .insert_many(all)
        .await
        .unwrap()
        .into_result()
        .unwrap();
    let indexes = movies
        .collection::<Document>()
        .list_indexes()
        .await
        .unwrap();
    let indexes: Vec<_> = indexes.try_collect().await.unwrap();
    let own = indexes
        .into_iter()
        .map(|index| index.keys)
        .find(|keys| !keys.contains_key("_id"));
    let explained = explain(&database, doc! { "find": "movies", "filter": filter }).await;
    (own, (explained.keys, explained.documents))
}

#[tokio::test]
async fn each_index_that_a_model_can_request_serves_its_purpose() {
    let france = |n: i32| (n % 50 == 7).then_some(n);
    macro_rules! examined {
        ($name:ident, $filter:expr) => {{
            let all = (0..200).map(|id| $name {
                id,
                usa: Some(id),
                france: france(id),
            });
            examined::<$name>(&all.collect::<Vec<_>>(), $filter).await
        }};
    }
    let (keys, figures) = examined!(
        ByKeyAndValue,
        ByKeyAndValue::releases().france().gt(100).into()
    );
    assert_eq!(
        keys,
        Some(doc! { "releases.location": 1, "releases.date": 1 })
    );
    assert_eq!(figures, (2, 2));
    let (keys, figures) = examined!(ByValue, ByValue::releases().france().gt(100).into());
    assert_eq!(
        keys,
        Some(doc! { "releases.location": 1, "releases.date": 1 })
    );
    assert_eq!(figures, (2, 2));

    // The manual's index: for equality with an entire entry, whose fields are in this order.
    let entry = doc! { "releases": { "location": "France", "date": 57 } };
    let (keys, figures) = examined!(Whole, entry);
    assert_eq!(keys, Some(doc! { "releases": 1 }));
    assert_eq!(figures, (1, 1));
    let (_, figures) = examined!(Whole, Whole::releases().france().gt(100).into());
    assert_eq!(figures.1, 200);

    // It serves one of two conditions on one entry.
    let (keys, figures) = examined!(Wildcard, Wildcard::releases().france().gt(100).into());
    assert_eq!(keys, Some(doc! { "releases.$**": 1 }));
    assert!((1..200).contains(&figures.1), "{figures:?}");
    let (keys, figures) = examined!(Unindexed, Unindexed::releases().france().gt(100).into());
    assert_eq!((keys, figures), (None, (0, 200)));
}
