//! Which generic parameters a generated struct needs: those that its fields mention.
//!
//! The scan is syntactic. The item must not have a parameter that only a key mentions: rustc would
//! report it as unused.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{GenericParam, Generics, Type, TypeParamBound, WherePredicate, punctuated::Punctuated};

/// The name of a type or const parameter.
pub(crate) fn param_name(param: &GenericParam) -> Option<String> {
    match param {
        GenericParam::Type(param) => Some(param.ident.to_string()),
        GenericParam::Const(param) => Some(param.ident.to_string()),
        GenericParam::Lifetime(_) => None,
    }
}

/// Whether these tokens mention any parameter of `generics`.
pub(crate) fn mentions_any(generics: &Generics, tokens: &impl ToTokens) -> bool {
    let tokens = tokens.to_token_stream();
    generics.params.iter().any(|param| mentions(&tokens, param))
}

/// The part of `generics` that these types use, with the bounds that mention only that part.
pub(crate) fn used_by(generics: &Generics, types: &[&Type]) -> Generics {
    let types: TokenStream = types.iter().map(ToTokens::to_token_stream).collect();
    let (kept, dropped): (Vec<_>, Vec<_>) = generics
        .params
        .iter()
        .partition(|param| mentions(&types, param));
    if dropped.is_empty() {
        return generics.clone();
    }
    let clean = |tokens: &dyn ToTokens| {
        let tokens = tokens.to_token_stream();
        !dropped.iter().any(|param| mentions(&tokens, param))
    };
    let mut params: Punctuated<GenericParam, _> = kept.iter().copied().cloned().collect();
    for param in &mut params {
        strip(param, &clean);
    }
    let where_clause = generics.where_clause.clone().and_then(|mut clause| {
        clause.predicates = clause
            .predicates
            .into_iter()
            .filter(|predicate| {
                let tokens = predicate.to_token_stream();
                clean(predicate) && kept.iter().any(|param| mentions(&tokens, param))
            })
            .collect::<Punctuated<WherePredicate, _>>();
        (!clause.predicates.is_empty()).then_some(clause)
    });
    let brackets = (!params.is_empty()).then(Default::default);
    Generics {
        lt_token: brackets,
        params,
        gt_token: generics.gt_token.filter(|_| brackets.is_some()),
        where_clause,
    }
}

/// Drops bounds and defaults that mention dropped parameters.
fn strip(param: &mut GenericParam, clean: &impl Fn(&dyn ToTokens) -> bool) {
    match param {
        GenericParam::Type(param) => {
            param.bounds = std::mem::take(&mut param.bounds)
                .into_iter()
                .filter(|bound: &TypeParamBound| clean(bound))
                .collect();
            if param.bounds.is_empty() {
                param.colon_token = None;
            }
            // A default on some parameters only would have to stay at the end: none is simpler.
            param.default = None;
        }
        GenericParam::Const(param) => param.default = None,
        GenericParam::Lifetime(_) => {}
    }
}

/// `where` with the predicates of `generics` and these.
pub(crate) fn where_clause(generics: &Generics, bounds: &[TokenStream]) -> TokenStream {
    let own = generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    let all: Vec<TokenStream> = own
        .map(ToTokens::to_token_stream)
        .chain(bounds.iter().cloned())
        .collect();
    if all.is_empty() {
        TokenStream::new()
    } else {
        quote!(where #(#all),*)
    }
}

fn mentions(tokens: &TokenStream, param: &GenericParam) -> bool {
    match param {
        GenericParam::Lifetime(param) => {
            let name = param.lifetime.ident.to_string();
            any_ident(tokens.clone(), &|ident, lifetime, _| {
                lifetime && ident == name
            })
        }
        GenericParam::Type(_) | GenericParam::Const(_) => param_name(param).is_some_and(|name| {
            any_ident(tokens.clone(), &|ident, lifetime, in_path| {
                !lifetime && !in_path && ident == name
            })
        }),
    }
}

/// Whether `wanted(name, is a lifetime, follows `::`)` holds for any identifier.
fn any_ident(tokens: TokenStream, wanted: &impl Fn(&str, bool, bool) -> bool) -> bool {
    let mut puncts = String::new();
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => {
            let found = wanted(
                &ident.to_string(),
                puncts.ends_with('\''),
                puncts.ends_with("::"),
            );
            puncts.clear();
            found
        }
        TokenTree::Punct(punct) => {
            puncts.push(punct.as_char());
            if punct.spacing() == Spacing::Alone && punct.as_char() != ':' {
                puncts.clear();
            }
            false
        }
        TokenTree::Group(group) => {
            puncts.clear();
            any_ident(group.stream(), wanted)
        }
        TokenTree::Literal(_) => {
            puncts.clear();
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;
    use syn::{Generics, Type, parse_quote};

    use super::{mentions_any, used_by};

    fn used(types: &[Type]) -> String {
        let mut generics: Generics = parse_quote!(<K: Into<V>, V: Clone = u8, const N: usize>);
        generics.where_clause = parse_quote!(where V: PartialEq<K>, K: Ord, String: Clone);
        let used = used_by(&generics, &types.iter().collect::<Vec<_>>());
        format!(
            "{} {}",
            used.to_token_stream(),
            used.where_clause.to_token_stream()
        )
    }

    #[test]
    fn only_used_parameters_and_their_bounds_stay() {
        assert_eq!(used(&[parse_quote!(Vec<K>)]), "< K > where K : Ord");
        assert_eq!(used(&[parse_quote!([u8; N])]), "< const N : usize > ");
        assert_eq!(used(&[parse_quote!(Option<V>)]), "< V : Clone > ");
        assert_eq!(used(&[parse_quote!(String)]).trim(), "");
    }

    #[test]
    fn the_last_name_of_a_path_is_no_parameter() {
        let generics: Generics = parse_quote!(<T>);
        assert!(mentions_any(&generics, &quote::quote!(Box<T>)));
        assert!(mentions_any(&generics, &quote::quote!(T::Assoc)));
        assert!(!mentions_any(&generics, &quote::quote!(module::T)));
    }
}
