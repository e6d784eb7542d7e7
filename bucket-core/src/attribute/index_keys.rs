//! The index that serves an array of attributes.

use bson::{Document, doc};

use super::{AttributeArray, AttributeIndex};

impl AttributeArray {
    /// The keys of its indexes, one for each of its [`paths`](Self::paths); `None` if it is not
    /// indexed.
    ///
    /// ```
    /// use bson::doc;
    /// use bucket_core::attribute::{AttributeArray, AttributeIndex, EntryNames};
    ///
    /// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
    /// let keys = SPECS.index_keys().pop();
    /// assert_eq!(keys, Some(doc! { "specs.k": 1, "specs.u": 1, "specs.v": 1 }));
    /// let whole = SPECS.with_index(AttributeIndex::Whole);
    /// assert_eq!(whole.index_keys(), [doc! { "specs": 1 }]);
    /// ```
    #[must_use]
    pub fn index_keys(&self) -> Vec<Document> {
        let paths = self.paths();
        let keys = paths.iter().filter_map(|path| self.index_keys_at(path));
        keys.collect()
    }

    fn index_keys_at(&self, of: &str) -> Option<Document> {
        let path = |name: &str| format!("{of}.{name}");
        let names = self.entry;
        let unit = names.u.map(path);
        let (k, v) = (path(names.k), path(names.v));
        let fields = match self.index {
            AttributeIndex::KeyUnitValue => vec![Some(k), unit, Some(v)],
            AttributeIndex::KeyValueUnit => vec![Some(k), Some(v), unit],
            AttributeIndex::Whole => return Some(doc! { of: 1 }),
            AttributeIndex::Wildcard => return Some(doc! { path("$**"): 1 }),
            AttributeIndex::None => return None,
        };
        let fields = fields.into_iter().flatten();
        Some(fields.map(|field| (field, 1.into())).collect())
    }
}
