//! What the derive reads off a struct about one array.

use super::{AttributeIndex, ValueKind};

/// An array of attributes; the derive makes one for each that a struct names.
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
    /// What the fields of an entry are called.
    pub entry: EntryNames,
    /// The fields of the struct that are entries, in the order of the entries.
    pub fields: &'static [AttributeField],
    /// Where other entries are kept.
    pub rest: Option<Rest>,
    /// How it is indexed.
    pub index: AttributeIndex,
}

/// The names of an entry's fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryNames {
    /// What is told.
    pub k: &'static str,
    /// The value.
    pub v: &'static str,
    /// The unit; none in arrays without units.
    pub u: Option<&'static str>,
}

/// A field of the struct that is an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributeField {
    /// Its name among the many fields, as serde writes it.
    pub name: &'static str,
    /// What it tells.
    pub k: &'static str,
    /// Its unit.
    pub u: Option<&'static str>,
    /// The type of its values.
    pub kind: ValueKind,
    /// Whether values are stored as text, as in the manual.
    pub text: bool,
}

/// A field of the struct that keeps the entries for which there is no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// A map from what is told to its value, of entries without units.
    Map {
        /// Its name among the many fields.
        name: &'static str,
        /// The type of its values.
        kind: ValueKind,
    },
    /// Entries as they are stored, whatever they are.
    Entries {
        /// Its name among the many fields.
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
        }
    }

    /// The same array, indexed so.
    #[must_use]
    pub const fn with_index(mut self, index: AttributeIndex) -> Self {
        self.index = index;
        self
    }

    /// The place of the field of this name.
    pub(super) fn field(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|field| field.name == name)
    }
}

impl Rest {
    /// A field of this name: a map of values of this type, or entries as they are.
    #[must_use]
    pub const fn of(name: &'static str, values: Option<ValueKind>) -> Self {
        match values {
            Some(kind) => Self::Map { name, kind },
            None => Self::Entries { name },
        }
    }

    /// Its name among the many fields.
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
