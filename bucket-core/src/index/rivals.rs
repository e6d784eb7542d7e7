//! Indexes that models of several capacities, forms or key fields create at the same moment.

use bson::Document;

use super::{Listed, other_model::Mark};
use crate::model::spec::BucketSpec;

/// What a call does that has just created the index by which others know its model.
///
/// Each of several calls at once lists the indexes again after it has created its own. So of two that created
/// theirs, at least one sees the other one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rivalry {
    /// No other model has got an index since.
    None,
    /// A larger capacity, or a form or a key that gives way to this one, has got one: its call drops it, unless it
    /// was done before.
    Waits,
    /// A smaller capacity, or a form or a key that keeps the collection, has got one: this call drops its own.
    GivesWay,
    /// The model's own index is gone.
    Lost,
}

/// Compares the indexes from before the model's first one was created with those from after that. The first one is
/// the index on open buckets, or that on the times of a key's windows.
///
/// ```
/// # use bucket_core::{BucketSpec, index::{self, Rivalry}};
/// fn is_the_only_one(spec: &BucketSpec, before: &[bson::Document], after: &[bson::Document]) -> bool {
///     index::rivalry(spec, before, after) == Rivalry::None
/// }
/// ```
#[must_use]
pub fn rivalry(spec: &BucketSpec, before: &[Document], after: &[Document]) -> Rivalry {
    let Some(own) = Mark::of_model(spec) else {
        return Rivalry::None;
    };
    let before = marks(before);
    let after = marks(after);
    if !after.iter().any(|(mark, _)| mark.name() == own.name()) {
        return Rivalry::Lost;
    }
    // The model may have several, and share some with others.
    let plans = super::plan::plan(spec);
    let is_own = |mark: &Mark| plans.iter().any(|plan| plan.name == mark.name());
    let is_rival = |(mark, _): &&(Mark, bool)| {
        !is_own(mark) && !before.iter().any(|(it, _)| it.name() == mark.name())
    };
    let rivals: Vec<&(Mark, bool)> = after.iter().filter(is_rival).collect();
    if rivals.iter().any(|(mark, _)| *mark < own) {
        Rivalry::GivesWay
    } else if rivals.iter().any(|(_, is_unfinished)| !is_unfinished) {
        Rivalry::Waits
    } else {
        // Its call looks again when the index is built, and finds the model's.
        Rivalry::None
    }
}

/// Whether the model's index on open buckets was left beside that of a smaller capacity: a call that ended
/// before it gave way left it, or another call is about to replace the smaller one.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn is_alone(spec: &BucketSpec, found: &[bson::Document]) -> bool {
///     !index::is_left_over(spec, found)
/// }
/// ```
#[must_use]
pub fn is_left_over(spec: &BucketSpec, found: &[Document]) -> bool {
    let Some(own) = Mark::of_model(spec) else {
        return false;
    };
    let finished = marks(found);
    let finished = || finished.iter().filter(|(_, is_unfinished)| !is_unfinished);
    finished().any(|(mark, _)| *mark == own)
        && finished().any(|(mark, _)| mark.is_smaller_capacity_than(&own))
}

/// The indexes that show whose the collection is, and whether they are still being built.
fn marks(found: &[Document]) -> Vec<(Mark, bool)> {
    let marks = Listed::all(found).into_iter();
    let marks = marks.filter_map(|listed| Some((Mark::of(&listed)?, listed.is_unfinished)));
    marks.collect()
}

#[cfg(test)]
mod tests {
    use bson::{Document, doc};

    use super::{Rivalry, rivalry};
    use crate::model::{
        form::Form,
        spec::{BucketSpec, IdSegment, KeyField, Names, SpecParts, TimeField, TimeUnit},
    };

    const PARTS: SpecParts = SpecParts {
        record: "Trade",
        collection: "trades",
        items: "history",
        form: Form::Count { capacity: 10 },
        id: &[
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Time(TimeUnit::Seconds),
        ],
        keys: &[KeyField {
            field: "customer_id",
            path: "customerId",
        }],
        time: TimeField {
            field: "date",
            name: "date",
        },
        names: Names::DEFAULT,
        max_bytes: None,
        raised_from: None,
        expire_after: None,
        keep_stats: None,
        seal_after: None,
        merge: None,
        merge_stats: None,
        object_ids: false,
        compression: None,
        inputs: &[],
        aggregates: &[],
        unique: None,
        arrays: &[],
        fields: &[],
    };
    const SPEC: BucketSpec = BucketSpec::__new(PARTS);

    fn named(names: &[&str]) -> Vec<Document> {
        names.iter().map(|name| doc! { "name": name }).collect()
    }

    fn check(spec: &BucketSpec, before: &[&str], after: &[&str]) -> Rivalry {
        rivalry(spec, &named(before), &named(after))
    }

    #[test]
    fn of_two_new_indexes_the_larger_capacity_gives_way() {
        let spec = &SPEC;
        let own = "bucket_open_10";
        assert_eq!(check(spec, &[], &[own]), Rivalry::None);
        assert_eq!(check(spec, &[], &[own, "bucket_open_20"]), Rivalry::Waits);
        assert_eq!(check(spec, &[], &[own, "bucket_open_9"]), Rivalry::GivesWay);
        let all = ["bucket_open_100", "bucket_open_9", own];
        assert_eq!(check(spec, &[], &all), Rivalry::GivesWay);
        // What was there before is drift.
        assert_eq!(
            check(spec, &["bucket_open_9"], &[own, "bucket_open_9"]),
            Rivalry::None
        );
        assert_eq!(check(spec, &[], &["bucket_open_9"]), Rivalry::Lost);
        assert_eq!(
            check(spec, &[], &[own, "bucket_open_mine"]),
            Rivalry::GivesWay
        );
        // Other forms know each other by definition.
        let full = doc! {
            "name": "device_full_idx", "key": { "device": 1, "is_full": 1 }, "unique": true,
            "partialFilterExpression": { "is_full": false },
        };
        let with = |other: Document| [named(&[own]), vec![other]].concat();
        assert_eq!(rivalry(spec, &[], &with(full.clone())), Rivalry::Waits);
        assert_eq!(
            rivalry(spec, std::slice::from_ref(&full), &with(full.clone())),
            Rivalry::None
        );
        let mut after = named(&[own]);
        after.push(doc! { "spec": { "name": "bucket_open_20" }, "buildUUID": 1 });
        assert_eq!(rivalry(spec, &[], &after), Rivalry::None);
    }

    #[test]
    fn of_two_windows_with_other_keys_the_later_name_gives_way_and_the_shared_index_is_no_rival() {
        let times = |key: &str, is_unique: bool| {
            let mut index = doc! {
                "name": format!("{key}_time_idx"), "key": { key: 1, "bucket_start": 1 },
            };
            if is_unique {
                index.insert("unique", true);
                index.insert("key", doc! { key: 1, "bucket_start": 1, "bucket_part": 1 });
            }
            index
        };
        let shared = doc! { "name": "bucket_times", "key": { "bucket_end": 1, "bucket_start": 1 } };
        for is_unique in [false, true] {
            let spec = BucketSpec::__new(SpecParts {
                form: Form::Window {
                    window: crate::Window::Seconds(3_600),
                    capacity: None,
                    parts: false,
                },
                object_ids: is_unique,
                ..PARTS
            });
            let first = spec.first_index_name();
            let mut plans = crate::index::plan(&spec).into_iter();
            let own = plans.find(|plan| Some(&plan.name) == first.as_ref());
            let own = own.map(|plan| plan.definition()).unwrap_or_default();
            let with = |others: &[&Document]| {
                let others = others.iter().map(|it| (*it).clone());
                let after: Vec<Document> = [own.clone()].into_iter().chain(others).collect();
                rivalry(&spec, &[], &after)
            };
            assert_eq!(with(&[]), Rivalry::None);
            assert_eq!(with(&[&shared]), Rivalry::None);
            for other in [false, true] {
                let (before, after) = (times("area", other), times("unit", other));
                assert_eq!(with(&[&before, &shared]), Rivalry::GivesWay);
                assert_eq!(with(&[&after, &shared]), Rivalry::Waits);
                // What was there before is drift.
                let found = [own.clone(), before.clone()];
                assert_eq!(rivalry(&spec, &[before], &found), Rivalry::None);
            }
            assert_eq!(
                rivalry(&spec, &[], std::slice::from_ref(&shared)),
                Rivalry::Lost
            );
            assert_eq!(
                with(&[&doc! { "name": "bucket_open_9" }]),
                Rivalry::GivesWay
            );
        }
    }

    #[test]
    fn an_index_is_left_over_beside_that_of_a_smaller_capacity_only() {
        let own = "bucket_open_10";
        let is_left_over = |found: &[&str]| super::is_left_over(&SPEC, &named(found));
        assert!(is_left_over(&[own, "bucket_open_9"]));
        assert!(is_left_over(&[own, "bucket_open_10_4096"]));
        assert!(!is_left_over(&[own]));
        assert!(!is_left_over(&["bucket_open_9"]));
        assert!(!is_left_over(&[own, "bucket_open_100"]));
        // One that somebody made by hand.
        assert!(!is_left_over(&[own, "bucket_open_mine"]));
        let building = doc! { "spec": { "name": "bucket_open_9" }, "buildUUID": 1 };
        let found = [named(&[own]), vec![building]].concat();
        assert!(!super::is_left_over(&SPEC, &found));
    }
}
