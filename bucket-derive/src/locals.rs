//! Names of values in generated code, whatever is in scope where the derive is used.
//!
//! A pattern that names a constant or a static in scope is that constant, not a new binding. No span
//! prevents it on stable Rust: macro hygiene covers local variables, not items. Functions are not in the
//! way of a binding, and the innermost item of a name is the one that counts. So each block of generated
//! code has a function for each of its names.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::quote;

/// All names that generated code gives to values.
const NAMES: &[&str] = &[
    "__deserializer",
    "__f",
    "__fields",
    "__from",
    "__item",
    "__key",
    "__name",
    "__other",
    "__parts",
    "__q",
    "__record",
    "__serializer",
    "__sink",
    "__source",
    "__state",
    "__time",
    "__to",
    "__value",
    "__values",
];

/// The functions for the names in this code.
pub(crate) fn kept_free(code: &TokenStream) -> TokenStream {
    let used = NAMES.iter().filter(|name| mentions(code.clone(), name));
    let names = used.map(|name| Ident::new(name, Span::call_site()));
    quote!(#(fn #names() {})*)
}

fn mentions(code: TokenStream, name: &str) -> bool {
    code.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use proc_macro2::TokenStream;
    use quote::ToTokens;
    use syn::{DeriveInput, File, Item, PatIdent, Stmt, parse_quote, visit::Visit};

    use super::NAMES;
    use crate::{
        derive_attribute_value, derive_attributed, derive_bucket_key, diagnostics::Diagnostics,
        expand, model,
    };

    /// The names that patterns bind.
    #[derive(Default)]
    struct Bound(BTreeSet<String>);

    impl Visit<'_> for Bound {
        fn visit_pat_ident(&mut self, pattern: &PatIdent) {
            self.0.insert(pattern.ident.to_string());
            syn::visit::visit_pat_ident(self, pattern);
        }
    }

    fn bound(item: &Item) -> BTreeSet<String> {
        let mut bound = Bound::default();
        bound.visit_item(item);
        bound.0.remove("self");
        bound.0
    }

    /// The functions directly in a block without a name.
    fn kept_free(item: &Item) -> BTreeSet<String> {
        let Item::Const(block) = item else {
            return BTreeSet::new();
        };
        let syn::Expr::Block(block) = &*block.expr else {
            return BTreeSet::new();
        };
        let names = block.block.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Item(Item::Fn(function)) => Some(function.sig.ident.to_string()),
            _ => None,
        });
        names.collect()
    }

    fn expanded<M>(
        input: &DeriveInput,
        build: impl FnOnce(&mut Diagnostics, &DeriveInput) -> M,
        full: impl FnOnce(&M) -> TokenStream,
    ) -> File {
        let mut cx = Diagnostics::new();
        let model = build(&mut cx, input);
        let errors = cx.finish().map(|errors| errors.to_string());
        assert_eq!(errors, None, "{}", input.to_token_stream());
        let code = full(&model);
        parse_quote!(#code)
    }

    /// Models that use every part of the generated code.
    #[allow(clippy::too_many_lines, reason = "a list")]
    fn all() -> Vec<File> {
        let bucketed: [DeriveInput; 3] = [
            parse_quote! {
                #[derive(Serialize, Deserialize)]
                #[serde(default)]
                #[bucket(
                    collection = "readings", items = "readings", window = "1h", capacity = 60,
                    stats = "stats", expire_after = "30d"
                )]
                struct Reading {
                    #[bucket(key)]
                    device: Device,
                    #[bucket(key)]
                    kind: Kind,
                    #[bucket(time, first = "first_at", last = "last_at")]
                    at: DateTime,
                    #[bucket(unique)]
                    id: i64,
                    #[bucket(min, max, sum, avg, std_dev, first, last, percentiles(error = 0.01))]
                    value: f64,
                    #[bucket(tally, tally("classes", |__value| __value / 100))]
                    code: i32,
                    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
                    volume: Option<f64>,
                    #[bucket(attribute(array = "specs", rest))]
                    rest: BTreeMap<String, f64>,
                }
            },
            parse_quote! {
                #[derive(Serialize, Deserialize)]
                #[bucket(collection = "generic", items = "items", capacity = 10, numbered)]
                struct Generic<T> {
                    #[bucket(key)]
                    key: T,
                    #[bucket(time)]
                    time: DateTime,
                    #[bucket(sum)]
                    of: T,
                    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
                    volume: Option<f64>,
                }
            },
            parse_quote! {
                #[derive(Serialize, Deserialize)]
                #[bucket(
                    collection = "hybrid", items = "items", capacity = 10, max_duration = "1h"
                )]
                struct Hybrid {
                    #[bucket(key)]
                    name: String,
                    #[bucket(time)]
                    time: DateTime,
                }
            },
        ];
        let keys: [DeriveInput; 2] = [
            parse_quote!(
                enum Kind {
                    Air,
                    Water,
                }
            ),
            parse_quote!(
                struct Device(String);
            ),
        ];
        let values: [DeriveInput; 3] = [
            parse_quote!(
                #[serde(untagged)]
                enum Either {
                    Number(f64),
                    Text(String),
                }
            ),
            parse_quote!(
                struct Degrees(f64);
            ),
            parse_quote!(
                enum Colour {
                    Red,
                }
            ),
        ];
        let documents: [DeriveInput; 2] = [
            parse_quote! {
                #[bucket(collection = "bottles")]
                struct Bottle {
                    #[serde(rename = "_id")]
                    id: i32,
                    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
                    volume: Option<f64>,
                    #[bucket(attribute(array = "specs", rest))]
                    other: OtherEntries,
                }
            },
            parse_quote! {
                #[bucket(collection = "bottles")]
                struct GenericBottle<T> {
                    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
                    volume: Option<T>,
                }
            },
        ];
        let mut files: Vec<File> = Vec::new();
        files.extend(bucketed.map(|input| expanded(&input, model::build, expand::full)));
        files.extend(
            keys.map(|input| expanded(&input, derive_bucket_key::build, derive_bucket_key::full)),
        );
        files.extend(values.map(|input| {
            expanded(
                &input,
                derive_attribute_value::build,
                derive_attribute_value::full,
            )
        }));
        files.extend(
            documents
                .map(|input| expanded(&input, derive_attributed::build, derive_attributed::full)),
        );
        files
    }

    #[test]
    fn each_block_keeps_the_names_of_its_values_free() {
        for file in all() {
            for item in &file.items {
                let (bound, kept_free) = (bound(item), kept_free(item));
                let open: Vec<_> = bound.difference(&kept_free).collect();
                assert!(open.is_empty(), "{open:?} in {}", item.to_token_stream());
            }
        }
    }

    #[test]
    fn each_name_that_is_kept_free_is_the_name_of_a_value() {
        let all: BTreeSet<String> = all()
            .iter()
            .flat_map(|file| &file.items)
            .flat_map(bound)
            .collect();
        let names: BTreeSet<String> = NAMES.iter().map(ToString::to_string).collect();
        assert_eq!(all, names);
    }

    /// The other half: what rustc says about such constants.
    #[test]
    fn a_test_compiles_generated_code_among_constants_of_each_name() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/tests/models/derive_names.rs");
        let text = fs::read_to_string(path).unwrap();
        let words: BTreeSet<&str> = text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .collect();
        let missing: Vec<_> = NAMES.iter().filter(|name| !words.contains(*name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
