//! `percentiles(error = 0.01, name = "latency")`.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::Lit;

use crate::{
    diagnostics::{Diagnostics, did_you_mean, suggest},
    symbol::{ERROR, NAME, PERCENTILES},
    syntax::{
        entry::{self, Entry, Syntax},
        name::{self, Named},
        slot::Slot,
        value,
    },
};

/// A quantile sketch with its relative error in parts per million.
#[derive(Clone)]
pub(crate) struct Percentiles {
    pub(crate) named: Named,
    pub(crate) error_ppm: u32,
}

const EXAMPLE: &str = "percentiles(error = 0.01)";
/// Replaces an error that was reported.
const DEFAULT_PPM: u32 = 10_000;
/// A finer sketch would have more bins than values.
const MIN_PPM: f64 = 100.0;
/// From here on, a quantile could be anything.
const MAX_PPM: f64 = 500_000.0;

/// Reads the list.
pub(crate) fn parse(cx: &mut Diagnostics, entry: &Entry) -> Option<Percentiles> {
    let key = entry.key.clone()?;
    let broken = |key: Ident| Percentiles {
        named: Named { key, name: None },
        error_ppm: DEFAULT_PPM,
    };
    let Syntax::List(list) = &entry.form else {
        let message = "`percentiles` expects the largest relative error of a percentile";
        cx.error(entry, message, EXAMPLE);
        return Some(broken(key));
    };
    let mut error = Slot::default();
    let mut name = Slot::default();
    let mut unknown = false;
    for part in entry::split(list.clone()) {
        if part.is(ERROR) {
            let value = error_ppm(cx, &part);
            error.fill(cx, &part, value);
        } else if part.is(NAME) {
            let example = "name = \"percentiles\"";
            let value = value::string(cx, &part, example);
            let value = value.and_then(|value| name::path(cx, value, example));
            name.fill(cx, &part, value);
        } else {
            unknown = true;
            self::unknown(cx, &part);
        }
    }
    if error.given().is_none() && !unknown {
        let message = "`percentiles` expects the largest relative error of a percentile";
        let help = match name.get().map(syn::LitStr::value) {
            Some(name) => format!("percentiles(error = 0.01, name = \"{name}\")"),
            None => EXAMPLE.to_owned(),
        };
        cx.error(entry, message, help);
    }
    Some(Percentiles {
        named: Named {
            key,
            name: name.get().cloned(),
        },
        error_ppm: error.get().copied().unwrap_or(DEFAULT_PPM),
    })
}

fn unknown(cx: &mut Diagnostics, part: &Entry) {
    let given = match &part.key {
        Some(key) => format!("unknown key `{key}`"),
        None => format!("`{}` has no key", part.to_token_stream()),
    };
    let wrong = format!("{given} of `{PERCENTILES}(..)`");
    let key = part.key.as_ref().map(ToString::to_string);
    let meant = key.and_then(|key| did_you_mean(&key, [ERROR.as_str(), NAME.as_str()]));
    let help = meant.map_or_else(
        || EXAMPLE.to_owned(),
        |meant| format!("{PERCENTILES}({})", part.renamed(meant)),
    );
    let message = suggest(&wrong, meant, "its keys are `error` and `name`");
    cx.error(part.key_tokens(), message, help);
}

/// The value of `error = 0.01`, in parts per million.
fn error_ppm(cx: &mut Diagnostics, part: &Entry) -> Option<u32> {
    let given = match value::literal(part) {
        Some(Lit::Float(number)) if number.suffix().is_empty() => number.base10_parse::<f64>(),
        Some(Lit::Int(number)) if number.suffix().is_empty() => number.base10_parse::<f64>(),
        _ => {
            value::wrong_kind(cx, part, "a number", "error = 0.01");
            return None;
        }
    };
    let ppm = given.map_or(f64::NAN, |error| (error * 1e6).round());
    if !(MIN_PPM..MAX_PPM).contains(&ppm) {
        let message = "a relative error must be at least 0.0001 and below 0.5: 0.01 is one percent";
        cx.error(part.value_or_self(), message, "error = 0.01");
        return None;
    }
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number within the range that was just checked"
    )]
    Some(ppm as u32)
}
