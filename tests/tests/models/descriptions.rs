//! The description that `ensure` keeps of a collection: other services and later versions of a model see by it what
//! they cannot read, and which aggregates older buckets lack.

use std::time::Duration;

use bucket_core::{Drift, schema::MODELS};
use bucket_mongo::{
    Bucketed, CollectionDescription, ProblemKind,
    action::Described,
    bson::{DateTime, Document, Uuid, doc},
    describe,
    mongodb::{
        Client, Database,
        options::{ClientOptions, Credential},
    },
    testing::DevServer,
};
use bucket_tests::{Load, database, documents, profiled};
use serde::{Deserialize, Serialize};

macro_rules! model {
    ($module:ident [$($attributes:tt)*] { $($fields:tt)* }) => {
        mod $module {
            use super::*;

            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
            #[bucket(collection = "readings", $($attributes)*)]
            pub(super) struct Reading {
                $($fields)*
            }
        }
    };
}

model! { first [items = "items", window = "1h", capacity = 60, stats = "stats"] {
    #[bucket(key)] pub device: String,
    #[bucket(time)] #[serde(rename = "ts")] pub at: DateTime,
    #[bucket(sum)] pub value: i64,
    pub level: Option<f64>,
} }

// A field and two aggregates more, and another capacity.
model! { second [items = "items", window = "30m", capacity = 100, stats = "stats", created_at] {
    #[bucket(key)] pub device: String,
    #[bucket(time)] #[serde(rename = "ts")] pub at: DateTime,
    #[bucket(sum, max)] pub value: i64,
    #[bucket(min = "least")] pub level: Option<f64>,
    #[serde(default)] pub note: String,
} }

// Models that seal, without and with another aggregate.
model! { rows [items = "items", window = "1h", capacity = 60, seal_after = "1s"] {
    #[bucket(key)] pub device: String,
    #[bucket(time)] pub at: DateTime,
    #[bucket(sum)] pub value: i64,
} }

model! { newer [items = "items", window = "1h", capacity = 60, seal_after = "1s"] {
    #[bucket(key)] pub device: String,
    #[bucket(time)] pub at: DateTime,
    #[bucket(sum, max)] pub value: i64,
} }

// Another type, a field that older items lack, another aggregate under an old path.
model! { third [items = "items", window = "1h", capacity = 60, stats = "stats"] {
    #[bucket(key)] pub device: i64,
    #[bucket(time)] #[serde(rename = "ts")] pub at: DateTime,
    pub value: String,
    #[bucket(max = "sum")] pub level: f64,
    pub count_of_all: i64,
} }

// Other names.
model! { renamed [items = "readings", window = "1h", capacity = 60, start = "from", id = "{device}/{time:ms}"] {
    #[bucket(key)] pub device: String,
    #[bucket(time)] pub time: DateTime,
    pub value: i64,
} }

const HOUR: i64 = 3_600_000;

fn at(hour: i64) -> DateTime {
    DateTime::from_millis(1_790_000_000_000 / HOUR * HOUR + hour * HOUR)
}

fn reading(hour: i64, value: i64) -> first::Reading {
    let level = (hour % 2 == 0).then_some(0.5);
    first::Reading {
        device: "a".to_owned(),
        at: at(hour),
        value,
        level,
    }
}

async fn described(database: &Database) -> CollectionDescription {
    describe(database, "readings").await.unwrap().unwrap()
}

/// The documents of version 1 never change shape: later versions and other tools read them.
#[test]
fn the_stored_form_of_a_description_never_changes() {
    let uuid = Uuid::from_bytes([7; 16]);
    let spec = &second::Reading::SPEC;
    let described = CollectionDescription::of(spec, Some(uuid), at(0));
    let stored = doc! {
        "_id": "readings",
        "uuid": uuid,
        "version": 1,
        "revision": 1_i64,
        "record": "Reading",
        "described_at": at(0),
        "form": { "kind": "window", "capacity": 100_i64, "window": "1800s" },
        "id": "{device}_{ts:s}",
        "keys": [{ "name": "device", "kind": "string", "null": false, "required": true }],
        "names": {
            "bucket_end": "bucket_end",
            "bucket_part": "bucket_part",
            "bucket_start": "bucket_start",
            "count": "count",
            "created_at": "created_at",
        },
        "items": "items",
        "time": "ts",
        "fields": [
            { "name": "ts", "kind": "date", "null": false, "required": true },
            { "name": "value", "kind": "int", "null": false, "required": true },
            { "name": "level", "kind": "float", "null": true, "required": false },
            { "name": "note", "kind": "string", "null": false, "required": false },
        ],
        "aggregates": [
            { "path": "stats.max", "kind": "max", "of": "value", "partial": false },
            { "path": "stats.sum", "kind": "sum", "of": "value", "partial": false },
            { "path": "stats.least", "kind": "min", "of": "level", "partial": false },
        ],
    };
    assert_eq!(described.to_document().unwrap(), stored);
    assert_eq!(CollectionDescription::parse(stored).unwrap(), described);
    // Of a later version: more fields, and kinds that this one does not know.
    let mut later = described.to_document().unwrap();
    later.insert("more", 1);
    assert_eq!(CollectionDescription::parse(later).unwrap(), described);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_without_the_model_reads_what_a_collection_holds() {
    let database = database().await;
    assert_eq!(describe(&database, "readings").await.unwrap(), None);
    let report = first::Reading::buckets(&database).ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    let stored = described(&database).await;
    let expected =
        CollectionDescription::of(&first::Reading::SPEC, stored.uuid, stored.described_at);
    assert_eq!(stored, expected);
    assert!(stored.uuid.is_some());
    let report = first::Reading::buckets(&database).ensure().await.unwrap();
    assert_eq!(report.description, Described::Found);
    assert_eq!(described(&database).await, stored);
    let value = stored.fields.iter().find(|field| field.name == "value");
    assert_eq!(value.unwrap().kind, "int");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compatible_model_extends_the_description_and_forgets_no_field() {
    let database = database().await;
    first::Reading::buckets(&database).ensure().await.unwrap();
    let report = second::Reading::buckets(&database).ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    let extended = described(&database).await;
    assert_eq!(extended.revision, 2);
    assert!(extended.fields.iter().any(|field| field.name == "note"));
    assert_eq!(extended.form.get_str("window").unwrap(), "1800s");
    assert!(
        extended
            .aggregates
            .iter()
            .all(|aggregate| !aggregate.partial)
    );
    // The earlier version is started once more.
    let report = first::Reading::buckets(&database).ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    let again = described(&database).await;
    assert!(
        again
            .fields
            .iter()
            .any(|field| field.name == "note" && !field.required)
    );
    assert!(
        again
            .aggregates
            .iter()
            .all(|aggregate| aggregate.path == "stats.sum")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_changed_its_type_is_drift_with_both_types_until_it_is_accepted() {
    let database = database().await;
    let readings = first::Reading::buckets(&database);
    readings.ensure().await.unwrap();
    readings.insert(&reading(0, 1)).await.unwrap();
    let before = described(&database).await;
    let changed = third::Reading::buckets(&database);
    let report = changed.ensure().await.unwrap();
    assert_eq!(report.description, Described::Differs);
    assert_eq!(described(&database).await, before);
    let fields: Vec<(&str, Option<&str>, &str)> = report
        .drift
        .iter()
        .filter_map(|drift| match drift {
            Drift::Field {
                name,
                described,
                expected,
                ..
            } => Some((&**name, described.as_deref(), &**expected)),
            _ => None,
        })
        .collect();
    assert_eq!(
        fields,
        [
            ("device", Some("string"), "int"),
            ("value", Some("int"), "string"),
            ("level", Some("float or null, or missing"), "float"),
            ("count_of_all", None, "int"),
        ]
    );
    let aggregates: Vec<&Drift> = report
        .drift
        .iter()
        .filter(|drift| matches!(drift, Drift::Aggregate { .. }))
        .collect();
    assert_eq!(aggregates.len(), 1);
    assert!(
        aggregates[0].to_string().contains("sum of `value`"),
        "{}",
        aggregates[0]
    );
    assert!(
        report.to_string().contains("replace_description"),
        "{report}"
    );
    let report = changed.ensure().replace_description().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    assert_eq!(described(&database).await.revision, 3);
    // Now the first model is the one that cannot read all.
    let report = readings.ensure().await.unwrap();
    assert_eq!(report.description, Described::Differs);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_for_the_same_parts_are_drift() {
    let database = database().await;
    let readings = first::Reading::buckets(&database);
    readings.ensure().await.unwrap();
    readings.insert(&reading(0, 1)).await.unwrap();
    let report = renamed::Reading::buckets(&database).ensure().await.unwrap();
    let mut what: Vec<&str> = report
        .drift
        .iter()
        .filter_map(|drift| match drift {
            Drift::Described { what, .. } => Some(&**what),
            _ => None,
        })
        .collect();
    what.sort_unstable();
    assert_eq!(
        what,
        [
            "the array of items",
            "the field `bucket_start`",
            "the template of ids",
            "the time of items",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_without_buckets_takes_the_description_of_any_model() {
    let database = database().await;
    first::Reading::buckets(&database).ensure().await.unwrap();
    let report = third::Reading::buckets(&database).ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    assert!(
        described(&database)
            .await
            .fields
            .iter()
            .all(|field| field.name != "note")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_buckets_that_lack_a_new_aggregate_are_not_taken_for_complete() {
    let database = database().await;
    let readings = rows::Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let records = (0..6).map(|hour| rows::Reading {
        device: "a".to_owned(),
        at: at(hour),
        value: hour,
    });
    readings.load(records).await;
    let sealed = readings.seal().after(Duration::ZERO).await.unwrap();
    assert!(sealed.buckets > 3, "{sealed}");
    let changed = newer::Reading::buckets(&database);
    let is_partial = async || {
        let report = changed.ensure().await.unwrap();
        let partial = report.drift.iter();
        partial
            .filter(|drift| matches!(drift, Drift::PartialAggregate { .. }))
            .count()
    };
    assert_eq!(is_partial().await, 1);
    assert_eq!(is_partial().await, 1);
    changed
        .repair(&changed.verify().await.unwrap())
        .await
        .unwrap();
    assert_eq!(is_partial().await, 0);
    let described = described(&database).await.aggregates;
    assert!(described.iter().all(|aggregate| !aggregate.partial));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_aggregate_is_partial_until_repair_has_computed_it() {
    let database = database().await;
    let readings = first::Reading::buckets(&database);
    readings.ensure().await.unwrap();
    // The buckets of odd hours have no level.
    readings.load((0..6).map(|hour| reading(hour, hour))).await;
    let changed = second::Reading::buckets(&database);
    for _ in 0..2 {
        let report = changed.ensure().await.unwrap();
        let paths: Vec<&str> = report
            .drift
            .iter()
            .filter_map(|drift| match drift {
                Drift::PartialAggregate {
                    path,
                    since: Some(_),
                    ..
                } => Some(&**path),
                _ => None,
            })
            .collect();
        assert_eq!(paths, ["stats.max", "stats.least"], "{report}");
        assert!(
            report.to_string().contains("`repair` computes it"),
            "{report}"
        );
    }
    let partial = described(&database).await;
    let partial: Vec<bool> = partial
        .aggregates
        .iter()
        .map(|aggregate| aggregate.partial)
        .collect();
    assert_eq!(partial, [true, false, true]);
    let found = changed.verify().await.unwrap();
    let missing = found
        .findings
        .iter()
        .filter(|it| it.problem.kind() == ProblemKind::MissingAggregate);
    assert_eq!(missing.count(), 9, "{found}");
    changed.repair(&found).await.unwrap();
    let report = changed.ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    let complete = described(&database).await;
    assert!(
        complete
            .aggregates
            .iter()
            .all(|aggregate| !aggregate.partial)
    );
    assert!(complete.aggregates[0].since.is_some());
    let report = changed.ensure().await.unwrap();
    assert_eq!(report.description, Described::Found);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_is_made_anew_or_renamed_is_described_anew() {
    let database = database().await;
    let readings = first::Reading::buckets(&database);
    readings.ensure().await.unwrap();
    let first = described(&database).await;
    let collection = readings.collection::<Document>();
    collection.drop().await.unwrap();
    // Nothing of the old one counts for the new one.
    let report = third::Reading::buckets(&database).ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    let second = described(&database).await;
    assert_ne!(first.uuid, second.uuid);
    assert_eq!(second.revision, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_is_no_description_is_kept_until_it_is_replaced() {
    let database = database().await;
    let models = database.collection::<Document>(MODELS);
    models
        .insert_one(doc! { "_id": "readings", "mine": 1 })
        .await
        .unwrap();
    let readings = first::Reading::buckets(&database);
    let report = readings.ensure().await.unwrap();
    assert_eq!(report.description, Described::Differs);
    assert_eq!(report.drift.len(), 1, "{report}");
    assert_eq!(
        documents(&database, MODELS).await,
        [doc! { "_id": "readings", "mine": 1 }]
    );
    assert!(describe(&database, "readings").await.is_err());
    let report = readings.ensure().replace_description().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::Written, vec![])
    );
    described(&database).await;
    // A later version of the library has described it.
    let update = doc! { "$set": { "version": 2 } };
    models.update_one(doc! {}, update).await.unwrap();
    readings.insert(&reading(0, 1)).await.unwrap();
    let report = readings.ensure().await.unwrap();
    assert_eq!(report.description, Described::Differs);
    assert_eq!(described(&database).await.version, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_two_models_at_once_leave_one_description_that_both_read() {
    let database = database().await;
    let calls = (0..8).map(|number| {
        let database = database.clone();
        tokio::spawn(async move {
            if number % 2 == 0 {
                first::Reading::buckets(&database).ensure().await.unwrap();
            } else {
                second::Reading::buckets(&database).ensure().await.unwrap();
            }
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert_eq!(documents(&database, MODELS).await.len(), 1);
    let last = described(&database).await;
    assert_eq!(last.drift(&first::Reading::SPEC), []);
    assert_eq!(last.drift(&second::Reading::SPEC), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_write_and_no_read_looks_at_descriptions() {
    let database = database().await;
    first::Reading::buckets(&database).ensure().await.unwrap();
    let work = async {
        let readings = first::Reading::buckets(&database);
        readings.load((0..6).map(|hour| reading(hour, hour))).await;
        readings.records("a").limit(3).await.unwrap();
    };
    let ((), operations) = profiled(&database, MODELS, work).await;
    assert_eq!(operations, Vec::<Document>::new());
    let ensured = async { first::Reading::buckets(&database).ensure().await.unwrap() };
    let (_, operations) = profiled(&database, MODELS, ensured).await;
    assert_eq!(operations.len(), 1, "{operations:?}");
}

async fn client_of(uri: &str, user: &str) -> Client {
    let mut options = ClientOptions::parse(uri).await.unwrap();
    let credential = Credential::builder().username(user.to_owned());
    let credential = credential.password(user.to_owned());
    options.credential = Some(credential.source("admin".to_owned()).build());
    Client::with_options(options).unwrap()
}

#[tokio::test]
async fn a_user_who_may_not_describe_collections_sets_them_up_all_the_same() {
    let server = DevServer::builder().own().standalone().argument("--auth");
    let server = server.await.unwrap();
    let create = |user: &str, role: &str| doc! { "createUser": user, "pwd": user, "roles": [role] };
    let first = server.client().await.unwrap().database("admin");
    first.run_command(create("owner", "root")).await.unwrap();
    let owner = client_of(server.uri(), "owner").await;
    let own = doc! {
        "resource": { "db": "shop", "collection": "readings" },
        "actions": ["find", "insert", "update", "createCollection", "createIndex", "listIndexes"],
    };
    let list =
        doc! { "resource": { "db": "shop", "collection": "" }, "actions": ["listCollections"] };
    let role = doc! { "createRole": "service", "privileges": [own, list], "roles": [] };
    let admin = owner.database("admin");
    admin.run_command(role).await.unwrap();
    admin
        .run_command(create("service", "service"))
        .await
        .unwrap();
    let shop = client_of(server.uri(), "service").await.database("shop");
    let readings = first::Reading::buckets(&shop);
    let report = readings.ensure().await.unwrap();
    assert_eq!(
        (report.description, report.drift),
        (Described::NotPermitted, vec![])
    );
    assert!(report.created_collection);
    readings.insert(&reading(0, 1)).await.unwrap();
    assert!(
        describe(&shop, "readings")
            .await
            .unwrap_err()
            .is_unauthorized()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_the_descriptions_names_their_collection() {
    let database = database().await;
    let readings = first::Reading::buckets(&database);
    let of_models = database.collection::<Document>("bucket_models");
    let foreign = doc! { "_id": "readings", "of": "another tool" };
    of_models.insert_one(&foreign).await.unwrap();
    let report = readings.ensure().await.unwrap();
    assert_eq!(report.description, Described::Differs);
    let drift = report.drift[0].to_string();
    for part in ["`bucket_models`", "replace_description()"] {
        assert!(drift.contains(part), "{drift}");
    }
    assert!(!drift.contains("change the model"), "{drift}");
    let found = of_models.find_one(doc! {}).await.unwrap();
    assert_eq!(found, Some(foreign));

    of_models.drop().await.unwrap();
    let view = doc! { "create": "bucket_models", "viewOn": "others", "pipeline": [] };
    database.run_command(view).await.unwrap();
    let error = readings.ensure().await.unwrap_err();
    assert_eq!(error.collection(), "bucket_models", "{error}");
    assert!(error.to_string().contains("readings"), "{error}");
    // The model's own collection is set up.
    readings.insert(&reading(0, 1)).await.unwrap();
}
