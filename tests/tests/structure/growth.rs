//! Which public types may not grow without breaking those who use them.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The public enums, and the public structs with public fields, that lack `#[non_exhaustive]`. With the lint
/// `unreachable_pub`, whatever is `pub` can be reached.
pub(crate) fn exhaustive(source: &str) -> Vec<String> {
    let is_fixed = |kind: &str, may_grow: bool, body: TokenStream| {
        !may_grow && (kind == "enum" || kind == "struct" && has_public_field(body))
    };
    public_types(source, &is_fixed)
}

/// The public enums that may get variants, and have one with named fields that lacks `#[non_exhaustive]`.
pub(crate) fn fixed_variants(source: &str) -> Vec<String> {
    public_types(source, &|kind, may_grow, body| {
        kind == "enum" && may_grow && has_fixed_variant(body)
    })
}

/// Picks by the kind of a type, whether it is `#[non_exhaustive]`, and what is in its braces.
type Pick<'a> = &'a dyn Fn(&str, bool, TokenStream) -> bool;

fn public_types(source: &str, pick: Pick<'_>) -> Vec<String> {
    let mut found = Vec::new();
    items(TokenStream::from_str(source).unwrap(), pick, &mut found);
    found
}

fn items(stream: TokenStream, pick: Pick<'_>, found: &mut Vec<String>) {
    let mut attributes = String::new();
    let (mut is_public, mut define, mut name) = (false, None::<String>, None::<String>);
    for tree in stream {
        let text = tree.to_string();
        match (&tree, define.as_deref()) {
            (TokenTree::Group(group), None) if group.delimiter() == Delimiter::Bracket => {
                attributes += &text;
                continue;
            }
            (TokenTree::Punct(sign), None) if matches!(sign.as_char(), '#' | '!') => continue,
            (TokenTree::Ident(_), None) if text == "pub" => {
                is_public = true;
                continue;
            }
            // `pub(crate)`.
            (TokenTree::Group(group), None) if group.delimiter() == Delimiter::Parenthesis => {
                is_public = false;
                continue;
            }
            (TokenTree::Ident(_), None) if matches!(text.as_str(), "enum" | "struct" | "mod") => {
                define = Some(text);
                continue;
            }
            (TokenTree::Ident(_), Some(_)) if name.is_none() => {
                name = Some(text);
                continue;
            }
            (TokenTree::Group(group), Some(kind)) if group.delimiter() != Delimiter::Bracket => {
                let is_test = attributes.contains("cfg (test)") || attributes.contains("cfg(test)");
                let may_grow = attributes.contains("non_exhaustive");
                if kind == "mod" && !is_test {
                    items(group.stream(), pick, found);
                } else if is_public && pick(kind, may_grow, group.stream()) {
                    found.extend(name.take());
                }
                if kind == "struct" && group.delimiter() == Delimiter::Parenthesis {
                    continue;
                }
            }
            (TokenTree::Punct(sign), _) if sign.as_char() == ';' => {}
            (TokenTree::Group(group), None) if group.delimiter() == Delimiter::Brace => {}
            _ => continue,
        }
        (attributes, is_public, define, name) = (String::new(), false, None, None);
    }
}

fn has_public_field(fields: TokenStream) -> bool {
    let trees: Vec<TokenTree> = fields.into_iter().collect();
    let is_group = |tree: Option<&TokenTree>| matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
    let is_pub = |tree: &TokenTree| matches!(tree, TokenTree::Ident(name) if name == "pub");
    (0..trees.len()).any(|at| is_pub(&trees[at]) && !is_group(trees.get(at + 1)))
}

fn has_fixed_variant(variants: TokenStream) -> bool {
    let mut may_grow = false;
    for tree in variants {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
                may_grow |= group.to_string().contains("non_exhaustive");
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !may_grow => {
                return true;
            }
            TokenTree::Punct(sign) if sign.as_char() == ',' => may_grow = false,
            _ => {}
        }
    }
    false
}
