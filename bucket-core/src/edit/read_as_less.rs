//! Values that this version of the model reads as less than they are: one of an enum that only later versions have, a
//! double as an `f32`. They stay through an edit that leaves them as they are.

use std::collections::BTreeMap;

use bson::{RawBsonRef, RawDocument, RawDocumentBuf};

use super::{
    same_elements::{Places, are_same, canonical, fields, is_of, list, places, sources},
    unknown::{Path, joined},
};
use crate::codec::raw::{Element, RawWriter, elements, kind::ARRAY};

/// The four forms of an item.
pub(super) struct Items<'a> {
    /// With its attributes in arrays, and those that the bucket holds for it.
    pub(super) stored: &'a RawDocument,
    /// As the model writes what it reads of that.
    pub(super) known: &'a RawDocument,
    /// As the model writes the new record.
    pub(super) new: &'a RawDocument,
    /// The new one with what the model does not know of the stored one.
    pub(super) merged: &'a RawDocument,
}

/// The merged item, with the stored value of everything that the edit does not change in the fields that it `keeps`.
///
/// # Errors
///
/// The path of a stored value that the model reads as less than it is, in an array that the edit changes so that
/// nothing tells where it belongs.
pub(super) fn keep_values(
    items: &Items<'_>,
    keeps: &dyn Fn(&str) -> bool,
) -> Result<RawDocumentBuf, Path> {
    let mut keep = Keep { keeps, lost: None };
    let mut writer = RawWriter::default();
    let document = writer.begin();
    keep.document(items, "", &mut writer);
    writer.end(document);
    match keep.lost {
        // The writer makes documents; the empty one covers the impossible case.
        None => Ok(RawDocumentBuf::from_bytes(writer.into_bytes()).unwrap_or_default()),
        Some(lost) => Err(lost),
    }
}

/// Whether the model has read the one as the other, and less of it. Fields that it does not know at all do not count,
/// nor does the order of elements.
pub(super) fn is_less(known: Element<'_>, stored: Element<'_>) -> bool {
    !is_of(known, stored) && canonical(known) != canonical(stored)
}

/// Whether a field that is not stored may be what the model reads of a stored one that it would not write: the key of a
/// map that it knows as another one. That one stays.
fn is_read_of_another(
    known: Element<'_>,
    of_stored: &BTreeMap<&str, Element<'_>>,
    of_known: &BTreeMap<&str, Element<'_>>,
) -> bool {
    let mut unknown = of_stored
        .iter()
        .filter(|(name, _)| !of_known.contains_key(*name));
    unknown.any(|(_, stored)| is_of(known, *stored))
}

struct Keep<'k> {
    keeps: &'k dyn Fn(&str) -> bool,
    lost: Option<Path>,
}

/// The four forms of a value.
struct Forms<'a> {
    stored: Element<'a>,
    known: Element<'a>,
    new: Element<'a>,
    merged: Element<'a>,
}

impl<'a> Forms<'a> {
    fn all(&self) -> [Element<'a>; 4] {
        [self.stored, self.known, self.new, self.merged]
    }

    fn are(&self, kind: u8) -> bool {
        self.all().iter().all(|form| form.kind == kind)
    }
}

impl Keep<'_> {
    fn document(&mut self, items: &Items<'_>, path: &str, writer: &mut RawWriter) {
        let [stored, of_known, new] = [items.stored, items.known, items.new].map(fields);
        for merged in elements(items.merged).map_while(Result::ok) {
            let name = merged.name;
            let keeps = !path.is_empty() || (self.keeps)(name);
            match (stored.get(name), of_known.get(name), new.get(name)) {
                (Some(stored), Some(known), Some(new)) if keeps => {
                    let forms = Forms {
                        stored: *stored,
                        known: *known,
                        new: *new,
                        merged,
                    };
                    self.value(&forms, name, &joined(path, name), writer);
                }
                (None, Some(known), Some(new))
                    if !path.is_empty()
                        && are_same(*known, *new)
                        && is_read_of_another(*known, &stored, &of_known) => {}
                _ => writer.raw(merged.kind, name, merged.bytes),
            }
        }
    }

    /// Writes the value that stays, under this name.
    fn value(&mut self, forms: &Forms<'_>, name: &str, path: &str, writer: &mut RawWriter) {
        let Forms {
            stored,
            known,
            new,
            merged,
        } = *forms;
        if are_same(known, new) {
            return writer.raw(stored.kind, name, stored.bytes);
        }
        let documents = forms.all().map(|form| match form.value {
            RawBsonRef::Document(document) => Some(document),
            _ => None,
        });
        if let [Some(stored), Some(known), Some(new), Some(merged)] = documents {
            let inner = writer.begin_document(name);
            let items = Items {
                stored,
                known,
                new,
                merged,
            };
            self.document(&items, path, writer);
            return writer.end(inner);
        }
        if forms.are(ARRAY) && self.array(forms, name, path, writer) {
            return;
        }
        writer.raw(merged.kind, name, merged.bytes);
    }

    /// Writes an array with the stored values of the elements that stay; returns whether it could.
    fn array(&mut self, forms: &Forms<'_>, name: &str, path: &str, writer: &mut RawWriter) -> bool {
        let [of_stored, of_known, of_new, of_merged] = forms.all().map(list);
        if of_new.len() != of_merged.len() {
            // It stays whole.
            return false;
        }
        let places = match places(&of_stored, &of_known) {
            Places::Of(places) => places,
            // A set that is not changed may still have another order.
            Places::Unclear if canonical(forms.known) == canonical(forms.new) => {
                writer.raw(forms.stored.kind, name, forms.stored.bytes);
                return true;
            }
            // Nothing is read as less than it is, or the change was refused.
            Places::AllKnown | Places::Unclear => return false,
        };
        let stored: BTreeMap<usize, Element<'_>> = places.into_iter().zip(of_stored).collect();
        let is_asked = |place: usize| match (of_known.get(place), stored.get(&place)) {
            (Some(known), Some(stored)) => is_less(*known, *stored),
            _ => false,
        };
        let sources = match sources(&of_known, &of_new, &is_asked) {
            Ok(sources) => sources,
            Err(place) => {
                let path = joined(path, &place.to_string());
                self.lost.get_or_insert(Path(path));
                return false;
            }
        };
        let array = writer.begin_array(name);
        for (index, (new, merged)) in of_new.into_iter().zip(of_merged).enumerate() {
            let source = sources.get(index).copied().flatten();
            let index = index.to_string();
            let before = source.and_then(|place| Some((stored.get(&place)?, of_known.get(place)?)));
            match before {
                Some((stored, known)) => {
                    let forms = Forms {
                        stored: *stored,
                        known: *known,
                        new,
                        merged,
                    };
                    self.value(&forms, &index, &joined(path, &index), writer);
                }
                None => writer.raw(merged.kind, &index, merged.bytes),
            }
        }
        writer.end(array);
        true
    }
}
