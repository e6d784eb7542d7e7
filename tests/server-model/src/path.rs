//! Dotted paths, and the values that they lead to.

use crate::value::{Fields, Value};

/// The first name of a path, and the rest.
pub(crate) fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('.')
        .map_or((path, None), |(name, rest)| (name, Some(rest)))
}

/// A name that is an array index.
pub(crate) fn place(name: &str) -> Option<usize> {
    let canonical = name == "0" || !name.starts_with(['0', '+']);
    name.parse().ok().filter(|_| canonical)
}

/// Whether the test holds for one of the values that a filter compares at this path. Arrays on the
/// path contribute each item; an array at its end contributes the items (if `expand`) and itself. A
/// missing value is tested as `None`.
pub(crate) fn any(
    fields: &Fields,
    path: &str,
    expand: bool,
    test: &mut dyn FnMut(Option<&Value>) -> bool,
) -> bool {
    let (name, rest) = split(path);
    match (fields.get(name), rest) {
        (Some(array @ Value::Array(items)), rest) => in_array(array, items, rest, expand, test),
        (Some(Value::Document(inner)), Some(rest)) => any(inner, rest, expand, test),
        (value @ Some(_), None) => test(value),
        (None, _) | (Some(_), Some(_)) => test(None),
    }
}

fn in_array(
    array: &Value,
    items: &[Value],
    rest: Option<&str>,
    expand: bool,
    test: &mut dyn FnMut(Option<&Value>) -> bool,
) -> bool {
    let Some(rest) = rest else {
        return (expand && items.iter().any(|item| test(Some(item)))) || test(Some(array));
    };
    let (next, behind) = split(rest);
    let place = place(next);
    for (at, item) in items.iter().enumerate() {
        if let Value::Document(inner) = item
            && any(inner, rest, expand, test)
        {
            return true;
        }
        if place == Some(at) {
            let found = match (item, behind) {
                (Value::Array(inner), Some(behind)) => {
                    in_array(item, inner, Some(behind), expand, test)
                }
                (Value::Document(inner), Some(behind)) => any(inner, behind, expand, test),
                (item, None) => test(Some(item)),
                (_, Some(_)) => false,
            };
            if found {
                return true;
            }
        }
    }
    false
}
