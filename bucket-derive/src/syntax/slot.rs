//! A key that may be given once.

use proc_macro2::Ident;
use quote::ToTokens;

use crate::{diagnostics::Diagnostics, syntax::entry::Entry};

/// Where the value of one key goes.
///
/// A key with a broken value counts as given, so it is not reported as missing too.
pub(crate) struct Slot<T> {
    given: Option<Ident>,
    value: Option<T>,
}

impl<T> Default for Slot<T> {
    fn default() -> Self {
        Self {
            given: None,
            value: None,
        }
    }
}

impl<T> Slot<T> {
    /// Takes the value of an entry; a repeated key is reported at both places.
    pub(crate) fn fill(&mut self, cx: &mut Diagnostics, entry: &Entry, value: Option<T>) {
        let Some(key) = &entry.key else { return };
        if let Some(first) = &self.given {
            cx.error(
                entry.to_token_stream(),
                format_args!("duplicate key `{key}` of `#[bucket(..)]`"),
                format_args!("remove one of the two `{key}`"),
            );
            cx.also(first, format_args!("`{key}` is given here first"));
            return;
        }
        self.given = Some(key.clone());
        self.value = value;
    }

    /// Counts the key as given by an entry that was reported already.
    pub(crate) fn presume(&mut self, entry: &Entry) {
        if self.given.is_none() {
            self.given.clone_from(&entry.key);
        }
    }

    pub(crate) fn given(&self) -> Option<&Ident> {
        self.given.as_ref()
    }

    pub(crate) fn into_value(self) -> Option<T> {
        self.value
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }
}
