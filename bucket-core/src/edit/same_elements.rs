//! Which elements of two arrays are the same one.

use std::collections::{BTreeMap, BTreeSet};

use bson::{RawBsonRef, RawDocument};

use crate::{
    codec::raw::{
        Element, elements,
        kind::{ARRAY, DOCUMENT},
    },
    model::whole,
};

/// Where the model reads the elements of a stored array to.
#[derive(Debug, PartialEq)]
pub(super) enum Places {
    /// For each stored element, the place of what the model knows of it.
    Of(Vec<usize>),
    /// The model leaves out elements or orders them anew, but knows all of them.
    AllKnown,
    /// It does so, and nothing tells which.
    Unclear,
}

/// The most elements of a set whose places are looked for one by one.
const MOST: usize = 1_000;

/// The places of what the model knows of these elements.
pub(super) fn places(stored: &[Element<'_>], known: &[Element<'_>]) -> Places {
    let is_at = |(stored, known): (&Element<'_>, &Element<'_>)| is_of(*known, *stored);
    let is_list = stored.len() == known.len();
    if is_list && stored.iter().zip(known).all(is_at) {
        return Places::Of((0..stored.len()).collect());
    }
    if is_list && stored.len() <= MOST {
        // The others are at their places, and these are nowhere: the model reads them as less than they are.
        let is_nowhere = |stored: &Element<'_>| !known.iter().any(|known| is_of(*known, *stored));
        let mut both = stored.iter().zip(known);
        if both.all(|both| is_at(both) || is_nowhere(both.0)) {
            return Places::Of((0..stored.len()).collect());
        }
    }
    if stored.len() > MOST {
        let contents: BTreeSet<Vec<u8>> = known.iter().map(|known| loose(*known)).collect();
        let is_there = |stored: &Element<'_>| contents.contains(&loose(*stored));
        let is_known = is_list && stored.iter().all(is_there);
        return if is_known {
            Places::AllKnown
        } else {
            Places::Unclear
        };
    }
    if let Some(places) = places_of_each(stored, known) {
        return Places::Of(places);
    }
    let is_there = |stored: &Element<'_>| known.iter().any(|known| is_of(*known, *stored));
    if stored.iter().all(is_there) && shape(stored).is_subset(&shape(known)) {
        Places::AllKnown
    } else {
        Places::Unclear
    }
}

/// For each stored element, the one place that it may have been read to.
fn places_of_each(stored: &[Element<'_>], known: &[Element<'_>]) -> Option<Vec<usize>> {
    let is_list = stored.len() == known.len();
    let mut taken = BTreeSet::new();
    let mut places = vec![None; stored.len()];
    for (stored, place) in stored.iter().zip(&mut places) {
        let mut of_it = known.iter().enumerate();
        let mut of_it = of_it.by_ref().filter(|(_, known)| is_of(**known, *stored));
        *place = match (of_it.next(), of_it.next()) {
            (Some((at, _)), None) if taken.insert(at) => Some(at),
            (None, _) if is_list => None,
            _ => return None,
        };
    }
    // The model writes the others in another form: in order, unless there is only one.
    let free: Vec<usize> = (0..known.len()).filter(|at| !taken.contains(at)).collect();
    let only = match free[..] {
        [only] => Some(only),
        _ => None,
    };
    let places = places.into_iter().enumerate();
    let places = places.map(|(index, place)| place.or(only).or(Some(index)));
    let places: Vec<usize> = places.collect::<Option<_>>()?;
    let are_different = places.iter().collect::<BTreeSet<_>>().len() == places.len();
    are_different.then_some(places)
}

/// The paths of all fields in these elements.
fn shape(elements: &[Element<'_>]) -> BTreeSet<String> {
    fn add(element: Element<'_>, path: &str, to: &mut BTreeSet<String>) {
        if matches!(element.kind, DOCUMENT | ARRAY) {
            let is_array = element.kind == ARRAY;
            for inner in list(element) {
                let path = if is_array {
                    format!("{path}.")
                } else {
                    format!("{path}.{}", inner.name)
                };
                add(inner, &path, to);
                to.insert(path);
            }
        }
    }
    let mut paths = BTreeSet::new();
    for element in elements {
        add(*element, "", &mut paths);
    }
    paths
}

/// Whether the model may have read the one as the other: all values that both have are the same.
pub(super) fn is_of(known: Element<'_>, stored: Element<'_>) -> bool {
    if known.kind == stored.kind && known.bytes == stored.bytes {
        return true;
    }
    match (known.kind, stored.kind) {
        (DOCUMENT, DOCUMENT) => {
            let documents = [known, stored].map(|it| RawDocument::from_bytes(it.bytes));
            let [Ok(known), Ok(stored)] = documents else {
                return false;
            };
            let stored = fields(stored);
            let mut known = elements(known).map_while(Result::ok);
            known.all(|known| {
                let stored = stored.get(known.name);
                stored.is_none_or(|stored| is_of(known, *stored))
            })
        }
        (ARRAY, ARRAY) => {
            let (known, stored) = (list(known), list(stored));
            let mut both = known.iter().zip(&stored);
            known.len() == stored.len() && both.all(|(known, stored)| is_of(*known, *stored))
        }
        _ => whole::are_same_numbers(known.value, stored.value),
    }
}

/// For each element of a changed array, the place that it had before; `None` if it is new. Only the places that are
/// `asked` for matter.
///
/// An element that is as before is found wherever it is. One that was changed is the one at its place, in an array of
/// the same length. Elements are removed if all that are left were there before.
///
/// # Errors
///
/// A place that is asked for, whose element may be any of several, or may have been removed or changed.
pub(super) fn sources(
    before: &[Element<'_>],
    after: &[Element<'_>],
    asked: &dyn Fn(usize) -> bool,
) -> Result<Vec<Option<usize>>, usize> {
    let is_as_long = before.len() == after.len();
    let mut sources = vec![None; after.len()];
    let [of_before, of_after] = [before, after].map(|elements| {
        elements
            .iter()
            .map(|element| canonical(*element))
            .collect::<Vec<Vec<u8>>>()
    });
    let mut open: BTreeSet<usize> = (0..before.len()).collect();
    if is_as_long {
        for (place, source) in sources.iter_mut().enumerate() {
            if of_before.get(place) == of_after.get(place) {
                *source = Some(place);
                open.remove(&place);
            }
        }
    }
    let mut unmatched: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (place, source) in sources.iter().enumerate() {
        if let (None, Some(of_after)) = (source, of_after.get(place)) {
            unmatched.entry(of_after).or_default().push(place);
        }
    }
    let mut equal: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for place in &open {
        if let Some(of_before) = of_before.get(*place) {
            equal.entry(of_before).or_default().push(*place);
        }
    }
    for (content, before) in equal {
        let Some(after) = unmatched.remove(content) else {
            continue;
        };
        if before.len() != after.len()
            && let Some(unclear) = before.iter().find(|place| asked(**place))
        {
            return Err(*unclear);
        }
        for (before, after) in before.iter().zip(&after) {
            if let Some(source) = sources.get_mut(*after) {
                *source = Some(*before);
            }
        }
        for before in &before {
            open.remove(before);
        }
    }
    let changed: BTreeSet<usize> = unmatched.into_values().flatten().collect();
    if changed.is_empty() {
        return Ok(sources);
    }
    for place in open.into_iter().filter(|place| asked(*place)) {
        match sources.get_mut(place) {
            Some(source) if is_as_long && changed.contains(&place) => *source = Some(place),
            _ => return Err(place),
        }
    }
    Ok(sources)
}

/// The content of a value, whatever the order of its fields and of the elements of its arrays: a set has another
/// order each time.
pub(super) fn canonical(value: Element<'_>) -> Vec<u8> {
    let mut content = vec![value.kind];
    match value.kind {
        DOCUMENT | ARRAY => {
            let is_array = value.kind == ARRAY;
            let mut parts: Vec<Vec<u8>> = list(value)
                .into_iter()
                .map(|inner| {
                    let name = if is_array { "" } else { inner.name };
                    let mut part = name.as_bytes().to_vec();
                    part.push(0);
                    part.extend(canonical(inner));
                    part
                })
                .collect();
            parts.sort_unstable();
            content.extend_from_slice(&parts.len().to_le_bytes());
            for part in parts {
                content.extend_from_slice(&part.len().to_le_bytes());
                content.extend(part);
            }
        }
        _ => content.extend_from_slice(value.bytes),
    }
    content
}

/// Whether two values are the same, whatever the order of fields: a map has another order each time.
pub(super) fn are_same(one: Element<'_>, other: Element<'_>) -> bool {
    if (one.kind, one.bytes) == (other.kind, other.bytes) {
        return true;
    }
    match (one.value, other.value) {
        (RawBsonRef::Document(one), RawBsonRef::Document(other)) => {
            let (one, other) = (fields(one), fields(other));
            let mut both = one.iter().zip(&other);
            one.len() == other.len()
                && both.all(|((name, one), (other_name, other))| {
                    name == other_name && are_same(*one, *other)
                })
        }
        (RawBsonRef::Array(_), RawBsonRef::Array(_)) => {
            let (one, other) = (list(one), list(other));
            let mut both = one.iter().zip(&other);
            one.len() == other.len() && both.all(|(one, other)| are_same(*one, *other))
        }
        _ => false,
    }
}

/// The content of a value, where numbers of several types are the same.
fn loose(value: Element<'_>) -> Vec<u8> {
    let number = match value.value {
        RawBsonRef::Int32(number) => Some(f64::from(number)),
        // Two large ones may be taken for the same: then the array is taken for one of known elements in another order.
        #[expect(clippy::cast_precision_loss, reason = "see above")]
        RawBsonRef::Int64(number) => Some(number as f64),
        RawBsonRef::Double(number) => Some(number),
        _ => None,
    };
    match (number, value.kind) {
        (Some(number), _) => number.to_bits().to_le_bytes().to_vec(),
        (None, DOCUMENT | ARRAY) => {
            let inner = list(value).into_iter();
            let mut parts: Vec<Vec<u8>> = inner
                .map(|inner| {
                    let name = if value.kind == ARRAY { "" } else { inner.name };
                    [name.as_bytes(), &[0], &loose(inner)].concat()
                })
                .collect();
            parts.sort_unstable();
            [vec![value.kind], parts.concat()].concat()
        }
        _ => [&[value.kind], value.bytes].concat(),
    }
}

/// The content of an item.
pub(super) fn content(item: &RawDocument) -> Vec<u8> {
    canonical(Element {
        name: "",
        kind: DOCUMENT,
        bytes: item.as_bytes(),
        value: RawBsonRef::Document(item),
    })
}

pub(super) fn fields(document: &RawDocument) -> BTreeMap<&str, Element<'_>> {
    let fields = elements(document).map_while(Result::ok);
    fields.map(|element| (element.name, element)).collect()
}

pub(super) fn list(array: Element<'_>) -> Vec<Element<'_>> {
    let entries = array.entries().into_iter().flatten();
    entries.map_while(Result::ok).collect()
}
