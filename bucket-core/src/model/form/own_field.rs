//! The fields of a stored bucket besides its id, its key, its aggregates and its items.

use super::Form;
use crate::model::spec::{BucketSpec, Names};

/// One of these fields, in the order of a full bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnField {
    Start,
    End,
    Part,
    Closed,
    Late,
    Number,
    Size,
    Full,
    Count,
    Bytes,
    CreatedAt,
    ExpireFrom,
}

impl OwnField {
    /// All of them, in that order.
    pub(crate) const ALL: [Self; 12] = [
        Self::Start,
        Self::End,
        Self::Part,
        Self::Closed,
        Self::Late,
        Self::Number,
        Self::Size,
        Self::Full,
        Self::Count,
        Self::Bytes,
        Self::CreatedAt,
        Self::ExpireFrom,
    ];

    /// The stored name.
    pub(crate) const fn name(self, names: &Names) -> &'static str {
        match self {
            Self::Start => names.start,
            Self::End => names.end,
            Self::Part => names.part,
            Self::Closed => names.closed,
            Self::Late => names.late,
            Self::Number => names.number,
            Self::Size => names.size,
            Self::Full => names.full,
            Self::Count => names.count,
            Self::Bytes => names.bytes,
            // Only models with the field need its name.
            Self::CreatedAt => match names.created_at {
                Some(name) => name,
                None => "",
            },
            Self::ExpireFrom => names.expire_from,
        }
    }
}

impl Form {
    /// The fields that the form relies on, in stored order.
    pub(crate) const fn own_fields(self) -> &'static [OwnField] {
        match self {
            Self::Count { .. } => &[],
            Self::Window { .. } => &[OwnField::Start, OwnField::End, OwnField::Part],
            Self::Hybrid { .. } => &[
                OwnField::Start,
                OwnField::End,
                OwnField::Closed,
                OwnField::Late,
            ],
            Self::Numbered { .. } => &[OwnField::Number, OwnField::Size, OwnField::Full],
        }
    }

    /// The field that marks a bucket that takes no more records; `None` if its count or its time
    /// shows it.
    pub(crate) const fn mark(self) -> Option<OwnField> {
        match self {
            Self::Count { .. } | Self::Window { .. } => None,
            Self::Hybrid { .. } => Some(OwnField::Closed),
            Self::Numbered { .. } => Some(OwnField::Full),
        }
    }

    /// Whether the last bucket of a key may be empty for a moment, while full buckets are stored
    /// before it.
    pub(crate) const fn reserves(self) -> bool {
        match self {
            Self::Count { .. } => true,
            Self::Window { .. } | Self::Hybrid { .. } | Self::Numbered { .. } => false,
        }
    }
}

impl BucketSpec {
    /// The fields of this model's buckets, in stored order.
    pub(crate) fn own_fields(&self) -> impl Iterator<Item = OwnField> + use<> {
        let of_model = [
            self.max_bytes().map(|_| OwnField::Bytes),
            self.names().created_at.map(|_| OwnField::CreatedAt),
            self.dated_by().map(|_| OwnField::ExpireFrom),
        ];
        let of_form = self.form().own_fields().iter().copied();
        of_form.chain(of_model.into_iter().flatten())
    }
}
