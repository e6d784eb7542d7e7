//! Forms: what closes a bucket. A model has one form, with only the keys of that form.

use proc_macro2::Ident;

use crate::{
    diagnostics::Diagnostics,
    model::own_role::OwnRole,
    symbol::{
        BYTES, CLOSED, END, EXPIRE_AFTER, EXPIRE_FROM, FULL, ID, LATE, MAX_BYTES, MAX_DURATION,
        NUMBERED, OBJECT_IDS, PARTS, RAISED_FROM, SIZE, START, Symbol, WINDOW,
    },
    syntax::{
        choice::{self, Late},
        container::ContainerAttrs,
        duration::Window,
    },
};

/// How records are grouped into buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Count {
        capacity: u32,
    },
    Window {
        window: Window,
        capacity: Option<u32>,
        parts: bool,
    },
    Hybrid {
        capacity: u32,
        /// In seconds.
        max_duration: u32,
        late: Late,
    },
    Numbered {
        capacity: u32,
    },
}

/// The keys that say when a bucket closes: a model has one of them at most.
const FORMS: [Symbol; 3] = [WINDOW, MAX_DURATION, NUMBERED];

/// The size at which a window without a capacity closes its buckets: 256 KiB.
const DEFAULT_MAX_BYTES: u32 = 262_144;

impl Form {
    /// The form that the keys ask for; for a model with errors the first of them.
    pub(crate) fn read(attrs: &ContainerAttrs) -> Self {
        let given = attrs.capacity.get().copied();
        let capacity = given.unwrap_or(1);
        let late = attrs.late.get().copied().unwrap_or(choice::LATE[0].1);
        if attrs.window.given().is_some() {
            let window = attrs.window.get().copied().unwrap_or(Window::Day);
            Self::Window {
                window,
                capacity: given,
                parts: attrs.parts.given().is_some(),
            }
        } else if attrs.max_duration.given().is_some() {
            let max_duration = attrs.max_duration.get().copied().unwrap_or(1);
            Self::Hybrid {
                capacity,
                max_duration,
                late,
            }
        } else if attrs.numbered.given().is_some() {
            Self::Numbered { capacity }
        } else {
            Self::Count { capacity }
        }
    }

    /// The largest number of records in one bucket, if the model says one.
    pub(crate) fn capacity(self) -> Option<u32> {
        match self {
            Self::Count { capacity }
            | Self::Hybrid { capacity, .. }
            | Self::Numbered { capacity } => Some(capacity),
            Self::Window { capacity, .. } => capacity,
        }
    }

    /// Whether each bucket says which span of time it covers.
    pub(crate) const fn has_span(self) -> bool {
        matches!(self, Self::Window { .. } | Self::Hybrid { .. })
    }

    /// The fields of this form, in the order of the typed bucket.
    pub(crate) const fn own_roles(self) -> &'static [OwnRole] {
        match self {
            Self::Count { .. } => &[],
            Self::Window { .. } => &[OwnRole::Start, OwnRole::End],
            Self::Hybrid { .. } => &[OwnRole::Start, OwnRole::End, OwnRole::Closed, OwnRole::Late],
            Self::Numbered { .. } => &[OwnRole::Number, OwnRole::Size, OwnRole::Full],
        }
    }

    /// Whether the part of a window distinguishes buckets with object ids.
    pub(crate) const fn has_parts(self) -> bool {
        matches!(self, Self::Window { .. })
    }

    /// Whether the end of a bucket is the time of its latest record.
    pub(crate) const fn moves_end(self) -> bool {
        matches!(self, Self::Hybrid { .. })
    }

    /// Whether a bucket's id is known before it is opened, so that the filter of a write has it.
    pub(crate) const fn knows_ids(self) -> bool {
        !matches!(self, Self::Count { .. })
    }

    /// Whether a sequence distinguishes ids with the same key and time.
    pub(crate) const fn has_sequences(self) -> bool {
        !matches!(self, Self::Numbered { .. })
    }

    /// The unit in which ids count time, unless the model gives one.
    pub(crate) const fn id_unit(self) -> &'static str {
        match self {
            // Buckets of one key that begin in one second are the rule there.
            Self::Hybrid { .. } => "ms",
            Self::Count { .. } | Self::Window { .. } | Self::Numbered { .. } => "s",
        }
    }

    /// The size in bytes at which a bucket is closed.
    pub(crate) fn max_bytes(self, attrs: &ContainerAttrs) -> Option<u32> {
        match (attrs.max_bytes.given(), self) {
            (Some(_), _) => attrs.max_bytes.get().copied().or(Some(DEFAULT_MAX_BYTES)),
            // A capacity that was given and refused is one.
            (None, Self::Window { capacity: None, .. }) if attrs.capacity.given().is_none() => {
                Some(DEFAULT_MAX_BYTES)
            }
            (None, _) => None,
        }
    }
}

/// Reports a second form, and keys that the form does not have.
pub(crate) fn check(cx: &mut Diagnostics, attrs: &ContainerAttrs) {
    let different = |others: &[Ident], first: &Ident| -> Vec<Ident> {
        others.iter().filter(|key| *key != first).cloned().collect()
    };
    if let [first, others @ ..] = attrs.forms.as_slice() {
        for other in different(others, first) {
            let message = format!(
                "`{other}` with `{first}`: only one of `{WINDOW}`, `{MAX_DURATION}` and `{NUMBERED}` \
                 can say when a bucket closes"
            );
            let help = format!("remove `{first}` or `{other}`");
            cx.error(&other, message, help);
            cx.also(first, format_args!("`{first}` is given here"));
        }
    }
    foreign_keys(cx, attrs);
    ids(cx, attrs);
    raised_from(cx, attrs);
}

/// Ids from the server need fields that distinguish buckets.
fn ids(cx: &mut Diagnostics, attrs: &ContainerAttrs) {
    let identified = attrs.window.given().is_some() || attrs.numbered.given().is_some();
    if let (Some(given), false) = (attrs.object_ids.given(), identified) {
        let message = format!(
            "`{OBJECT_IDS}` without `{WINDOW}` or `{NUMBERED}`: only the id would distinguish \
             a bucket from others of its key"
        );
        let help = if attrs.forms.is_empty() {
            format!("add `window = \"1h\"` or `numbered`, or remove `{OBJECT_IDS}`")
        } else {
            format!("remove `{OBJECT_IDS}`")
        };
        cx.error(given, message, help);
    }
    if let (Some(id), Some(_)) = (attrs.id.given(), attrs.object_ids.given()) {
        let message = format!("`{ID}` with `{OBJECT_IDS}`: an object id has no template");
        cx.error(id, message, format_args!("remove `{ID}` or `{OBJECT_IDS}`"));
    }
}

/// Only a capacity that is part of an index needs `raised_from`.
fn raised_from(cx: &mut Diagnostics, attrs: &ContainerAttrs) {
    let Some(given) = attrs.raised_from.given() else {
        return;
    };
    if let Some(form) = attrs.forms.first() {
        let message = format!(
            "`{RAISED_FROM}` with `{form}`: the capacity is part of an index only without `{form}`"
        );
        cx.error(given, message, format_args!("remove `{RAISED_FROM}`"));
        return;
    }
    if let (Some(old), Some(new)) = (attrs.raised_from.get(), attrs.capacity.get())
        && old >= new
    {
        let message = format!("`{RAISED_FROM}` is {old}, which is not below the capacity of {new}");
        cx.error(given, message, format_args!("remove `{RAISED_FROM}`"));
    }
}

fn foreign_keys(cx: &mut Diagnostics, attrs: &ContainerAttrs) {
    let window = attrs.window.given().is_some();
    let hybrid = attrs.max_duration.given().is_some();
    let numbered = attrs.numbered.given().is_some();
    let bytes = attrs.max_bytes.given().is_some() || (window && attrs.capacity.given().is_none());
    let names = &attrs.names;
    let spans: (&[Symbol], &str) = (&[WINDOW, MAX_DURATION], "window = \"1h\"");
    let windows: (&[Symbol], &str) = (&[WINDOW], "window = \"1h\"");
    let closes: (&[Symbol], &str) = (&[MAX_DURATION], "max_duration = \"1h\"");
    let numbers: (&[Symbol], &str) = (&[NUMBERED], "numbered");
    let sizes: (&[Symbol], &str) = (&[MAX_BYTES], "max_bytes = \"256KB\"");
    let ages: (&[Symbol], &str) = (&[EXPIRE_AFTER], "expire_after = \"30d\"");
    let expires = attrs.expire_after.given().is_some();
    let all = [
        (START, names.start.given(), window || hybrid, spans),
        (END, names.end.given(), window || hybrid, spans),
        (LATE, attrs.late.given(), hybrid, closes),
        (PARTS, attrs.parts.given(), window, windows),
        (CLOSED, names.closed.given(), hybrid, closes),
        (SIZE, names.size.given(), numbered, numbers),
        (FULL, names.full.given(), numbered, numbers),
        (BYTES, names.bytes.given(), bytes, sizes),
        (EXPIRE_FROM, names.expire_from.given(), expires, ages),
    ];
    if let (Some(given), true, true) = (names.expire_from.given(), expires, window || hybrid) {
        let message = format!(
            "`{EXPIRE_FROM}` names a field that buckets with `{WINDOW}` or `{MAX_DURATION}` do not \
             have: their age counts from their end"
        );
        cx.error(given, message, format_args!("remove `{EXPIRE_FROM}`"));
    }
    for (key, given, has, (needs, example)) in all {
        let (Some(given), false) = (given, has) else {
            continue;
        };
        let is_of_a_form = needs.iter().any(|key| FORMS.contains(key));
        let needs: Vec<String> = needs.iter().map(|key| format!("`{key}`")).collect();
        let needs = needs.join(" or ");
        let message = if key == LATE {
            format!("`{key}` without {needs}: only such buckets have late records")
        } else if key == PARTS {
            format!("`{key}` without {needs}: only the buckets of a window can come in parts")
        } else {
            format!("`{key}` names a field that only buckets with {needs} have")
        };
        let help = match attrs.forms.first() {
            // Without its window, the next error would be that of the parts.
            Some(_) if key == LATE && attrs.parts.given().is_some() => {
                format!("remove `{key}`: a window takes late records as any others")
            }
            // A second form would be the next error.
            Some(form) if is_of_a_form => {
                format!("write `{example}` instead of `{form}`, or remove `{key}`")
            }
            _ => format!("add `{example}`, or remove `{key}`"),
        };
        cx.error(given, message, help);
    }
}
