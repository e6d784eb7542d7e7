//! `count_if("errors", |code| *code >= 500)`, `tally("class", |code| code / 100)`.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Expr, LitStr, Token,
    parse::{ParseStream, Parser},
};

use crate::{
    diagnostics::Diagnostics,
    symbol::{COUNT_IF, Symbol, TALLY},
    syntax::{
        entry::{Entry, Syntax},
        name::{self, Named},
    },
};

/// A named mapping of a field's value: a closure or the path of a function.
#[derive(Clone)]
pub(crate) struct Mapped {
    pub(crate) named: Named,
    pub(crate) of: Mapping,
}

/// What is passed on for the value.
#[derive(Clone)]
pub(crate) enum Mapping {
    Itself,
    By(Expr),
    /// It could not be parsed, which was reported.
    Broken,
}

const CONDITION: &str = "count_if(\"error_count\", |value| *value >= 500)";
const MAPPING: &str = "tally(\"classes\", |value| value / 100)";

/// `count_if("name", |value| condition)`.
pub(crate) fn count_if(cx: &mut Diagnostics, entry: &Entry) -> Option<Mapped> {
    let Syntax::List(list) = &entry.form else {
        let message = "`count_if` expects a name and a condition";
        cx.error(entry, message, CONDITION);
        return None;
    };
    mapped(cx, entry, list, COUNT_IF)
}

/// `tally`, `tally = "name"` or `tally("name", |value| class)`.
pub(crate) fn tally(cx: &mut Diagnostics, entry: &Entry) -> Option<Mapped> {
    match &entry.form {
        Syntax::List(list) => mapped(cx, entry, list, TALLY),
        Syntax::Word | Syntax::Value(_) | Syntax::Malformed => {
            let named = name::aggregate(cx, entry)?;
            Some(Mapped {
                named,
                of: Mapping::Itself,
            })
        }
    }
}

fn mapped(
    cx: &mut Diagnostics,
    entry: &Entry,
    list: &TokenStream,
    symbol: Symbol,
) -> Option<Mapped> {
    let key = entry.key.clone()?;
    let (what, example) = if symbol == COUNT_IF {
        ("a condition", CONDITION)
    } else {
        ("a mapping", MAPPING)
    };
    let parse = |input: ParseStream<'_>| {
        let name = input.parse::<LitStr>().ok();
        let comma = input.parse::<Token![,]>().ok();
        let rest: TokenStream = input.parse()?;
        Ok((name, comma, rest))
    };
    let (name, comma, rest) = parse.parse2(list.clone()).ok()?;
    let Some(name) = name else {
        let message = format!("`{symbol}` expects a name, then {what}");
        let at = if list.is_empty() {
            entry.to_token_stream()
        } else {
            list.clone()
        };
        cx.error(at, message, example);
        return None;
    };
    let name = name::path(cx, name, example)?;
    let example = match symbol {
        COUNT_IF => format!("{symbol}(\"{}\", |value| *value >= 500)", name.value()),
        _ => format!("{symbol}(\"{}\", |value| value / 100)", name.value()),
    };
    let named = Named {
        key,
        name: Some(name),
    };
    if comma.is_none() || rest.is_empty() {
        let message = format!("`{symbol}` expects {what} after the name");
        cx.error(entry, message, example);
        let of = Mapping::Broken;
        return Some(Mapped { named, of });
    }
    let of = closure(cx, &named.key, rest, what, &example);
    let of = of.map_or(Mapping::Broken, Mapping::By);
    Some(Mapped { named, of })
}

/// A closure of one value, or the path of a function.
fn closure(
    cx: &mut Diagnostics,
    key: &Ident,
    tokens: TokenStream,
    what: &str,
    example: &str,
) -> Option<Expr> {
    let parse = |input: ParseStream<'_>| {
        let inside;
        syn::parenthesized!(inside in input);
        let expr: Expr = inside.parse()?;
        inside.parse::<Option<Token![,]>>()?;
        Ok(expr)
    };
    // The error of input that ends too early is at the last token of the group.
    let last = tokens.clone().into_iter().last();
    let mut group = Group::new(Delimiter::Parenthesis, tokens.clone());
    group.set_span(last.map_or_else(Span::call_site, |last| last.span()));
    let expr = match parse.parse2(TokenTree::Group(group).into()) {
        Ok(expr) => expr,
        Err(error) => {
            let message = format!("{what} of `{key}` cannot be read: {error}\nhelp: {example}");
            cx.foreign(syn::Error::new(error.span(), message));
            return None;
        }
    };
    let expr = ungroup(expr);
    match &expr {
        Expr::Path(_) => Some(expr),
        Expr::Closure(closure) if closure.inputs.len() == 1 => Some(expr),
        Expr::Closure(closure) => {
            let (bar, inputs, end) = (&closure.inputs_begin, &closure.inputs, &closure.inputs_end);
            let taken = match inputs.len() {
                0 => "none".to_owned(),
                several => several.to_string(),
            };
            let message =
                format!("{what} takes one argument, the field by reference; this takes {taken}");
            cx.error(quote!(#bar #inputs #end), message, example);
            None
        }
        _ => {
            let message = format!("{what} is a closure or the path of a function");
            cx.error(tokens, message, example);
            None
        }
    }
}

/// The expression inside the invisible group of an `$expr` fragment.
fn ungroup(mut expr: Expr) -> Expr {
    loop {
        expr = match expr {
            Expr::Group(group) => *group.expr,
            Expr::Paren(paren) => *paren.expr,
            other => return other,
        };
    }
}
