//! What a stored item has and this version of the model does not know, at any depth. It stays through an edit.
//!
//! What the model makes of the stored item (decoded, and encoded again) shows what it knows. The rest goes to the same
//! place of the new item: in documents by name, in arrays as [`same_elements`](super::same_elements) says. A field that
//! changes what is read of an item is one that the model knows, by another name, so it is no part of the rest.

use std::collections::{BTreeMap, BTreeSet};

use bson::{RawDocument, RawDocumentBuf};

use super::same_elements::{Places, canonical, fields, list, places, sources};
use crate::codec::raw::{
    Element, RawWriter, elements,
    kind::{ARRAY, DOCUMENT},
};

/// A place in an item that has something unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Path(pub(super) String);

/// Puts what is unknown into an item.
pub(super) struct Merge<'m> {
    /// Whether it puts in what it finds under this number. The numbers are the same in each pass.
    keeps: &'m dyn Fn(usize) -> bool,
    /// Fields of the item itself that are never unknown.
    is_known: &'m dyn Fn(&str) -> bool,
    /// The arrays whose elements nothing tells apart: they stay whole, or not at all.
    whole: BTreeSet<String>,
    /// What it has found, by number.
    found: Vec<Path>,
    /// The first unknown place that the new item does not have for sure.
    lost: Option<Path>,
}

/// An item with what is unknown.
#[derive(Debug)]
pub(super) struct Merged {
    pub(super) item: RawDocumentBuf,
    pub(super) found: Vec<Path>,
    pub(super) whole: BTreeSet<String>,
    pub(super) lost: Option<Path>,
}

/// The three forms of a value.
#[derive(Clone, Copy)]
struct Forms<'a> {
    /// What is stored, or what the model knows of it and the rest.
    stored: Element<'a>,
    /// What the model knows of it.
    known: Element<'a>,
    /// What it becomes.
    new: Element<'a>,
}

impl<'m> Merge<'m> {
    pub(super) fn new(
        keeps: &'m dyn Fn(usize) -> bool,
        is_known: &'m dyn Fn(&str) -> bool,
        whole: BTreeSet<String>,
    ) -> Self {
        Self {
            keeps,
            is_known,
            whole,
            found: Vec::new(),
            lost: None,
        }
    }

    /// The new item, and what the stored one has beyond what the model knows of it.
    pub(super) fn run(
        mut self,
        stored: &RawDocument,
        known: &RawDocument,
        new: &RawDocument,
    ) -> Merged {
        let item = self.document([stored, known, new], "");
        Merged {
            // The writer makes documents; the empty one covers the impossible case.
            item: RawDocumentBuf::from_bytes(item).unwrap_or_default(),
            found: self.found,
            whole: self.whole,
            lost: self.lost,
        }
    }

    /// Whether the next thing that is found goes into the item.
    fn finds(&mut self, path: &str) -> bool {
        self.found.push(Path(path.to_owned()));
        (self.keeps)(self.found.len() - 1)
    }

    fn document(&mut self, [stored, known, new]: [&RawDocument; 3], path: &str) -> Vec<u8> {
        let (of_stored, of_known, of_new) = (fields(stored), fields(known), fields(new));
        let is_known = |merge: &Self, name: &str| path.is_empty() && (merge.is_known)(name);
        let mut writer = RawWriter::default();
        let document = writer.begin();
        for new in elements(new).map_while(Result::ok) {
            let forms = match (of_stored.get(new.name), of_known.get(new.name)) {
                (Some(stored), Some(known)) if !is_known(self, new.name) => Some(Forms {
                    stored: *stored,
                    known: *known,
                    new,
                }),
                _ => None,
            };
            let merged = forms.and_then(|forms| self.value(forms, &joined(path, new.name)));
            let bytes = merged.as_deref().unwrap_or(new.bytes);
            writer.raw(new.kind, new.name, bytes);
        }
        for stored in elements(stored).map_while(Result::ok) {
            let name = stored.name;
            let is_told = of_known.contains_key(name) || of_new.contains_key(name);
            if !is_told && !is_known(self, name) && self.finds(&joined(path, name)) {
                writer.raw(stored.kind, name, stored.bytes);
            }
        }
        writer.end(document);
        writer.into_bytes()
    }

    /// The new value with what is unknown; `None` if that is nothing.
    fn value(&mut self, forms: Forms<'_>, path: &str) -> Option<Vec<u8>> {
        let Forms { stored, known, new } = forms;
        if [known.kind, new.kind] != [stored.kind; 2] || stored.bytes == known.bytes {
            return None;
        }
        match stored.kind {
            DOCUMENT => {
                let forms = [stored, known, new].map(|form| RawDocument::from_bytes(form.bytes));
                let [Ok(stored), Ok(known), Ok(new)] = forms else {
                    return None;
                };
                Some(self.document([stored, known, new], path))
            }
            ARRAY => self.array(forms, path),
            _ => None,
        }
    }

    fn array(&mut self, forms: Forms<'_>, path: &str) -> Option<Vec<u8>> {
        let Forms { stored, known, new } = forms;
        let is_unchanged = known.bytes == new.bytes;
        let [of_stored, of_known, of_new] = [stored, known, new].map(list);
        let places = if self.whole.contains(path) {
            Places::Unclear
        } else {
            places(&of_stored, &of_known)
        };
        let places = match places {
            Places::Of(places) => places,
            Places::AllKnown => return None,
            // A set that is not changed may still have another order.
            Places::Unclear if is_unchanged || canonical(known) == canonical(new) => {
                self.whole.insert(path.to_owned());
                return self.finds(path).then(|| stored.bytes.to_vec());
            }
            Places::Unclear => {
                self.loses(path);
                return None;
            }
        };
        // By the places of what the model knows: the stored elements with something unknown.
        let mut with_unknown = BTreeMap::new();
        for (stored, place) in of_stored.iter().zip(&places) {
            if let Some(known) = of_known.get(*place)
                && let Some(unknown) = first_unknown(*stored, *known)
            {
                with_unknown.insert(*place, (*stored, unknown));
            }
        }
        if with_unknown.is_empty() {
            return None;
        }
        let sources = if is_unchanged {
            Ok((0..of_new.len()).map(Some).collect())
        } else {
            sources(&of_known, &of_new, &|place| {
                with_unknown.contains_key(&place)
            })
        };
        let sources: Vec<Option<usize>> = match sources {
            Ok(sources) => sources,
            Err(place) => {
                let unknown = with_unknown.get(&place);
                let unknown = unknown.map_or("", |(_, unknown)| unknown);
                self.loses(&joined(&joined(path, &place.to_string()), unknown));
                return None;
            }
        };
        let mut writer = RawWriter::default();
        let array = writer.begin();
        for (index, (new, source)) in of_new.iter().zip(sources).enumerate() {
            let forms = source.and_then(|place| {
                let (stored, _) = with_unknown.get(&place)?;
                Some(Forms {
                    stored: *stored,
                    known: *of_known.get(place)?,
                    new: *new,
                })
            });
            let path = joined(path, &index.to_string());
            let merged = forms.and_then(|forms| self.value(forms, &path));
            writer.raw_element(index, new.kind, merged.as_deref().unwrap_or(new.bytes));
        }
        writer.end(array);
        Some(writer.into_bytes())
    }

    fn loses(&mut self, path: &str) {
        self.lost.get_or_insert_with(|| Path(path.to_owned()));
    }
}

/// Which of the unknown things stay: all that `reads_same` finds to change nothing in what is read.
pub(super) fn settle(found: &[Path], reads_same: &dyn Fn(&[bool]) -> bool) -> Vec<bool> {
    /// After this many looks, what lies at the same place of all elements of arrays is taken for the same.
    const LOOKS: usize = 512;
    let mut stays = vec![true; found.len()];
    if found.is_empty() || reads_same(&stays) {
        return stays;
    }
    stays.fill(false);
    let mut of_places: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, path) in found.iter().enumerate() {
        of_places
            .entry(path.without_indexes())
            .or_default()
            .push(number);
    }
    for numbers in of_places.values() {
        let (mut looks, mut any) = (0, false);
        let mut open = vec![numbers.as_slice()];
        while let Some(some) = open.pop() {
            // The elements of an array have one type, so one name means one thing in them, but for enums.
            if looks > LOOKS && !any {
                break;
            }
            looks += 1;
            set(&mut stays, some, true);
            if reads_same(&stays) {
                any = true;
                continue;
            }
            set(&mut stays, some, false);
            if some.len() > 1 {
                let (first, second) = some.split_at(some.len() / 2);
                open.extend([second, first]);
            }
        }
    }
    stays
}

fn set(stays: &mut [bool], numbers: &[usize], value: bool) {
    for number in numbers {
        if let Some(stays) = stays.get_mut(*number) {
            *stays = value;
        }
    }
}

impl Path {
    /// The path, the same for all elements of an array.
    fn without_indexes(&self) -> String {
        let is_index = |part: &&str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        let parts = self.0.split('.').filter(|part| !is_index(part));
        parts.collect::<Vec<&str>>().join(".")
    }
}

/// The path from a stored value to the first thing in it that the model does not know.
fn first_unknown(stored: Element<'_>, known: Element<'_>) -> Option<String> {
    if stored.kind != known.kind || stored.bytes == known.bytes {
        return None;
    }
    match stored.kind {
        DOCUMENT => {
            let known = fields(RawDocument::from_bytes(known.bytes).ok()?);
            let stored = RawDocument::from_bytes(stored.bytes).ok()?;
            let mut stored = elements(stored).map_while(Result::ok);
            stored.find_map(|stored| match known.get(stored.name) {
                None => Some(stored.name.to_owned()),
                Some(known) => {
                    first_unknown(stored, *known).map(|inner| joined(stored.name, &inner))
                }
            })
        }
        ARRAY => {
            let (stored, known) = (list(stored), list(known));
            let places = match places(&stored, &known) {
                Places::Of(places) => places,
                Places::AllKnown => return None,
                Places::Unclear => return Some(String::new()),
            };
            let mut places = places.into_iter().zip(stored);
            places.find_map(|(place, stored)| {
                let inner = first_unknown(stored, *known.get(place)?)?;
                Some(joined(&place.to_string(), &inner))
            })
        }
        _ => None,
    }
}

pub(super) fn joined(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}
