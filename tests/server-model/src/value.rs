//! Values as the model stores them: cheap to clone and to share between versions of a document.

use std::sync::Arc;

use bson::{Binary, Bson, DateTime, Document, Timestamp, oid::ObjectId, spec::BinarySubtype};

use crate::error::Refusal;

#[derive(Debug, Clone)]
pub(crate) enum Value {
    MinKey,
    /// Represents an empty array in index keys, and a missing value in a pipeline. No stored
    /// document contains it.
    Undefined,
    Null,
    Int32(i32),
    Int64(i64),
    Double(f64),
    String(Arc<str>),
    Document(Arc<Fields>),
    Array(Arc<Vec<Value>>),
    Binary(Arc<(BinarySubtype, Vec<u8>)>),
    ObjectId(ObjectId),
    Boolean(bool),
    DateTime(i64),
    Timestamp(Timestamp),
    MaxKey,
}

/// A document: fields in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(pub(crate) Vec<(Arc<str>, Value)>);

impl Value {
    pub(crate) fn to_bson(&self) -> Bson {
        match self {
            Self::MinKey => Bson::MinKey,
            Self::Undefined => Bson::Undefined,
            Self::Null => Bson::Null,
            Self::Int32(value) => Bson::Int32(*value),
            Self::Int64(value) => Bson::Int64(*value),
            Self::Double(value) => Bson::Double(*value),
            Self::String(value) => Bson::String((**value).to_owned()),
            Self::Document(fields) => Bson::Document(fields.to_document()),
            Self::Array(items) => Bson::Array(items.iter().map(Self::to_bson).collect()),
            Self::Binary(value) => Bson::Binary(Binary {
                subtype: value.0,
                bytes: value.1.clone(),
            }),
            Self::ObjectId(value) => Bson::ObjectId(*value),
            Self::Boolean(value) => Bson::Boolean(*value),
            Self::DateTime(value) => Bson::DateTime(DateTime::from_millis(*value)),
            Self::Timestamp(value) => Bson::Timestamp(*value),
            Self::MaxKey => Bson::MaxKey,
        }
    }

    /// Whether both have the same bytes. The server uses this to detect that nothing changed.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MinKey, Self::MinKey)
            | (Self::Undefined, Self::Undefined)
            | (Self::Null, Self::Null)
            | (Self::MaxKey, Self::MaxKey) => true,
            (Self::Int32(a), Self::Int32(b)) => a == b,
            (Self::Int64(a), Self::Int64(b)) | (Self::DateTime(a), Self::DateTime(b)) => a == b,
            (Self::Double(a), Self::Double(b)) => a.to_bits() == b.to_bits(),
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Document(a), Self::Document(b)) => Arc::ptr_eq(a, b) || a.is_same(b),
            (Self::Array(a), Self::Array(b)) => {
                Arc::ptr_eq(a, b)
                    || (a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.is_same(b)))
            }
            (Self::Binary(a), Self::Binary(b)) => a == b,
            (Self::ObjectId(a), Self::ObjectId(b)) => a == b,
            (Self::Boolean(a), Self::Boolean(b)) => a == b,
            (Self::Timestamp(a), Self::Timestamp(b)) => a == b,
            _ => false,
        }
    }

    /// Whether a condition treats it as true.
    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Self::Null | Self::Undefined => false,
            Self::Boolean(value) => *value,
            Self::Int32(value) => *value != 0,
            Self::Int64(value) => *value != 0,
            Self::Double(value) => *value != 0.0,
            _ => true,
        }
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Int32(_) | Self::Int64(_) | Self::Double(_))
    }

    /// A number as a double.
    #[allow(clippy::cast_precision_loss)]
    pub(crate) fn as_double(&self) -> Option<f64> {
        match self {
            Self::Int32(value) => Some(f64::from(*value)),
            Self::Int64(value) => Some(*value as f64),
            Self::Double(value) => Some(*value),
            _ => None,
        }
    }

    /// A whole number of any type.
    #[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
    pub(crate) fn as_whole(&self) -> Option<i64> {
        match self {
            Self::Int32(value) => Some(i64::from(*value)),
            Self::Int64(value) => Some(*value),
            Self::Double(value) if value.trunc() == *value && value.abs() < 9e15 => {
                Some(*value as i64)
            }
            _ => None,
        }
    }

    pub(crate) fn as_document(&self) -> Option<&Fields> {
        match self {
            Self::Document(fields) => Some(fields),
            _ => None,
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The server's name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::MinKey => "minKey",
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Int32(_) => "int",
            Self::Int64(_) => "long",
            Self::Double(_) => "double",
            Self::String(_) => "string",
            Self::Document(_) => "object",
            Self::Array(_) => "array",
            Self::Binary(_) => "binData",
            Self::ObjectId(_) => "objectId",
            Self::Boolean(_) => "bool",
            Self::DateTime(_) => "date",
            Self::Timestamp(_) => "timestamp",
            Self::MaxKey => "maxKey",
        }
    }

    /// The size of the value as BSON, in bytes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::MinKey | Self::MaxKey | Self::Null | Self::Undefined => 0,
            Self::Boolean(_) => 1,
            Self::Int32(_) => 4,
            Self::Int64(_) | Self::Double(_) | Self::DateTime(_) | Self::Timestamp(_) => 8,
            Self::ObjectId(_) => 12,
            Self::String(text) => text.len() + 5,
            Self::Binary(value) => value.1.len() + 5,
            Self::Document(fields) => fields.size(),
            Self::Array(items) => {
                let digits = |at: usize| at.checked_ilog10().unwrap_or(0) as usize + 1;
                let items = items.iter().enumerate();
                items
                    .map(|(at, item)| 2 + digits(at) + item.size())
                    .sum::<usize>()
                    + 5
            }
        }
    }
}

impl Fields {
    pub(crate) fn to_document(&self) -> Document {
        let fields = self.0.iter();
        fields
            .map(|(name, value)| ((**name).to_owned(), value.to_bson()))
            .collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        let mut fields = self.0.iter();
        fields
            .find(|(other, _)| **other == *name)
            .map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let mut fields = self.0.iter_mut();
        fields
            .find(|(other, _)| **other == *name)
            .map(|(_, value)| value)
    }

    /// Replaces the value in its place, or adds the field at the end.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        match self.get_mut(name) {
            Some(old) => *old = value,
            None => self.0.push((name.into(), value)),
        }
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.all(|(a, b)| a.0 == b.0 && a.1.is_same(&b.1))
    }

    pub(crate) fn size(&self) -> usize {
        let fields = self.0.iter();
        fields
            .map(|(name, value)| 2 + name.len() + value.size())
            .sum::<usize>()
            + 5
    }

    /// Puts the `_id` first.
    pub(crate) fn lead_with_id(&mut self) {
        if let Some(at) = self.0.iter().position(|(name, _)| &**name == "_id") {
            self.0[..=at].rotate_right(1);
        }
    }
}

pub(crate) fn damaged(error: impl std::fmt::Display) -> Refusal {
    Refusal::new(9, format!("damaged BSON: {error}"))
}
