//! `<Price as Measure>::Value`: paths that report a wrong type once, at the user's tokens.
//!
//! rustc drops a diagnostic that equals one before it. All uses of a field's type as a trait are written
//! here, without a generic function in between that would add a note of its own, so that a type without
//! the trait gives equal diagnostics: the same span, the same text.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

/// The associated type, constant or function `name` of `ty` as the private trait `of`.
///
/// The path begins and ends with the type's own tokens: its span is that of the type.
pub(crate) fn of(ty: &Type, private: &TokenStream, of: &str, name: &str) -> TokenStream {
    let (first, last) = ends(ty);
    let private = at(first, private);
    let (of, name) = (Ident::new(of, first), Ident::new(name, last));
    quote_spanned!(first=> <#ty as #private::#of>::#name)
}

/// `outer<inner>` with the span of the type.
pub(crate) fn wrapped(ty: &Type, outer: &TokenStream, inner: &TokenStream) -> TokenStream {
    let (outer, last) = (path(ty, outer), ends(ty).1);
    let (open, close) = (quote_spanned!(last=> <), quote_spanned!(last=> >));
    quote!(#outer #open #inner #close)
}

/// `function(arguments)` with the span of the type.
pub(crate) fn call(ty: &Type, function: &TokenStream, arguments: TokenStream) -> TokenStream {
    let function = path(ty, function);
    let mut arguments = Group::new(Delimiter::Parenthesis, arguments);
    arguments.set_span(ends(ty).1);
    quote!(#function #arguments)
}

/// `|value| function(value)` with the span of the type: a function as a value would report its type again.
pub(crate) fn closure(ty: &Type, function: &TokenStream) -> TokenStream {
    let (first, last) = ends(ty);
    let bar = quote_spanned!(first=> |);
    let mut arguments = Group::new(Delimiter::Parenthesis, quote!(__value));
    arguments.set_span(last);
    quote!(#bar __value #bar #function #arguments)
}

/// A path that begins with the span of the type's first token and ends with that of its last.
fn path(ty: &Type, path: &TokenStream) -> TokenStream {
    let (first, last) = ends(ty);
    let respanned = |(index, mut token): (usize, TokenTree)| {
        token.set_span(if index == 0 { first } else { last });
        token
    };
    path.clone()
        .into_iter()
        .enumerate()
        .map(respanned)
        .collect()
}

/// The spans of the first and the last token.
fn ends(ty: &Type) -> (Span, Span) {
    let first = ty.span();
    (first, last_span(ty.to_token_stream()).unwrap_or(first))
}

/// Tokens with another span: that is where rustc reports their errors.
pub(crate) fn at(span: Span, tokens: &TokenStream) -> TokenStream {
    let respanned = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.clone().into_iter().map(respanned).collect()
}

/// The span of the last token. A `$ty` fragment arrives in a group without delimiters.
fn last_span(tokens: TokenStream) -> Option<Span> {
    match tokens.into_iter().last()? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
            last_span(group.stream())
        }
        token => Some(token.span()),
    }
}
