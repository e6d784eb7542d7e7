//! What a placeholder means.

use super::{
    piece::Piece,
    template::{Names, Segment, Unit},
};
use crate::{
    diagnostics::{did_you_mean, list, suggest},
    model::own_role::OwnRole,
};

/// The meaning of one piece; `None` if it has none.
pub(super) fn of(piece: &Piece, names: &Names<'_>, problems: &mut Vec<String>) -> Option<Segment> {
    let (field, unit) = match piece {
        Piece::Literal(text) => return Some(Segment::Literal(text.clone())),
        Piece::Placeholder { field, unit } => (field, unit.as_deref()),
    };
    if let Some(index) = names.keys.iter().position(|key| key == field) {
        let Some(unit) = unit else {
            return Some(Segment::Key(index));
        };
        problems.push(format!(
            "`{{{field}:{unit}}}`: a key has no unit, write `{{{field}}}`"
        ));
        return None;
    }
    let last = match &names.number {
        Some(number) => number_segment(number, field, unit, names),
        None => time_segment(field, unit, names),
    };
    let problem = match last {
        Some(Ok(segment)) => return Some(segment),
        Some(Err(problem)) => problem,
        None if names.others.contains(&field.as_str()) => {
            format!(
                "`{{{field}}}` is not a key: the id consists of the key fields and the {}",
                names.what()
            )
        }
        None => unknown(field, names),
    };
    problems.push(problem);
    None
}

/// A placeholder as the time; `None` if it is another field.
fn time_segment(
    field: &str,
    unit: Option<&str>,
    names: &Names<'_>,
) -> Option<Result<Segment, String>> {
    if field != names.time {
        let number = OwnRole::Number.rust_name();
        return (field == number && !names.others.contains(&field)).then(|| {
            Err(format!(
                "`{{{field}}}` in the id of a bucket without `numbered`: write `{}`",
                names.last()
            ))
        });
    }
    Some(match unit {
        Some("s") => Ok(Segment::Time(Unit::Seconds)),
        Some("ms") => Ok(Segment::Time(Unit::Millis)),
        Some(unit) => Err(format!(
            "unknown unit `{unit}` of `{{{field}}}`: `{{{field}:s}}` counts seconds, \
             `{{{field}:ms}}` milliseconds"
        )),
        None => Err(format!(
            "`{{{field}}}` has no unit: `{{{field}:s}}` counts seconds, `{{{field}:ms}}` \
             milliseconds"
        )),
    })
}

/// A placeholder as the number; `None` if it is another field.
fn number_segment(
    number: &str,
    field: &str,
    unit: Option<&str>,
    names: &Names<'_>,
) -> Option<Result<Segment, String>> {
    match unit {
        None if field == number => Some(Ok(Segment::Number)),
        Some(unit) if field == number => Some(Err(format!(
            "`{{{field}:{unit}}}`: a number has no unit, write `{{{field}}}`"
        ))),
        _ if field == names.time => Some(Err(format!(
            "`{{{field}}}` in the id of a numbered bucket: its number replaces the time, \
             write `{{{number}}}`"
        ))),
        _ => None,
    }
}

fn unknown(field: &str, names: &Names<'_>) -> String {
    let mut valid: Vec<&str> = names.keys.iter().map(String::as_str).collect();
    valid.push(names.number.as_ref().unwrap_or(&names.time));
    let wrong = format!("unknown field `{{{field}}}` in the id template");
    let names = format!("it can name {}", list(&valid));
    suggest(&wrong, did_you_mean(field, valid), &names)
}
