//! The records of a history: drawn from random numbers, identified by number, and checked in their
//! buckets.

use bson::RawDocument;
use bucket_core::{
    FieldPath, Record,
    attribute::{Attribute, RecordFilter, Unit},
};

use crate::{
    plan::{Fault, Plan},
    random::Random,
    sample::{self, Sample, SampleBucket},
};

/// The code of records that the validator of a history refuses.
pub(crate) const REFUSED: &str = "refused";

/// A record type of a history.
pub(crate) trait Model: Record + Clone + PartialEq + std::fmt::Debug + 'static {
    /// A record of this number. `now` is the time by the clock, in milliseconds.
    fn draw(random: &mut Random, number: i64, key: u64, now: i64) -> Self;

    /// The number that it was drawn with.
    fn number(&self) -> i64;

    /// Its key, in the form in which [order](Self::order) sorts that of its bucket.
    fn key_text(&self) -> String;

    /// Its key and its id, where records have ids.
    fn id(&self) -> Option<(String, i64)>;

    /// Whether the validator refuses it.
    fn is_refused(&self) -> bool;

    /// The same data under the same id, except for the number: a record that contradicts this one.
    /// `None` if records have no ids.
    fn contradiction(&self, number: i64) -> Option<Self>;

    /// Corrects it, in a way that no other correction does. The number and the id stay.
    fn correct(&mut self, edit: usize);

    /// The filter with this number.
    fn filter(number: usize) -> RecordFilter;

    /// Whether the record meets it.
    fn meets(&self, number: usize) -> bool;

    /// Asserts the invariants of this form's buckets, whoever wrote them. They come in the order of
    /// their keys, numbers and ids.
    fn check(buckets: &[Self::Bucket], disturbed: Disturbed);

    /// The record of an item.
    fn of_item(bucket: &Self::Bucket, item: &Self::Item) -> Self;

    /// The items of a bucket.
    fn items(bucket: &Self::Bucket) -> &[Self::Item];

    /// The sort key of a bucket.
    fn order(bucket: &Self::Bucket) -> (String, u64, String);
}

/// What has happened to a collection that writers cannot repair.
#[derive(Debug, Clone, Copy, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each happens or not")]
pub(crate) struct Disturbed {
    /// Buckets were removed.
    pub(crate) removed: bool,
    /// An index was missing for a while.
    pub(crate) unindexed: bool,
    /// Numbers were used twice, so statements that were not executed come after the others.
    pub(crate) miscounted: bool,
    /// Clients had limits of their own.
    pub(crate) mixed: bool,
    /// Buckets have removed or corrected records.
    pub(crate) edited: bool,
    /// Buckets were sealed, so they take no more records, full or not.
    pub(crate) sealed: bool,
}

impl Disturbed {
    /// The part that follows from the plan only.
    #[must_use]
    pub(crate) fn of(plan: &Plan) -> Self {
        Self {
            mixed: plan.clients.iter().any(|client| client.capacity.is_some()),
            miscounted: plan.faults.iter().any(|it| it.fault == Fault::Miscount),
            ..Self::default()
        }
    }
}

/// The validator that refuses records with [`REFUSED`].
pub(crate) fn validator<T: Model>() -> bson::Document {
    let refused = if T::SPEC.arrays().is_empty() {
        bson::doc! { "code": REFUSED }
    } else {
        bson::doc! { sample::TAGS.name: { "$elemMatch": { "v": REFUSED } } }
    };
    bson::doc! { T::SPEC.items(): { "$not": { "$elemMatch": refused } } }
}

/// The positions of sources that a bucket keeps.
pub(crate) fn positions(stored: &RawDocument) -> Vec<(String, i64)> {
    let Ok(sources) = stored.get_document(bucket_core::write::SOURCES) else {
        return Vec::new();
    };
    let positions = sources.into_iter().filter_map(Result::ok);
    let positions = positions
        .filter_map(|(name, position)| Some((name.as_str().to_owned(), position.as_i64()?)));
    positions.collect()
}

impl<const F: usize> Model for Sample<F> {
    fn draw(random: &mut Random, number: i64, key: u64, now: i64) -> Self {
        let back = i64::try_from(random.below(3_000)).unwrap_or_default();
        let at = match random.below(24) {
            // Out of order with all others.
            0 => -i64::try_from(random.below(4_000)).unwrap_or_default(),
            1 => *pick(random, &[i64::MIN, i64::MAX, 1_500]),
            // Soon past the retention of models that have one.
            2 | 3 => now - 1_000 * i64::from(sample::EXPIRE_AFTER) + back,
            _ => now - back / 3,
        };
        let ids = Self::SPEC.unique().is_some();
        let is_too_large = random.below(40) == 0;
        let levels = [None, Some(0.5), Some(-0.0), Some(1e6), Some(f64::INFINITY)];
        let codes = ["", "200", "a.b", "$inc", "%", "200", "404", REFUSED];
        Self {
            device: key.to_string(),
            at: bson::DateTime::from_millis(at),
            unique: if ids && random.below(3) == 0 {
                -i64::try_from(random.below(6)).unwrap_or_default()
            } else {
                number
            },
            value: if is_too_large {
                i64::MAX - number
            } else {
                number
            },
            level: *pick(random, &levels),
            code: (*pick(random, &codes)).to_owned(),
        }
    }

    fn number(&self) -> i64 {
        self.value
    }

    fn is_refused(&self) -> bool {
        self.code == REFUSED
    }

    fn key_text(&self) -> String {
        self.device.clone()
    }

    fn id(&self) -> Option<(String, i64)> {
        let has_ids = Self::SPEC.unique().is_some();
        has_ids.then(|| (self.device.clone(), self.unique))
    }

    fn contradiction(&self, number: i64) -> Option<Self> {
        let has_ids = Self::SPEC.unique().is_some();
        has_ids.then(|| Self {
            value: number,
            ..self.clone()
        })
    }

    fn correct(&mut self, edit: usize) {
        #[allow(clippy::cast_precision_loss, reason = "edits are few")]
        let level = 1_000.0 + edit as f64;
        self.level = Some(level);
        let codes = ["200", "", "500", "a.b"];
        let code = if edit % 9 == 8 {
            REFUSED
        } else {
            codes[edit % 4]
        };
        code.clone_into(&mut self.code);
    }

    fn filter(number: usize) -> RecordFilter {
        let has_attributes = !Self::SPEC.arrays().is_empty();
        let filter = match (number % 2, has_attributes) {
            (0, false) => FieldPath::new("items.code").eq("200"),
            (0, true) => Attribute::<String>::new(&sample::TAGS, "code", Unit::None).eq("200"),
            (_, false) => FieldPath::new("items.level").gte(0.25),
            (_, true) => Attribute::<f64>::new(&sample::STATE, "level", Unit::None).gte(0.25),
        };
        RecordFilter::new(Self::SPEC, &filter).expect("a filter of the model")
    }

    fn meets(&self, number: usize) -> bool {
        match number % 2 {
            0 => self.code == "200",
            _ => self.level.is_some_and(|level| level >= 0.25),
        }
    }

    fn check(buckets: &[SampleBucket<F>], disturbed: Disturbed) {
        buckets.iter().for_each(crate::naive::check);
        if !disturbed.edited {
            crate::forms::check(buckets, disturbed);
        }
    }

    fn of_item(bucket: &SampleBucket<F>, item: &sample::SampleItem) -> Self {
        Self::assemble(bucket.key.clone(), item.clone())
    }

    fn items(bucket: &SampleBucket<F>) -> &[sample::SampleItem] {
        &bucket.items
    }

    fn order(bucket: &SampleBucket<F>) -> (String, u64, String) {
        (
            bucket.key.0.clone(),
            bucket.fields.number,
            bucket.id.as_str().to_owned(),
        )
    }
}

/// One of several.
pub(crate) fn pick<'a, V>(random: &mut Random, of: &'a [V]) -> &'a V {
    let at = random.below(of.len() as u64);
    &of[usize::try_from(at).unwrap_or_default()]
}
