//! Arrays of attributes on the server: the exact documents of the manual, each filter answered from
//! the index with the right documents, and the wrong results without `$elemMatch`.

use std::collections::BTreeMap;

use bucket_mongo::{
    Attributed,
    attribute::{self, AttributeFilter, OtherEntries},
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
    mongodb::{IndexModel, options::IndexOptions},
    testing::TestDatabase,
};
use bucket_tests::{database, date, documents};
use serde::{Deserialize, Serialize};

use crate::common::explained::explain;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", factor = 1))]
    volume_ml: Option<f64>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", factor = 29.5735))]
    volume_ounces: Option<f64>,
    #[bucket(attribute(array = "specs", k = "height", u = "inches"))]
    height_inches: Option<i32>,
    #[serde(default)]
    #[bucket(attribute(array = "specs", k = "color"))]
    color: Option<String>,
    #[serde(default)]
    #[bucket(attribute(array = "specs", rest))]
    others: OtherEntries,
}

/// The manual's bottle, whose values are text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "manual_bottles")]
struct ManualBottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml", text))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", text))]
    volume_ounces: Option<i32>,
    #[bucket(attribute(array = "specs", k = "height", u = "inches", text))]
    height_inches: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributed)]
#[bucket(collection = "movies")]
#[bucket(attributes(array = "releases", k = "location", v = "date"))]
struct Movie {
    #[serde(rename = "_id")]
    id: i32,
    title: String,
    runtime: i32,
    directors: Vec<String>,
    #[bucket(attribute(array = "releases", k = "USA"))]
    release_us: Option<DateTime>,
    #[bucket(attribute(array = "releases", k = "France"))]
    release_france: Option<DateTime>,
    #[bucket(attribute(array = "releases", k = "Italy"))]
    release_italy: Option<DateTime>,
    #[bucket(attribute(array = "releases", k = "UK"))]
    release_uk: Option<DateTime>,
    #[bucket(attribute(array = "releases", rest))]
    elsewhere: BTreeMap<String, DateTime>,
}

fn star_wars() -> Movie {
    Movie {
        id: 1,
        title: "Star Wars".to_owned(),
        runtime: 121,
        directors: vec!["George Lucas".to_owned()],
        release_us: Some(date("1977-05-20T01:00:00+01:00")),
        release_france: Some(date("1977-10-19T01:00:00+01:00")),
        release_italy: Some(date("1977-10-20T01:00:00+01:00")),
        release_uk: Some(date("1977-12-27T01:00:00+01:00")),
        elsewhere: BTreeMap::new(),
    }
}

/// Stores documents and creates their index.
async fn stored<T: Attributed>(database: &TestDatabase, all: &[T]) {
    let collection = database.collection::<RawDocumentBuf>(T::SPEC.collection());
    let encoded = all
        .iter()
        .map(|document| attribute::encode(document).unwrap());
    collection.insert_many(encoded).await.unwrap();
    for array in T::SPEC.arrays() {
        let keys = array.index_keys().pop().unwrap();
        let options = IndexOptions::builder().name(array.name.to_owned()).build();
        let model = IndexModel::builder().keys(keys).options(options).build();
        collection.create_index(model).await.unwrap();
    }
}

fn bottle(id: i32) -> Bottle {
    Bottle {
        id,
        volume_ml: (id % 3 != 0).then_some(f64::from(id)),
        volume_ounces: (id % 5 == 0).then_some(f64::from(id) / 10.0),
        height_inches: (id % 2 == 0).then_some(id % 40),
        color: (id % 7 == 0).then(|| match id % 3 {
            0 => "red".to_owned(),
            1 => "$ref".to_owned(),
            _ => "a.b".to_owned(),
        }),
        others: OtherEntries::default(),
    }
}

#[tokio::test]
async fn stored_documents_are_those_that_the_manual_prints() {
    let database = database().await;
    let bottle = ManualBottle {
        id: 1,
        volume_ml: Some(500),
        volume_ounces: Some(12),
        height_inches: Some(8),
    };
    stored(&database, std::slice::from_ref(&bottle)).await;
    let found = documents(&database, "manual_bottles").await;
    let expected = doc! { "_id": 1, "specs": [
        { "k": "volume", "v": "500", "u": "ml" },
        { "k": "volume", "v": "12", "u": "ounces" },
        { "k": "height", "v": "8", "u": "inches" },
    ] };
    assert_eq!(found, [expected]);

    stored(&database, &[star_wars()]).await;
    let found = documents(&database, "movies").await;
    let release = |location: &str, at: &str| doc! { "location": location, "date": date(at) };
    let expected = doc! {
        "_id": 1, "title": "Star Wars", "runtime": 121, "directors": ["George Lucas"],
        "releases": [
            release("USA", "1977-05-20T01:00:00+01:00"),
            release("France", "1977-10-19T01:00:00+01:00"),
            release("Italy", "1977-10-20T01:00:00+01:00"),
            release("UK", "1977-12-27T01:00:00+01:00"),
        ],
    };
    assert_eq!(found, [expected]);

    // And back again.
    let raw = database.collection::<RawDocumentBuf>("movies");
    let movie = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(attribute::decode::<Movie>(&movie).unwrap(), star_wars());
    let raw = database.collection::<RawDocumentBuf>("manual_bottles");
    let stored = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(attribute::decode::<ManualBottle>(&stored).unwrap(), bottle);
}

/// What a filter must find.
type Is = fn(&Bottle) -> bool;

/// The ids of the documents that a filter finds, and what the server examined for it.
async fn found(database: &TestDatabase, filter: AttributeFilter) -> (Vec<i32>, i64, i64, String) {
    let filter = Document::from(filter);
    let command = doc! { "find": "bottles", "filter": filter.clone() };
    let explained = explain(database, command).await;
    let bottles = database.collection::<RawDocumentBuf>("bottles");
    let mut cursor = bottles.find(filter).await.unwrap();
    let mut ids = Vec::new();
    while cursor.advance().await.unwrap() {
        ids.push(attribute::decode::<Bottle>(cursor.current()).unwrap().id);
    }
    ids.sort_unstable();
    (ids, explained.keys, explained.documents, explained.plan)
}

#[tokio::test]
async fn each_filter_is_right_and_answered_from_the_index() {
    let all: Vec<Bottle> = (1..=2_000).map(bottle).collect();
    let database = database().await;
    stored(&database, &all).await;
    let ml = || Bottle::specs().volume().ml();
    let height = || Bottle::specs().height().inches();
    let cases: [(&str, AttributeFilter, Is); 12] = [
        ("eq", ml().eq(500.0), |b| b.volume_ml == Some(500.0)),
        ("gt", ml().gt(1_990.0), |b| b.volume_ml > Some(1_990.0)),
        ("gte", ml().gte(1_990), |b| b.volume_ml >= Some(1_990.0)),
        ("lt", ml().lt(10), |b| b.volume_ml.is_some_and(|v| v < 10.0)),
        ("lte", ml().lte(10), |b| {
            b.volume_ml.is_some_and(|v| v <= 10.0)
        }),
        ("between", ml().between(500.0..520.0), |b| {
            b.volume_ml.is_some_and(|v| (500.0..520.0).contains(&v))
        }),
        ("is_in", ml().is_in([1.0, 2.0, 3.0, 4.0]), |b| {
            b.volume_ml.is_some_and(|v| v <= 4.0)
        }),
        ("other type", height().eq(8), |b| b.height_inches == Some(8)),
        ("text", Bottle::specs().color().eq("$ref"), |b| {
            b.color.as_deref() == Some("$ref")
        }),
        ("and", ml().lt(100).and(height().gte(20)), |b| {
            b.volume_ml.is_some_and(|v| v < 100.0) && b.height_inches >= Some(20)
        }),
        ("or", ml().lt(10).or(ml().gte(1_995)), |b| {
            b.volume_ml.is_some_and(|v| !(10.0..1_995.0).contains(&v))
        }),
        (
            "converted",
            Bottle::specs().volume().in_ml().gte(5_000.0),
            |b| b.volume_in_ml() >= Some(5_000.0),
        ),
    ];
    for (name, filter, is) in cases {
        let expected: Vec<i32> = all.iter().filter(|b| is(b)).map(|b| b.id).collect();
        assert!(!expected.is_empty(), "{name}");
        let (ids, keys, documents, plan) = found(&database, filter).await;
        assert_eq!(ids, expected, "{name}");
        assert!(plan.contains("IXSCAN"), "{name}: {plan}");
        let number = i64::try_from(expected.len()).unwrap();
        // `and` uses the index for one of its conditions; `is_in` also examines a key past each of
        // its values.
        let (most_keys, most_documents) = match name {
            "and" => (100, 100),
            "is_in" => (number + 4, number),
            // Documents that also have a number in the unit itself are examined.
            "converted" => (4 * number, 4 * number),
            _ => (number + 2, number),
        };
        assert!(keys <= most_keys, "{name}: {keys} keys for {number}");
        assert!(
            documents <= most_documents,
            "{name}: {documents} of {number}"
        );
    }

    // These have no bound on values, but one on the key.
    let exists = Bottle::specs().color().exists();
    let expected: Vec<i32> = all
        .iter()
        .filter(|b| b.color.is_some())
        .map(|b| b.id)
        .collect();
    let (ids, _, examined, plan) = found(&database, exists).await;
    assert_eq!((ids.len(), ids), (expected.len(), expected.clone()));
    assert!(plan.contains("IXSCAN"), "{plan}");
    assert_eq!(examined, i64::try_from(expected.len()).unwrap());
    let any = Bottle::specs().volume().any_unit().eq(5.0);
    let (ids, _, _, plan) = found(&database, any).await;
    assert_eq!(ids, [5, 50]);
    assert!(plan.contains("IXSCAN"), "{plan}");
    let missing = Bottle::specs().volume().ml().is_missing();
    let (ids, ..) = found(&database, missing).await;
    let expected: Vec<i32> = (1..=2_000).filter(|id| id % 3 == 0).collect();
    assert_eq!(ids, expected);
}

#[tokio::test]
async fn one_entry_meets_all_conditions_of_a_filter() {
    // A volume of 8 and a height of 500: no volume of 500.
    let mut mixed = bottle(1);
    mixed.volume_ml = Some(8.0);
    mixed.height_inches = Some(500);
    // One above and one below: none is between.
    let mut around = bottle(2);
    around.volume_ml = Some(400.0);
    around.volume_ounces = Some(600.0);
    let database = database().await;
    stored(&database, &[mixed, around]).await;
    let ml = || Bottle::specs().volume().ml();
    for filter in [
        ml().eq(500.0),
        ml().between(450.0..550.0),
        Bottle::specs().volume().any_unit().between(450.0..550.0),
    ] {
        let (ids, ..) = found(&database, filter.clone()).await;
        assert!(ids.is_empty(), "{filter:?} finds {ids:?}");
    }
    // What the same conditions find without `$elemMatch`.
    let bottles = database.collection::<Document>("bottles");
    let apart = doc! { "specs.k": "volume", "specs.u": "ml", "specs.v": 500 };
    assert_eq!(bottles.count_documents(apart).await.unwrap(), 1);
}

#[tokio::test]
async fn numbers_are_compared_as_numbers_and_never_with_text() {
    let database = database().await;
    stored(&database, &[bottle(8), bottle(500), bottle(1_000)]).await;
    let text = doc! { "_id": 2, "specs": [{ "k": "volume", "v": "500", "u": "ml" }] };
    let bottles = database.collection::<Document>("bottles");
    bottles.insert_one(text).await.unwrap();
    let ml = || Bottle::specs().volume().ml();
    let (ids, ..) = found(&database, ml().gte(8)).await;
    assert_eq!(ids, [8, 500, 1_000]);
    let (ids, ..) = found(&database, ml().lt(500)).await;
    assert_eq!(ids, [8]);

    // Text in place of a number is kept, and stored again unchanged.
    let raw = database.collection::<RawDocumentBuf>("bottles");
    let stored = raw.find_one(doc! { "_id": 2 }).await.unwrap().unwrap();
    let bottle: Bottle = attribute::decode(&stored).unwrap();
    assert_eq!((bottle.volume_ml, bottle.others.len()), (None, 1));
    assert_eq!(attribute::encode(&bottle).unwrap(), stored);
    // A struct that does not keep other entries reports the document and the entry.
    let number = doc! { "_id": 3, "specs": [{ "k": "volume", "v": 500, "u": "ml" }] };
    let stored = RawDocumentBuf::try_from(&number).unwrap();
    let error = attribute::decode::<ManualBottle>(&stored).unwrap_err();
    assert_eq!(
        error.to_string(),
        "document 3: entry 0 of `specs` is not the text of its value"
    );
}

#[tokio::test]
async fn keys_of_a_map_may_be_any_text() {
    let mut movie = star_wars();
    let there = date("1978-07-01T00:00:00Z");
    for place in ["$where", "a.b", "USA ", "", "\u{1f3ac}"] {
        movie.elsewhere.insert(place.to_owned(), there);
    }
    let database = database().await;
    stored(&database, std::slice::from_ref(&movie)).await;
    let raw = database.collection::<RawDocumentBuf>("movies");
    for place in movie.elsewhere.keys() {
        let at = || Movie::releases().location(place.clone());
        for (filter, matches) in [
            (at().eq(there), true),
            (at().since(there), true),
            (at().before(there), false),
        ] {
            let filter = Document::from(filter);
            let command = doc! { "find": "movies", "filter": filter.clone() };
            let explained = explain(&database, command).await;
            assert!(explained.plan.contains("IXSCAN"), "{}", explained.plan);
            let found = raw.find_one(filter).await.unwrap();
            assert_eq!(found.is_some(), matches, "{place:?}");
        }
    }
    let found = raw.find_one(doc! {}).await.unwrap().unwrap();
    assert_eq!(attribute::decode::<Movie>(&found).unwrap(), movie);
    let usa = Movie::releases().usa().before(date("1977-06-01T00:00:00Z"));
    assert!(raw.find_one(Document::from(usa)).await.unwrap().is_some());
    let uk = Movie::releases().uk().before(date("1977-06-01T00:00:00Z"));
    assert!(raw.find_one(Document::from(uk)).await.unwrap().is_none());
}

#[tokio::test]
async fn documents_are_sorted_by_one_attribute() {
    let all: Vec<Bottle> = (1..=60).map(bottle).collect();
    let database = database().await;
    stored(&database, &all).await;
    let bottles = database.collection::<Document>("bottles");
    let sorted = async |stages: Vec<Document>| -> Vec<i32> {
        let mut cursor = bottles.aggregate(stages).await.unwrap();
        let mut ids = Vec::new();
        while cursor.advance().await.unwrap() {
            let found = cursor.deserialize_current().unwrap();
            assert_eq!(found.keys().collect::<Vec<_>>(), ["_id", "specs"]);
            ids.push(found.get_i32("_id").unwrap());
        }
        ids
    };
    let volume = Bottle::specs().volume();
    let ids = sorted(volume.ml().sort_stages("by", true)).await;
    let mut expected: Vec<i32> = (1..=60).filter(|id| id % 3 != 0).rev().collect();
    let behind = ids[expected.len()..].to_vec();
    assert_eq!(ids[..expected.len()], expected);
    assert!(behind.iter().all(|id| id % 3 == 0));
    expected.reverse();
    let ids = sorted(volume.ml().sort_stages("by", false)).await;
    assert_eq!(ids[behind.len()..], expected);

    let in_ml = |bottle: &Bottle| {
        let ounces = bottle.volume_ounces.map(|v| v * 29.5735);
        bottle.volume_ml.or(ounces)
    };
    let with_volume: Vec<&Bottle> = all.iter().filter(|b| in_ml(b).is_some()).collect();
    let mut expected: Vec<(Option<f64>, i32)> =
        with_volume.iter().map(|b| (in_ml(b), b.id)).collect();
    expected.sort_by(|one, other| other.partial_cmp(one).unwrap());
    let expected: Vec<i32> = expected.into_iter().map(|(_, id)| id).collect();
    let mut stages = vec![doc! { "$match": Document::from(volume.any_unit().exists()) }];
    stages.extend(volume.in_ml().sort_stages("by", true));
    assert_eq!(sorted(stages).await, expected);
}

#[test]
fn the_serde_form_of_a_struct_survives_the_stored_form() {
    for id in 0..200 {
        let mut bottle = bottle(id);
        let entry = doc! { "k": "x", "v": [1], "more": id };
        let entry = RawDocumentBuf::try_from(&entry).unwrap();
        bottle.others = OtherEntries(vec![entry.into()]);
        if id % 2 == 0 {
            bottle.others = OtherEntries::default();
        }
        let stored = attribute::encode(&bottle).unwrap();
        assert_eq!(attribute::decode::<Bottle>(&stored).unwrap(), bottle);
        let again: Bson = Document::try_from(stored.clone()).unwrap().into();
        assert!(again.as_document().unwrap().get("volume_ml").is_none());
        assert_eq!(attribute::encode(&bottle).unwrap(), stored);
    }
}
