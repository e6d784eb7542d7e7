//! Splits the list of an attribute at its commas into entries: `word`, `key = value`, `key(..)`.
//!
//! Serde's attributes are split here too; other modules interpret them.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Meta};

use crate::symbol::Symbol;

/// One entry of an attribute's list.
#[derive(Clone)]
pub(crate) struct Entry {
    /// The first token if it is a name.
    pub(crate) key: Option<Ident>,
    pub(crate) form: Syntax,
    tokens: Vec<TokenTree>,
}

/// What follows the name.
#[derive(Clone)]
pub(crate) enum Syntax {
    Word,
    Value(TokenStream),
    List(TokenStream),
    /// Tokens that are none of the above.
    Malformed,
}

impl Entry {
    pub(crate) fn is(&self, symbol: Symbol) -> bool {
        self.key.as_ref().is_some_and(|key| *key == symbol)
    }

    /// The value's tokens; the whole entry if it has none.
    pub(crate) fn value_or_self(&self) -> TokenStream {
        match &self.form {
            Syntax::Value(value) if !value.is_empty() => value.clone(),
            _ => self.to_token_stream(),
        }
    }

    /// The key's tokens for a message; those of the entry if it does not start with a name.
    pub(crate) fn key_tokens(&self) -> TokenStream {
        match &self.key {
            Some(key) => key.to_token_stream(),
            None => self.to_token_stream(),
        }
    }

    /// The entry as source code, with another key.
    pub(crate) fn renamed(&self, key: &str) -> String {
        match &self.form {
            Syntax::Value(value) => format!("{key} = {}", plain(value)),
            Syntax::List(list) => format!("{key}({})", plain(list)),
            Syntax::Word | Syntax::Malformed => key.to_owned(),
        }
    }

    /// The entry as source code.
    pub(crate) fn printed(&self) -> String {
        let key = self.key.as_ref().map(ToString::to_string);
        self.renamed(&key.unwrap_or_default())
    }

    /// The message about an entry with an unknown key.
    pub(crate) fn unknown(&self) -> String {
        match &self.key {
            Some(key) => format!("unknown key `{key}` of `#[bucket(..)]`"),
            None => format!("`{}` has no key in `#[bucket(..)]`", self.to_token_stream()),
        }
    }

    fn new(tokens: Vec<TokenTree>) -> Self {
        let key = match tokens.first() {
            Some(TokenTree::Ident(key)) => Some(key.clone()),
            _ => None,
        };
        let form = match tokens.as_slice() {
            [TokenTree::Ident(_)] => Syntax::Word,
            [TokenTree::Ident(_), TokenTree::Punct(eq), value @ ..] if eq.as_char() == '=' => {
                Syntax::Value(value.iter().cloned().collect())
            }
            [TokenTree::Ident(_), TokenTree::Group(list)]
                if list.delimiter() == Delimiter::Parenthesis =>
            {
                Syntax::List(list.stream())
            }
            _ => Syntax::Malformed,
        };
        Self { key, form, tokens }
    }
}

impl ToTokens for Entry {
    fn to_tokens(&self, out: &mut TokenStream) {
        out.extend(self.tokens.iter().cloned());
    }
}

/// The entries of all `#[name(..)]` among `syntax`.
pub(crate) fn entries(attrs: &[Attribute], name: Symbol) -> impl Iterator<Item = Entry> {
    attrs
        .iter()
        .filter(move |attr| is(attr, name))
        .flat_map(|attr| match &attr.meta {
            Meta::List(list) => split(list.tokens.clone()),
            Meta::Path(_) | Meta::NameValue(_) => Vec::new(),
        })
}

/// Whether this is `#[name]` in any form.
pub(crate) fn is(attr: &Attribute, name: Symbol) -> bool {
    attr.path().get_ident().is_some_and(|ident| *ident == name)
}

/// Splits a list at its top-level commas.
pub(crate) fn split(list: TokenStream) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut current = Vec::new();
    for token in flatten(list) {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                entries.push(std::mem::take(&mut current));
            }
            token => current.push(token),
        }
    }
    entries.push(current);
    entries.retain(|tokens| !tokens.is_empty());
    entries.into_iter().map(Entry::new).collect()
}

/// Removes the invisible groups of `macro_rules` fragments.
fn flatten(tokens: TokenStream) -> Vec<TokenTree> {
    let mut flat = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                flat.extend(flatten(group.stream()));
            }
            token => flat.push(token),
        }
    }
    flat
}

/// Tokens without the spaces that printing puts around `::`.
fn plain(tokens: &TokenStream) -> String {
    tokens
        .to_string()
        .replace(" :: ", "::")
        .replace(":: ", "::")
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Delimiter, Group, TokenTree};
    use quote::{ToTokens, quote};

    use super::{Syntax, split};

    #[test]
    fn entries_are_split_at_commas() {
        let entries = split(quote!(key, items = "a,b", rename(serialize = "x"), 7,));
        let printed: Vec<_> = entries
            .iter()
            .map(|e| e.to_token_stream().to_string())
            .collect();
        assert_eq!(
            printed,
            ["key", "items = \"a,b\"", "rename (serialize = \"x\")", "7"]
        );
        assert!(matches!(entries[0].form, Syntax::Word));
        assert!(matches!(entries[1].form, Syntax::Value(_)));
        assert!(matches!(entries[2].form, Syntax::List(_)));
        assert!(matches!(entries[3].form, Syntax::Malformed) && entries[3].key.is_none());
    }

    #[test]
    fn fragments_of_macros_are_unwrapped() {
        let fragment = TokenTree::from(Group::new(Delimiter::None, quote!(10)));
        let entries = split(quote!(capacity = #fragment));
        assert!(matches!(&entries[0].form, Syntax::Value(value) if value.to_string() == "10"));
    }
}
