//! Errors without what they quote: for logs that may not hold the data of users.
//!
//! No `match` has an arm for all others: a new variant has to say what it quotes.

use std::sync::Arc;

use serde::ser::Error as _;

use super::{AttributeError, Damage, DamagedBucket, EncodeError};
use crate::text::REDACTED;

/// In place of an error that may quote values.
pub(crate) fn redacted_bson() -> Arc<bson::error::Error> {
    Arc::new(bson::error::Error::custom(REDACTED))
}

impl AttributeError {
    /// The same error without the name of the entry, which may be a key of a map.
    ///
    /// ```
    /// # use bucket_core::attribute::AttributeError;
    /// fn log(error: &AttributeError) {
    ///     eprintln!("{}", error.redacted()); // entry REDACTED of `specs` is not a string
    /// }
    /// ```
    #[must_use]
    pub fn redacted(&self) -> Self {
        let Self {
            array,
            entry,
            fault,
        } = self;
        // An index in the array says nothing about its entry.
        let is_index = entry.bytes().all(|byte| byte.is_ascii_digit());
        Self {
            array,
            entry: if is_index { entry } else { REDACTED }.to_owned(),
            fault: fault.clone(),
        }
    }
}

impl DamagedBucket {
    /// The same error without the bucket's `_id` and without anything else that the bucket stores.
    ///
    /// ```
    /// use bucket_core::DamagedBucket;
    ///
    /// fn log(error: &DamagedBucket) {
    ///     // bucket REDACTED is damaged: its count is 3, but its array has 2 items
    ///     eprintln!("{}", error.redacted());
    /// }
    /// ```
    #[must_use]
    pub fn redacted(&self) -> Self {
        Self::new(REDACTED, self.damage().redacted())
    }
}

impl Damage {
    fn redacted(&self) -> Self {
        let message = REDACTED.to_owned();
        match self {
            // A path is made of the model's names, and what is wrong with packed bytes says nothing that they hold.
            Self::Field { .. }
            | Self::CountMismatch { .. }
            | Self::Packed { .. }
            | Self::Sealed { .. }
            | Self::NeverStored { .. }
            | Self::Archived => self.clone(),
            Self::Expired { span: _ } => Self::Expired { span: None },
            Self::Key { message: _ } => Self::Key { message },
            Self::Id { message: _ } => Self::Id { message },
            Self::Item { index, source: _ } => Self::Item {
                index: *index,
                source: redacted_bson(),
            },
            Self::Attribute { index, source } => Self::Attribute {
                index: *index,
                source: source.redacted(),
            },
            Self::Refused { message: _ } => Self::Refused { message },
            Self::Bson(_) => Self::Bson(redacted_bson()),
        }
    }
}

impl EncodeError {
    /// The same error without anything that the record contains. A variant that holds a value or a
    /// time of the record becomes [`Redacted`](Self::Redacted).
    ///
    /// ```
    /// use bucket_core::EncodeError;
    ///
    /// let error = EncodeError::Overflow { field: "price", value: 9_000_000_000, limit: 1_000_000_000 };
    /// assert_eq!(
    ///     error.redacted().to_string(),
    ///     "`price` is too large: sums in a bucket of this capacity allow at most 1000000000 per record",
    /// );
    /// ```
    #[must_use]
    pub fn redacted(&self) -> Self {
        let message = REDACTED.to_owned();
        match self {
            Self::Serialize(_) => Self::Serialize(redacted_bson()),
            Self::Attribute(source) => Self::Attribute(source.redacted()),
            Self::RepeatedName { name: _ } => Self::RepeatedName { name: message },
            Self::Unreadable(_) => Self::Unreadable(redacted_bson()),
            Self::TooDeep { .. }
            | Self::TooLarge { .. }
            | Self::LongRecordId { .. }
            | Self::Redacted { .. } => self.clone(),
            Self::NonFinite { field, value: _ } => Self::Redacted {
                reason: format!("`{field}` is not finite or is too large for aggregates"),
            },
            Self::Overflow {
                field,
                value: _,
                limit,
            } => Self::Redacted {
                reason: format!(
                    "`{field}` is too large: sums in a bucket of this capacity allow at most {limit} per \
                     record"
                ),
            },
            Self::Late { time: _, start: _ } => Self::Redacted {
                reason:
                    "the record is older than the newest bucket of its key, and the model refuses \
                         late records"
                        .to_owned(),
            },
            Self::Expired { time: _, before: _ } => Self::Redacted {
                reason: "the record is older than the records that the model keeps".to_owned(),
            },
            Self::RecordId { field, message: _ } => Self::RecordId { field, message },
            Self::Limits { message: _ } => Self::Limits { message },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{error::Error, fmt::Debug};

    use super::*;
    use crate::attribute::AttributeFault;
    use bson::DateTime;
    use proptest::prelude::*;

    /// Everything that a log can show of an error.
    fn shown(error: &(dyn Error + 'static)) -> String {
        let mut shown = format!("{error} {error:?} {error:#?}");
        if let Some(source) = error.source() {
            shown += &self::shown(source);
        }
        shown
    }

    fn attribute(entry: &str) -> AttributeError {
        AttributeError {
            array: "specs",
            entry: entry.to_owned(),
            fault: AttributeFault::Unknown,
        }
    }

    /// Every damage that can quote something, with this text as what it quotes.
    fn damages(text: &str) -> Vec<Damage> {
        let bson = || Arc::new(bson::error::Error::custom(text));
        let message = || text.to_owned();
        vec![
            Damage::Key { message: message() },
            Damage::Id { message: message() },
            Damage::Refused { message: message() },
            Damage::Item {
                index: 3,
                source: bson(),
            },
            Damage::Attribute {
                index: None,
                source: attribute(text),
            },
            Damage::Bson(bson()),
            Damage::CountMismatch { count: 3, items: 2 },
        ]
    }

    /// Every refusal that can quote something, with this text and this number as what it quotes.
    fn refusals(text: &str, number: i64) -> Vec<EncodeError> {
        let bson = || Arc::new(bson::error::Error::custom(text));
        let time = DateTime::from_millis(number);
        vec![
            EncodeError::Serialize(bson()),
            EncodeError::Unreadable(bson()),
            EncodeError::Attribute(attribute(text)),
            EncodeError::RepeatedName { name: text.into() },
            EncodeError::NonFinite {
                field: "price",
                // Numbers of this size are shown as they are.
                #[allow(clippy::cast_precision_loss)]
                value: number as f64,
            },
            EncodeError::Overflow {
                field: "price",
                value: number,
                limit: 10,
            },
            EncodeError::Late { time, start: time },
            EncodeError::Expired { time, before: time },
            EncodeError::RecordId {
                field: "id",
                message: text.into(),
            },
            EncodeError::Limits {
                message: text.into(),
            },
        ]
    }

    fn same_variant<T: Debug>(one: &T, other: &T) -> bool {
        std::mem::discriminant(one) == std::mem::discriminant(other)
    }

    proptest! {
        #[test]
        fn nothing_that_an_error_quotes_is_left_in_its_redacted_form(
            secret in "[a-z]{12}", number in 1_000_000_i64..9_000_000
        ) {
            let text = format!("before {secret} after");
            #[allow(clippy::cast_precision_loss)]
            let quoted = [
                secret.clone(),
                number.to_string(),
                format!("{:e}", number as f64),
                DateTime::from_millis(number).to_string(),
            ];
            let quotes = |text: &str| quoted.iter().any(|quoted| text.contains(quoted));
            for damage in damages(&text) {
                let error = DamagedBucket::new(format!("\"{secret}\""), damage);
                prop_assert!(shown(&error).contains(&secret));
                let redacted = error.redacted();
                prop_assert!(!shown(&redacted).contains(&secret), "{redacted:?}");
                prop_assert!(same_variant(redacted.damage(), error.damage()));
            }
            for error in refusals(&text, number) {
                prop_assert!(quotes(&shown(&error)), "{error:?}");
                let redacted = error.redacted();
                prop_assert!(!quotes(&shown(&redacted)), "{redacted:?}");
            }
        }
    }

    #[test]
    fn the_size_of_a_record_id_is_no_secret() {
        let error = EncodeError::LongRecordId {
            field: "id",
            bytes: 1_025,
            limit: 1_024,
        };
        assert_eq!(error.redacted().to_string(), error.to_string());
    }

    #[test]
    fn an_index_in_an_array_is_no_secret() {
        assert_eq!(attribute("17").redacted().entry, "17");
        assert_eq!(attribute("").redacted().entry, "");
        assert_eq!(attribute("alice").redacted().entry, REDACTED);
    }
}
