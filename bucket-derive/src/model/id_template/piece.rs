//! A template as it is written: text and placeholders.

/// A piece as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Literal(String),
    Placeholder { field: String, unit: Option<String> },
}

/// Splits a template into literals and placeholders.
pub(super) fn split(text: &str) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' if rest.next_if_eq(&character).is_some() => literal.push(character),
            '}' => {
                return Err("`}` without `{` in the id template; a brace is written `}}`".into());
            }
            '{' => {
                if !literal.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut literal)));
                }
                let inside: String =
                    std::iter::from_fn(|| rest.next_if(|c| !matches!(c, '{' | '}'))).collect();
                if rest.next() != Some('}') {
                    return Err(format!("`{{{inside}` is not closed in the id template"));
                }
                pieces.push(placeholder(&inside));
            }
            _ => literal.push(character),
        }
    }
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    Ok(pieces)
}

fn placeholder(inside: &str) -> Piece {
    let (field, unit) = match inside.split_once(':') {
        Some((field, unit)) => (field, Some(unit.trim().to_owned())),
        None => (inside, None),
    };
    Piece::Placeholder {
        field: field.trim().to_owned(),
        unit,
    }
}
