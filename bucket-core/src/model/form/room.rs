//! What a stored bucket says of its room, as expressions for the server.
//!
//! Each is for a bucket whose own fields have the right types. With others it gives a wrong answer, but never
//! fails.

use bson::{Bson, Document, doc};

use super::{Form, OwnField, Span};
use crate::model::spec::BucketSpec;

impl Form {
    /// Whether the capacity of a key's buckets may differ from the model's and is not stored in them.
    pub(crate) const fn hides_capacity(self) -> bool {
        match self {
            Self::Window { .. } | Self::Hybrid { .. } => true,
            // In the manual's form all keys have one capacity.
            Self::Count { .. } | Self::Numbered { .. } => false,
        }
    }
}

impl BucketSpec {
    /// The number of records that a bucket of this form takes; null if the form sets none.
    pub(crate) fn stored_capacity(&self, form: Form) -> Bson {
        if form.own_fields().contains(&OwnField::Size) {
            return Bson::String(format!("${}", self.names().size));
        }
        form.capacity().map_or(Bson::Null, |capacity| {
            Bson::Int32(i32::try_from(capacity).unwrap_or(i32::MAX))
        })
    }

    /// The number of records with which a bucket of this form is full; `None` if a mark says whether it is.
    pub(crate) fn full_with(&self, form: Form) -> Option<i32> {
        match form {
            _ if form.mark().is_some() => None,
            Form::Count { .. } => Some(self.smallest_capacity()),
            _ => Some(i32::try_from(form.size()).unwrap_or(i32::MAX)),
        }
    }

    /// Whether a bucket of this form takes no more records, whatever its count is.
    pub(crate) fn takes_no_more(&self, form: Form) -> Bson {
        let names = self.names();
        if form.in_parts() {
            return Bson::Boolean(true);
        }
        if let Some(mark) = form.mark() {
            return Bson::String(format!("${}", mark.name(names)));
        }
        let Some(max) = self.max_bytes() else {
            return Bson::Boolean(false);
        };
        let bytes = format!("${}", names.bytes);
        // A bucket from before the model counted bytes takes no more.
        let has_room = doc! { "$and": [
            { "$isNumber": &bytes },
            { "$lt": [&bytes, i64::from(max)] },
        ] };
        doc! { "$not": [has_room] }.into()
    }

    /// Whether the window of a bucket was over at `now`; false in forms without windows.
    pub(crate) fn is_over(&self, form: Form, now: bson::DateTime) -> Bson {
        match form.span() {
            Span::Window => doc! { "$lte": [format!("${}", self.names().end), now] }.into(),
            Span::None | Span::Records => Bson::Boolean(false),
        }
    }

    /// Whether the own fields of a bucket that the other answers rely on have the right types.
    pub(crate) fn has_right_types(&self, form: Form) -> Vec<Document> {
        let is_a = |name: &str, kind: &str| doc! { "$eq": [{ "$type": format!("${name}") }, kind] };
        let names = self.names();
        let mut types = Vec::new();
        types.extend(form.mark().map(|mark| is_a(mark.name(names), "bool")));
        if form.has_span() {
            types.extend([names.start, names.end].map(|name| is_a(name, "date")));
        }
        if self.max_bytes().is_some() {
            let bytes = format!("${}", names.bytes);
            types.push(doc! { "$or": [
                { "$isNumber": &bytes },
                { "$eq": [{ "$type": &bytes }, "missing"] },
            ] });
        }
        types
    }

    /// Whether a bucket meets one of [`closed_conditions`](Self::closed_conditions); true if there are none.
    pub(crate) fn is_closed(&self) -> Bson {
        let conditions = self.closed_conditions();
        if conditions.is_empty() {
            return Bson::Boolean(true);
        }
        let any: Vec<Bson> = conditions.iter().map(holds).collect();
        doc! { "$or": any }.into()
    }
}

/// The same condition as an expression: each field has this value, or is a number from this one on.
fn holds(condition: &Document) -> Bson {
    let each = condition.iter().map(|(name, value)| {
        let field = format!("${name}");
        let least = value.as_document().and_then(|value| value.get("$gte"));
        if let Some(least) = least {
            // A filter compares numbers with numbers only.
            doc! { "$and": [{ "$isNumber": &field }, { "$gte": [&field, least] }] }
        } else {
            doc! { "$eq": [field, value] }
        }
    });
    doc! { "$and": each.collect::<Vec<_>>() }.into()
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::holds;

    #[test]
    fn a_condition_holds_for_numbers_from_a_value_on_and_for_an_equal_value() {
        let condition = doc! { "count": { "$gte": 3 }, "is_closed": true };
        let expected = doc! { "$and": [
            { "$and": [{ "$isNumber": "$count" }, { "$gte": ["$count", 3] }] },
            { "$eq": ["$is_closed", true] },
        ] };
        assert_eq!(holds(&condition), expected.into());
    }
}
