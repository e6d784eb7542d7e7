//! `attribute(array = "specs", k = "volume", u = "ml")` on a field, and
//! `attributes(array = "releases", k = "location", v = "date")` on the struct.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::{Lit, LitStr};

use crate::{
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    symbol::{
        ARRAY, ATTRIBUTE, ATTRIBUTE_KEYS, ATTRIBUTES, FACTOR, INDEX, K, REST, STORE, Symbol, TEXT,
        U, V, names,
    },
    syntax::{
        choice::{self, Store},
        entry::{self, Entry, Syntax},
        slot::Slot,
        value::{self, bad_field_name, invalid},
    },
};

/// The line that an attribute needs.
const EXAMPLE: &str = "#[bucket(attribute(array = \"specs\", k = \"volume\", u = \"ml\"))]";
/// The line that names the fields of the entries.
const ARRAY_EXAMPLE: &str =
    "#[bucket(attributes(array = \"releases\", k = \"location\", v = \"date\"))]";

/// A field that is an entry of an array.
pub(crate) struct AttributeAttr {
    pub(crate) array: Slot<LitStr>,
    pub(crate) k: Slot<LitStr>,
    pub(crate) u: Slot<LitStr>,
    pub(crate) text: Slot<()>,
    pub(crate) factor: Slot<f64>,
    pub(crate) rest: Slot<()>,
}

/// What the struct says about an array.
pub(crate) struct ArrayAttr {
    pub(crate) key: Ident,
    pub(crate) array: Slot<LitStr>,
    pub(crate) k: Slot<LitStr>,
    pub(crate) v: Slot<LitStr>,
    pub(crate) u: Slot<LitStr>,
    pub(crate) index: Slot<Index>,
    pub(crate) store: Slot<Store>,
}

/// How an array is indexed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Index {
    #[default]
    KeyUnitValue,
    KeyValueUnit,
    Whole,
    Wildcard,
    None,
}

/// The indexes by name.
pub(crate) const INDEXES: [(&str, Index); 5] = [
    ("key_unit_value", Index::KeyUnitValue),
    ("key_value_unit", Index::KeyValueUnit),
    ("whole", Index::Whole),
    ("wildcard", Index::Wildcard),
    ("none", Index::None),
];

impl AttributeAttr {
    /// Reads the list, if there is one.
    pub(crate) fn parse(cx: &mut Diagnostics, entry: &Entry) -> Option<Self> {
        let Syntax::List(parts) = &entry.form else {
            let message = "`attribute` expects an array and the key of the field in it";
            cx.error(entry, message, EXAMPLE);
            return None;
        };
        let mut this = Self {
            array: Slot::default(),
            k: Slot::default(),
            u: Slot::default(),
            text: Slot::default(),
            factor: Slot::default(),
            rest: Slot::default(),
        };
        let mut unknown = false;
        for part in entry::split(parts.clone()) {
            if part.is(ARRAY) {
                let name = array(cx, &part);
                this.array.fill(cx, &part, name);
            } else if part.is(K) {
                let text = told(cx, &part, "k = \"volume\"", "the key of an attribute");
                this.k.fill(cx, &part, text);
            } else if part.is(U) {
                let text = told(cx, &part, "u = \"ml\"", "a unit");
                this.u.fill(cx, &part, text);
            } else if part.is(TEXT) {
                word(cx, &part, TEXT);
                this.text.fill(cx, &part, Some(()));
            } else if part.is(REST) {
                word(cx, &part, REST);
                this.rest.fill(cx, &part, Some(()));
            } else if part.is(FACTOR) {
                let number = factor(cx, &part);
                this.factor.fill(cx, &part, number);
            } else {
                unknown = true;
                self::unknown(cx, &part, ATTRIBUTE, &ATTRIBUTE_KEYS, EXAMPLE);
            }
        }
        this.check(cx, entry, unknown);
        Some(this)
    }

    /// Reports missing keys and keys that exclude each other.
    fn check(&self, cx: &mut Diagnostics, entry: &Entry, unknown: bool) {
        if self.rest.given().is_some() {
            let others = [
                (self.k.given(), K),
                (self.u.given(), U),
                (self.text.given(), TEXT),
                (self.factor.given(), FACTOR),
            ];
            for (given, symbol) in others {
                if let Some(given) = given {
                    let message = format!(
                        "`{symbol}` on the rest of an array, which keeps every key and unit"
                    );
                    cx.error(given, message, "attribute(array = \"specs\", rest)");
                }
            }
        }
        let has_k = self.k.given().or(self.rest.given()).is_some();
        let missing = [
            self.array.given().is_none().then_some(ARRAY),
            (!has_k).then_some(K),
        ];
        let missing: Vec<&str> = missing
            .iter()
            .flatten()
            .map(|symbol| symbol.as_str())
            .collect();
        if !missing.is_empty() && !unknown {
            let message = format!("missing {} of `attribute(..)`", list(&missing));
            cx.error(entry, message, EXAMPLE);
        }
        if let (Some(factor), None, None) = (self.factor.given(), self.u.given(), self.rest.given())
        {
            let message = "`factor` without a unit: it converts a unit to the base unit";
            cx.error(factor, message, "u = \"ounces\", factor = 29.57");
        }
        if let (Some(factor), Some(_)) = (self.factor.given(), self.text.given()) {
            let message = "`factor` on an attribute that is stored as text: text is not converted";
            cx.error(
                factor,
                message,
                "remove `text` or the `factor`s of this key",
            );
        }
    }
}

impl ArrayAttr {
    /// Reads the list, which has these keys, if there is one.
    pub(crate) fn parse(cx: &mut Diagnostics, entry: &Entry, keys: &[Symbol]) -> Option<Self> {
        let key = entry.key.clone()?;
        let Syntax::List(parts) = &entry.form else {
            let message =
                "`attributes` expects an array and the names of the fields of its entries";
            cx.error(entry, message, ARRAY_EXAMPLE);
            return None;
        };
        let mut this = Self {
            key,
            array: Slot::default(),
            k: Slot::default(),
            v: Slot::default(),
            u: Slot::default(),
            index: Slot::default(),
            store: Slot::default(),
        };
        let mut unknown = false;
        for part in entry::split(parts.clone()) {
            let names = [
                (K, &mut this.k, "k = \"location\""),
                (V, &mut this.v, "v = \"date\""),
                (U, &mut this.u, "u = \"unit\""),
            ];
            if part.is(ARRAY) {
                let name = array(cx, &part);
                this.array.fill(cx, &part, name);
            } else if part.is(INDEX) {
                let index = index(cx, &part);
                this.index.fill(cx, &part, index);
            } else if part.is(STORE) && keys.contains(&STORE) {
                let store = choice::parse(cx, &part, STORE, &choice::STORE);
                this.store.fill(cx, &part, store);
            } else if let Some((_, slot, example)) =
                names.into_iter().find(|(key, ..)| part.is(*key))
            {
                let name = field_name(cx, &part, example, "the name of an entry's field");
                slot.fill(cx, &part, name);
            } else {
                unknown = true;
                self::unknown(cx, &part, ATTRIBUTES, keys, ARRAY_EXAMPLE);
            }
        }
        if this.array.given().is_none() && !unknown {
            cx.error(entry, "missing `array` of `attributes(..)`", ARRAY_EXAMPLE);
        }
        Some(this)
    }
}

fn array(cx: &mut Diagnostics, part: &Entry) -> Option<LitStr> {
    field_name(cx, part, "array = \"specs\"", "the name of an array")
}

fn field_name(
    cx: &mut Diagnostics,
    part: &Entry,
    example: &str,
    what: &'static str,
) -> Option<LitStr> {
    let name = value::string(cx, part, example)?;
    let text = name.value();
    let reserved = (text == "_id").then_some("`_id` is the id of the document");
    match bad_field_name(&text).or(reserved) {
        None => Some(name),
        Some(reason) => {
            cx.error(&name, invalid(&text, what, reason), example);
            None
        }
    }
}

/// A key or a unit: any text that is not empty.
fn told(cx: &mut Diagnostics, part: &Entry, example: &str, what: &'static str) -> Option<LitStr> {
    let text = value::string(cx, part, example)?;
    if text.value().is_empty() {
        cx.error(&text, format_args!("{what} cannot be empty"), example);
        return None;
    }
    Some(text)
}

fn word(cx: &mut Diagnostics, part: &Entry, symbol: Symbol) {
    if !matches!(part.form, Syntax::Word) {
        cx.error(part, format_args!("`{symbol}` takes no value"), symbol);
    }
}

/// A positive number.
fn factor(cx: &mut Diagnostics, part: &Entry) -> Option<f64> {
    let number = match value::literal(part) {
        Some(Lit::Int(number)) => number.base10_parse::<f64>().ok(),
        Some(Lit::Float(number)) => number.base10_parse::<f64>().ok(),
        _ => None,
    };
    match number {
        Some(number) if number > 0.0 && number.is_finite() => Some(number),
        _ => {
            let message =
                "`factor` expects a number above 0: how many base units make up one of this unit";
            cx.error(part.value_or_self(), message, "factor = 29.57");
            None
        }
    }
}

fn index(cx: &mut Diagnostics, part: &Entry) -> Option<Index> {
    let example = "index = \"key_unit_value\"";
    let text = value::string(cx, part, example)?;
    let given = text.value();
    let found = INDEXES.iter().find(|(name, _)| *name == given);
    if found.is_none() {
        let names = INDEXES.map(|(name, _)| name);
        let wrong = format!("`{given}` is not an index");
        let valid = format!("the indexes are {}", list(&names));
        let meant = did_you_mean(&given, names);
        let help = format!("index = \"{}\"", meant.unwrap_or(names[0]));
        cx.error(&text, suggest(&wrong, meant, &valid), help);
    }
    found.map(|(_, index)| *index)
}

fn unknown(cx: &mut Diagnostics, part: &Entry, of: Symbol, keys: &[Symbol], example: &str) {
    let valid = names(keys);
    let given = match &part.key {
        Some(key) => format!("unknown key `{key}` of `{of}(..)`"),
        None => format!("`{}` has no key in `{of}(..)`", part.to_token_stream()),
    };
    let keys = format!("its keys are {}", list(&valid));
    let key = part.key.as_ref().map(ToString::to_string);
    let meant = key.and_then(|key| did_you_mean(&key, valid));
    let help = meant.map_or_else(|| example.to_owned(), |meant| part.renamed(meant));
    cx.error(part.key_tokens(), suggest(&given, meant, &keys), help);
}
