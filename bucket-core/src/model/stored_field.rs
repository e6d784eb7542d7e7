//! The stored fields of a record, as far as the derive knows them: their names, and what their types read.

use std::{
    collections::{BTreeMap, HashMap},
    marker::PhantomData,
};

use bson::{DateTime, oid::ObjectId};

/// A field that records of a model have under a name of its own: in a bucket if it is a key, else in each item.
///
/// Attributes in arrays have no entry, nor do flattened fields.
///
/// ```
/// use bucket_core::model::{FieldKind, StoredField};
///
/// let value = StoredField { name: "v", kind: FieldKind::Float, is_key: false, null: false, required: true };
/// assert_eq!(value.kind.name(), "float");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredField {
    /// Its stored name.
    pub name: &'static str,
    /// What its type reads.
    pub kind: FieldKind,
    /// Whether it is a key field.
    pub is_key: bool,
    /// Whether it may be null.
    pub null: bool,
    /// Whether a record without it cannot be read.
    pub required: bool,
}

/// What a field's type reads.
///
/// ```
/// use bucket_core::model::FieldKind;
///
/// assert!(FieldKind::Float.reads(FieldKind::Int));
/// assert!(!FieldKind::Int.reads(FieldKind::Float));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldKind {
    /// The derive does not know: a type of yours, or a form that a serde attribute decides.
    Any,
    /// A boolean.
    Bool,
    /// A whole number.
    Int,
    /// A number.
    Float,
    /// Text.
    String,
    /// A date.
    Date,
    /// An object id.
    ObjectId,
    /// An array.
    Array,
    /// A document.
    Document,
}

impl FieldKind {
    const ALL: [Self; 9] = [
        Self::Any,
        Self::Bool,
        Self::Int,
        Self::Float,
        Self::String,
        Self::Date,
        Self::ObjectId,
        Self::Array,
        Self::Document,
    ];

    /// Its name in descriptions of collections. It must never change.
    ///
    /// ```
    /// assert_eq!(bucket_core::model::FieldKind::Any.name(), "any");
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::String => "string",
            Self::Date => "date",
            Self::ObjectId => "objectId",
            Self::Array => "array",
            Self::Document => "document",
        }
    }

    /// The kind of this name; [`Any`](Self::Any) for one that a later version gave.
    ///
    /// ```
    /// use bucket_core::model::FieldKind;
    ///
    /// assert_eq!(FieldKind::named("date"), FieldKind::Date);
    /// ```
    #[must_use]
    pub fn named(name: &str) -> Self {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.name() == name).unwrap_or(Self::Any)
    }

    /// Whether a type of this kind reads what a type of the other one has written, as far as is known.
    ///
    /// ```
    /// use bucket_core::model::FieldKind;
    ///
    /// assert!(FieldKind::Any.reads(FieldKind::String));
    /// assert!(!FieldKind::Bool.reads(FieldKind::String));
    /// ```
    #[must_use]
    pub const fn reads(self, written: Self) -> bool {
        match (self, written) {
            (Self::Any, _) | (_, Self::Any) | (Self::Float, Self::Int) => true,
            (own, written) => own as u8 == written as u8,
        }
    }

    /// The BSON types that a field of an item can have; none if the derive does not know.
    pub(crate) const fn types(self) -> &'static [&'static str] {
        match self {
            Self::Any => &[],
            Self::Bool => &["bool"],
            Self::Int => &["int", "long"],
            Self::Float => &["double", "int", "long"],
            Self::String => &["string"],
            Self::Date => &["date"],
            // Its type also reads its text.
            Self::ObjectId => &["objectId", "string"],
            Self::Array => &["array"],
            Self::Document => &["object"],
        }
    }

    /// The BSON types that a key field can have.
    pub(crate) const fn key_types(self) -> &'static [&'static str] {
        match self {
            Self::Bool => &["bool"],
            // Other tools may have stored a double.
            Self::Int => &["int", "long", "double"],
            Self::String => &["string"],
            Self::ObjectId => &["objectId"],
            _ => &[
                "bool", "int", "long", "double", "string", "objectId", "binData",
            ],
        }
    }
}

/// What a type reads. Types that are not listed here get [`UnknownKind`]'s constant, because that of a trait is only
/// found where the type has none of its own: no alias can lead to a wrong answer.
#[derive(Debug)]
pub struct KindOf<T: ?Sized>(PhantomData<T>);

/// The kind of every other type.
pub trait UnknownKind {
    /// Not known.
    const KIND: FieldKind = FieldKind::Any;
    /// It may read null, and nothing.
    const IS_CERTAIN: bool = false;
    /// It is no option.
    const IS_OPTION: bool = false;
}

impl<T: ?Sized> UnknownKind for KindOf<T> {}

macro_rules! kinds {
    ($($ty:ty => $kind:ident),+ $(,)?) => {$(
        impl KindOf<$ty> {
            /// What the type reads.
            pub const KIND: FieldKind = FieldKind::$kind;
            /// It reads neither null nor nothing.
            pub const IS_CERTAIN: bool = true;
        }
    )+};
}

kinds! {
    bool => Bool,
    i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int,
    f32 => Float, f64 => Float,
    String => String,
    DateTime => Date,
    ObjectId => ObjectId,
}

impl<T> KindOf<Option<T>> {
    /// What is in an option is what the derive asks for.
    pub const IS_OPTION: bool = true;
}

impl StoredField {
    #[doc(hidden)]
    #[must_use]
    pub const fn __in_option(is_option: bool, kind: FieldKind) -> FieldKind {
        if is_option { kind } else { FieldKind::Any }
    }
}

impl<T> KindOf<Vec<T>> {
    /// What the type reads.
    pub const KIND: FieldKind = FieldKind::Array;
    /// It reads neither null nor nothing.
    pub const IS_CERTAIN: bool = true;
}

impl<K, V, S> KindOf<HashMap<K, V, S>> {
    /// What the type reads.
    pub const KIND: FieldKind = FieldKind::Document;
    /// It reads neither null nor nothing.
    pub const IS_CERTAIN: bool = true;
}

impl<K, V> KindOf<BTreeMap<K, V>> {
    /// What the type reads.
    pub const KIND: FieldKind = FieldKind::Document;
    /// It reads neither null nor nothing.
    pub const IS_CERTAIN: bool = true;
}

#[cfg(test)]
mod tests {
    use super::{FieldKind, KindOf, UnknownKind as _};

    type Alias = i64;
    #[allow(dead_code)]
    struct String;

    const fn of_any<T>() -> FieldKind {
        <KindOf<T>>::KIND
    }

    #[test]
    fn an_alias_has_the_kind_of_its_type_and_a_type_of_a_known_name_none() {
        assert_eq!(<KindOf<Alias>>::KIND, FieldKind::Int);
        assert_eq!(<KindOf<String>>::KIND, FieldKind::Any);
        assert_eq!(<KindOf<std::string::String>>::KIND, FieldKind::String);
        assert_eq!(<KindOf<Vec<String>>>::KIND, FieldKind::Array);
        assert_eq!(<KindOf<Option<i64>>>::KIND, FieldKind::Any);
        assert_eq!(of_any::<i64>(), FieldKind::Any);
    }

    #[test]
    fn names_lead_back_to_their_kinds_and_unknown_ones_to_any() {
        for kind in FieldKind::ALL {
            assert_eq!(FieldKind::named(kind.name()), kind);
        }
        assert_eq!(FieldKind::named("decimal"), FieldKind::Any);
    }
}
