//! Keys: the types that can be one, and their conversion to BSON and back.

pub(crate) mod text;

use std::{
    fmt,
    hash::{Hash, Hasher},
    str::FromStr,
};

use bson::{Bson, RawBsonRef, oid::ObjectId, spec::BinarySubtype};

use super::whole;
use crate::error::KeyError;

/// A key part in its stored form.
///
/// ```
/// use bucket_core::{BucketKey, KeyValue};
/// assert_eq!(BucketKey::to_key(&7_i64), KeyValue::Int64(7));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyValue<'a> {
    /// A BSON boolean.
    Bool(bool),
    /// A BSON 32-bit integer.
    Int32(i32),
    /// A BSON 64-bit integer.
    Int64(i64),
    /// A BSON string.
    String(&'a str),
    /// A BSON object id.
    ObjectId(ObjectId),
    /// A BSON binary of subtype 4.
    Uuid([u8; 16]),
    /// Any part in the text form that ids use; never stored like this.
    Text(&'a str),
}

impl<'a> KeyValue<'a> {
    /// The text of a string, or of a part of an id.
    ///
    /// ```
    /// assert_eq!(bucket_core::KeyValue::String("a").as_str(), Some("a"));
    /// assert_eq!(bucket_core::KeyValue::Int32(1).as_str(), None);
    /// ```
    #[must_use]
    pub const fn as_str(&self) -> Option<&'a str> {
        match self {
            Self::String(text) | Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The text of a part of an id.
    const fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The BSON type's name, for messages.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Bool(_) => "a boolean",
            Self::Int32(_) | Self::Int64(_) => "an integer",
            Self::String(_) | Self::Text(_) => "a string",
            Self::ObjectId(_) => "an object id",
            Self::Uuid(_) => "a uuid",
        }
    }

    /// Reads a stored value. Doubles from other tools count as integers.
    pub(crate) fn from_raw(value: RawBsonRef<'a>) -> Option<Self> {
        Some(match value {
            RawBsonRef::Boolean(value) => KeyValue::Bool(value),
            RawBsonRef::Int32(value) => KeyValue::Int32(value),
            RawBsonRef::Int64(value) => KeyValue::Int64(value),
            RawBsonRef::Double(value) => KeyValue::Int64(whole::of_double(value)?),
            RawBsonRef::String(value) => KeyValue::String(value),
            RawBsonRef::ObjectId(value) => KeyValue::ObjectId(value),
            RawBsonRef::Binary(value) if value.subtype == BinarySubtype::Uuid => {
                KeyValue::Uuid(value.bytes.try_into().ok()?)
            }
            _ => return None,
        })
    }
}

/// A type that can be a key field of a bucket.
///
/// Keys are integers that BSON can hold, `String`, `ObjectId`, `Uuid` and `bool`. For enums of unit
/// variants and newtypes of keys, use `#[derive(BucketKey)]`: an enum is stored as the variant's
/// serde string, a newtype as its inner value.
///
/// ```
/// use bucket_core::{BucketKey, KeyValue};
///
/// let key = String::from("device_001");
/// assert_eq!(key.to_key(), KeyValue::String("device_001"));
/// assert_eq!(String::from_key(KeyValue::String("device_001")), Ok(key));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key, a record id or a tallied value",
    label = "not a key type",
    note = "key types are integers up to `i64` and `u32`, `String`, `bool`, `ObjectId` and `Uuid`; \
            floats, options, collections and `u64` have no exact equality in BSON",
    note = "help: add `#[derive(BucketKey)]` to an enum of unit variants or to a newtype of a key"
)]
pub trait BucketKey: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// The stored form.
    fn to_key(&self) -> KeyValue<'_>;

    /// The key from its stored form.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if the stored value has another type or is out of range.
    fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError>;

    // Not `Debug::fmt` and others: generated keys call these, so that a type that is no key is reported
    // once and not for each of the traits above.
    #[doc(hidden)]
    fn __debug(&self) -> &dyn fmt::Debug {
        self
    }

    #[doc(hidden)]
    #[must_use]
    fn __clone(&self) -> Self {
        self.clone()
    }

    #[doc(hidden)]
    fn __equal(&self, other: &Self) -> bool {
        self == other
    }

    #[doc(hidden)]
    fn __hash<H: Hasher>(&self, state: &mut H) {
        self.hash(state);
    }
}

/// The error for a value of another type.
fn mismatch(wanted: &'static str, value: KeyValue<'_>) -> KeyError {
    match value {
        KeyValue::Text(text) => KeyError::new(format!("`{text}` is not {wanted}")),
        other => KeyError::new(format!(
            "expected {wanted}, but {} is stored",
            other.type_name()
        )),
    }
}

/// Reads a part of an id with the type's own parser.
fn parse<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

macro_rules! integer_keys {
    ($($ty:ty => $variant:ident as $wide:ty),+ $(,)?) => {$(
        impl BucketKey for $ty {
            fn to_key(&self) -> KeyValue<'_> {
                KeyValue::$variant(<$wide>::from(*self))
            }

            fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError> {
                let wide = match value {
                    KeyValue::Int32(value) => i64::from(value),
                    KeyValue::Int64(value) => value,
                    other => other
                        .text()
                        .and_then(parse)
                        .ok_or_else(|| mismatch("an integer", value))?,
                };
                Self::try_from(wide).map_err(|_| {
                    KeyError::new(format!("{wide} is out of range for `{}`", stringify!($ty)))
                })
            }
        }
    )+};
}

integer_keys! {
    i8 => Int32 as i32, i16 => Int32 as i32, i32 => Int32 as i32, i64 => Int64 as i64,
    u8 => Int32 as i32, u16 => Int32 as i32, u32 => Int64 as i64,
}

impl BucketKey for bool {
    fn to_key(&self) -> KeyValue<'_> {
        KeyValue::Bool(*self)
    }

    fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError> {
        match value {
            KeyValue::Bool(value) => Ok(value),
            other => other
                .text()
                .and_then(parse)
                .ok_or_else(|| mismatch("a boolean", value)),
        }
    }
}

impl BucketKey for String {
    fn to_key(&self) -> KeyValue<'_> {
        KeyValue::String(self)
    }

    fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError> {
        match value {
            KeyValue::String(value) | KeyValue::Text(value) => Ok(value.to_owned()),
            other => Err(mismatch("a string", other)),
        }
    }
}

impl BucketKey for ObjectId {
    fn to_key(&self) -> KeyValue<'_> {
        KeyValue::ObjectId(*self)
    }

    fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError> {
        match value {
            KeyValue::ObjectId(value) => Ok(value),
            other => other
                .text()
                .and_then(parse)
                .ok_or_else(|| mismatch("an object id", value)),
        }
    }
}

fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    bson::Uuid::parse_str(text).ok().map(bson::Uuid::bytes)
}

impl BucketKey for bson::Uuid {
    fn to_key(&self) -> KeyValue<'_> {
        KeyValue::Uuid(self.bytes())
    }

    fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError> {
        match value {
            KeyValue::Uuid(bytes) => Ok(Self::from_bytes(bytes)),
            other => other
                .text()
                .and_then(uuid_bytes)
                .map(Self::from_bytes)
                .ok_or_else(|| mismatch("a uuid", value)),
        }
    }
}

#[cfg(feature = "uuid-1")]
impl BucketKey for uuid::Uuid {
    fn to_key(&self) -> KeyValue<'_> {
        KeyValue::Uuid(*self.as_bytes())
    }

    fn from_key(value: KeyValue<'_>) -> Result<Self, KeyError> {
        match value {
            KeyValue::Uuid(bytes) => Ok(Self::from_bytes(bytes)),
            other => other
                .text()
                .and_then(uuid_bytes)
                .map(Self::from_bytes)
                .ok_or_else(|| mismatch("a uuid", value)),
        }
    }
}

/// Takes the parts of a key in order.
pub trait KeySink {
    /// Takes the next part.
    fn part(&mut self, value: KeyValue<'_>);
}

/// Yields the parts of a stored key in order.
pub trait KeySource {
    /// The next part, or an error if the field is missing or has another type.
    ///
    /// # Errors
    ///
    /// [`KeyError`] naming the field.
    fn part(&mut self) -> Result<KeyValue<'_>, KeyError>;
}

/// Collects the parts of a key as BSON.
struct Values(Vec<Bson>);

impl KeySink for Values {
    fn part(&mut self, value: KeyValue<'_>) {
        self.0.push(match value {
            KeyValue::Bool(value) => value.into(),
            KeyValue::Int32(value) => value.into(),
            KeyValue::Int64(value) => value.into(),
            KeyValue::String(text) | KeyValue::Text(text) => text.into(),
            KeyValue::ObjectId(id) => id.into(),
            KeyValue::Uuid(bytes) => bson::Uuid::from_bytes(bytes).into(),
        });
    }
}

/// The parts of a key that a caller has.
struct Parts<'p> {
    left: &'p [KeyValue<'p>],
}

impl KeySource for Parts<'_> {
    fn part(&mut self) -> Result<KeyValue<'_>, KeyError> {
        let (first, left) = self
            .left
            .split_first()
            .ok_or_else(|| KeyError::new("a part is missing".to_owned()))?;
        self.left = left;
        Ok(*first)
    }
}

/// All key fields of a record type. The derive makes one such struct for each model.
pub trait RecordKey: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static {
    /// The parts in their stored form, in the order of [`BucketSpec::keys`](crate::BucketSpec::keys).
    ///
    /// ```
    /// use bson::Document;
    /// use bucket_core::{Record, RecordKey};
    ///
    /// /// The key as a bucket stores it.
    /// fn stored<T: Record>(key: &T::Key) -> Document {
    ///     let names = T::SPEC.keys().iter().map(|field| field.path.to_owned());
    ///     names.zip(key.to_values()).collect()
    /// }
    /// ```
    fn to_values(&self) -> Vec<Bson> {
        let mut values = Values(Vec::new());
        self.visit(&mut values);
        values.0
    }

    /// The key from its parts, in the order of [`BucketSpec::keys`](crate::BucketSpec::keys). Each is a stored value, or a text
    /// ([`KeyValue::Text`]) that the type of the part reads, such as one that an operator types.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if there are more or fewer parts, or if one has another type or is out of range.
    ///
    /// ```
    /// use bucket_core::{KeyError, KeyValue, Record, RecordKey};
    ///
    /// fn typed<T: Record>(texts: &[&str]) -> Result<T::Key, KeyError> {
    ///     let parts: Vec<KeyValue<'_>> = texts.iter().copied().map(KeyValue::Text).collect();
    ///     T::Key::from_parts(&parts)
    /// }
    /// ```
    fn from_parts(parts: &[KeyValue<'_>]) -> Result<Self, KeyError> {
        let mut source = Parts { left: parts };
        let key = Self::read(&mut source)?;
        match source.left.len() {
            0 => Ok(key),
            more => Err(KeyError::new(format!("it has too many parts, by {more}"))),
        }
    }

    #[doc(hidden)]
    /// Passes the parts to `sink` in the order of the model.
    fn visit(&self, sink: &mut dyn KeySink);

    #[doc(hidden)]
    /// Reads the parts in the order of the model.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if a part is missing, has another type or is out of range.
    fn read(source: &mut dyn KeySource) -> Result<Self, KeyError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    struct Pair {
        name: String,
        number: i64,
        id: ObjectId,
    }

    impl RecordKey for Pair {
        fn visit(&self, sink: &mut dyn KeySink) {
            sink.part(self.name.to_key());
            sink.part(self.number.to_key());
            sink.part(self.id.to_key());
        }

        fn read(source: &mut dyn KeySource) -> Result<Self, KeyError> {
            Ok(Self {
                name: String::from_key(source.part()?)?,
                number: i64::from_key(source.part()?)?,
                id: ObjectId::from_key(source.part()?)?,
            })
        }
    }

    #[test]
    fn a_key_is_the_same_from_its_values_and_from_their_texts() {
        let id = ObjectId::from_bytes([7; 12]);
        let key = Pair {
            name: "a=b 1".to_owned(),
            number: i64::MIN,
            id,
        };
        let values: [Bson; 3] = ["a=b 1".into(), i64::MIN.into(), id.into()];
        assert_eq!(key.to_values(), values);
        let (number, hex) = (i64::MIN.to_string(), id.to_hex());
        let stored = [
            KeyValue::String("a=b 1"),
            KeyValue::Int64(i64::MIN),
            KeyValue::ObjectId(id),
        ];
        let texts = [
            KeyValue::Text("a=b 1"),
            KeyValue::Text(&number),
            KeyValue::Text(&hex),
        ];
        assert_eq!(Pair::from_parts(&stored), Ok(key.clone()));
        assert_eq!(Pair::from_parts(&texts), Ok(key));
    }

    #[test]
    fn too_few_and_too_many_parts_are_no_key() {
        let parts = [KeyValue::Text("000000000000000000000001"); 4];
        assert!(Pair::from_parts(&parts[..2]).is_err());
        assert!(Pair::from_parts(&parts).is_err());
    }
}
