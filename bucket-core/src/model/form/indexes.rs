//! The indexes that a form rests on, and what tells its buckets apart and puts them in order.

use bson::{Document, doc};

use super::Form;
use crate::model::spec::{BucketSpec, ID};

/// What the buckets of a key are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderedBy {
    /// Their ids.
    Id,
    /// Their starts, and their parts in a window: their ids are the server's.
    Start,
    /// Their numbers.
    Number,
}

/// An index of a form: on the key fields, and then these.
#[derive(Debug)]
pub(crate) struct FormIndex {
    pub(crate) name: String,
    /// Names and directions.
    pub(crate) fields: Vec<(&'static str, i32)>,
    pub(crate) unique: bool,
    /// Which buckets it holds, where it doesn't hold all.
    pub(crate) partial: Option<Document>,
}

impl BucketSpec {
    /// What the buckets of a key are ordered by.
    pub(crate) const fn ordered_by(&self) -> OrderedBy {
        match self.form() {
            Form::Numbered { .. } => OrderedBy::Number,
            Form::Window { .. } if self.object_ids() => OrderedBy::Start,
            _ => OrderedBy::Id,
        }
    }

    /// What tells a bucket apart from all others.
    pub(crate) const fn identified_by(&self) -> OrderedBy {
        if self.object_ids() {
            self.ordered_by()
        } else {
            OrderedBy::Id
        }
    }

    /// Whether writes ask for the room in an array by a place in it, `items.3`, beside the count. That is
    /// also the field `3` of each item: such items are refused then. It depends on nothing that may
    /// change while there are buckets: windows may have a capacity or none, by key and later too.
    pub(crate) const fn asks_for_places(&self) -> bool {
        self.form().window().is_none()
    }

    /// The name of the unique partial index that lets a key have one open bucket; none for
    /// windows, whose buckets are told apart by their ids.
    ///
    /// In the manual's form the limits are part of the name: a writer whose limits are not those
    /// that the index was made for finds no such index and is refused, instead of filling buckets
    /// by another rule.
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

    /// The name of the index on the times of buckets, where there is one.
    #[must_use]
    pub fn time_index_name(&self) -> Option<String> {
        match self.form() {
            Form::Window { .. } => Some(self.tutorial_name("time")),
            Form::Hybrid { .. } => Some(self.tutorial_name("closed_time")),
            Form::Count { .. } | Form::Numbered { .. } => None,
        }
    }

    /// The name of the index on the spans of all windows, whatever their keys; none for other forms.
    #[must_use]
    pub fn span_index_name(&self) -> Option<String> {
        let window = self.form().window();
        window.map(|_| "bucket_times".to_owned())
    }

    /// The indexes that the form rests on.
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

    /// What a bucket fulfils that takes records; empty for windows, which have no such index.
    pub(crate) fn open_condition(&self) -> Document {
        let names = self.names();
        match self.form() {
            Form::Count { .. } => {
                // Full buckets of a smaller capacity must not count as open.
                let mut condition = doc! { names.count: { "$lt": self.smallest_capacity() } };
                if self.raised_from().is_some() {
                    // True of every bucket: while the capacity is raised both indexes stand side by
                    // side, which they may under different conditions only.
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

    /// The conditions under which a bucket takes no more, each enough by itself; none where its time says it.
    pub(crate) fn closed_conditions(&self) -> Vec<Document> {
        let names = self.names();
        match self.form() {
            Form::Window { .. } => Vec::new(),
            Form::Count { .. } => {
                // Buckets of a smaller capacity are full as well. The newest of them may still take
                // records; its writers notice if it is gone.
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

    /// The smallest capacity that buckets of the collection were made with.
    fn smallest_capacity(&self) -> i32 {
        let own = self.size();
        i32::try_from(own.min(self.raised_from().unwrap_or(own))).unwrap_or(i32::MAX)
    }
}
