//! What an archive may be, and for how long it keeps what it has.

use bucket_core::index::Drift;
use bucket_mongo::mongodb::{
    Database,
    options::{Collation, TimeseriesOptions},
};
use bucket_tests::Load;

use super::{windows::Record, *};

/// A collection with sealed buckets of the keys `a` and `A`.
async fn sealed(database: &TestDatabase) -> Buckets<Record> {
    let events = Record::buckets(database);
    events.ensure().await.unwrap();
    for device in ["a", "A"] {
        insert(&events, device, 0..100).await;
    }
    assert!(seal(&events).await > 5);
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_could_vanish_or_be_mixed_up_are_never_an_archive() {
    let database = database().await;
    let events = sealed(&database).await;
    let before = documents(&database, "events").await;
    let capped = database.create_collection("capped").capped(true);
    capped.size(1_000_000).await.unwrap();
    let ignores_case = Collation::builder()
        .locale("en")
        .strength(bucket_mongo::mongodb::options::CollationStrength::Secondary);
    let mixed_up = database.create_collection("mixed_up");
    mixed_up.collation(ignores_case.build()).await.unwrap();
    let by_time = TimeseriesOptions::builder().time_field("at").build();
    let series = database.create_collection("series").timeseries(by_time);
    series.await.unwrap();
    let view = doc! { "create": "view", "viewOn": "events", "pipeline": [] };
    database.run_command(view).await.unwrap();
    let used = database.collection::<Document>("used");
    used.insert_one(doc! { "of": "others" }).await.unwrap();
    let unique = doc! { "createIndexes": "unique", "indexes": [
        { "name": "only", "key": { "device": 1 }, "unique": true },
    ] };
    database.run_command(unique).await.unwrap();
    let valid = doc! { "create": "valid", "validator": { "device": { "$exists": true } } };
    database.run_command(valid).await.unwrap();
    for (name, why) in [
        ("capped", "capped"),
        ("unique", "unique index `only`"),
        ("valid", "validator"),
        ("mixed_up", "collation"),
        ("series", "time series"),
        ("view", "view"),
        ("used", "other documents"),
        ("events", "another collection"),
    ] {
        let place = || database.collection::<Document>(name);
        let error = events.archive_to(place()).await.unwrap_err();
        let refused = matches!(error.kind(), ErrorKind::InvalidArgument { .. });
        assert!(
            refused && error.to_string().contains(why),
            "{name}: {error}"
        );
        // A dry run says so, too.
        let error = events.archive_to(place()).dry_run().await.unwrap_err();
        assert!(error.to_string().contains(why), "{name}: {error}");
        // Nor does the set-up of a handle change anything there.
        let both = events.clone().with_archive(place());
        for ensured in [both.ensure().await, both.ensure().change_expiry().await] {
            let error = ensured.unwrap_err();
            assert!(error.to_string().contains(why), "{name}: {error}");
        }
    }
    assert_eq!(documents(&database, "events").await, before);
    assert_eq!(documents(&database, "used").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_meets_no_key_that_the_archives_collation_takes_for_the_same() {
    let database = database().await;
    let events = sealed(&database).await;
    events.archive_to(archive(&database)).await.unwrap();
    let ignores_case = Collation::builder()
        .locale("en")
        .strength(bucket_mongo::mongodb::options::CollationStrength::Secondary);
    let other = database.create_collection("other");
    other.collation(ignores_case.build()).await.unwrap();
    let copies = documents(&database, "archive").await;
    let other = database.collection::<Document>("other");
    other.insert_many(&copies).await.unwrap();
    let both = events.with_archive(&other);
    let erased = both.delete_key(Record::key_of("a")).await.unwrap();
    assert!(erased.archived > 3, "{erased:?}");
    let left = documents(&database, "other").await;
    assert_eq!(
        u64::try_from(copies.len() - left.len()),
        Ok(erased.archived)
    );
    assert_eq!(stored(&both, "A").await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_no_collection_of_buckets() {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
    #[bucket(collection = "archive", items = "items", window = "1m")]
    struct InArchive {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
        number: i64,
    }
    let database = database().await;
    let events = sealed(&database).await;
    events.archive_to(archive(&database)).await.unwrap();
    let before = documents(&database, "archive").await;
    let wrong = InArchive::buckets(&database);
    for report in [
        wrong.ensure().await.unwrap(),
        wrong.ensure().replace_indexes().await.unwrap(),
    ] {
        assert_eq!(report.created_indexes, Vec::<String>::new(), "{report}");
        assert!(report.to_string().contains("archive"), "{report}");
    }
    let record = InArchive {
        device: "b".to_owned(),
        at: date(0),
        number: 0,
    };
    let error = wrong.insert(&record).await.unwrap_err();
    assert!(error.is_drift(), "{error}");
    assert_eq!(documents(&database, "archive").await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_that_does_not_reach_the_copies_is_refused_before_it_removes_anything() {
    let database = database().await;
    let events = sealed(&database).await;
    events.archive_to(archive(&database)).await.unwrap();
    let wrong = events
        .clone()
        .with_archive(database.collection::<Document>("wrong"));
    let key = || Record::key_of("a");
    let before = documents(&database, "events").await;
    for is_dry in [true, false] {
        let erased = wrong.delete_key(key());
        let erased = if is_dry { erased.dry_run() } else { erased };
        let error = erased.await.unwrap_err();
        let refused = matches!(error.kind(), ErrorKind::InvalidArgument { .. });
        assert!(refused, "{error}");
        assert!(error.to_string().contains("without_copies"), "{error}");
    }
    assert_eq!(documents(&database, "events").await, before);
    let copies = documents(&database, "archive").await.len();
    // No archive need be known for that.
    let erased = events.delete_key(key()).without_copies().await.unwrap();
    assert_eq!((erased.records, erased.archived), (100, 0));
    assert_eq!(documents(&database, "archive").await.len(), copies);
    // Those that no bucket refers to are removed, too.
    let both = events.with_archive(archive(&database));
    let erased = both.delete_key(key()).await.unwrap();
    assert!(erased.archived > 3, "{erased:?}");
    assert_eq!(stored(&both, "A").await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_was_restored_from_a_dump_removes_no_copy_of_the_original() {
    let database = database().await;
    let events = sealed(&database).await;
    events.archive_to(archive(&database)).await.unwrap();
    let other = bucket_tests::database().await;
    let restored = Record::buckets(&other);
    restored.ensure().await.unwrap();
    let dump = documents(&database, "events").await;
    let there = other.collection::<Document>("events");
    there.insert_many(dump).await.unwrap();
    let copies = documents(&database, "archive").await;
    let both = restored.clone().with_archive(archive(&database));
    assert_eq!(stored(&both, "a").await.len(), 100);
    let back = restored.restore_from(archive(&database));
    let back = back.key(Record::key_of("a")).await.unwrap();
    assert!(back.buckets > 3 && back.damaged == 0, "{back}");
    assert_eq!(stored(&restored, "a").await.len(), 100);
    let erased = both.delete_key(Record::key_of("A")).await;
    assert!(
        erased
            .unwrap_err()
            .to_string()
            .contains("another collection")
    );
    let erased = both.delete_key(Record::key_of("A")).without_copies().await;
    assert_eq!(erased.unwrap().records, 100);
    assert_eq!(documents(&database, "archive").await, copies);
    let original = events.with_archive(archive(&database));
    for device in ["a", "A"] {
        assert_eq!(stored(&original, device).await.len(), 100);
    }
}

macro_rules! expiring {
    ($($name:ident [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "events", items = "items", window = "1m", seal_after = "1s", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            number: i64,
        }
    )*};
}

expiring! {
    Kept [];
    Old [expire_after = "9000d"];
    New [expire_after = "8000d"];
}

async fn limits(database: &TestDatabase, collection: &str) -> Vec<u64> {
    let collection = database.collection::<Document>(collection);
    let indexes = collection.list_indexes().await.unwrap();
    let indexes: Vec<_> = indexes.try_collect().await.unwrap();
    let expiring = indexes
        .iter()
        .filter_map(|it| it.options.clone()?.expire_after);
    expiring.map(|it| it.as_secs()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_archive_expires_an_hour_after_the_collection() {
    let database = database().await;
    let archived_to = |days: u64| vec![days * 24 * 60 * 60 + 60 * 60];
    let events = Old::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| Old {
        device: "a".to_owned(),
        at: date(number),
        number,
    });
    events.load(records).await;
    events.seal().await.unwrap();
    assert!(events.archive_to(archive(&database)).await.unwrap().buckets > 0);
    assert_eq!(limits(&database, "archive").await, archived_to(9_000));
    let shorter = New::buckets(&database).with_archive(archive(&database));
    shorter.ensure().change_expiry().await.unwrap();
    assert_eq!(limits(&database, "events").await, [8_000 * 24 * 60 * 60]);
    assert_eq!(limits(&database, "archive").await, archived_to(8_000));
    let kept = Kept::buckets(&database).with_archive(archive(&database));
    kept.ensure().change_expiry().await.unwrap();
    assert_eq!(limits(&database, "events").await, Vec::<u64>::new());
    assert_eq!(limits(&database, "archive").await, Vec::<u64>::new());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    capacity = 10,
    seal_after = "1s",
    expire_after = "7000d",
    keep_stats = "9500d"
)]
struct OtherForm {
    #[bucket(key)]
    device: String,
    #[bucket(time, first, last)]
    at: DateTime,
}

expiring! {
    Long [expire_after = "9000d", keep_stats = "9500d"];
    Short [expire_after = "8000d", keep_stats = "9500d"];
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    capacity = 10,
    seal_after = "1s",
    expire_after = "2s",
    keep_stats = "9500d"
)]
struct Brief {
    #[bucket(key)]
    device: String,
    #[bucket(time, first, last)]
    at: DateTime,
    number: i64,
}

/// The archive keeps them for an hour more, or longer.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_asks_for_the_archive_of_records_that_have_expired() {
    let database = database().await;
    let events = Brief::buckets(&database);
    events.ensure().await.unwrap();
    let at = DateTime::now();
    let records = (0..50).map(|number| Brief {
        device: "a".to_owned(),
        at,
        number,
    });
    events.load(records).await;
    events.seal().after(Duration::ZERO).await.unwrap();
    let moved = events.archive_to(archive(&database)).await.unwrap();
    assert!(moved.buckets > 3, "{moved}");
    let key = || "a".to_owned();
    let elsewhere = database.collection::<Document>("elsewhere");
    let wrong = events.clone().with_archive(elsewhere);
    tokio::time::sleep(Duration::from_secs(3)).await;
    for expired in [false, true] {
        let error = events.delete_key(key()).await.unwrap_err();
        assert!(error.is_archived(), "{expired}: {error}");
        if !expired {
            let error = wrong.delete_key(key()).await.unwrap_err();
            assert!(error.to_string().contains("does not have all"), "{error}");
            let report = events.expire_records().await.unwrap();
            assert_eq!(report.buckets, moved.buckets, "{report:?}");
        }
    }
    assert!(events.verify().await.unwrap().is_clean());
    let both = events.with_archive(archive(&database));
    let erased = both.delete_key(key()).await.unwrap();
    assert_eq!(erased.archived, moved.buckets);
    assert!(copies(&database).await.is_empty());
}

/// Where statistics are kept, the collection's own limit says nothing of the records'.
#[tokio::test(flavor = "multi_thread")]
async fn records_of_the_archive_expire_earlier_only_where_a_call_says_so() {
    let database = database().await;
    let days = |days: u64| vec![days * 24 * 60 * 60 + 60 * 60];
    let limit = async || limits(&database, "archive").await;
    let events = Long::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| Long {
        device: "a".to_owned(),
        at: date(number),
        number,
    });
    events.load(records).await;
    events.seal().await.unwrap();
    assert!(events.archive_to(archive(&database)).await.unwrap().buckets > 0);
    assert_eq!(limit().await, days(9_000));

    // Of another form.
    let other = OtherForm::buckets(&database).with_archive(archive(&database));
    let reports = [
        other.ensure().await.unwrap(),
        other.ensure().change_expiry().await.unwrap(),
        other
            .ensure()
            .replace_indexes()
            .change_expiry()
            .await
            .unwrap(),
    ];
    for report in reports {
        let is_of_others = |it: &Drift| matches!(it, Drift::OtherModel { .. });
        assert!(report.drift.iter().any(is_of_others), "{report}");
    }
    let error = other.archive_to(archive(&database)).await.unwrap_err();
    assert!(error.is_drift(), "{error}");
    assert_eq!(limit().await, days(9_000));

    // Of the same form, with a shorter limit.
    let shorter = Short::buckets(&database).with_archive(archive(&database));
    let report = shorter.ensure().await.unwrap();
    let [
        Drift::Expiry {
            name,
            expected,
            found,
            ..
        },
    ] = report.drift.as_slice()
    else {
        panic!("{report}")
    };
    let seconds = |limit: u64| u32::try_from(days(limit)[0]).unwrap();
    assert!(name.ends_with(".archive.bucket_expire"), "{name}");
    assert_eq!(
        (*expected, *found),
        (Some(seconds(8_000)), Some(seconds(9_000)))
    );
    shorter.archive_to(archive(&database)).await.unwrap();
    assert_eq!(limit().await, days(9_000));
    let report = shorter.ensure().change_expiry().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    assert_eq!(limit().await, days(8_000));
    // A longer one removes nothing.
    let longer = events.with_archive(archive(&database));
    assert!(longer.ensure().await.unwrap().drift.is_empty());
    assert_eq!(limit().await, days(9_000));
}

macro_rules! kept_counted {
    ($($name:ident $capacity:literal $days:literal)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(
            collection = "events", items = "items", capacity = $capacity, seal_after = "1s", expire_after = $days,
            keep_stats = "9500d"
        )]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time, first, last)]
            at: DateTime,
            number: i64,
        }
    )*};
}

kept_counted!(KeptWide 10 "9000d" KeptNarrow 5 "8000d");

/// Its index is made anew then.
#[tokio::test(flavor = "multi_thread")]
async fn another_capacity_brings_no_shorter_limit_to_the_archive() {
    let database = database().await;
    let days = |days: u64| vec![days * 24 * 60 * 60 + 60 * 60];
    let events = KeptWide::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..45).map(|number| KeptWide {
        device: "a".to_owned(),
        at: date(number),
        number,
    });
    events.load(records).await;
    events.seal().await.unwrap();
    events.archive_to(archive(&database)).await.unwrap();
    assert_eq!(limits(&database, "archive").await, days(9_000));
    let narrow = KeptNarrow::buckets(&database).with_archive(archive(&database));
    let report = narrow.ensure().replace_indexes().await.unwrap();
    assert!(
        report.to_string().contains(".archive.bucket_expire"),
        "{report}"
    );
    assert_eq!(limits(&database, "archive").await, days(9_000));
    narrow.ensure().change_expiry().await.unwrap();
    assert_eq!(limits(&database, "archive").await, days(8_000));
}

/// Those of the collection have another one, which its own model has agreed to.
#[tokio::test(flavor = "multi_thread")]
async fn copies_without_a_limit_get_that_of_the_collection() {
    let database = database().await;
    let events = Kept::buckets(&database);
    events.ensure().await.unwrap();
    let records = (0..100).map(|number| Kept {
        device: "a".to_owned(),
        at: date(number),
        number,
    });
    events.load(records).await;
    events.seal().await.unwrap();
    events.archive_to(archive(&database)).await.unwrap();
    Old::buckets(&database)
        .ensure()
        .change_expiry()
        .await
        .unwrap();
    let of_collection = vec![9_000 * 24 * 60 * 60 + 60 * 60];
    let other = Short::buckets(&database);
    for place in ["archive", "new"] {
        let place = database.collection::<Document>(place);
        let other = other.clone().with_archive(place.clone());
        other.ensure().await.unwrap();
        other.archive_to(&place).await.unwrap();
        assert_eq!(limits(&database, place.name()).await, of_collection);
    }
    let other = other.with_archive(archive(&database));
    other.ensure().change_expiry().await.unwrap();
    let records = vec![8_000 * 24 * 60 * 60 + 60 * 60];
    assert_eq!(limits(&database, "archive").await, records);
}

/// Somebody else's index, or a handle without the archive has changed the limit.
#[tokio::test(flavor = "multi_thread")]
async fn an_archive_that_would_remove_what_the_collection_keeps_is_refused() {
    let database = database().await;
    let events = Old::buckets(&database);
    events.ensure().await.unwrap();
    events.archive_to(archive(&database)).await.unwrap();
    let drop = doc! { "dropIndexes": "events", "index": "bucket_expire" };
    database.run_command(drop).await.unwrap();
    let error = events.archive_to(archive(&database)).await.unwrap_err();
    assert!(error.to_string().contains("would remove"), "{error}");
}

macro_rules! counted {
    ($($name:ident $capacity:literal)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(
            collection = "events", items = "items", capacity = $capacity, seal_after = "1s", expire_after = "9000d"
        )]
        struct $name {
            #[bucket(key)]
            device: String,
            #[bucket(time)]
            at: DateTime,
            number: i64,
        }
    )*};
}

counted!(Wide 10 Narrow 5);

/// Its index has the capacity in its condition.
#[tokio::test(flavor = "multi_thread")]
async fn the_archive_follows_a_change_of_capacity() {
    let database = database().await;
    let events = Wide::buckets(&database).with_archive(archive(&database));
    events.ensure().await.unwrap();
    let records = (0..45).map(|number| Wide {
        device: "a".to_owned(),
        at: date(number),
        number,
    });
    events.load(records).await;
    events.seal().await.unwrap();
    events.archive_to(archive(&database)).await.unwrap();
    let narrow = Narrow::buckets(&database).with_archive(archive(&database));
    narrow.ensure().replace_indexes().await.unwrap();
    narrow.archive_to(archive(&database)).await.unwrap();
    assert_eq!(narrow.range("a".to_owned(), ..).await.unwrap().len(), 45);
    let conditions = async |collection: &str| {
        let list = doc! { "listIndexes": collection };
        let reply = database.run_command(list).await.unwrap();
        let all = reply.get_document("cursor").unwrap();
        let all = all.get_array("firstBatch").unwrap().iter();
        let all = all.map(|index| index.as_document().unwrap());
        let expiring = all.filter(|index| index.contains_key("expireAfterSeconds"));
        let conditions = expiring.map(|index| index.get("partialFilterExpression").cloned());
        conditions.collect::<Vec<_>>()
    };
    assert_eq!(conditions("archive").await, conditions("events").await);
}

/// Buckets of these forms have the date by which they expire since their model has a limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    capacity = 10,
    seal_after = "1s"
)]
pub(super) struct Before {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    number: i64,
}
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "events",
    items = "items",
    capacity = 10,
    seal_after = "1s",
    expire_after = "9000d"
)]
pub(super) struct After {
    #[bucket(key)]
    device: String,
    #[bucket(time)]
    at: DateTime,
    number: i64,
}

/// Archives what a model without a limit has stored.
pub(super) async fn archived_without_a_limit(database: &Database) {
    let events = Before::buckets(database);
    events.ensure().await.unwrap();
    let records = (0..45).map(|number| Before {
        device: "a".to_owned(),
        at: date(number),
        number,
    });
    events.load(records).await;
    events.seal().await.unwrap();
    let archive = database.collection::<Document>("archive");
    events.archive_to(archive).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_expire_that_were_made_before_the_model_had_a_limit() {
    for with_archive in [true, false] {
        let database = database().await;
        archived_without_a_limit(&database).await;
        let after = After::buckets(&database);
        let after = if with_archive {
            after.with_archive(archive(&database))
        } else {
            after
        };
        after.ensure().change_expiry().await.unwrap();
        // A handle without the archive leaves it to this call.
        after.archive_to(archive(&database)).await.unwrap();
        let dates = async |collection: &str| {
            let all = documents(&database, collection).await;
            let sealed = all.iter().filter(|it| it.contains_key("_sealed"));
            let mut dates: Vec<_> = sealed.map(|it| it.get("expire_from").cloned()).collect();
            dates.sort_by_key(|it| it.as_ref().and_then(Bson::as_datetime).copied());
            dates
        };
        let own = dates("events").await;
        assert!(own.len() == 4 && own.iter().all(Option::is_some), "{own:?}");
        assert_eq!(dates("archive").await, own);
    }
}
