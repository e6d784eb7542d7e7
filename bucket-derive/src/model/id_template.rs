//! The grammar of `id = "{key}_{time:s}"`.
//!
//! ```text
//! template    = [prefix] { "{" key "}" separator } "{" last "}"
//! last        = time ":" unit, in a numbered bucket the name of its number
//! unit        = "s" | "ms"
//! prefix      = any text without control characters
//! separator   = one of _ : / | . # @ ~ , ; = and any text after it
//! ```
//!
//! `{{` and `}}` are braces. Every key occurs once; the time or number occurs once and last. A value
//! percent-encodes the first character of the separators, so that an id can be parsed again. Letters,
//! digits, `-` and `%` occur in values and cannot begin a separator.

mod piece;
mod segment;
mod template;

use syn::LitStr;

pub(crate) use self::template::{IdTemplate, Segment, Unit};
use self::{piece::Piece, template::Names};
use crate::{
    diagnostics::Diagnostics,
    model::{Model, field::Field, own_field::OwnField, own_role::OwnRole},
};

/// Characters with which a separator may begin.
const SEPARATORS: &str = "_:/|.#@~,;=";

impl IdTemplate {
    /// Reads the template of a model whose roles are complete; without one, the default.
    pub(crate) fn read(cx: &mut Diagnostics, model: &Model, given: Option<&LitStr>) -> Self {
        let rust_names: Vec<String> = model.item_fields().map(Field::rust_name).collect();
        let number = |field: &&OwnField| field.role == OwnRole::Number;
        let number = model.own_fields.iter().find(number);
        let names = Names {
            keys: model.keys().map(Field::rust_name).collect(),
            time: model.time().map(Field::rust_name).unwrap_or_default(),
            number: number.map(|field| field.name.clone()),
            unit: model.form.id_unit(),
            others: rust_names.iter().map(String::as_str).collect(),
        };
        let default = default_text(&names);
        let text = given.map_or_else(|| default.clone(), LitStr::value);
        match check(&text, &names) {
            Ok(segments) => Self { segments, text },
            Err(problems) => {
                // The default is wrong only where names collide, which is reported by itself.
                for problem in problems.into_iter().filter(|_| given.is_some()) {
                    cx.error(given, problem, format_args!("id = \"{default}\""));
                }
                Self::default()
            }
        }
    }
}

/// All keys in order, then the time or the number.
fn default_text(names: &Names<'_>) -> String {
    let keys = names.keys.iter().map(|key| format!("{{{key}}}"));
    keys.chain([names.last()]).collect::<Vec<_>>().join("_")
}

/// Checks a template and returns all problems, or only those of the grammar if it has any.
fn check(text: &str, names: &Names<'_>) -> Result<Vec<Segment>, Vec<String>> {
    let pieces = piece::split(text).map_err(|problem| vec![problem])?;
    let mut problems = Vec::new();
    let segments: Vec<Segment> = pieces
        .iter()
        .filter_map(|piece| segment::of(piece, names, &mut problems))
        .collect();
    check_literals(&pieces, &mut problems);
    // What is missing or misplaced is known only if every placeholder was understood.
    if problems.is_empty() {
        check_counts(&segments, names, &mut problems);
    }
    if problems.is_empty() {
        Ok(segments)
    } else {
        Err(problems)
    }
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
                    "the separator `{text}` cannot be separated from the values around it: it must begin \
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

/// Every key once, the time or number once and last.
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
    let (what, last) = (names.what(), names.last());
    let is_last = |segment: &Segment| matches!(segment, Segment::Time(_) | Segment::Number);
    match segments.iter().filter(|segment| is_last(segment)).count() {
        0 => problems.push(format!("the id template does not name the {what} `{last}`")),
        1 if !segments.last().is_some_and(is_last) => {
            let shown = match &names.number {
                Some(_) => last,
                None => format!("{{{}:..}}", names.time),
            };
            problems.push(format!(
                "`{shown}` must come last in the id template: ids of one key sort by it"
            ));
        }
        1 => {}
        _ => {
            let name = names.number.as_ref().unwrap_or(&names.time);
            problems.push(format!(
                "the id template names the {what} `{{{name}}}` twice"
            ));
        }
    }
}

#[cfg(test)]
mod tests;
