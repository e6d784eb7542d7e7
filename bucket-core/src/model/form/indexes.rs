//! The indexes that a form needs, and what identifies and orders its buckets.

use bson::{Document, doc};

use super::Form;
use crate::model::spec::{BucketSpec, ID};

/// The name of the index on the spans of all windows.
pub(crate) const SPAN_INDEX: &str = "bucket_times";

/// What orders the buckets of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderedBy {
    /// Their ids.
    Id,
    /// Their starts, and their parts in a window, because the server makes their ids.
    Start,
    /// Their numbers.
    Number,
}

/// An index of a form: on the key fields, then on these fields.
#[derive(Debug)]
pub(crate) struct FormIndex {
    pub(crate) name: String,
    /// Names and directions.
    pub(crate) fields: Vec<(&'static str, i32)>,
    pub(crate) unique: bool,
    /// The condition for the buckets that it contains, if it does not contain all.
    pub(crate) partial: Option<Document>,
}

impl BucketSpec {
    /// What orders the buckets of a key.
    pub(crate) const fn ordered_by(&self) -> OrderedBy {
        match self.form() {
            Form::Numbered { .. } => OrderedBy::Number,
            Form::Window { .. } if self.object_ids() => OrderedBy::Start,
            _ => OrderedBy::Id,
        }
    }

    /// What identifies a bucket.
    pub(crate) const fn identified_by(&self) -> OrderedBy {
        if self.object_ids() {
            self.ordered_by()
        } else {
            OrderedBy::Id
        }
    }

    /// Whether writes check the room in an array by an array position, `items.3`, in addition to
    /// the count. That path also names the field `3` of each item, so such items are refused. The
    /// answer only depends on what cannot change while buckets exist. The capacity of windows can:
    /// it may be set by key, and later.
    pub(crate) const fn asks_for_places(&self) -> bool {
        self.form().window().is_none()
    }

    /// The name of the unique partial index that allows one open bucket per key; `None` for
    /// windows, whose ids distinguish their buckets.
    ///
    /// In the manual's form, the limits are part of the name. A writer with other limits than those
    /// of the index finds no such index. The server refuses it, so it cannot fill buckets by
    /// another rule.
    #[must_use]
    pub fn open_index_name(&self) -> Option<String> {
        match self.form() {
            Form::Count { capacity } => Some(match self.max_bytes() {
                None => format!("bucket_open_{capacity}"),
                Some(bytes) => format!("bucket_open_{capacity}_{bytes}"),
            }),
            Form::Window { .. } => None,
            Form::Hybrid { .. } => Some(self.tutorial_name("open")),
            Form::Numbered { .. } => Some(self.tutorial_name("full")),
        }
    }

    /// The name of the index that orders the buckets of a key.
    #[must_use]
    pub fn pages_index_name(&self) -> String {
        match self.ordered_by() {
            OrderedBy::Id => "bucket_pages".to_owned(),
            OrderedBy::Start => self.tutorial_name("time"),
            OrderedBy::Number => self.tutorial_name("order"),
        }
    }

    /// The name of the index on the times of buckets, if the form has one.
    #[must_use]
    pub fn time_index_name(&self) -> Option<String> {
        match self.form() {
            Form::Window { .. } => Some(self.tutorial_name("time")),
            Form::Hybrid { .. } => Some(self.tutorial_name("closed_time")),
            Form::Count { .. } | Form::Numbered { .. } => None,
        }
    }

    /// The name of the index on the spans of all windows, for all keys; `None` for other forms.
    #[must_use]
    pub fn span_index_name(&self) -> Option<String> {
        let window = self.form().window();
        window.map(|_| SPAN_INDEX.to_owned())
    }

    /// The indexes that the form needs.
    pub(crate) fn form_indexes(&self) -> Vec<FormIndex> {
        let names = self.names();
        let index = |name: String, fields: &[(&'static str, i32)]| FormIndex {
            name,
            fields: fields.to_vec(),
            unique: false,
            partial: None,
        };
        let open = |fields: &[(&'static str, i32)]| FormIndex {
            unique: true,
            partial: Some(self.open_condition()),
            ..index(self.open_index_name().unwrap_or_default(), fields)
        };
        let unique = |index: FormIndex| FormIndex {
            unique: true,
            ..index
        };
        let pages = || index(self.pages_index_name(), &[(ID, 1)]);
        let time = |fields: &[(&'static str, i32)]| {
            index(self.time_index_name().unwrap_or_default(), fields)
        };
        match self.form() {
            Form::Count { .. } => vec![open(&[]), pages()],
            Form::Window { .. } if self.object_ids() => {
                vec![unique(time(&[(names.start, 1), (names.part, 1)]))]
            }
            Form::Window { .. } => vec![pages(), time(&[(names.start, 1)])],
            Form::Hybrid { .. } => vec![
                open(&[]),
                pages(),
                time(&[(names.closed, 1), (names.start, 1)]),
            ],
            Form::Numbered { .. } => vec![
                open(&[(names.full, 1)]),
                unique(index(self.pages_index_name(), &[(names.number, -1)])),
            ],
        }
    }

    /// The condition that buckets with room meet; empty for windows, which have no such index.
    pub(crate) fn open_condition(&self) -> Document {
        let names = self.names();
        match self.form() {
            Form::Count { .. } => {
                // Full buckets of a smaller capacity must not count as open.
                let mut condition = doc! { names.count: { "$lt": self.smallest_capacity() } };
                if self.raised_from().is_some() {
                    // True for every bucket. While the capacity is raised, both indexes exist side
                    // by side, which the server allows only under different conditions.
                    condition.insert(self.items(), doc! { "$exists": true });
                }
                if let Some(bytes) = self.max_bytes() {
                    condition.insert(names.bytes, doc! { "$lt": i64::from(bytes) });
                }
                condition
            }
            Form::Window { .. } => Document::new(),
            form @ (Form::Hybrid { .. } | Form::Numbered { .. }) => {
                let mark = form.mark().map(|mark| mark.name(names));
                mark.map_or_else(Document::new, |mark| doc! { mark: false })
            }
        }
    }

    /// The conditions for a bucket that takes no more records, each sufficient by itself; empty if
    /// only its time closes it.
    pub(crate) fn closed_conditions(&self) -> Vec<Document> {
        let names = self.names();
        match self.form() {
            Form::Window { .. } => Vec::new(),
            Form::Count { .. } => {
                // Buckets of a smaller capacity are full as well. The newest of them may still take
                // records; its writers notice if it is removed.
                let by_count = doc! { names.count: { "$gte": self.smallest_capacity() } };
                let by_bytes = |max: u32| doc! { names.bytes: { "$gte": i64::from(max) } };
                let by_bytes = self.max_bytes().map(by_bytes);
                [by_count].into_iter().chain(by_bytes).collect()
            }
            form @ (Form::Hybrid { .. } | Form::Numbered { .. }) => {
                let mark = form.mark().map(|mark| mark.name(names));
                mark.map(|mark| doc! { mark: true }).into_iter().collect()
            }
        }
    }

    /// From this count on the index on open buckets of the manual's form does not have a bucket of this capacity.
    pub(crate) fn open_below(&self, capacity: u32) -> u32 {
        capacity.min(self.raised_from().unwrap_or(capacity))
    }

    /// The smallest capacity that buckets of the collection were made with.
    pub(super) fn smallest_capacity(&self) -> i32 {
        i32::try_from(self.open_below(self.size())).unwrap_or(i32::MAX)
    }
}
