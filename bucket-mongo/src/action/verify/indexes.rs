//! How the indexes of a collection differ from its model's.

use bucket_core::{
    Record,
    index::{self, Drift, IndexPlan},
};

use crate::{Buckets, Error, ErrorKind, Result, collection::list_indexes, error::Context};

const NAMESPACE_NOT_FOUND: i32 = 26;

/// How the indexes of the collection differ from the model's.
#[derive(Default)]
pub(in crate::action) struct Indexes {
    /// In words, with the name of the index that is missing.
    differences: Vec<(Option<String>, String)>,
    /// Whether one forbids a record id in two buckets of a key.
    pub(super) forbid_shared_ids: bool,
    /// Those that `ensure` creates, without dropping or replacing any, and without making the server remove buckets.
    pub(in crate::action) to_create: Vec<String>,
}

impl Indexes {
    /// `None` if the user may not list them.
    pub(in crate::action) async fn of<T: Record>(
        buckets: &Buckets<T>,
        call: &'static str,
    ) -> Result<Option<Self>> {
        let spec = T::SPEC;
        let context = Context::of_all::<T>(call);
        let listed = list_indexes(buckets.database(), spec.collection()).await;
        let listed = match listed.map_err(|error| Error::read(error, &context)) {
            Ok(listed) => listed,
            Err(error) if matches!(error.kind(), ErrorKind::Unauthorized { .. }) => {
                return Ok(None);
            }
            // There is no collection, so nothing is stored either.
            Err(error) if error.code() == Some(NAMESPACE_NOT_FOUND) => {
                return Ok(Some(Self {
                    forbid_shared_ids: true,
                    ..Self::default()
                }));
            }
            Err(error) => return Err(error),
        };
        let (missing, drift) = index::compare(spec, &listed);
        let ids = spec.unique_index_name();
        let is_of_ids = |name: &String| Some(name) == ids.as_ref();
        let is_missing = missing.iter().any(|plan| is_of_ids(&plan.name));
        let differs = |drift: &Drift| matches!(drift, Drift::Index { name, .. } if is_of_ids(name));
        let mut to_create = missing.clone();
        index::take_rivals(&mut to_create, &drift);
        // What they are is a drift of `ensure()`.
        let _ = index::take_removing(&mut to_create, &listed);
        if index::is_left_over(spec, &listed) {
            // One of them would be dropped.
            to_create.clear();
        }
        let differences = missing.iter().map(|plan| {
            let text = format!("index `{}` is missing: call `ensure()`", plan.name);
            (Some(plan.name.clone()), text)
        });
        let drifts = drift.iter().map(|drift| (None, drift.to_string()));
        let name = |plan: IndexPlan| plan.name;
        Ok(Some(Self {
            forbid_shared_ids: !is_missing && !drift.iter().any(differs),
            differences: differences.chain(drifts).collect(),
            to_create: to_create.into_iter().map(name).collect(),
        }))
    }

    /// Whether this one is missing.
    pub(in crate::action) fn lacks(&self, name: &str) -> bool {
        let mut missing = self
            .differences
            .iter()
            .filter_map(|(name, _)| name.as_deref());
        missing.any(|missing| missing == name)
    }

    /// In words, without those of these missing indexes.
    pub(in crate::action) fn without(self, created: &[String]) -> Vec<String> {
        let differences = self.differences.into_iter();
        let left = differences
            .filter(|(name, _)| name.as_ref().is_none_or(|name| !created.contains(name)));
        left.map(|(_, text)| text).collect()
    }
}
