//! `crate = ::path`: where emitted code finds the library. Absolute paths only.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Lit, Path, parse::Parser};

use crate::{
    diagnostics::Diagnostics,
    syntax::entry::{Entry, Syntax},
};

/// The path of the crate that exposes `__private`.
#[derive(Clone)]
pub(crate) struct CratePath(Path);

impl CratePath {
    /// The value of `crate = ::path`.
    pub(crate) fn parse(cx: &mut Diagnostics, entry: &Entry) -> Option<Self> {
        let Syntax::Value(value) = &entry.form else {
            cx.error(entry, "`crate` expects a path", "crate = ::bucket_mongo");
            return None;
        };
        if let Ok(Lit::Str(text)) = syn::parse2::<Lit>(value.clone()) {
            let path = text.value();
            let path = path.trim_start_matches("::");
            let message = "`crate` expects a path, not a string";
            cx.error(text, message, format_args!("crate = ::{path}"));
            return None;
        }
        let Ok(path) = Path::parse_mod_style.parse2(value.clone()) else {
            let message = "`crate` expects a path without generic arguments";
            cx.error(entry.value_or_self(), message, "crate = ::bucket_mongo");
            return None;
        };
        Self::absolute(cx, path)
    }

    fn absolute(cx: &mut Diagnostics, path: Path) -> Option<Self> {
        let first = path
            .segments
            .first()
            .map(|segment| segment.ident.to_string());
        match first.as_deref() {
            _ if path.leading_colon.is_some() => return Some(Self(path)),
            Some("crate") => return Some(Self(path)),
            Some("$crate") => {
                let message = "`$crate` cannot be named inside serde attributes";
                cx.error(path, message, "crate = ::the_crate_that_defines_the_macro");
            }
            Some("self" | "super") => {
                let message =
                    "`crate` expects an absolute path: generated code may be in another module";
                let tail = Path {
                    leading_colon: Some(syn::token::PathSep::default()),
                    segments: path.segments.iter().skip(1).cloned().collect(),
                };
                let help = format!("crate = crate::path::of{}", printed(&tail));
                cx.error(path, message, help);
            }
            _ => {
                let message = "`crate` expects an absolute path: it starts with `::` or `crate`";
                let help = format!("crate = ::{}", printed(&path));
                cx.error(path, message, help);
            }
        }
        None
    }

    /// The path as serde's string-valued attributes take it.
    pub(crate) fn text(&self) -> String {
        printed(&self.0)
    }
}

impl Default for CratePath {
    fn default() -> Self {
        Self(syn::parse_quote!(::bucket_mongo))
    }
}

impl ToTokens for CratePath {
    fn to_tokens(&self, out: &mut TokenStream) {
        self.0.to_tokens(out);
    }
}

fn printed(path: &Path) -> String {
    let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
    let start = if path.leading_colon.is_some() {
        "::"
    } else {
        ""
    };
    format!("{start}{}", names.join("::"))
}
