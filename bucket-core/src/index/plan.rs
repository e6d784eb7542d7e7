//! The indexes that a model needs.

use bson::{Bson, Document, doc};

use super::{IndexPlan, retention};
use crate::model::spec::{BucketSpec, UNIQUE_INDEX};

/// How the names of the manual's indexes on open buckets begin; the capacity follows.
pub(super) const OPEN_INDEX: &str = "bucket_open_";

/// The indexes of a model.
///
/// | form | unique | for reads |
/// | --- | --- | --- |
/// | count | key fields, over buckets with room | key fields and `_id` |
/// | window | only `_id` | key fields and `_id`; key fields and start; end and start |
/// | window with object ids | key fields, start and part | the same; end and start |
/// | hybrid | key fields, over buckets that are not closed | key fields and `_id`; key fields, closed and start |
/// | numbered | key fields and full, over buckets that are not full; key fields and number | the latter |
///
/// An array of attributes has the index that the model asks for. An array that a bucket holds for its items
/// has a second one, on the attributes that items have of their own.
///
/// A model with record ids has one more in every form: a unique index on the key fields and the ids. A model
/// with `expire_after` has one more, on the date from which the age of a bucket counts; in the manual's form
/// with `max_bytes` it has two.
///
/// ```
/// # use bucket_core::{BucketSpec, index};
/// fn names(spec: &BucketSpec) -> Vec<String> {
///     index::plan(spec).into_iter().map(|index| index.name).collect()
/// }
/// ```
#[must_use]
pub fn plan(spec: &BucketSpec) -> Vec<IndexPlan> {
    let names = spec.names();
    let plain = |name: String, keys: Document| IndexPlan {
        name,
        keys,
        unique: false,
        partial: None,
        expire_after: None,
    };
    let of_key = |fields: &[(&str, i32)]| -> Document {
        let keys = spec.keys().iter().map(|key| (key.path, 1));
        let fields = keys.chain(fields.iter().copied());
        fields
            .map(|(name, direction)| (name.to_owned(), Bson::Int32(direction)))
            .collect()
    };
    let of_form = spec.form_indexes().into_iter().map(|index| IndexPlan {
        unique: index.unique,
        partial: index.partial,
        ..plain(index.name, of_key(&index.fields))
    });
    let mut plans: Vec<IndexPlan> = of_form.collect();
    let record_ids = spec.unique_path().map(|path| IndexPlan {
        unique: true,
        ..plain(UNIQUE_INDEX.to_owned(), of_key(&[(&path, 1)]))
    });
    plans.extend(spec.arrays().iter().flat_map(|array| {
        let keys = array.index_keys().into_iter().enumerate();
        keys.map(|(at, keys)| {
            // A prefix, because with a suffix the name could be that of another array.
            let own = if at == 0 { "" } else { "own_" };
            plain(format!("{own}attributes_{}", array.name), keys)
        })
    }));
    // The end of a window never changes, so appends do not touch the index entry.
    plans.extend(
        spec.span_index_name()
            .map(|name| plain(name, doc! { names.end: 1, names.start: 1 })),
    );
    plans.extend(record_ids);
    plans.extend(retention::plan(spec));
    plans
}
