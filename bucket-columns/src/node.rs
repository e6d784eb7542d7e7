//! Documents at one place, taken apart into the columns of their fields.

use std::collections::HashMap;

use crate::{
    MOST_LEVELS, blobs,
    bytes::put_length,
    element::{Element, elements},
    error::PackError,
    tags,
    values::Collected,
};

/// How many fields documents may have as columns, however few each of them has.
const FEW_FIELDS: usize = 64;

/// The tag of a document that is kept as it is, and of a field that a document does not have.
pub(crate) const AS_IT_IS: u8 = 1;
pub(crate) const MISSING: u8 = 0;

/// The documents so far.
///
/// `order`, `by_name` and `taken` name fields by their index in `fields`, from which none is ever removed.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    level: usize,
    fields: Vec<Field<'a>>,
    /// The fields in the order of all documents that have columns.
    order: Vec<usize>,
    by_name: HashMap<&'a [u8], usize, foldhash::fast::RandomState>,
    /// Of each document, whether it is kept as it is.
    kept: Vec<u8>,
    as_they_are: Vec<&'a [u8]>,
    /// How many documents have columns, and how many fields they have together.
    rows: usize,
    elements: usize,
    /// The fields of the document that is being taken.
    taken: Vec<(usize, Element<'a>)>,
}

#[derive(Debug)]
struct Field<'a> {
    name: &'a [u8],
    /// Its place in the order.
    place: usize,
    /// Of each document with columns, the type of the value; those at the end that do not have the field are left out.
    kinds: Vec<u8>,
    values: Vec<(u8, Collected<'a>)>,
}

impl<'a> Node<'a> {
    pub(crate) fn new(level: usize) -> Self {
        Self {
            level,
            fields: Vec::new(),
            order: Vec::new(),
            by_name: HashMap::default(),
            kept: Vec::new(),
            as_they_are: Vec::new(),
            rows: 0,
            elements: 0,
            taken: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, document: &'a [u8]) {
        let fits = self.level < MOST_LEVELS && self.take(document).is_some();
        self.kept.push(if fits { 0 } else { AS_IT_IS });
        if !fits {
            self.as_they_are.push(document);
            return;
        }
        for (id, Element { kind, value, .. }) in self.taken.drain(..) {
            let Some(field) = self.fields.get_mut(id) else {
                continue;
            };
            field.kinds.resize(self.rows, MISSING);
            field.kinds.push(kind);
            let values = &mut field.values;
            let at = values
                .iter()
                .position(|(of, _)| *of == kind)
                .unwrap_or(values.len());
            if at == values.len() {
                values.push((kind, Collected::new(kind, self.level + 1)));
            }
            values[at].1.push(value);
        }
        self.rows += 1;
    }

    /// Finds the fields of a document; `None` if it fits no columns: another order of fields, a field twice, more
    /// fields of its own than columns are worth, or bytes that are no document.
    fn take(&mut self, document: &'a [u8]) -> Option<()> {
        self.taken.clear();
        let mut next = 0;
        for element in elements(document) {
            let element = element?;
            let expected = self.order.get(next).copied();
            let expected = expected.filter(|id| self.fields[*id].name == element.name);
            let known = expected.or_else(|| self.by_name.get(element.name).copied());
            let id = match known {
                Some(id) => id,
                None => self.add(element.name, next)?,
            };
            let place = self.fields[id].place;
            if place < next {
                return None;
            }
            next = place + 1;
            self.taken.push((id, element));
        }
        self.elements += self.taken.len();
        Some(())
    }

    /// Gives a field its place, before the one that is there.
    fn add(&mut self, name: &'a [u8], place: usize) -> Option<usize> {
        let usual = self.elements / self.rows.max(1);
        // Such documents are maps: nearly every column would be empty.
        if self.rows > 0 && self.fields.len() >= FEW_FIELDS.max(4 * usual) {
            return None;
        }
        let id = self.fields.len();
        self.fields.push(Field {
            name,
            place,
            kinds: Vec::new(),
            values: Vec::new(),
        });
        self.by_name.insert(name, id);
        self.order.insert(place, id);
        for (place, id) in self.order.iter().enumerate().skip(place) {
            self.fields[*id].place = place;
        }
        Some(id)
    }

    /// Writes all of them, whose number the reader knows.
    pub(crate) fn pack(&self, out: &mut Vec<u8>) -> Result<(), PackError> {
        tags::pack(&self.kept, out);
        blobs::pack(&self.as_they_are, out)?;
        if self.rows == 0 {
            return Ok(());
        }
        let fields = || self.order.iter().map(|id| &self.fields[*id]);
        // A field that only documents have that are kept as they are has no column.
        let used = || fields().filter(|field| !field.values.is_empty());
        put_length(out, used().count());
        for field in used() {
            put_length(out, field.name.len());
            out.extend(field.name);
            let mut kinds = field.kinds.clone();
            kinds.resize(self.rows, MISSING);
            tags::pack(&kinds, out);
            let mut values: Vec<&(u8, Collected<'_>)> = field.values.iter().collect();
            values.sort_unstable_by_key(|(kind, _)| *kind);
            for (_, values) in values {
                values.pack(out)?;
            }
        }
        Ok(())
    }
}
