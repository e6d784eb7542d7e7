//! `weight_g >= 500`: a condition on an attribute of a product, in both forms of the documents.

use std::fmt;

use bucket_mongo::{
    AttributeFilter, AttributeValue,
    attribute::Attribute,
    bson::{Document, doc},
};
use example_kit::csv_input::field::{integer, name, number, shown};

use crate::field::{self, Typed};

/// What is asked about one attribute.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Condition {
    text: String,
    by_field: Document,
    by_attribute: AttributeFilter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Is,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

/// Operators of two characters first: `<` is the start of `<=`.
const OPERATORS: [(&str, Operator); 5] = [
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("<", Operator::Less),
    (">", Operator::Greater),
    ("=", Operator::Is),
];

impl Condition {
    /// Reads `weight_g >= 500` or `color = red`, with or without blanks.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (name, (sign, operator), value) = parts(text).ok_or_else(|| {
            format!(
                "{} is not a condition such as `weight_g >= 500` or `color = red`",
                shown(text)
            )
        })?;
        let field = field::named(name).map_err(|names| {
            format!(
                "{} is not an attribute of a product; the attributes are {names}",
                shown(name)
            )
        })?;
        let of_value = |error| format!("the value of `{name}`: {error}");
        let (by_field, by_attribute) = match field.attribute {
            Typed::Whole(of) => both(
                name,
                &of(),
                operator,
                integer::<i32>(value).map_err(of_value)?,
            ),
            Typed::Number(of) => both(name, &of(), operator, number(value).map_err(of_value)?),
            Typed::Text(of) if operator == Operator::Is => {
                both(name, &of(), operator, self::name(value).map_err(of_value)?)
            }
            Typed::Text(_) => {
                return Err(format!("`{name}` is text, which supports only `=`"));
            }
        };
        Ok(Self {
            text: format!("{name} {sign} {value}"),
            by_field,
            by_attribute,
        })
    }
}

/// Name, operator and value.
fn parts(text: &str) -> Option<(&str, (&'static str, Operator), &str)> {
    let (name, rest) = text.split_at(text.find(['<', '>', '='])?);
    let mut operators = OPERATORS.into_iter();
    let found = operators.find(|(sign, _)| rest.starts_with(sign))?;
    let value = rest.strip_prefix(found.0)?;
    Some((name.trim(), found, value.trim()))
}

/// The condition on a field, and the condition on an attribute.
fn both<V: AttributeValue>(
    name: &str,
    attribute: &Attribute<V>,
    operator: Operator,
    value: V,
) -> (Document, AttributeFilter) {
    let stored = value.to_bson();
    let (sign, by_attribute) = match operator {
        Operator::Is => ("$eq", attribute.eq(value)),
        Operator::Less => ("$lt", attribute.lt(value)),
        Operator::AtMost => ("$lte", attribute.lte(value)),
        Operator::Greater => ("$gt", attribute.gt(value)),
        Operator::AtLeast => ("$gte", attribute.gte(value)),
    };
    (doc! { name: { sign: stored } }, by_attribute)
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The conditions as the user writes them: `color = red and pages < 60`.
pub(crate) fn said(conditions: &[Condition]) -> String {
    let texts: Vec<&str> = conditions.iter().map(|one| one.text.as_str()).collect();
    texts.join(" and ")
}

/// The filter of all conditions on documents of many fields.
pub(crate) fn by_fields(conditions: &[Condition]) -> Document {
    match conditions {
        [] => Document::new(),
        [one] => one.by_field.clone(),
        all => {
            let all: Vec<Document> = all.iter().map(|one| one.by_field.clone()).collect();
            doc! { "$and": all }
        }
    }
}

/// The filter of all conditions on documents with attributes.
pub(crate) fn by_attributes(conditions: &[Condition]) -> Document {
    let all = conditions.iter().map(|one| one.by_attribute.clone());
    let joined = all.reduce(AttributeFilter::and);
    joined.map_or_else(Document::new, Document::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_applies_to_a_field_and_to_an_attribute() {
        let heavy = Condition::parse("weight_g>= 500").unwrap();
        assert_eq!(heavy.to_string(), "weight_g >= 500");
        assert_eq!(heavy.by_field, doc! { "weight_g": { "$gte": 500 } });
        let entry = doc! { "k": "weight", "u": "g", "v": { "$gte": 500 } };
        let by_attribute = Document::from(heavy.by_attribute.clone());
        assert_eq!(by_attribute, doc! { "specs": { "$elemMatch": entry } });

        let red = Condition::parse(" color = dark red ").unwrap();
        assert_eq!(red.by_field, doc! { "color": { "$eq": "dark red" } });
        let both = [heavy, red];
        assert_eq!(said(&both), "weight_g >= 500 and color = dark red");
        for filter in [by_fields(&both), by_attributes(&both)] {
            assert_eq!(filter.get_array("$and").unwrap().len(), 2);
        }
        assert!(by_fields(&[]).is_empty() && by_attributes(&[]).is_empty());
        assert_eq!(by_attributes(&both[..1]), by_attribute);
    }

    #[test]
    fn a_wrong_condition_is_refused_with_the_reason() {
        for (text, expected) in [
            (
                "color",
                "`color` is not a condition such as `weight_g >= 500` or `color = red`",
            ),
            (
                "colour = red",
                "`colour` is not an attribute of a product; the attributes are volume_ml, height_cm, width_cm, \
                 depth_cm, weight_g, power_w, memory_gb, screen_inches, pages, color, size, \
                 material, warranty_months",
            ),
            (
                "weight_g >= heavy",
                "the value of `weight_g`: `heavy` is not a whole number",
            ),
            (
                "screen_inches < 13,3",
                "the value of `screen_inches`: `13,3` is not a number",
            ),
            ("color =", "the value of `color`: is empty"),
            ("size > small", "`size` is text, which supports only `=`"),
        ] {
            assert_eq!(Condition::parse(text).unwrap_err(), expected);
        }
    }
}
