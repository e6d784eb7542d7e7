//! Whether a document names a field twice.
//!
//! The names of a struct's fields are constants; their addresses identify sets that were checked
//! before. The names of a map's entries are data; one bit per hash shows for most of them that they
//! are new.

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::codec::raw::element_parts;

/// A document begins with its length.
const BEFORE_ELEMENTS: usize = 4;

/// The number of sets that are kept.
const MOST: usize = 4_096;

/// A set of constant names, in any order. Equal names have equal addresses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Constants(u64);

impl Constants {
    /// The set with this name added.
    #[inline]
    pub(crate) fn add(&mut self, name: &'static str) {
        // The conversion is lossless on all existing platforms.
        let address = (name.as_ptr().addr() ^ name.len().rotate_right(8)) as u64;
        // Names are close to each other in memory; sums of squares keep different sets apart.
        let square = address.wrapping_mul(address ^ 0x9e37_79b9_7f4a_7c15);
        self.0 = self.0.wrapping_add(square);
    }
}

/// Sets of constant names that are known to have no repetition.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    last: Constants,
    all: HashSet<u64, RandomState>,
}

impl KnownNames {
    /// The name that appears twice in a document of these names that begins at `start`. The
    /// document has all its elements, but no end yet.
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

/// Up to this number of elements, a name that may be a repetition is searched for immediately. In
/// longer documents, all names are sorted after the last one.
const FEW: usize = 32;

/// What is known about the names of a document so far.
///
/// A bit for each hash: a name whose bit is free is new.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DataNames {
    seen: [u64; 4],
    count: usize,
    suspect: bool,
}

impl DataNames {
    /// Records a name of the document that begins at `start` and has all elements before this one.
    /// Returns whether the name is already there. If that would take too long,
    /// [`repeated`](Self::repeated) finds it later.
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

    /// The name that appears twice in a document that has all its elements, but no end yet.
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
    // All bytes affect the upper bits of the product.
    let mixed = mixed.wrapping_mul(0x9e37_79b1);
    let [_, _, _, upper, ..] = mixed.to_le_bytes();
    upper
}

#[cold]
fn is_there(name: &[u8], document: &[u8]) -> bool {
    names(document).any(|known| known == name)
}

/// The name that appears twice among the elements of a document; its end is not checked.
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
