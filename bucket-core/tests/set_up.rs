//! What a collection must have for writes to be exact, and what a batch does if the collection has
//! changed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "in a test they are the point"
)]

#[path = "common/sample.rs"]
mod sample;

use bson::{Binary, DateTime, Document, doc, spec::BinarySubtype};
use bucket_core::{
    Record,
    index::{self, Drift, Unmet},
    schema::CollectionDescription,
    write::{Batch, Certainty, Need},
};
use sample::{
    COUNT, HYBRID_MERGE, NUMBERED, NUMBERED_IDS, NUMBERED_OBJECT, Sample, WINDOW, WINDOW_EXPIRE,
    WINDOW_OBJECT,
};

fn check<const F: usize>(needed: &[&str]) {
    let spec = Sample::<F>::SPEC;
    let found: Vec<Document> = index::plan(spec)
        .iter()
        .map(index::IndexPlan::definition)
        .collect();
    assert_eq!(index::unmet(spec, &found), None);
    for missing in &found {
        let name = missing.get_str("name").unwrap();
        let others: Vec<Document> = found.iter().filter(|it| *it != missing).cloned().collect();
        let is_needed = needed.contains(&name);
        let unmet = is_needed.then(|| Unmet::Missing {
            name: name.to_owned(),
        });
        assert_eq!(index::unmet(spec, &others), unmet, "{name}");
        // Another definition of the same name.
        let mut other = missing.clone();
        other.insert("key", doc! { "others": 1 });
        let others: Vec<Document> = others.into_iter().chain([other]).collect();
        let unmet = index::unmet(spec, &others);
        let differs = |unmet: &Unmet| matches!(unmet, Unmet::Differs(Drift::Index { .. }));
        // Or the server removes buckets by another rule.
        let is_refused = is_needed || missing.contains_key("expireAfterSeconds");
        assert_eq!(unmet.as_ref().is_some_and(differs), is_refused, "{name}");
        assert_eq!(unmet.is_some(), is_refused, "{name}");
    }
    for name in needed {
        assert!(
            found
                .iter()
                .any(|index| index.get_str("name").unwrap() == *name)
        );
    }
}

#[test]
fn writes_depend_on_the_unique_indexes_the_one_that_orders_buckets_and_the_mark() {
    check::<COUNT>(&["bucket_open_4", "bucket_pages"]);
    check::<WINDOW>(&["bucket_pages", "bucket_times"]);
    check::<WINDOW_EXPIRE>(&["bucket_pages", "bucket_times"]);
    check::<WINDOW_OBJECT>(&["device_time_idx", "bucket_times"]);
    check::<HYBRID_MERGE>(&["device_open_idx", "bucket_pages"]);
    check::<NUMBERED>(&["device_full_idx", "device_order_idx"]);
    check::<NUMBERED_OBJECT>(&["device_full_idx", "device_order_idx"]);
    check::<NUMBERED_IDS>(&["device_full_idx", "device_order_idx", "bucket_unique"]);
}

#[test]
fn writes_stop_while_the_open_index_of_another_capacity_is_beside_the_models() {
    let spec = Sample::<COUNT>::SPEC;
    let own = definitions::<COUNT>();
    for capacity in [3, 5] {
        let mut other = own[0].clone();
        other.insert("name", format!("bucket_open_{capacity}"));
        let found: Vec<Document> = own.iter().cloned().chain([other.clone()]).collect();
        let unmet = index::unmet(spec, &found);
        let is_other = matches!(&unmet, Some(Unmet::Differs(Drift::Capacity { .. })));
        assert!(is_other, "{unmet:?}");
        // A call that replaces the model's index is at work, which takes long where there is much.
        for unfinished in unfinished(&other) {
            let found: Vec<Document> = own.iter().cloned().chain([unfinished]).collect();
            assert_eq!(index::unmet(spec, &found), None);
        }
    }
}

/// How servers list an index whose build is not finished; the second form is used if more details
/// are requested.
fn unfinished(definition: &Document) -> [Document; 2] {
    let build = Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![7; 16],
    };
    [
        doc! { "buildUUID": &build, "spec": definition.clone() },
        doc! { "spec": definition.clone(), "indexBuildInfo": { "buildUUID": &build } },
    ]
}

fn check_unfinished<const F: usize>() {
    let spec = Sample::<F>::SPEC;
    let plans = index::plan(spec);
    let found: Vec<Document> = plans.iter().map(index::IndexPlan::definition).collect();
    let is_needed = |name: &str| {
        let others = found.iter();
        let others = others.filter(|index| index.get_str("name").unwrap() != name);
        index::unmet(spec, &others.cloned().collect::<Vec<_>>()).is_some()
    };
    let needs_another = |name: &str| {
        let mut others = plans.iter().filter(|plan| plan.name != name);
        others.any(|plan| is_needed(&plan.name))
    };
    for (at, plan) in plans.iter().enumerate() {
        let name = plan.name.clone();
        for unfinished in unfinished(&found[at]) {
            let mut found = found.clone();
            found[at] = unfinished.clone();
            let unmet = is_needed(&name).then_some(Unmet::Unfinished { name: name.clone() });
            assert_eq!(index::unmet(spec, &found), unmet, "{name}");
            let to_create = (vec![plan.clone()], Vec::new());
            assert_eq!(index::compare(spec, &found), to_create, "{name}");
            // Waiting does not help if another one is missing.
            let mut others = found.clone();
            others.retain(|entry| *entry == unfinished);
            let missing = index::unmet(spec, &others);
            let is_missing = matches!(missing, Some(Unmet::Missing { name: n }) if n != name);
            assert_eq!(is_missing, needs_another(&name), "{name}");
        }
        // The index being built is another one.
        let mut other = found[at].clone();
        other.insert("sparse", true);
        for unfinished in unfinished(&other) {
            let mut found = found.clone();
            found[at] = unfinished;
            let (missing, drift) = index::compare(spec, &found);
            let differs = matches!(drift.as_slice(), [Drift::Index { name: n, .. }] if *n == name);
            assert!(missing.is_empty() && differs, "{drift:?}");
        }
    }
}

#[test]
fn an_index_that_is_still_being_built_does_not_count() {
    check_unfinished::<COUNT>();
    check_unfinished::<WINDOW>();
    check_unfinished::<WINDOW_EXPIRE>();
    check_unfinished::<WINDOW_OBJECT>();
    check_unfinished::<HYBRID_MERGE>();
    check_unfinished::<NUMBERED_IDS>();
}

fn check_collation<const F: usize>() {
    let spec = Sample::<F>::SPEC;
    let plans = index::plan(spec);
    let own: Vec<Document> = plans.iter().map(index::IndexPlan::definition).collect();
    let id = doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" };
    let unmet = |collation: Document, own: &[Document]| {
        let mut id = id.clone();
        id.insert("collation", collation);
        index::unmet(spec, &[&[id], own].concat())
    };
    let differs = Some(Unmet::Differs(Drift::__collation("en")));
    let english = doc! { "locale": "en", "strength": 2 };
    // Whatever else exists: an index that is created gets it too.
    assert_eq!(unmet(english.clone(), &own), differs);
    assert_eq!(unmet(english, &[]), differs);
    assert_eq!(unmet(doc! { "locale": "simple" }, &own), None);
}

#[test]
fn the_index_on_ids_shows_the_collation_of_its_collection() {
    check_collation::<COUNT>();
    check_collation::<WINDOW_OBJECT>();
    check_collation::<NUMBERED_IDS>();
}

fn check_other_collection<const F: usize>() {
    let mut batch = Batch::of::<Sample<F>>();
    for (index, device) in ["a", "b"].into_iter().enumerate() {
        let record = Sample::<F> {
            device: device.to_owned(),
            at: DateTime::from_millis(0),
            unique: 0,
            value: 1,
            level: None,
            code: String::new(),
        };
        batch.push(index, &record).unwrap();
    }
    for chain in batch.chains_mut() {
        chain.saw_none_open();
    }
    let rounds = batch.rounds(None);
    assert!(rounds.iter().any(bucket_core::write::Round::opens));
    let refused = doc! { "index": 0, "code": 361, "errmsg": "Collection UUID does not match" };
    let reply = doc! { "ok": 1, "n": 0, "writeErrors": [refused] };
    let settled = batch.settle(&rounds[0], &reply, Certainty::Full);
    assert!(settled.other_collection);
    assert!(settled.failed.is_empty() && settled.stored.is_empty());
    batch.forget();
    for chain in batch.chains() {
        assert_eq!(chain.need(), Need::NewestBucket);
        assert_eq!(chain.hint(false), None);
    }
    assert_eq!(batch.indexes(), [0, 1]);
}

#[test]
fn in_a_changed_collection_every_chain_starts_with_a_new_lookup() {
    check_other_collection::<COUNT>();
    check_other_collection::<HYBRID_MERGE>();
    check_other_collection::<NUMBERED>();
}

fn definitions<const F: usize>() -> Vec<Document> {
    let plans = index::plan(Sample::<F>::SPEC);
    plans.iter().map(index::IndexPlan::definition).collect()
}

/// The second model meets the first one's indexes, finished or not, all of them or one.
fn check_other_form<const F: usize, const G: usize>(form: &str) {
    let spec = Sample::<G>::SPEC;
    let is_other =
        |drift: &Drift| matches!(drift, Drift::OtherModel { form: of, .. } if *of == form);
    let own = definitions::<G>();
    let first = definitions::<F>();
    let (mut missing, drift) = index::compare(spec, &first);
    assert!(drift.iter().any(is_other), "{drift:?}");
    index::take_rivals(&mut missing, &drift);
    assert_eq!(missing, []);
    for other in first.iter().filter(|other| {
        let name = other.get_str("name").unwrap();
        other.contains_key("unique") || name == "bucket_times"
    }) {
        for listed in unfinished(other).into_iter().chain([other.clone()]) {
            let found: Vec<Document> = own.iter().cloned().chain([listed]).collect();
            let unmet = index::unmet(spec, &found);
            let is_refused = matches!(&unmet, Some(Unmet::Differs(drift)) if is_other(drift));
            assert!(is_refused, "{other}: {unmet:?}");
        }
    }
}

#[test]
fn each_index_that_refuses_buckets_of_another_form_shows_whose_the_collection_is() {
    check_other_form::<COUNT, WINDOW>("count");
    check_other_form::<COUNT, WINDOW_OBJECT>("count");
    check_other_form::<COUNT, HYBRID_MERGE>("count");
    check_other_form::<COUNT, NUMBERED>("count");
    check_other_form::<WINDOW, COUNT>("window");
    check_other_form::<WINDOW, NUMBERED>("window");
    check_other_form::<WINDOW_OBJECT, HYBRID_MERGE>("window");
    check_other_form::<WINDOW_OBJECT, COUNT>("window");
    check_other_form::<HYBRID_MERGE, COUNT>("hybrid");
    check_other_form::<HYBRID_MERGE, WINDOW>("hybrid");
    check_other_form::<NUMBERED, HYBRID_MERGE>("numbered");
    check_other_form::<NUMBERED_OBJECT, COUNT>("numbered");
}

#[test]
fn an_index_of_the_users_shows_no_other_model() {
    let spec = Sample::<COUNT>::SPEC;
    let own = definitions::<COUNT>();
    let closed = doc! { "is_closed": false };
    for mine in [
        doc! { "name": "customer_order_idx", "key": { "customer_id": 1, "order": 1 }, "unique": true },
        doc! { "name": "customer_open_idx", "key": { "customer_id": 1 }, "unique": true },
        doc! { "name": "device_open_idx", "key": { "device": 1 }, "partialFilterExpression": &closed },
        doc! { "name": "my_open_idx", "key": { "device": 1 }, "unique": true, "partialFilterExpression": &closed },
        doc! { "name": "device_time_idx", "key": { "device": 1, "bucket_start": 1 }, "unique": true },
        doc! { "name": "device_time_idx", "key": { "device": 1, "a": 1, "b": 1 } },
        doc! { "name": "open_idx", "key": {}, "unique": true, "partialFilterExpression": &closed },
    ] {
        let found: Vec<Document> = own.iter().cloned().chain([mine.clone()]).collect();
        assert_eq!(index::unmet(spec, &found), None, "{mine}");
        assert_eq!(index::compare(spec, &found), (vec![], vec![]), "{mine}");
    }
}

#[test]
fn buckets_of_another_form_show_it_and_damaged_ones_of_the_model_do_not() {
    let bucket = |field: &str| doc! { "count": 1, "items": "array", "_key_0": "string", field: 1 };
    let form = |spec, buckets: &[Document]| match index::other_buckets(spec, buckets) {
        Some(Drift::OtherModel {
            index: None, form, ..
        }) => Some(form),
        None => None,
        Some(other) => panic!("{other:?}"),
    };
    let count = Sample::<COUNT>::SPEC;
    assert_eq!(form(count, &[]), None);
    assert_eq!(form(count, &[bucket("bucket_number")]), Some("numbered"));
    assert_eq!(form(count, &[bucket("is_closed")]), Some("hybrid"));
    assert_eq!(form(count, &[bucket("bucket_start")]), Some("window"));
    assert_eq!(form(count, &[bucket("x")]), None);
    let window = Sample::<WINDOW>::SPEC;
    assert_eq!(form(window, &[bucket("x")]), Some("count"));
    assert_eq!(form(window, &[bucket("x"), bucket("bucket_start")]), None);
    // Those of other key fields are another model's.
    let other_key = doc! { "count": 1, "items": "array", "_key_0": "missing" };
    assert_eq!(form(count, std::slice::from_ref(&other_key)), Some("count"));
    assert_eq!(form(count, &[other_key, bucket("x")]), None);
    // No buckets.
    assert_eq!(
        form(window, &[doc! { "count": 1 }, doc! { "items": "array" }]),
        None
    );
}

/// Readers take what is younger than their limit for not merged.
#[test]
fn a_limit_after_that_of_merges_is_drift() {
    let spec = Sample::<{ sample::WINDOW_MERGED }>::SPEC;
    let mut described = CollectionDescription::of(spec, None, DateTime::from_millis(0));
    let own = i64::from(spec.seal_after().unwrap());
    for (merged_after, drifts) in [(own, 0), (own + 1, 0), (own - 1, 1)] {
        described.form.insert("merged_after", merged_after);
        let drift = described.drift(spec);
        assert_eq!(drift.len(), drifts, "{drift:?}");
    }
    // Of a collection that was described before.
    described.form.remove("merged_after").unwrap();
    assert!(described.drift(spec).is_empty());
}
