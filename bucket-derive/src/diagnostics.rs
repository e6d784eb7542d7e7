//! The error collector: every mistake of a struct in one run, each at its token.
//!
//! A diagnostic is lower case, has no full stop, sets user tokens in backticks and ends with one
//! `help: ` line that shows the corrected code. All phases report here; none returns an error.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// How alike two names must be before one is suggested for the other.
const SIMILARITY: f64 = 0.8;

/// Collects errors; `finish` must be called before it is dropped.
#[derive(Default)]
pub(crate) struct Diagnostics {
    errors: Vec<syn::Error>,
    asked: bool,
}

impl Diagnostics {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Reports a mistake at these tokens.
    pub(crate) fn error(&mut self, at: impl ToTokens, message: impl Display, help: impl Display) {
        self.errors.push(syn::Error::new_spanned(
            at,
            format_args!("{message}\nhelp: {help}"),
        ));
    }

    /// How many mistakes there are so far.
    pub(crate) fn count(&self) -> usize {
        self.errors.len()
    }

    /// Points at further tokens of the error reported before.
    pub(crate) fn also(&mut self, at: impl ToTokens, message: impl Display) {
        self.errors.push(syn::Error::new_spanned(at, message));
    }

    /// Takes over the errors of another parser as they are.
    pub(crate) fn foreign(&mut self, error: syn::Error) {
        self.errors.push(error);
    }

    /// The errors as tokens; `None` if there are none.
    pub(crate) fn finish(mut self) -> Option<TokenStream> {
        self.asked = true;
        let errors = std::mem::take(&mut self.errors);
        let combined = errors.into_iter().reduce(|mut all, error| {
            all.combine(error);
            all
        });
        combined.map(|error| error.to_compile_error())
    }
}

impl Drop for Diagnostics {
    fn drop(&mut self) {
        debug_assert!(
            self.asked || std::thread::panicking(),
            "forgot to ask for the errors"
        );
    }
}

/// The name in `valid` that the user most likely meant by `given`.
pub(crate) fn did_you_mean<'a>(
    given: &str,
    valid: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace('_', "");
    let given = plain(given);
    // Two swapped letters are a large part of a short word.
    let alike = |name: &str| match strsim::osa_distance(&given, &plain(name)) {
        0 | 1 => 1.0,
        _ => strsim::jaro_winkler(&given, &plain(name)),
    };
    valid
        .into_iter()
        .map(|name| (alike(name), name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// What is wrong, then the name that the user most likely meant, and only then all valid names: their list can
/// be long.
pub(crate) fn suggest(wrong: &str, meant: Option<&str>, valid: &str) -> String {
    match meant {
        Some(meant) => format!("{wrong}, did you mean `{meant}`? {valid}"),
        None => format!("{wrong}: {valid}"),
    }
}

/// `a`, `b` and `c`, each in backticks.
pub(crate) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Diagnostics, did_you_mean, list};

    #[test]
    fn a_misspelt_name_is_recognised() {
        let valid = ["collection", "items", "capacity"];
        assert_eq!(did_you_mean("capcity", valid), Some("capacity"));
        assert_eq!(did_you_mean("colection", valid), Some("collection"));
        assert_eq!(
            did_you_mean("customerId", ["customer_id", "qty"]),
            Some("customer_id")
        );
        assert_eq!(did_you_mean("kye", ["key", "time"]), Some("key"));
        assert_eq!(did_you_mean("ttl", valid), None);
    }

    #[test]
    fn a_list_reads_as_a_sentence() {
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` and `c`");
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn all_errors_come_out() {
        let mut cx = Diagnostics::new();
        cx.error(quote::quote!(a), "one", "x");
        cx.error(quote::quote!(b), "two", "y");
        let tokens = cx
            .finish()
            .map(|tokens| tokens.to_string())
            .unwrap_or_default();
        assert_eq!(tokens.matches("compile_error").count(), 2);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "forgot to ask")]
    fn a_collector_that_nobody_asked_is_a_bug() {
        drop(Diagnostics::new());
    }
}
