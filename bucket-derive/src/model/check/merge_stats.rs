//! Rules about models whose statistics become coarser with age.

use crate::{
    diagnostics::Diagnostics,
    model::Model,
    symbol::{KEEP_STATS, MERGE, MERGE_STATS},
    syntax::{container::ContainerAttrs, duration::Window},
};

pub(crate) fn check(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) {
    let Some(given) = attrs.merge_stats.given() else {
        return;
    };
    if attrs.merge.given().is_none() {
        let message = format!(
            "`{MERGE_STATS}` makes one of what `{MERGE}` has made, and this model merges no buckets"
        );
        let help = format!("write `{MERGE}` instead of `{MERGE_STATS}`, or both");
        cx.error(given, message, help);
    }
    if attrs.keep_stats.given().is_none() {
        let message = format!(
            "`{MERGE_STATS}` makes one of buckets that have only their statistics, and this model keeps none of these"
        );
        let help = format!("add `{KEEP_STATS} = \"5y\"`, or remove `{MERGE_STATS}`");
        cx.error(given, message, help);
    }
    let Some((merge, stats)) = model.merge.zip(model.merge_stats) else {
        return;
    };
    if stats == merge {
        let message = format!("`{MERGE_STATS}` is the same as `{MERGE}`: nothing more is merged");
        let help = format!("make `{MERGE_STATS}` longer, or remove it");
        cx.error(given, message, help);
    } else if !holds(stats, merge) {
        let message = format!(
            "`{MERGE_STATS}` does not consist of whole spans of `{MERGE}`: what these have made would lie across its ends"
        );
        let help = match merge {
            Window::Week | Window::Month => {
                format!("write `{MERGE} = \"day\"`, or remove `{MERGE_STATS}`")
            }
            Window::Seconds(_) | Window::Day => {
                format!("make `{MERGE_STATS}` a multiple of `{MERGE}`")
            }
        };
        cx.error(given, message, help);
    }
}

/// Whether each of the inner ones lies inside of one of the outer ones.
const fn holds(outer: Window, inner: Window) -> bool {
    const DAY: u32 = 86_400;
    match (seconds(outer), seconds(inner)) {
        (Some(outer), Some(inner)) => inner > 0 && outer.is_multiple_of(inner),
        // A week or a month has whole days.
        (None, Some(inner)) => inner > 0 && DAY.is_multiple_of(inner),
        (_, None) => false,
    }
}

/// Its length, if it is always the same and counts from 1970 on.
const fn seconds(window: Window) -> Option<u32> {
    match window {
        Window::Seconds(seconds) => Some(seconds),
        Window::Day => Some(86_400),
        Window::Week | Window::Month => None,
    }
}
