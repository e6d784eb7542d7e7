//! Rules about models whose sealed buckets are merged.

use crate::{
    diagnostics::Diagnostics,
    model::{Model, form::Form},
    symbol::{MAX_DURATION, MERGE, OBJECT_IDS, SEAL_AFTER, Symbol, WINDOW},
    syntax::{container::ContainerAttrs, duration::Window},
};

pub(crate) fn check(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) {
    let Some(given) = attrs.merge.given() else {
        return;
    };
    if attrs.seal_after.given().is_none() {
        let message = format!(
            "`{MERGE}` makes one of several sealed buckets, and those of this model stay rows"
        );
        // Buckets are sealed before they are removed.
        let help = match model.expire_after {
            Some(..=3_600) => format!("remove `{MERGE}`"),
            Some(..=604_800) => format!("add `{SEAL_AFTER} = \"1h\"`, or remove `{MERGE}`"),
            _ => format!("add `{SEAL_AFTER} = \"7d\"`, or remove `{MERGE}`"),
        };
        cx.error(given, message, help);
    }
    let (key, is_too_short): (Symbol, &dyn Fn(Window) -> bool) = match model.form {
        Form::Window { window, parts, .. } => (WINDOW, &move |merge| {
            // The parts of one window become one.
            let (same, shorter) = (merge == window, shortest(merge) < longest(window));
            if parts {
                !same && shorter
            } else {
                same || shorter || shortest(merge) == longest(window)
            }
        }),
        Form::Hybrid { max_duration, .. } => {
            (MAX_DURATION, &move |merge| shortest(merge) <= max_duration)
        }
        Form::Count { .. } | Form::Numbered { .. } => {
            let message = format!(
                "`{MERGE}` makes one of the buckets of a span of time, and those of this model have none"
            );
            let help = match attrs.forms.first() {
                Some(form) => {
                    format!("write `{WINDOW} = \"1h\"` instead of `{form}`, or remove `{MERGE}`")
                }
                None => format!("add `{WINDOW} = \"1h\"`, or remove `{MERGE}`"),
            };
            cx.error(given, message, help);
            return;
        }
    };
    if model.object_ids {
        let message = format!(
            "`{MERGE}` makes one bucket of several, and only the ids of the library say where its records were"
        );
        let help = format!("remove `{MERGE}`, or `{OBJECT_IDS}`");
        cx.error(given, message, help);
    }
    if model.merge.is_some_and(is_too_short) {
        let is = if attrs.parts.given().is_some() {
            "shorter"
        } else {
            "not longer"
        };
        let message = format!("`{MERGE}` is {is} than `{key}`: nothing is merged");
        let help = format!("make `{MERGE}` longer, or remove it");
        cx.error(given, message, help);
    }
}

/// The length of the shortest one, in seconds.
const fn shortest(window: Window) -> u32 {
    match window {
        Window::Month => 28 * 86_400,
        other => longest(other),
    }
}

/// The length of the longest one, in seconds.
const fn longest(window: Window) -> u32 {
    match window {
        Window::Seconds(seconds) => seconds,
        Window::Day => 86_400,
        Window::Week => 7 * 86_400,
        Window::Month => 31 * 86_400,
    }
}
