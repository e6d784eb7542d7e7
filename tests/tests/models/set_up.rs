//! Nothing is stored in a collection that is not as the model needs it, and nothing is read in one
//! that mixes keys: never set up, dropped under a living handle, with a collation, of another kind.

use crate::common::reading::{
    Counted, Hybrid, Numbered, Objects, Parts, Unique, UniqueNumbered, Windowed,
};
use bucket_core::{
    index::{self, Drift},
    schema::MODELS,
};
use bucket_mongo::{
    Attributed, Bucketed, Buckets, Error, ErrorKind,
    mongodb::{
        Client,
        bson::{Bson, DateTime, Document, doc},
        options::{
            ClientOptions, Collation, CreateCollectionOptions, Credential, ServerApi,
            ServerApiVersion,
        },
    },
    testing::{DevServer, TestDatabase},
};
use bucket_tests::{Load, database, documents, is_from};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

fn missing(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::MissingIndex { name, .. } => name,
        other => panic!("{other:?}"),
    }
}

fn batch<T>(of: fn(&str, i64) -> T) -> Vec<T> {
    (0..30)
        .map(|number| of("abc".split_at(2).0, number))
        .collect()
}

async fn no_record_is_taken<T: Bucketed>(buckets: &Buckets<T>, of: fn(&str, i64) -> T, name: &str) {
    let error = buckets.insert(&of("a", 1)).await.unwrap_err();
    assert_eq!(missing(&error), name);
    let report = buckets.insert_many(batch(of)).await.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (0, 30));
    assert_eq!(missing(&report.failed()[29].error), name);
}

async fn check<T: Bucketed>(of: fn(&str, i64) -> T, name: &str) {
    let database = database().await;
    let buckets = T::buckets(&database);
    no_record_is_taken(&buckets, of, name).await;
    let names = database.list_collection_names().await.unwrap();
    assert!(names.is_empty(), "{names:?}");
    buckets.ensure().await.unwrap();
    assert_eq!(buckets.insert_many(batch(of)).await.unwrap().stored(), 30);
    // Under a living handle, which remembers open and full buckets.
    let readings = database.collection::<Document>("readings");
    for rest in [28, 30] {
        readings.drop().await.unwrap();
        no_record_is_taken(&buckets, of, name).await;
        assert!(documents(&database, "readings").await.is_empty());
        let mut names = database.list_collection_names().await.unwrap();
        // The description of the dropped collection.
        names.retain(|name| name != MODELS);
        // If commands do not name the collection by its UUID, an upsert creates the collection
        // before it is refused.
        assert!(names.is_empty() || !is_from(6).await, "{names:?}");
        if names.is_empty() {
            database.create_collection("readings").await.unwrap();
        }
        no_record_is_taken(&buckets, of, name).await;
        assert!(documents(&database, "readings").await.is_empty());
        T::buckets(&database).ensure().await.unwrap();
        let report = buckets.insert_many(batch(of).drain(..rest)).await.unwrap();
        assert_eq!(report.stored(), rest, "{:?}", report.failed());
        // And after it was set up again before this handle wrote.
        readings.drop().await.unwrap();
        T::buckets(&database).ensure().await.unwrap();
        let report = buckets.insert_many(batch(of).drain(..rest)).await.unwrap();
        assert_eq!(report.stored(), rest, "{:?}", report.failed());
        assert!(report.duplicates().is_empty());
    }
}

#[tokio::test]
async fn pages_accept_no_record_without_a_set_up() {
    check(Counted::of, "bucket_open_4").await;
}

#[tokio::test]
async fn windows_accept_no_record_without_a_set_up() {
    check(Windowed::of, "bucket_pages").await;
    check(Parts::of, "bucket_pages").await;
    check(Objects::of, "sensor_time_idx").await;
}

#[tokio::test]
async fn hybrid_buckets_accept_no_record_without_a_set_up() {
    check(Hybrid::of, "sensor_open_idx").await;
}

#[tokio::test]
async fn numbered_buckets_accept_no_record_without_a_set_up() {
    check(Numbered::of, "sensor_full_idx").await;
}

#[tokio::test]
async fn records_with_ids_are_not_accepted_without_a_set_up() {
    check(Unique::of, "bucket_open_4").await;
    check(UniqueNumbered::of, "sensor_full_idx").await;
}

async fn collated(database: &TestDatabase) {
    let collation = Collation::builder()
        .locale("en")
        .strength(bucket_mongo::mongodb::options::CollationStrength::Secondary);
    let options = CreateCollectionOptions::builder().collation(collation.build());
    let created = database.create_collection("readings");
    created.with_options(options.build()).await.unwrap();
}

fn is_collation(error: &Error) -> bool {
    let text = error.to_string();
    assert!(text.contains("`en`") && text.contains("copy"), "{text}");
    matches!(error.kind(), ErrorKind::Drift(drift) if matches!(**drift, Drift::Collation { .. }))
}

#[tokio::test]
async fn a_collection_with_a_collation_is_refused_before_the_first_write_and_read() {
    let database = database().await;
    collated(&database).await;
    Windowed::buckets(&database).ensure().await.unwrap();
    let new = || Windowed::buckets(&database);
    let error = new().insert(&Windowed::of("A", 1)).await.unwrap_err();
    assert!(is_collation(&error));
    let report = new().insert_many(batch(Windowed::of)).await.unwrap();
    assert!(is_collation(&report.failed()[0].error));
    assert!(documents(&database, "readings").await.is_empty());
    let of = || "A".to_owned();
    assert!(is_collation(&new().page(of(), 1).await.unwrap_err()));
    assert!(is_collation(&new().page_count(of()).await.unwrap_err()));
    assert!(is_collation(&new().count(of()).await.unwrap_err()));
    assert!(is_collation(&new().records(of()).await.unwrap_err()));
    assert!(is_collation(&new().latest(of()).await.unwrap_err()));
    assert!(is_collation(&new().stats(of(), ..).await.unwrap_err()));
    assert!(is_collation(&new().range(of(), ..).await.unwrap_err()));
    let buckets = new();
    let error = buckets.records(of()).collect().await.unwrap_err();
    assert!(is_collation(&error));
}

#[tokio::test]
async fn a_collection_that_is_recreated_with_a_collation_accepts_no_further_record() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    buckets.insert(&Counted::of("a", 0)).await.unwrap();
    database
        .collection::<Document>("readings")
        .drop()
        .await
        .unwrap();
    collated(&database).await;
    Counted::buckets(&database).ensure().await.unwrap();
    let error = buckets.insert(&Counted::of("A", 1)).await.unwrap_err();
    assert!(is_collation(&error));
    assert!(documents(&database, "readings").await.is_empty());
}

/// Recreates the collection with a collation, and stores its buckets again. Only the collation
/// differs.
async fn replace_by_collated<T: Bucketed>(database: &TestDatabase) {
    let stored = documents(database, "readings").await;
    let readings = database.collection::<Document>("readings");
    readings.drop().await.unwrap();
    collated(database).await;
    T::buckets(database).ensure().await.unwrap();
    readings.insert_many(stored).await.unwrap();
}

async fn check_living_reads<T>(of: fn(&str, i64) -> T)
where
    T: Bucketed + Clone + PartialEq + std::fmt::Debug,
    T::Key: From<String>,
{
    let database = database().await;
    let buckets = T::buckets(&database);
    buckets.ensure().await.unwrap();
    let records: Vec<T> = (0..10).map(|number| of("a", number)).collect();
    buckets.load(&records).await;
    let key = |name: &str| T::Key::from(name.to_owned());
    assert_eq!(buckets.count(key("a")).await.unwrap(), 10);
    replace_by_collated::<T>(&database).await;

    let other = || T::Key::from("A".to_owned());
    assert_eq!(buckets.count(other()).await.unwrap(), 0);
    assert_eq!(buckets.page_count(other()).await.unwrap(), 0);
    assert!(buckets.page(other(), 1).await.unwrap().is_empty());
    assert_eq!(buckets.latest(other()).await.unwrap(), None);
    assert_eq!(buckets.latest_n(other(), 3).await.unwrap(), []);
    assert_eq!(buckets.range(other(), ..).await.unwrap(), []);
    assert_eq!(buckets.records(other()).collect().await.unwrap(), []);
    let page = buckets.records(other()).await.unwrap();
    assert!(page.records().is_empty());
    let pages = buckets.pages(other()).stream();
    assert_eq!(pages.try_collect::<Vec<_>>().await.unwrap().len(), 0);
    assert!(buckets.stats(other(), ..).await.unwrap().is_none());
    // And for the existing key it returns everything.
    assert_eq!(buckets.count(key("a")).await.unwrap(), 10);
    assert_eq!(buckets.records(key("a")).collect().await.unwrap(), records);
    let latest = buckets.latest_per_key().stream();
    let latest: Vec<T> = latest.try_collect().await.unwrap();
    assert_eq!(latest, records[9..]);
}

#[tokio::test]
async fn a_handle_that_has_read_returns_no_record_of_another_key_once_the_collection_has_a_collation()
 {
    check_living_reads(Counted::of).await;
    check_living_reads(Windowed::of).await;
    check_living_reads(Parts::of).await;
    check_living_reads(Objects::of).await;
    check_living_reads(Hybrid::of).await;
    check_living_reads(UniqueNumbered::of).await;
}

/// The source positions of another key say nothing about this one.
#[tokio::test]
async fn no_record_of_a_source_is_a_duplicate_of_another_keys_in_a_collection_with_a_collation() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    buckets.ensure().await.unwrap();
    let records = |key: &'static str| (0..3).map(move |number| Counted::of(key, number));
    let report = buckets.insert_many(records("a")).from_source("s", 0).await;
    assert_eq!(report.unwrap().stored(), 3);
    replace_by_collated::<Counted>(&database).await;
    let report = buckets.insert_many(records("A")).from_source("s", 0).await;
    let report = report.unwrap();
    assert!(report.duplicates().is_empty(), "{report:?}");
    assert_eq!(report.failed().len(), 3);
    assert!(is_collation(&report.failed()[0].error));
}

/// The same index with one difference; none if the server does not accept it.
fn variants(definition: &Document) -> Vec<(&'static str, Document)> {
    let with = |name: &str, value: Bson| {
        let mut other = definition.clone();
        other.insert(name, value);
        other
    };
    let keys = definition.get_document("key").unwrap();
    let (first, _) = keys.iter().next().unwrap();
    let mut turned = keys.clone();
    turned.insert(first.clone(), -1);
    let english = doc! { "locale": "en", "strength": 2 };
    let partial = doc! { "number": { "$gt": 1 } };
    let is_unique = definition.contains_key("unique");
    let mut all = vec![
        (
            "another condition",
            with("partialFilterExpression", partial.into()),
        ),
        ("another collation", with("collation", english.into())),
        ("another order", with("key", turned.into())),
        ("other fields", with("key", doc! { "others": 1 }.into())),
        ("not unique, or unique", with("unique", (!is_unique).into())),
        ("hidden", with("hidden", true.into())),
    ];
    if !definition.contains_key("partialFilterExpression") {
        all.push(("sparse", with("sparse", true.into())));
    }
    let expires = with("expireAfterSeconds", 3_600.into());
    if !definition.contains_key("expireAfterSeconds") && keys.len() == 1 {
        all.push(("removing", expires.clone()));
    }
    let mut expires = expires;
    expires.insert("key", doc! { "others": 1 });
    all.push(("removing by another field", expires));
    all
}

/// Each of these indexes in another form, with all others as the model needs them.
async fn check_other_indexes<T: Bucketed>(of: fn(&str, i64) -> T, names: &[&str]) {
    let all: Vec<Document> = index::plan(T::SPEC)
        .iter()
        .map(index::IndexPlan::definition)
        .collect();
    let is_named = |index: &Document, name: &str| index.get_str("name").unwrap() == name;
    for name in names {
        let wanted = all.iter().find(|index| is_named(index, name)).unwrap();
        for (what, other) in variants(wanted) {
            let database = database().await;
            let others = all.iter().filter(|index| !is_named(index, name)).cloned();
            let indexes: Vec<Document> = others.chain([other]).collect();
            let create = doc! { "createIndexes": "readings", "indexes": indexes };
            database.run_command(create).await.unwrap();
            let buckets = T::buckets(&database);
            let is_index =
                |drift: &Drift| matches!(drift, Drift::Index { name: n, .. } if n == name);
            let is_refused = |error: &Error| {
                assert!(!error.is_outcome_unknown() && !error.is_retryable());
                matches!(error.kind(), ErrorKind::Drift(drift) if is_index(drift))
            };
            let report = buckets.ensure().await.unwrap();
            assert!(
                matches!(report.drift.as_slice(), [drift] if is_index(drift)),
                "{name}, {what}: {report}"
            );
            assert!(
                report.created_indexes.is_empty(),
                "{name}, {what}: {report}"
            );
            let error = buckets.insert(&of("a", 0)).await.unwrap_err();
            assert!(is_refused(&error), "{name}, {what}: {error:?}");
            assert!(error.to_string().contains("replace_indexes"), "{error}");
            let report = buckets.insert_many(batch(of)).await.unwrap();
            assert_eq!((report.stored(), report.failed().len()), (0, 30));
            assert!(is_refused(&report.failed()[29].error), "{name}, {what}");
            assert!(documents(&database, "readings").await.is_empty());
            let report = buckets.ensure().replace_indexes().await.unwrap();
            assert!(report.drift.is_empty(), "{name}, {what}: {report}");
            buckets.insert(&of("a", 0)).await.unwrap();
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "items",
    capacity = 4,
    expire_after = "1d"
)]
struct Kept {
    #[bucket(key)]
    sensor: String,
    #[bucket(time)]
    at: DateTime,
    number: i64,
}

fn kept(sensor: &str, number: i64) -> Kept {
    Kept {
        sensor: sensor.to_owned(),
        at: DateTime::now(),
        number,
    }
}

#[tokio::test]
async fn an_index_with_the_name_and_another_effect_is_reported_and_no_record_is_accepted() {
    check_other_indexes(Counted::of, &["bucket_open_4", "bucket_pages"]).await;
    check_other_indexes(Parts::of, &["bucket_pages"]).await;
    check_other_indexes(Objects::of, &["sensor_time_idx"]).await;
    check_other_indexes(Hybrid::of, &["sensor_open_idx", "bucket_pages"]).await;
    let numbered = ["sensor_full_idx", "sensor_order_idx", "bucket_unique"];
    check_other_indexes(UniqueNumbered::of, &numbered).await;
}

/// With another rule, the server could remove buckets that still accept records, or remove them too
/// early.
#[tokio::test]
async fn no_record_is_accepted_if_the_server_removes_buckets_by_another_rule_than_the_models() {
    check_other_indexes(kept, &["bucket_expire"]).await;
}

#[tokio::test]
async fn index_options_that_change_neither_order_nor_uniqueness_belong_to_the_user() {
    let database = database().await;
    let engine = doc! { "wiredTiger": { "configString": "prefix_compression=false" } };
    let plans = index::plan(&Counted::SPEC);
    let indexes = plans.iter().map(|plan| {
        let mut definition = plan.definition();
        definition.insert("storageEngine", &engine);
        definition
    });
    let indexes: Vec<Document> = indexes.collect();
    let create = doc! { "createIndexes": "readings", "indexes": indexes };
    database.run_command(create).await.unwrap();
    let buckets = Counted::buckets(&database);
    let report = buckets.ensure().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    buckets.insert(&Counted::of("a", 0)).await.unwrap();
}

/// The object under the name, and its description in the drift.
async fn other_kinds() -> Vec<(Document, &'static str)> {
    let time_field = doc! { "timeField": "at" };
    let mut kinds = vec![
        (doc! { "viewOn": "others", "pipeline": [] }, "view"),
        (doc! { "timeseries": time_field }, "timeseries"),
        (doc! { "capped": true, "size": 4_096 }, "capped collection"),
    ];
    if is_from(6).await {
        kinds.push((clustered(), "clustered collection"));
    }
    kinds
}

/// The option of a clustered collection, which servers have since MongoDB 5.3.
fn clustered() -> Document {
    doc! { "clusteredIndex": { "key": { "_id": 1 }, "unique": true } }
}

async fn check_other_kinds<T: Bucketed>(of: fn(&str, i64) -> T) {
    for (options, kind) in other_kinds().await {
        let database = database().await;
        let mut create = doc! { "create": "readings" };
        create.extend(options);
        database.run_command(create).await.unwrap();
        let is_kind = |drift: &Drift| matches!(drift, Drift::Kind { found, .. } if found == kind);
        let is_refused = |error: &Error| {
            let text = error.to_string();
            assert!(text.contains(kind) && !error.is_outcome_unknown(), "{text}");
            matches!(error.kind(), ErrorKind::Drift(drift) if is_kind(drift))
        };
        let buckets = T::buckets(&database);
        let report = buckets.ensure().await.unwrap();
        assert!(report.drift.iter().any(is_kind), "{kind}: {report}");
        assert!(report.created_indexes.is_empty(), "{kind}: {report}");
        let error = buckets.insert(&of("a", 0)).await.unwrap_err();
        assert!(is_refused(&error), "{kind}: {error:?}");
        let report = buckets.insert_many(batch(of)).await.unwrap();
        assert_eq!((report.stored(), report.failed().len()), (0, 30), "{kind}");
        assert!(is_refused(&report.failed()[29].error), "{kind}");
        assert!(documents(&database, "readings").await.is_empty(), "{kind}");
    }
}

#[tokio::test]
async fn anything_but_a_plain_collection_is_reported_and_no_record_is_accepted() {
    check_other_kinds(Counted::of).await;
    check_other_kinds(Parts::of).await;
    check_other_kinds(Objects::of).await;
    check_other_kinds(Hybrid::of).await;
    check_other_kinds(UniqueNumbered::of).await;
}

/// The errors of all reads, each with its name.
async fn read_errors<T: Bucketed>(
    buckets: &Buckets<T>,
    key: fn() -> T::Key,
) -> Vec<(&'static str, Option<Error>)> {
    let mut records = buckets.records(key()).stream();
    let mut keys = buckets.latest_per_key().stream();
    vec![
        ("page", buckets.page(key(), 1).await.err()),
        ("pages", buckets.pages(key()).await.err()),
        ("page_count", buckets.page_count(key()).await.err()),
        ("count", buckets.count(key()).await.err()),
        ("records", buckets.records(key()).await.err()),
        ("records, streamed", records.try_next().await.err()),
        ("range", buckets.range(key(), ..).await.err()),
        ("range_many", buckets.range_many([key()], ..).await.err()),
        ("latest", buckets.latest(key()).await.err()),
        ("latest_n", buckets.latest_n(key(), 3).await.err()),
        ("latest_per_key", buckets.latest_per_key().await.err()),
        ("latest_per_key, streamed", keys.try_next().await.err()),
        ("stats", buckets.stats(key(), ..).await.err()),
    ]
}

async fn check_reads_of_other_kinds<T: Bucketed>(key: fn() -> T::Key) {
    for (options, kind) in other_kinds().await {
        let database = database().await;
        let (new, living) = (T::buckets(&database), T::buckets(&database));
        // What the view shows.
        database.create_collection("others").await.unwrap();
        living.ensure().await.unwrap();
        assert_eq!(living.count(key()).await.unwrap(), 0);
        let readings = database.collection::<Document>("readings");
        readings.drop().await.unwrap();
        let mut create = doc! { "create": "readings" };
        create.extend(options);
        database.run_command(create).await.unwrap();
        let is_kind = |drift: &Drift| matches!(drift, Drift::Kind { found, .. } if found == kind);
        for (handle, buckets) in [("new", new), ("living", living)] {
            for (read, error) in read_errors(&buckets, key).await {
                let what = format!("{read} of a {kind} by a {handle} handle");
                let error = error.expect(&what);
                assert!(
                    matches!(error.kind(), ErrorKind::Drift(drift) if is_kind(drift)),
                    "{what}: {error:?}"
                );
                assert!(error.is_drift() && !error.needs_ensure(), "{what}");
            }
        }
    }
}

/// `ensure()` makes no indexes there.
#[tokio::test]
async fn a_read_of_anything_but_a_plain_collection_says_what_it_is() {
    check_reads_of_other_kinds::<Counted>(|| "a".into()).await;
    check_reads_of_other_kinds::<Windowed>(|| "a".into()).await;
    check_reads_of_other_kinds::<Hybrid>(|| "a".into()).await;
    check_reads_of_other_kinds::<UniqueNumbered>(|| "a".into()).await;
}

#[tokio::test]
async fn a_read_of_a_plain_collection_without_its_indexes_asks_for_a_set_up() {
    let database = database().await;
    database.create_collection("readings").await.unwrap();
    let buckets = Counted::buckets(&database);
    for (read, error) in read_errors(&buckets, || "a".into()).await {
        let error = error.expect(read);
        assert!(
            error.needs_ensure() && !error.is_drift(),
            "{read}: {error:?}"
        );
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, Attributed)]
#[bucket(collection = "bottles")]
struct Bottle {
    #[serde(rename = "_id")]
    id: i32,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
}

/// Documents with attributes need no index on ids, so a clustered collection serves them.
#[tokio::test]
async fn an_id_that_a_clustered_collection_has_is_a_duplicate_of_the_index_on_ids() {
    if !is_from(6).await {
        return;
    }
    let database = database().await;
    let mut create = doc! { "create": "bottles" };
    create.extend(clustered());
    database.run_command(create).await.unwrap();
    let bottles = Bottle::documents(&database);
    bottles.ensure().await.unwrap();
    let bottle = |id| Bottle {
        id,
        volume_ml: Some(500),
    };
    bottles.insert(&bottle(1)).await.unwrap();
    let is_duplicate = |error: &Error| matches!(error.kind(), ErrorKind::DuplicateKey { index, .. } if index == "_id_");
    let error = bottles.insert(&bottle(1)).await.unwrap_err();
    assert!(is_duplicate(&error), "{error:?}");
    let report = bottles.insert_many([bottle(1), bottle(2)]).await.unwrap();
    let failed = report.failed();
    assert!(
        failed.len() == 1 && is_duplicate(&failed[0].error),
        "{failed:?}"
    );
    let error = bottles.insert(&bottle(2)).await.unwrap_err();
    assert!(is_duplicate(&error), "{error:?}");
}

#[tokio::test]
async fn a_first_write_in_a_transaction_also_checks_the_collection() {
    let database = database().await;
    let buckets = Counted::buckets(&database);
    let mut session = database.client().start_session().await.unwrap();
    session.start_transaction().await.unwrap();
    let record = Counted::of("a", 0);
    let refused = buckets.insert(&record).session(&mut session);
    let error = refused.await.unwrap_err();
    assert_eq!(missing(&error), "bucket_open_4");
    session.abort_transaction().await.unwrap();
    buckets.ensure().await.unwrap();
    session.start_transaction().await.unwrap();
    for number in 0..3 {
        let record = Counted::of("a", number);
        buckets.insert(&record).session(&mut session).await.unwrap();
    }
    session.commit_transaction().await.unwrap();
    let stored = documents(&database, "readings").await;
    assert_eq!(stored[0].get_i32("count").unwrap(), 3);
}

/// The stable API has no field for the UUID, and neither do servers before MongoDB 6.0.
#[tokio::test]
async fn without_collection_uuids_each_call_checks_before_it_opens_buckets() {
    let database = database().await;
    let uri = bucket_tests::server().await.uri();
    let mut options = ClientOptions::parse(uri).await.unwrap();
    let strict = ServerApi::builder().version(ServerApiVersion::V1);
    options.server_api = Some(strict.strict(true).build());
    let client = Client::with_options(options).unwrap();
    let strict = client.database(database.name());
    let buckets = UniqueNumbered::buckets(&strict);
    let readings = database.collection::<Document>("readings");
    for _ in 0..3 {
        no_record_is_taken(&buckets, UniqueNumbered::of, "sensor_full_idx").await;
        buckets.ensure().await.unwrap();
        let report = buckets
            .insert_many(batch(UniqueNumbered::of))
            .await
            .unwrap();
        assert_eq!(report.stored(), 30, "{:?}", report.failed());
        let again = buckets
            .insert_many(batch(UniqueNumbered::of))
            .await
            .unwrap();
        assert_eq!(again.duplicates().len(), 30);
        readings.drop().await.unwrap();
    }
    client.shutdown().await;
}

async fn client_of(uri: &str, user: &str) -> Client {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    let credential = Credential::builder().username(user.to_owned());
    let credential = credential.password(user.to_owned());
    options.credential = Some(credential.source("admin".to_owned()).build());
    Client::with_options(options).unwrap()
}

/// Such a user can't see a collation, nor that the collection is capped.
#[tokio::test]
async fn a_user_who_may_list_only_the_indexes_has_these_checked() {
    let server = DevServer::builder().own().standalone().argument("--auth");
    let server = server.await.unwrap();
    let create_user =
        |user: &str, role: &str| doc! { "createUser": user, "pwd": user, "roles": [role] };
    let first = server.client().await.unwrap().database("admin");
    first
        .run_command(create_user("owner", "root"))
        .await
        .unwrap();
    let owner = client_of(server.uri(), "owner").await;
    let admin = owner.database("admin");
    let writes = doc! {
        "resource": { "db": "shop", "collection": "readings" },
        "actions": ["find", "insert", "update", "listIndexes"],
    };
    let role = doc! { "createRole": "writes", "privileges": [writes], "roles": [] };
    admin.run_command(role).await.unwrap();
    admin
        .run_command(create_user("service", "writes"))
        .await
        .unwrap();

    let (all, own) = (
        owner.database("shop"),
        client_of(server.uri(), "service").await,
    );
    let buckets = Counted::buckets(&own.database("shop"));
    for round in 0..2 {
        no_record_is_taken(&buckets, Counted::of, "bucket_open_4").await;
        Counted::buckets(&all).ensure().await.unwrap();
        let report = buckets.insert_many(batch(Counted::of)).await.unwrap();
        assert_eq!(report.stored(), 30, "{round}: {:?}", report.failed());
        all.collection::<Document>("readings").drop().await.unwrap();
    }
    let view = doc! { "create": "readings", "viewOn": "others", "pipeline": [] };
    all.run_command(view).await.unwrap();
    let error = buckets.insert(&Counted::of("new", 0)).await.unwrap_err();
    let ErrorKind::Drift(drift) = error.kind() else {
        panic!("{error:?}")
    };
    assert!(matches!(&**drift, Drift::Kind { found, .. } if found == "view"));
}
