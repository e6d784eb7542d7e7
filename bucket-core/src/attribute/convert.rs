//! Values in other units than the stored ones.

use bson::Bson;

/// A stored value as a number; `None` if it is not one.
#[must_use]
pub fn number(value: &Bson) -> Option<f64> {
    match value {
        Bson::Int32(number) => Some((*number).into()),
        #[allow(clippy::cast_precision_loss, reason = "a conversion rounds anyway")]
        Bson::Int64(number) => Some(*number as f64),
        Bson::Double(number) => Some(*number),
        Bson::Decimal128(number) => number.to_string().parse().ok(),
        _ => None,
    }
}

/// The first existing value, converted. Each value comes with its factor to the requested unit.
#[must_use]
pub fn convert<const N: usize>(values: [(Option<f64>, f64); N]) -> Option<f64> {
    let mut values = values.into_iter();
    values.find_map(|(value, factor)| Some(value? * factor))
}

#[cfg(test)]
mod tests {
    use super::{convert, number};
    use crate::attribute::AttributeValue;

    #[test]
    fn the_first_existing_value_is_converted() {
        assert_eq!(convert([(None, 1.0), (Some(2.0), 29.5)]), Some(59.0));
        assert_eq!(
            convert([(Some(500.0), 1.0), (Some(2.0), 29.5)]),
            Some(500.0)
        );
        assert_eq!(convert([(None, 1.0), (None, 29.5)]), None);
    }

    #[test]
    fn only_values_of_numeric_types_are_numbers() {
        assert_eq!(number(&Some(500_i32).to_bson()), Some(500.0));
        assert_eq!(number(&500_i64.to_bson()), Some(500.0));
        assert_eq!(number(&0.5_f32.to_bson()), Some(0.5));
        let decimal: bson::Decimal128 = "12.5".parse().unwrap();
        assert_eq!(number(&decimal.to_bson()), Some(12.5));
        assert_eq!(number(&None::<i32>.to_bson()), None);
        assert_eq!(number(&"12".to_owned().to_bson()), None);
    }
}
