//! The grammar of `id = "{key}_{time:s}"`.
//!
//! ```text
//! template    = [prefix] { "{" key "}" separator } "{" time ":" unit "}"
//! unit        = "s" | "ms"
//! prefix      = any text without control characters
//! separator   = one of _ : / | . # @ ~ , ; = and any text behind it
//! ```
//!
//! `{{` and `}}` stand for braces. Every key stands once, the time once and last. A value
//! percent-encodes the first character of the separators, so that an id can be taken apart again;
//! letters, digits, `-` and `%` stand inside of values and cannot begin a separator.

use syn::LitStr;

use crate::{
    diagnostics::{Diagnostics, did_you_mean, list, suggest},
    model::{Model, field::Field},
};

/// Characters with which a separator may begin.
const SEPARATORS: &str = "_:/|.#@~,;=";

/// A checked template.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IdTemplate {
    pub(crate) segments: Vec<Segment>,
    /// The template as text, for docs.
    pub(crate) text: String,
}

/// One piece of a checked template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Literal(String),
    /// The key of this index.
    Key(usize),
    /// The time, in this unit.
    Time(Unit),
}

/// The unit of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

/// The names that a template can speak of.
pub(crate) struct Names<'a> {
    pub(crate) keys: Vec<String>,
    pub(crate) time: String,
    pub(crate) others: Vec<&'a str>,
}

/// A piece as written.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Placeholder { field: String, unit: Option<String> },
}

impl IdTemplate {
    /// Reads the template of a model whose roles are complete; without one, the default.
    pub(crate) fn read(cx: &mut Diagnostics, model: &Model, given: Option<&LitStr>) -> Self {
        let rust_names: Vec<String> = model.item_fields().map(Field::rust_name).collect();
        let names = Names {
            keys: model.keys().map(Field::rust_name).collect(),
            time: model.time().map(Field::rust_name).unwrap_or_default(),
            others: rust_names.iter().map(String::as_str).collect(),
        };
        let default = default_text(&names);
        let text = given.map_or_else(|| default.clone(), LitStr::value);
        match check(&text, &names) {
            Ok(segments) => Self { segments, text },
            Err(problems) => {
                for problem in problems {
                    cx.error(given, problem, format_args!("id = \"{default}\""));
                }
                Self::default()
            }
        }
    }
}

/// All keys in order, then the time.
fn default_text(names: &Names<'_>) -> String {
    let keys = names.keys.iter().map(|key| format!("{{{key}}}"));
    let time = format!("{{{}:s}}", names.time);
    keys.chain([time]).collect::<Vec<_>>().join("_")
}

/// Checks a template; all problems come out, those of the grammar alone if it has any.
fn check(text: &str, names: &Names<'_>) -> Result<Vec<Segment>, Vec<String>> {
    let pieces = pieces(text).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let segments: Vec<Segment> = pieces
        .iter()
        .filter_map(|piece| segment(piece, names, &mut problems))
        .collect();
    check_literals(&pieces, &mut problems);
    // What is missing or misplaced can be told only if every placeholder was understood.
    if problems.is_empty() {
        check_counts(&segments, names, &mut problems);
    }
    if problems.is_empty() {
        Ok(segments)
    } else {
        Err(problems)
    }
}

/// Splits a template into literals and placeholders.
fn pieces(text: &str) -> Result<Vec<Piece>, String> {
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

/// The meaning of one piece; `None` if it has none.
fn segment(piece: &Piece, names: &Names<'_>, problems: &mut Vec<String>) -> Option<Segment> {
    let (field, unit) = match piece {
        Piece::Literal(text) => return Some(Segment::Literal(text.clone())),
        Piece::Placeholder { field, unit } => (field, unit.as_deref()),
    };
    let index = names.keys.iter().position(|key| key == field);
    let problem = match (index, unit) {
        (Some(index), None) => return Some(Segment::Key(index)),
        (Some(_), Some(unit)) => {
            format!("`{{{field}:{unit}}}`: a key has no unit, write `{{{field}}}`")
        }
        (None, unit) if *field == names.time => match unit {
            Some("s") => return Some(Segment::Time(Unit::Seconds)),
            Some("ms") => return Some(Segment::Time(Unit::Millis)),
            Some(unit) => format!(
                "unknown unit `{unit}` of `{{{field}}}`: `{{{field}:s}}` counts seconds, \
                 `{{{field}:ms}}` milliseconds"
            ),
            None => format!(
                "`{{{field}}}` has no unit: `{{{field}:s}}` counts seconds, `{{{field}:ms}}` \
                 milliseconds"
            ),
        },
        (None, _) if names.others.contains(&field.as_str()) => {
            format!("`{{{field}}}` is no key: the id names the key fields and the time")
        }
        (None, _) => unknown(field, names),
    };
    problems.push(problem);
    None
}

fn unknown(field: &str, names: &Names<'_>) -> String {
    let mut valid: Vec<&str> = names.keys.iter().map(String::as_str).collect();
    valid.push(&names.time);
    let message = format!(
        "unknown field `{{{field}}}` in the id template: it can name {}",
        list(&valid)
    );
    suggest(&message, did_you_mean(field, valid))
}

/// Checks the text around placeholders.
fn check_literals(pieces: &[Piece], problems: &mut Vec<String>) {
    for (index, piece) in pieces.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| pieces.get(before));
        let between = before.is_some() && index + 1 < pieces.len();
        match (piece, before) {
            (Piece::Literal(text), _) if text.chars().any(char::is_control) => {
                problems.push("the id template contains a control character".to_owned());
            }
            (Piece::Literal(text), _) if between && !begins_separator(text) => {
                let allowed: Vec<String> = SEPARATORS.chars().map(String::from).collect();
                problems.push(format!(
                    "the separator `{text}` cannot be told from the values around it: it begins \
                     with one of `{}`",
                    allowed.join(" ")
                ));
            }
            (Piece::Placeholder { field, .. }, Some(Piece::Placeholder { field: before, .. })) => {
                problems.push(format!(
                    "`{{{before}}}` and `{{{field}}}` need a separator between them, such as `_`"
                ));
            }
            _ => {}
        }
    }
}

fn begins_separator(text: &str) -> bool {
    text.starts_with(|first| SEPARATORS.contains(first))
}

/// Every key once, the time once and last.
fn check_counts(segments: &[Segment], names: &Names<'_>, problems: &mut Vec<String>) {
    for (index, key) in names.keys.iter().enumerate() {
        match segments
            .iter()
            .filter(|segment| **segment == Segment::Key(index))
            .count()
        {
            0 => problems.push(format!("the id template does not name the key `{{{key}}}`")),
            1 => {}
            _ => problems.push(format!("the id template names the key `{{{key}}}` twice")),
        }
    }
    let time = &names.time;
    let is_time = |segment: &Segment| matches!(segment, Segment::Time(_));
    match segments.iter().filter(|segment| is_time(segment)).count() {
        0 => problems.push(format!(
            "the id template does not name the time `{{{time}:s}}`"
        )),
        1 if !segments.last().is_some_and(is_time) => problems.push(format!(
            "`{{{time}:..}}` must stand last in the id template: ids of one key order by it"
        )),
        1 => {}
        _ => problems.push(format!("the id template names the time `{{{time}}}` twice")),
    }
}

#[cfg(test)]
mod tests;
