//! Whether a document names a field twice.
//!
//! The names of a struct's fields are constants: what was checked once is known by their addresses. The
//! names of a map's entries are data, and a bit for each hash says of most that they are new.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::codec::raw::element_parts;

/// A document begins with its length.
const BEFORE_ELEMENTS: usize = 4;

/// How many of them are kept.
const MOST: usize = 4_096;

/// Constant names: the same ones have the same addresses, in whatever order.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Constants(u64);

impl Constants {
    /// These and this name.
    #[inline]
    pub(crate) fn add(&mut self, name: &'static str) {
        // Widened without loss on all platforms that there are.
        let address = (name.as_ptr().addr() ^ name.len().rotate_right(8)) as u64;
        // Names stand close to each other: their squares do not add up to the same.
        let square = address.wrapping_mul(address ^ 0x9e37_79b9_7f4a_7c15);
        self.0 = self.0.wrapping_add(square);
    }
}

/// Constant names among which none stands twice.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    last: Constants,
    all: HashSet<u64, RandomState>,
}

impl KnownNames {
    /// The name that stands twice in a document of these names that begins at `start`; it has all its
    /// elements and no end yet.
    #[inline]
    pub(super) fn repeated<'a>(
        &mut self,
        names: Constants,
        document: &'a [u8],
        start: usize,
    ) -> Option<&'a [u8]> {
        if self.last.0 == names.0 {
            return None;
        }
        self.check(names, document.get(start..).unwrap_or_default())
    }

    fn check<'a>(&mut self, names: Constants, document: &'a [u8]) -> Option<&'a [u8]> {
        if !self.all.contains(&names.0) {
            if let Some(name) = repeated(document) {
                return Some(name);
            }
            if self.all.len() >= MOST {
                self.all.clear();
            }
            self.all.insert(names.0);
        }
        self.last = names;
        None
    }
}

/// The elements up to which a name that may have come before is looked for at once; in longer documents
/// all names are sorted when the last one has come.
const FEW: usize = 32;

/// What is known of the names of a document so far.
///
/// A bit for each hash: a name whose bit is free is new.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataNames {
    seen: [u64; 4],
    count: usize,
    suspect: bool,
}

impl DataNames {
    /// Takes in a name, of the document that begins at `start` and has all elements before it. Whether it
    /// is there already; where that takes too long to say, [`repeated`](Self::repeated) does.
    #[inline]
    pub(super) fn has(&mut self, name: &[u8], document: &[u8], start: usize) -> bool {
        self.count += 1;
        let hash = hash(name);
        let (word, bit) = (usize::from(hash >> 6), 1 << (hash & 63));
        if self.seen[word] & bit == 0 {
            self.seen[word] |= bit;
            return false;
        }
        if self.count > FEW {
            self.suspect = true;
            return false;
        }
        is_there(name, document.get(start..).unwrap_or_default())
    }

    /// The name that stands twice in a document that has all its elements and no end yet.
    #[inline]
    pub(super) fn repeated<'a>(&self, document: &'a [u8], start: usize) -> Option<&'a [u8]> {
        if self.suspect {
            repeated(document.get(start..).unwrap_or_default())
        } else {
            None
        }
    }
}

#[inline]
fn hash(bytes: &[u8]) -> u8 {
    let at = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let (len, last) = (bytes.len(), bytes.len().wrapping_sub(1));
    let mixed = [at(0), at(len / 2), at(last.wrapping_sub(1)), at(last)]
        .into_iter()
        .fold(len, |hash, byte| {
            hash.wrapping_mul(0x9e37_79b1) ^ usize::from(byte)
        });
    // The upper bits of the product are the ones that all bytes go into.
    let mixed = mixed.wrapping_mul(0x9e37_79b1);
    let [_, _, _, upper, ..] = mixed.to_le_bytes();
    upper
}

#[cold]
fn is_there(name: &[u8], document: &[u8]) -> bool {
    names(document).any(|known| known == name)
}

/// The name that stands twice among the elements of a document, whose end is not looked for.
#[cold]
pub(super) fn repeated(document: &[u8]) -> Option<&[u8]> {
    let mut names: Vec<&[u8]> = names(document).collect();
    names.sort_unstable();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    twice.map(|pair| pair[0])
}

fn names(document: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = document.get(BEFORE_ELEMENTS..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (element, behind) = element_parts(rest)?;
        rest = behind;
        Some(element.name)
    })
}
