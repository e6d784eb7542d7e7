//! Stored names: `count = "n"`, and words that may give one: `min`, `min = "lowest"`.

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::LitStr;

use crate::{
    diagnostics::Diagnostics,
    syntax::{
        entry::{Entry, Syntax},
        value::{self, bad_field_name, invalid, reserved},
    },
};

/// A key and the stored name that it gives, if it gives one.
#[derive(Clone)]
pub(crate) struct Named {
    pub(crate) key: Ident,
    pub(crate) name: Option<LitStr>,
}

impl Named {
    /// The name, by default that of the key.
    pub(crate) fn text(&self) -> String {
        self.given().unwrap_or_else(|| self.key.to_string())
    }

    /// The name if one is given.
    pub(crate) fn given(&self) -> Option<String> {
        self.name.as_ref().map(LitStr::value)
    }
}

/// The tokens that give the name: the name, else the key.
impl ToTokens for Named {
    fn to_tokens(&self, out: &mut TokenStream) {
        match &self.name {
            Some(name) => name.to_tokens(out),
            None => self.key.to_tokens(out),
        }
    }
}

/// The value of `count = "n"`: a name at the top level of a bucket.
pub(crate) fn top_level(cx: &mut Diagnostics, entry: &Entry, default: &str) -> Option<LitStr> {
    let key = entry.key.as_ref()?;
    let name = value::string(cx, entry, &format!("{key} = \"{default}\""))?;
    checked(cx, name, |text| {
        let problem = bad_field_name(text).or_else(|| reserved(text));
        problem.map(|problem| (problem, format!("{key} = \"{default}\"")))
    })
}

/// The value of `created_at` or `created_at = "opened"`: a name at the top level of a bucket.
pub(crate) fn optional(cx: &mut Diagnostics, entry: &Entry, default: &str) -> Option<Named> {
    word_or(cx, entry, |cx| top_level(cx, entry, default), default)
}

/// The value of `min` or `min = "lowest"`: the path of an aggregate.
pub(crate) fn aggregate(cx: &mut Diagnostics, entry: &Entry) -> Option<Named> {
    let key = entry.key.as_ref()?.to_string();
    let example = format!("{key} = \"{key}\"");
    let path = |cx: &mut Diagnostics| {
        let name = value::string(cx, entry, &example)?;
        path(cx, name, &example)
    };
    word_or(cx, entry, path, &key)
}

/// Checks the path of an aggregate, whose parts are separated by `.`.
pub(crate) fn path(cx: &mut Diagnostics, name: LitStr, example: &str) -> Option<LitStr> {
    checked(cx, name, |text| {
        let problem = text.split('.').find_map(|part| match part {
            "" if !text.is_empty() => Some("a part between two `.` is empty"),
            part => bad_field_name(part),
        });
        let problem = problem.or_else(|| reserved(text));
        problem.map(|problem| (problem, example.to_owned()))
    })
}

/// The value of `stats = "aggregates"`; it may be empty.
pub(crate) fn prefix(cx: &mut Diagnostics, entry: &Entry) -> Option<LitStr> {
    let name = value::string(cx, entry, "stats = \"stats\"")?;
    checked(cx, name, |text| {
        let problem = if text.is_empty() {
            None
        } else {
            bad_field_name(text).or_else(|| reserved(text))
        };
        problem.map(|problem| (problem, "stats = \"stats\"".to_owned()))
    })
}

/// A bare word, or the result of `name`. A broken name was reported and counts as missing, so that the
/// aggregate still exists.
fn word_or(
    cx: &mut Diagnostics,
    entry: &Entry,
    name: impl FnOnce(&mut Diagnostics) -> Option<LitStr>,
    default: &str,
) -> Option<Named> {
    let key = entry.key.clone()?;
    let name = match &entry.form {
        Syntax::Word => None,
        Syntax::Value(_) => name(cx),
        Syntax::List(_) | Syntax::Malformed => {
            let message = format!("`{key}` takes a name or no value");
            cx.error(entry, message, format_args!("{key} = \"{default}\""));
            None
        }
    };
    Some(Named { key, name })
}

/// The name unless `problem` finds one; it gives the line to write instead too.
fn checked(
    cx: &mut Diagnostics,
    name: LitStr,
    problem: impl FnOnce(&str) -> Option<(&'static str, String)>,
) -> Option<LitStr> {
    let text = name.value();
    let Some((reason, help)) = problem(&text) else {
        return Some(name);
    };
    cx.error(name, invalid(&text, "a stored name", reason), help);
    None
}
