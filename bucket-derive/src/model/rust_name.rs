//! Rust names made from stored names and from fields.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

/// A stored name as the name of a method or a field: `errorCount` and `error.count` are
/// `error_count`. `None` if it has no letter or digit.
pub(crate) fn snake(name: &str) -> Option<Ident> {
    let mut text = String::new();
    let mut lower_before = false;
    for character in name.chars() {
        if !character.is_alphanumeric() {
            text.push('_');
        } else if character.is_uppercase() {
            if lower_before {
                text.push('_');
            }
            text.extend(character.to_lowercase());
        } else {
            text.push(character);
        }
        lower_before = character.is_lowercase() || character.is_numeric();
    }
    // Two adjacent underscores are not snake case.
    let parts: Vec<&str> = text.split('_').filter(|part| !part.is_empty()).collect();
    let text = parts.join("_");
    let text = if text.starts_with(char::is_numeric) {
        format!("_{text}")
    } else {
        text
    };
    ident(&text)
}

/// An identifier, raw if it is a keyword.
fn ident(text: &str) -> Option<Ident> {
    match text {
        "self" | "super" | "crate" => Some(Ident::new(&format!("{text}_"), Span::call_site())),
        _ => syn::parse_str::<Ident>(text)
            .or_else(|_| syn::parse_str::<Ident>(&format!("r#{text}")))
            .ok(),
    }
}

/// A field's name in camel case: `status_code` is `StatusCode`. It may be empty.
pub(crate) fn camel(field: &Ident) -> String {
    let mut text = String::new();
    for part in field.unraw().to_string().split('_') {
        let mut characters = part.chars();
        text.extend(characters.next().into_iter().flat_map(char::to_uppercase));
        text.push_str(characters.as_str());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{camel, snake};

    #[test]
    fn stored_names_become_snake_case() {
        for (name, expected) in [
            ("error_count", "error_count"),
            ("errorCount", "error_count"),
            ("error count", "error_count"),
            ("value.errors", "value_errors"),
            ("HTTP", "http"),
            ("__a--b__", "a_b"),
            ("5xx", "_5xx"),
            ("type", "r#type"),
            ("self", "self_"),
            ("\u{e9}t\u{e9}", "\u{e9}t\u{e9}"),
        ] {
            assert_eq!(snake(name).unwrap().to_string(), expected, "{name}");
        }
        assert!(snake("--").is_none());
    }

    #[test]
    fn fields_become_camel_case() {
        for (field, expected) in [
            ("status_code", "StatusCode"),
            ("r#type", "Type"),
            ("_v2", "V2"),
        ] {
            let field = syn::parse_str(field).unwrap();
            assert_eq!(camel(&field), expected);
        }
    }
}
