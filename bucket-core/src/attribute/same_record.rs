//! Whether two documents contain the same record, in either form.

use std::collections::BTreeMap;

use bson::{RawBsonRef, RawDocument};

use super::{AttributeArray, AttributeError, AttributeFault, Rest, unfold};
use crate::{
    codec::raw::{Element, elements},
    model::whole,
};

/// Whether both give the same record. Attributes are compared regardless of nulls and of number
/// types, other fields by their bytes, all of them in any order.
pub(super) fn same_record(
    arrays: &[AttributeArray],
    one: &RawDocument,
    other: &RawDocument,
) -> Result<bool, AttributeError> {
    let (one, other) = (unfold(arrays, one)?, unfold(arrays, other)?);
    let (one, other) = (told(arrays, &one)?, told(arrays, &other)?);
    let mut pairs = one.iter().zip(&other);
    Ok(one.len() == other.len() && pairs.all(|((a, one), (b, other))| a == b && one.is(other)))
}

/// A field, and the key in it if it is a map that keeps the rest.
type Place<'a> = (&'a str, Option<&'a str>);

struct Value<'a> {
    element: Element<'a>,
    is_attribute: bool,
}

/// The content of a document of many fields, without attributes that are null.
fn told<'a>(
    arrays: &[AttributeArray],
    many: &'a RawDocument,
) -> Result<BTreeMap<Place<'a>, Value<'a>>, AttributeError> {
    let mut told = BTreeMap::new();
    let mut tell = |place: Place<'a>, element: Element<'a>, is_attribute: bool| {
        let value = Value {
            element,
            is_attribute,
        };
        match told.insert(place, value) {
            None => Ok(()),
            Some(_) => Err(AttributeFault::Duplicate),
        }
    };
    let mut tell_all = || {
        for element in elements(many) {
            let element = element?;
            let of = |array: &&AttributeArray| array.field_names().any(|name| name == element.name);
            let rest = arrays.iter().find(of).map(|array| array.rest);
            let rest_of = rest.map(|rest| rest.filter(|rest| rest.name() == element.name));
            match (rest_of, element.value) {
                (Some(Some(Rest::Map { .. })), RawBsonRef::Document(map)) => {
                    for value in elements(map) {
                        let value = value?;
                        if value.value != RawBsonRef::Null {
                            tell((element.name, Some(value.name)), value, true)?;
                        }
                    }
                }
                (Some(Some(_)), _) if element.is_empty() => {}
                (Some(None), RawBsonRef::Null) => {}
                (of, _) => tell((element.name, None), element, of.is_some())?,
            }
        }
        Ok(())
    };
    tell_all().map_err(|fault| AttributeError::of_all(arrays, fault))?;
    Ok(told)
}

impl Value<'_> {
    fn is(&self, other: &Self) -> bool {
        let (a, b) = (self.element, other.element);
        let is_same = a.kind == b.kind && a.bytes == b.bytes;
        is_same || self.is_attribute && whole::are_same_numbers(a.value, b.value)
    }
}
