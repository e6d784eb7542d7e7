//! What the derive reads from a struct about one array.

/// An array of attributes. The derive makes one for each array that a struct names.
///
/// ```
/// use bucket_core::Attributed;
///
/// fn arrays<T: Attributed>() -> Vec<&'static str> {
///     T::SPEC.arrays().iter().map(|array| array.name).collect()
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttributeArray {
    /// Its name in the stored document.
    pub name: &'static str,
    /// The names of an entry's fields.
    pub entry: EntryNames,
    /// The fields of the struct that are entries, in the order of the entries.
    pub fields: &'static [AttributeField],
    /// Where other entries are kept.
    pub rest: Option<Rest>,
    /// How it is indexed.
    pub index: AttributeIndex,
    /// Where it is stored.
    pub place: ArrayPlace,
}

/// Where an array of attributes is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArrayPlace {
    /// In the stored document itself.
    Document,
    /// In each of these items of a bucket.
    Items(&'static str),
    /// In the bucket, for all of these items that have no own array.
    Bucket(&'static str),
}

/// How an array of attributes is indexed; see [`AttributeArray::index_keys`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttributeIndex {
    /// Key, unit, value: serves every filter on a key and a unit. In arrays without units: key and
    /// value.
    #[default]
    KeyUnitValue,
    /// Key, value, unit: serves filters over all units of a key better.
    KeyValueUnit,
    /// Whole entries, as in the manual: only serves equality with whole sub-documents.
    Whole,
    /// Each field of the entries by itself: serves filters on the value of a key less well, and
    /// also filters on fields that no model knows.
    Wildcard,
    /// No index.
    None,
}

/// The names of an entry's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryNames {
    /// The attribute's key.
    pub k: &'static str,
    /// The value.
    pub v: &'static str,
    /// The unit; `None` in arrays without units.
    pub u: Option<&'static str>,
}

/// A field of the struct that is an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeField {
    /// Its name in the struct, as serde writes it.
    pub name: &'static str,
    /// The attribute's key.
    pub k: &'static str,
    /// Its unit.
    pub u: Option<&'static str>,
    /// The type of its values.
    pub kind: ValueKind,
    /// Whether values are stored as text, as in the manual.
    pub text: bool,
    /// Whether null is stored as an entry, because a missing entry would be read as another value
    /// or not at all.
    pub null: bool,
}

/// The type of an attribute's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// A boolean.
    Bool,
    /// A 32-bit integer.
    Int32,
    /// A 64-bit integer.
    Int64,
    /// A floating point number.
    Double,
    /// A decimal number.
    Decimal,
    /// Text.
    String,
    /// A date.
    Date,
    /// An object id.
    ObjectId,
    /// Any of these: values of several types.
    Any,
}

/// A field of the struct that keeps the entries without a field of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// A map from key to value, for entries without units.
    Map {
        /// Its name in serde's form of the struct.
        name: &'static str,
        /// The type of its values.
        kind: ValueKind,
    },
    /// Entries as they are stored, of any form.
    Entries {
        /// Its name in serde's form of the struct.
        name: &'static str,
    },
}

impl AttributeArray {
    /// The array of these fields, indexed by key, unit and value.
    #[must_use]
    pub const fn new(
        name: &'static str,
        entry: EntryNames,
        fields: &'static [AttributeField],
        rest: Option<Rest>,
    ) -> Self {
        Self {
            name,
            entry,
            fields,
            rest,
            index: AttributeIndex::KeyUnitValue,
            place: ArrayPlace::Document,
        }
    }

    /// The same array with this index.
    #[must_use]
    pub const fn with_index(mut self, index: AttributeIndex) -> Self {
        self.index = index;
        self
    }

    /// The same array at this place.
    #[must_use]
    pub const fn at(mut self, place: ArrayPlace) -> Self {
        self.place = place;
        self
    }

    /// Its paths from the root of the stored document: one path, or two if a bucket holds the array
    /// for items without their own.
    ///
    /// ```
    /// use bucket_core::attribute::{ArrayPlace, AttributeArray, EntryNames};
    ///
    /// const SPECS: AttributeArray = AttributeArray::new("specs", EntryNames::KVU, &[], None);
    /// assert_eq!(SPECS.paths(), ["specs"]);
    /// assert_eq!(SPECS.at(ArrayPlace::Items("items")).paths(), ["items.specs"]);
    /// assert_eq!(SPECS.at(ArrayPlace::Bucket("items")).paths(), ["specs", "items.specs"]);
    /// ```
    #[must_use]
    pub fn paths(&self) -> Vec<String> {
        let own = || self.name.to_owned();
        let of_item = |items: &str| format!("{items}.{}", self.name);
        match self.place {
            ArrayPlace::Document => vec![own()],
            ArrayPlace::Items(items) => vec![of_item(items)],
            ArrayPlace::Bucket(items) => vec![own(), of_item(items)],
        }
    }

    /// The names of the struct's fields that are its entries, then that of the rest.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let rest = self.rest.map(Rest::name);
        self.fields.iter().map(|field| field.name).chain(rest)
    }

    /// The index of the field with this name.
    pub(crate) fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

impl Rest {
    /// A field of this name: a map of values of this type, or entries in their stored form.
    #[must_use]
    pub const fn of(name: &'static str, values: Option<ValueKind>) -> Self {
        match values {
            Some(kind) => Self::Map { name, kind },
            None => Self::Entries { name },
        }
    }

    /// Its name in serde's form of the struct.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Map { name, .. } | Self::Entries { name } => name,
        }
    }
}

impl EntryNames {
    /// `k`, `v` and `u`.
    pub const KVU: Self = Self {
        k: "k",
        v: "v",
        u: Some("u"),
    };
}
