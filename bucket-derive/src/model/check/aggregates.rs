//! Rules about aggregates: on which fields, of which types, under which names.

use std::collections::HashSet;

use proc_macro2::Ident;

use crate::{
    diagnostics::{Diagnostics, list},
    model::{
        Model,
        aggregates::{Aggregates, Method, Stored},
        field::{Field, Role},
        serde_names::Storage,
        types::{self, WrongType},
    },
    symbol::{FIRST, LAST, NON_FINITE, TALLY},
    syntax::closure::{Mapped, Mapping},
};

/// Fields that cannot have their aggregates.
pub(crate) fn fields(cx: &mut Diagnostics, fields: &[Field]) {
    for field in fields {
        let Some(first) = field.aggregates.given.first() else {
            continue;
        };
        let all: Vec<String> = field
            .aggregates
            .given
            .iter()
            .map(ToString::to_string)
            .collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let reason = match (field.role, field.storage) {
            (Role::Time, _) => {
                time(cx, field);
                continue;
            }
            (Role::Key, _) => "which is a key: it is the same in all records of a bucket",
            (Role::Plain, Storage::Skipped) => "which is never stored",
            (Role::Plain, Storage::Flattened) => "which is stored as several fields",
            (Role::Plain, Storage::Named) => {
                of_numbers(cx, field);
                of_values(cx, field);
                continue;
            }
        };
        let message = format!("`{first}` on `{}`, {reason}", field.ident);
        cx.error(first, message, format_args!("remove {}", list(&all)));
    }
}

/// The time has a first and a last value.
fn time(cx: &mut Diagnostics, field: &Field) {
    let given = &field.aggregates.given;
    if let Some(other) = given.iter().find(|key| **key != FIRST && **key != LAST) {
        let message = format!(
            "`{other}` on `{}`, which is the time: a bucket keeps only its first and last value",
            field.ident
        );
        let help = format!("#[bucket(time, first, last)] {}", field.declaration());
        cx.error(other, message, help);
    }
}

fn of_numbers(cx: &mut Diagnostics, field: &Field) {
    let attrs = &field.aggregates;
    let Some(first) = attrs.first_of_numbers() else {
        if let Some(key) = attrs.non_finite.given() {
            let message = format!(
                "`{key}` on `{}`, which has no aggregate of numbers",
                field.ident
            );
            cx.error(
                key,
                message,
                format_args!("add `sum`, or remove `{NON_FINITE}`"),
            );
        }
        return;
    };
    if let Some(WrongType { reason, instead }) = types::wrong_measure(&field.ty) {
        let message = format!("`{}` has no `{first}`: {reason}", field.declaration());
        cx.error(
            &field.ty,
            message,
            format_args!("{}: {instead}", field.ident),
        );
    }
}

fn of_values(cx: &mut Diagnostics, field: &Field) {
    let direct = |tally: &&Mapped| matches!(tally.of, Mapping::Itself);
    let Some(tally) = field.aggregates.tallies.iter().find(direct) else {
        return;
    };
    if let Some(WrongType { reason, .. }) = types::wrong_key(&field.ty) {
        let name = tally.named.given().unwrap_or_else(|| field.name.clone());
        let reason = if types::is_literally(&field.ty, "Option") {
            "an option has no text of its own"
        } else {
            reason
        };
        let message = format!("`{}` cannot be tallied: {reason}", field.declaration());
        let help = format!("{TALLY}(\"{name}\", |value| ..)");
        cx.error(&field.ty, message, help);
    }
}

/// Two aggregates with one path, and two methods with one name.
pub(crate) fn names(cx: &mut Diagnostics, model: &Model) {
    let Aggregates {
        stored,
        views,
        times,
        ..
    } = &model.aggregates;
    let mut reported = HashSet::new();
    for (index, second) in stored.iter().enumerate() {
        let clashes = |first: &&Stored| {
            is_within(&first.path, &second.path) || is_within(&second.path, &first.path)
        };
        if let Some(first) = stored.iter().take(index).find(clashes) {
            reported.insert(index);
            clash(cx, first, second);
        }
    }
    let mut methods = |taken: &[&Ident], methods: &[Method]| {
        let mut seen: HashSet<String> = taken.iter().map(ToString::to_string).collect();
        for method in methods {
            let at = method.reads.named_after();
            if seen.insert(method.ident.to_string()) || at.is_some_and(|at| reported.contains(&at))
            {
                continue;
            }
            let message = format!("two methods would be called `{}()`", method.ident);
            let renamed = at.and_then(|at| stored.get(at));
            let help = renamed.map_or("another name", |stored| &stored.origin.renamed);
            cx.error(&method.at, message, help);
        }
    };
    for view in views {
        methods(&[], &view.methods);
    }
    let accessors: Vec<&Ident> = views.iter().map(|view| &view.field).collect();
    methods(&accessors, times);
}

fn clash(cx: &mut Diagnostics, first: &Stored, second: &Stored) {
    let (one, two) = (&first.origin.what, &second.origin.what);
    let path = &second.path;
    let message = if first.path == *path {
        format!("{two} is stored at `{path}`, as is {one}")
    } else {
        let other = &first.path;
        format!("{two} is stored at `{path}`, {one} at `{other}`: one path contains the other")
    };
    cx.error(&second.origin.at, message, &second.origin.renamed);
}

/// Whether a dotted path is the other one or below it.
fn is_within(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn a_path_is_within_itself_and_its_parents() {
        assert!(is_within("stats.min", "stats.min"));
        assert!(is_within("stats", "stats.min"));
        assert!(!is_within("stats.min", "stats.minimum"));
        assert!(!is_within("stats.min", "stats"));
    }
}
