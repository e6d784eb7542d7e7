//! A collection holds the buckets of one form. A model of another form changes nothing in it and stores nothing.

use std::{fmt::Debug, time::Duration};

use bucket_core::{index::Drift, schema::Validation};
use bucket_mongo::{
    Bucketed, Error, ErrorKind, Which,
    action::EnsureReport,
    mongodb::bson::{DateTime, Document, doc},
    testing::TestDatabase,
};
use bucket_tests::{Load, database, documents};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::common::reading::{Counted, Hybrid, Numbered, Objects, Parts, UniqueNumbered};

fn batch<T>(of: fn(&str, i64) -> T, from: i64) -> Vec<T> {
    (from..from + 15).map(|number| of("a", number)).collect()
}

/// The index that shows the other form.
fn other(drift: &Drift) -> Option<(Option<&str>, &str)> {
    match drift {
        Drift::OtherModel { index, form, .. } => Some((index.as_deref(), form)),
        _ => None,
    }
}

fn is_of(report: &EnsureReport, form: &str) -> bool {
    let others: Vec<_> = report.drift.iter().filter_map(other).collect();
    !others.is_empty() && others.iter().all(|(_, of)| *of == form)
}

fn is_refused(error: &Error, form: &str) -> bool {
    assert!(error.is_drift() && !error.is_outcome_unknown(), "{error:?}");
    matches!(error.kind(), ErrorKind::Drift(drift) if other(drift).is_some_and(|(_, of)| of == form))
}

async fn indexes(database: &TestDatabase) -> Vec<String> {
    let collection = database.collection::<Document>("readings");
    let mut names = collection.list_index_names().await.unwrap();
    names.sort();
    names
}

/// The second model meets the collection of the first one, which is in use.
async fn leaves<T, U>(first: fn(&str, i64) -> T, second: fn(&str, i64) -> U)
where
    T: Bucketed + Debug,
    U: Bucketed + Debug,
{
    let (form, other_form) = (T::SPEC.form(), U::SPEC.form());
    let form_name = name(form);
    let what = format!("{other_form:?} after {form:?}");
    let database = database().await;
    let (owner, guest) = (T::buckets(&database), U::buckets(&database));
    owner.ensure().await.unwrap();
    let report = owner.insert_many(batch(first, 0)).await.unwrap();
    report.into_result().unwrap();
    let before = (
        indexes(&database).await,
        documents(&database, "readings").await,
    );
    for report in [
        guest.ensure().await.unwrap(),
        guest.ensure().replace_indexes().await.unwrap(),
        guest.ensure().change_expiry().await.unwrap(),
    ] {
        assert!(is_of(&report, form_name), "{what}: {report}");
        assert!(report.created_indexes.is_empty(), "{what}: {report}");
        assert!(report.dropped_indexes.is_empty(), "{what}: {report}");
    }
    let error = guest.insert(&second("a", 1)).await.unwrap_err();
    assert!(is_refused(&error, form_name), "{what}: {error:?}");
    let report = guest.insert_many(batch(second, 0)).await.unwrap();
    assert_eq!((report.stored(), report.failed().len()), (0, 15), "{what}");
    assert!(is_refused(&report.failed()[0].error, form_name), "{what}");
    // To it, each bucket is damaged.
    let removal = guest.delete_range(second("a", 1).key(), ..);
    let mut errors = vec![removal.await.unwrap_err()];
    let refs = guest.range(second("a", 1).key(), ..).with_refs().await;
    if let Some(first) = refs.ok().as_ref().and_then(|refs| refs.first()) {
        let which = Which::from(first.reference.clone());
        let removal = guest.delete(second("a", 1).key(), &which);
        errors.push(removal.await.unwrap_err());
    }
    match guest.verify().await {
        Ok(found) => {
            errors.push(guest.repair(&found).dry_run().await.unwrap_err());
            errors.push(guest.repair(&found).await.unwrap_err());
        }
        Err(error) => assert!(error.needs_ensure(), "{what}: {error:?}"),
    }
    // Its archive is not the guest's either.
    let place = || database.collection::<Document>("archive");
    for is_dry in [true, false] {
        let (to, from) = (guest.archive_to(place()), guest.restore_from(place()));
        let (to, from) = if is_dry {
            (to.dry_run(), from.dry_run())
        } else {
            (to, from)
        };
        errors.extend([to.await.unwrap_err(), from.await.unwrap_err()]);
    }
    let names = database.list_collection_names().await.unwrap();
    assert!(!names.contains(&"archive".to_owned()), "{what}: {names:?}");
    for error in errors {
        assert!(is_refused(&error, form_name), "{what}: {error:?}");
    }
    let after = (
        indexes(&database).await,
        documents(&database, "readings").await,
    );
    assert_eq!(after, before, "{what}");
    // The first model goes on, and so does a process that starts now.
    for (from, owner) in [(20, owner), (40, T::buckets(&database))] {
        let report = owner.ensure().await.unwrap();
        assert!(report.drift.is_empty(), "{what}: {report}");
        let report = owner.insert_many(batch(first, from)).await.unwrap();
        report.into_result().unwrap();
    }
    // Its indexes were not restored with its buckets.
    let drop = doc! { "dropIndexes": "readings", "index": "*" };
    database.run_command(drop).await.unwrap();
    let report = guest.ensure().await.unwrap();
    let found: Vec<_> = report.drift.iter().filter_map(other).collect();
    assert_eq!(found, [(None, form_name)], "{what}");
    assert_eq!(indexes(&database).await, ["_id_"], "{what}");
    let error = U::buckets(&database)
        .insert(&second("a", 1))
        .await
        .unwrap_err();
    assert!(error.needs_ensure(), "{what}: {error:?}");
    let report = T::buckets(&database).ensure().await.unwrap();
    assert!(report.drift.is_empty(), "{what}: {report}");
    assert_eq!(indexes(&database).await, before.0, "{what}");
}

fn name(form: bucket_core::Form) -> &'static str {
    match form {
        bucket_core::Form::Count { .. } => "count",
        bucket_core::Form::Window { .. } => "window",
        bucket_core::Form::Hybrid { .. } => "hybrid",
        bucket_core::Form::Numbered { .. } => "numbered",
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_in_use_is_left_to_its_form() {
    tokio::join!(
        leaves(Counted::of, Parts::of),
        leaves(Counted::of, Objects::of),
        leaves(Counted::of, Hybrid::of),
        leaves(Counted::of, Numbered::of),
    );
    tokio::join!(
        leaves(Parts::of, Counted::of),
        leaves(Parts::of, Hybrid::of),
        leaves(Objects::of, Numbered::of),
        leaves(Objects::of, Counted::of),
    );
    tokio::join!(
        leaves(Parts::of, Objects::of),
        leaves(Objects::of, Parts::of),
    );
    tokio::join!(
        leaves(Hybrid::of, Counted::of),
        leaves(Hybrid::of, Parts::of),
        leaves(Hybrid::of, UniqueNumbered::of),
    );
    tokio::join!(
        leaves(UniqueNumbered::of, Counted::of),
        leaves(Numbered::of, Objects::of),
        leaves(Numbered::of, Hybrid::of),
    );
}

/// Readings with another key; that of `sensor_id` has the same index names.
macro_rules! other_keys {
    ($($name:ident $key:ident: [$($attributes:tt)*] [$($id:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "readings", items = "items", $($attributes)*)]
        struct $name {
            #[bucket(key)]
            $key: String,
            #[bucket(time)]
            at: DateTime,
            $($id)*
            number: i64,
        }

        impl $name {
            fn of(key: &str, number: i64) -> Self {
                let at = DateTime::from_millis(1_700_000_000_000 + number);
                Self { $key: key.to_owned(), at, number }
            }
        }
    )*};
}

other_keys! {
    CountedDevices device: [capacity = 4] [#[bucket(unique)]]
    SmallDevices device: [capacity = 3] [#[bucket(unique)]]
    DeviceParts device: [window = "1h", capacity = 4] [#[bucket(unique)]]
    HybridIds sensor_id: [capacity = 4, max_duration = "1h"] []
    HybridDevices device: [capacity = 4, max_duration = "1h"] []
    NumberedIds sensor_id: [capacity = 4, numbered] []
    IdObjects sensor_id: [window = "1h", capacity = 4, object_ids] []
    NumberedObjects sensor: [capacity = 4, numbered, object_ids] []
}

/// Both have the same indexes: their buckets show whose the collection is.
#[tokio::test(flavor = "multi_thread")]
async fn numbered_buckets_with_and_without_object_ids_are_those_of_two_models() {
    async fn leaves<T: Bucketed + Debug, U: Bucketed + Debug>(
        first: fn(&str, i64) -> T,
        second: fn(&str, i64) -> U,
    ) {
        let database = database().await;
        let (owner, guest) = (T::buckets(&database), U::buckets(&database));
        owner.ensure().await.unwrap();
        owner.load(batch(first, 0)).await;
        let before = documents(&database, "readings").await;
        for report in [
            guest.ensure().await.unwrap(),
            guest.ensure().replace_indexes().await.unwrap(),
        ] {
            assert!(is_of(&report, "numbered"), "{report}");
            assert!(report.dropped_indexes.is_empty(), "{report}");
        }
        let error = guest.insert(&second("a", 1)).await.unwrap_err();
        assert!(
            error.is_damaged() && !error.is_outcome_unknown(),
            "{error:?}"
        );
        let report = guest.insert_many(batch(second, 0)).await.unwrap();
        assert_eq!((report.stored(), report.failed().len()), (0, 15));
        assert_eq!(documents(&database, "readings").await, before);
        let report = T::buckets(&database).ensure().await.unwrap();
        assert!(report.drift.is_empty(), "{report}");
    }
    leaves(Numbered::of, NumberedObjects::of).await;
    leaves(NumberedObjects::of, Numbered::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_in_use_is_left_to_its_keys() {
    tokio::join!(
        leaves(Counted::of, CountedDevices::of),
        leaves(Counted::of, SmallDevices::of),
        leaves(SmallDevices::of, Counted::of),
        leaves(Parts::of, DeviceParts::of),
    );
    tokio::join!(
        leaves(Hybrid::of, HybridIds::of),
        leaves(Hybrid::of, HybridDevices::of),
        leaves(Numbered::of, NumberedIds::of),
        leaves(Objects::of, IdObjects::of),
    );
    moves_into_the_empty_one::<Counted, _>(SmallDevices::of).await;
    moves_into_the_empty_one::<Hybrid, _>(HybridIds::of).await;
    moves_into_the_empty_one::<Parts, _>(DeviceParts::of).await;
}

async fn moves_into_the_empty_one<T: Bucketed, U: Bucketed>(second: fn(&str, i64) -> U) {
    let database = database().await;
    T::buckets(&database).ensure().await.unwrap();
    let guest = U::buckets(&database);
    let report = guest.ensure().await.unwrap();
    assert!(is_of(&report, name(T::SPEC.form())), "{report}");
    let report = guest.ensure().replace_indexes().await.unwrap();
    assert!(report.drift.is_empty(), "{report}");
    assert!(!report.dropped_indexes.is_empty(), "{report}");
    let report = guest.insert_many(batch(second, 0)).await.unwrap();
    report.into_result().unwrap();
    let report = T::buckets(&database).ensure().await.unwrap();
    assert!(is_of(&report, name(U::SPEC.form())), "{report}");
}

#[tokio::test]
async fn an_empty_collection_changes_its_form_if_indexes_may_be_replaced() {
    moves_into_the_empty_one::<Counted, _>(Numbered::of).await;
    moves_into_the_empty_one::<Numbered, _>(Hybrid::of).await;
    moves_into_the_empty_one::<Hybrid, _>(Objects::of).await;
    moves_into_the_empty_one::<Objects, _>(Counted::of).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_forms_at_once_one_gets_the_collection_and_the_others_report_it() {
    async fn set_up<T: Bucketed>(database: &TestDatabase, millis: u64) -> EnsureReport {
        sleep(Duration::from_millis(millis)).await;
        T::buckets(database).ensure().validator().await.unwrap()
    }
    let database = database().await;
    for round in 0..12_u64 {
        let collection = database.collection::<Document>("readings");
        collection.drop().await.unwrap();
        let pause = |turn: u64| (round * 7 + turn * 3) % 5 * round / 3;
        let (counted, hybrid, numbered, objects) = tokio::join!(
            set_up::<Counted>(&database, pause(0)),
            set_up::<Hybrid>(&database, pause(1)),
            set_up::<Numbered>(&database, pause(2)),
            set_up::<Objects>(&database, pause(3)),
        );
        let reports = [
            (Counted::SPEC, counted),
            (Hybrid::SPEC, hybrid),
            (Numbered::SPEC, numbered),
            (Objects::SPEC, objects),
        ];
        let owners = reports.iter().filter(|(_, report)| report.drift.is_empty());
        let [(owner, report)] = owners.collect::<Vec<_>>()[..] else {
            panic!("round {round}: {reports:?}")
        };
        let mut own: Vec<String> = bucket_core::index::plan(owner)
            .into_iter()
            .map(|plan| plan.name)
            .collect();
        assert_eq!(report.created_indexes, own, "round {round}: {report}");
        own.push("_id_".to_owned());
        own.sort();
        assert_eq!(indexes(&database).await, own, "round {round}");
        let listed = doc! { "listCollections": 1, "filter": { "name": "readings" } };
        let mut listed = database.run_cursor_command(listed).await.unwrap();
        let found = listed.try_next().await.unwrap().unwrap();
        let validation = Validation::of_listed(owner, &found);
        assert!(matches!(validation, Validation::Same), "{validation:?}");
        for (spec, report) in &reports {
            let is_other = spec.form() != owner.form();
            // It may have met the index of a call that gave way after that.
            let reports = report.drift.iter().any(|drift| other(drift).is_some());
            assert_eq!(reports, is_other, "{report}");
        }
    }
}
