//! Arrays that an edit puts in another order, of which that order would be lost.

use bson::{RawDocument, RawDocumentBuf};

use super::same_elements::{are_same, canonical, list};
use crate::codec::raw::{
    Element, elements,
    kind::{ARRAY, DOCUMENT},
};

/// How often an item is read to tell a list from a set, which has another order each time.
const READS: usize = 32;

/// The path of a list that has another order in the first item than in the second one, as both are read. `read` says what
/// is read of the second one.
pub(super) fn first_reordered(
    stored: &RawDocument,
    read: impl Fn() -> Option<RawDocumentBuf>,
) -> Option<String> {
    let new = read()?;
    let mut paths = Vec::new();
    add_reordered(&all(stored), &all(&new), &[], &mut paths);
    for _ in 0..READS {
        if paths.is_empty() {
            return None;
        }
        let again = read()?;
        paths.retain(|path| match (at(&again, path), at(&new, path)) {
            (Some(again), Some(new)) => are_same(again, new),
            _ => false,
        });
    }
    paths.first().map(|path| path.join("."))
}

/// Adds the paths to arrays with the same elements in another order.
fn add_reordered(
    one: &[Element<'_>],
    other: &[Element<'_>],
    path: &[String],
    to: &mut Vec<Vec<String>>,
) {
    for one in one {
        let Some(other) = other.iter().find(|other| other.name == one.name) else {
            continue;
        };
        if one.kind != other.kind || one.bytes == other.bytes {
            continue;
        }
        let path = [path, &[one.name.to_owned()]].concat();
        match one.kind {
            ARRAY if canonical(*one) == canonical(*other) && !are_same(*one, *other) => {
                to.push(path);
            }
            ARRAY | DOCUMENT => add_reordered(&list(*one), &list(*other), &path, to),
            _ => {}
        }
    }
}

fn at<'a>(item: &'a RawDocument, path: &[String]) -> Option<Element<'a>> {
    let (first, rest) = path.split_first()?;
    let mut found = all(item)
        .into_iter()
        .find(|element| element.name == first)?;
    for name in rest {
        found = list(found).into_iter().find(|inner| inner.name == name)?;
    }
    Some(found)
}

fn all(item: &RawDocument) -> Vec<Element<'_>> {
    elements(item).map_while(Result::ok).collect()
}
