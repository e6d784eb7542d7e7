//! Which public types may not grow without breaking those who use them.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The public enums, and the public structs with public fields, that lack `#[non_exhaustive]`. With the lint
/// `unreachable_pub`, whatever is `pub` can be reached.
pub(crate) fn exhaustive(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    items(TokenStream::from_str(source).unwrap(), &mut found);
    found
}

fn items(stream: TokenStream, found: &mut Vec<String>) {
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
                let counts = kind == "enum" || kind == "struct" && has_public_field(group.stream());
                if kind == "mod" && !is_test {
                    items(group.stream(), found);
                } else if is_public && counts && !may_grow {
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
