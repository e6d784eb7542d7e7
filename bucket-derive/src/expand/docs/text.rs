//! Text as docs have it.

use proc_macro2::TokenStream;
use quote::quote;

/// A code span, also of a text that contains a backtick.
pub(super) fn code(text: &str) -> String {
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}

/// The attributes of these lines.
pub(super) fn doc(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| match line {
        "" => String::new(),
        line => format!(" {line}"),
    });
    quote!(#(#[doc = #lines])*)
}
