//! How the indexes of a collection serve a document's arrays of attributes.

use bson::Document;

use super::{
    Drift, IndexPlan,
    drift::drifted,
    listed::Listed,
    same_index::{keys, same_index},
};
use crate::model::{attribute_array::AttributeArray, spec::ID_INDEX};

/// How the indexes of a collection serve arrays of attributes.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AttributeIndexes {
    /// The names of the indexes that serve, which may differ from the model's names.
    pub found: Vec<String>,
    /// The indexes to create.
    pub missing: Vec<IndexPlan>,
    /// Indexes with a name that the model needs and another definition.
    pub drift: Vec<Drift>,
}

/// Compares the definitions that `listIndexes` returns with a document's arrays of attributes.
///
/// ```
/// # use bson::doc;
/// # use bucket_core::{attribute::{AttributeArray, EntryNames}, index};
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let by_hand = doc! { "name": "by_hand", "key": { "specs.k": 1, "specs.u": 1, "specs.v": 1 } };
/// assert_eq!(index::compare_attributes(&[SPECS], &[by_hand]).found, ["by_hand"]);
/// assert_eq!(index::compare_attributes(&[SPECS], &[]).missing.len(), 1);
/// ```
#[must_use]
pub fn compare_attributes(arrays: &[AttributeArray], found: &[Document]) -> AttributeIndexes {
    let mut indexes = AttributeIndexes::default();
    // The collation of the collection: filters use it, and so does every index that does not set its own.
    let found = Listed::all(found);
    let collation = found.iter().find(|index| index.name() == Some(ID_INDEX));
    let collation = collation.and_then(|index| index.definition.get("collation"));
    for array in arrays {
        let Some(keys) = array.index_keys().pop() else {
            continue;
        };
        let plan = IndexPlan {
            name: format!("attributes_{}", array.name),
            keys,
            unique: false,
            partial: None,
            expire_after: None,
        };
        let mut expected = plan.definition();
        if let Some(collation) = collation {
            expected.insert("collation", collation.clone());
        }
        let is_called_so = |index: &&Listed<'_>| index.name() == Some(plan.name.as_str());
        let serves = |index: &&Listed<'_>| {
            // An unfinished index of this name is created again, which waits for its build.
            let is_to_be_awaited = index.is_unfinished && is_called_so(index);
            same_index(&expected, index.definition) && !is_to_be_awaited
        };
        let is_in_the_way =
            |index: &&Listed<'_>| is_called_so(index) && !same_index(&expected, index.definition);
        if let Some(same) = found.iter().find(serves).and_then(Listed::name) {
            indexes.found.push(same.to_owned());
        } else if let Some(other) = found.iter().find(is_in_the_way) {
            let other = other.definition;
            indexes.drift.push(drifted(plan.name, expected, other));
        } else {
            indexes.missing.push(plan);
        }
    }
    indexes
}

/// Finds what prevents the server from creating an index: another one with the same name or keys.
///
/// ```
/// # use bson::doc;
/// # use bucket_core::{attribute::{AttributeArray, EntryNames}, index};
/// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
/// let plan = index::compare_attributes(&[SPECS], &[]).missing.remove(0);
/// let hidden = doc! { "name": "by_hand", "key": plan.keys.clone(), "hidden": true };
/// assert!(index::in_the_way(&plan, &[hidden]).is_some());
/// ```
#[must_use]
pub fn in_the_way(plan: &IndexPlan, found: &[Document]) -> Option<Drift> {
    let expected = plan.definition();
    let is_alike = |index: &Listed<'_>| {
        index.name() == Some(plan.name.as_str()) || keys(index.definition) == keys(&expected)
    };
    let other = found.iter().map(Listed::of).find(is_alike)?;
    let name = other.name().unwrap_or_default().to_owned();
    Some(drifted(name, expected, other.definition))
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::{compare_attributes, in_the_way};
    use crate::{
        index::Drift,
        model::attribute_array::{AttributeArray, AttributeIndex, EntryNames},
    };

    const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
    const WHOLE: AttributeArray = SPECS.with_index(AttributeIndex::Whole);

    #[test]
    fn an_index_on_attributes_serves_by_any_name_and_never_with_another_order() {
        let keys = doc! { "specs.k": 1, "specs.u": 1.0, "specs.v": 1_i64 };
        let by_hand = doc! { "name": "by_hand", "key": keys.clone() };
        let indexes = compare_attributes(&[SPECS], std::slice::from_ref(&by_hand));
        assert_eq!(
            (indexes.found.as_slice(), indexes.missing.len()),
            (["by_hand".to_owned()].as_slice(), 0)
        );

        let mut other =
            doc! { "name": "by_hand", "key": { "specs.v": 1, "specs.u": 1, "specs.k": 1 } };
        let indexes = compare_attributes(&[SPECS], &[other.clone()]);
        assert_eq!((indexes.missing.len(), indexes.drift.len()), (1, 0));
        other.insert("name", "attributes_specs");
        let indexes = compare_attributes(&[SPECS], &[other.clone()]);
        assert_eq!((indexes.missing.len(), indexes.drift.len()), (0, 1));
        // A manually created index serves instead.
        let indexes = compare_attributes(&[SPECS], &[other, by_hand]);
        assert_eq!((indexes.found.len(), indexes.drift.len()), (1, 0));

        // An index of another kind.
        let old = doc! { "name": "attributes_specs", "key": keys };
        let indexes = compare_attributes(&[WHOLE], &[old]);
        let [Drift::Index { name, .. }] = indexes.drift.as_slice() else {
            panic!("{indexes:?}");
        };
        assert_eq!(name, "attributes_specs");
    }

    #[test]
    fn an_index_on_attributes_has_the_collation_of_its_collection() {
        let english = doc! { "locale": "en", "strength": 2 };
        let id = doc! { "name": "_id_", "key": { "_id": 1 }, "collation": english.clone() };
        let keys = doc! { "specs.k": 1, "specs.u": 1, "specs.v": 1 };
        let mut index = doc! { "name": "attributes_specs", "key": keys };
        let indexes = compare_attributes(&[SPECS], &[id.clone(), index.clone()]);
        assert_eq!(indexes.drift.len(), 1);
        index.insert("collation", english);
        let indexes = compare_attributes(&[SPECS], &[id, index]);
        assert_eq!(indexes.found, ["attributes_specs"]);
    }

    #[test]
    fn the_index_that_prevents_a_creation_is_named() {
        let plan = compare_attributes(&[SPECS], &[]).missing.remove(0);
        let hidden = doc! { "v": 2, "name": "by_hand", "key": plan.keys.clone(), "hidden": true };
        let Some(Drift::Index { name, found, .. }) = in_the_way(&plan, &[hidden]) else {
            panic!("it is in the way");
        };
        assert_eq!(
            (name.as_str(), found.get_bool("hidden").ok()),
            ("by_hand", Some(true))
        );
        assert_eq!(in_the_way(&plan, &[]), None);
    }
}
