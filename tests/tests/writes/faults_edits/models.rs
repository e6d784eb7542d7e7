//! Payments in every form.

use std::{collections::BTreeSet, fmt::Debug};

use bucket_core::Form;
use bucket_mongo::{AttributeFilter, Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

pub(super) const ACCOUNTS: i64 = 3;
/// Ids of one writer.
pub(super) const IDS: i64 = 100_000;
/// More than there are writers: no two of them have a record of the same time.
const STEP: i64 = 400;

/// What may change of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct State {
    pub(super) account: i64,
    pub(super) slot: i64,
    pub(super) amount: i64,
}

impl State {
    /// That of a record that was never changed.
    pub(super) fn first(id: i64) -> Self {
        Self {
            account: id.rem_euclid(ACCOUNTS),
            slot: id % IDS,
            amount: id,
        }
    }
}

/// What a record may be; `None` where it may be absent.
pub(super) type Possible = BTreeSet<Option<State>>;

/// The time of a record with this id in this slot.
pub(super) fn time_of(id: i64, slot: i64) -> DateTime {
    DateTime::from_millis(1_700_000_000_000 + slot * STEP + id / IDS)
}

/// A record of any of the models.
pub(super) trait Payment: Bucketed<Key: From<i64>> + Clone + Debug + PartialEq {
    fn of(id: i64, state: State) -> Self;
    fn id(&self) -> i64;
    fn state(&self) -> State;
    /// The records of this amount.
    fn amount_is(amount: i64) -> AttributeFilter;

    /// An amount is a version, and a later one replaces an earlier one.
    fn has_versions() -> bool {
        Self::REPLACES.is_some()
    }

    /// Models in order of time have no sources.
    fn takes_sources() -> bool {
        !matches!(Self::SPEC.form(), Form::Hybrid { .. }) && !Self::has_versions()
    }

    fn set(&mut self, state: State) {
        *self = Self::of(self.id(), state);
    }
}

macro_rules! models {
    ($($name:ident $item:ident: [$($site:tt)*] [$($more:tt)*] [$($attributes:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "payments", items = "items", $($attributes)*)]
        pub(super) struct $name {
            #[bucket(key)]
            account: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(sum = "total", min = "least", max = "greatest", last = "latest" $($more)*)]
            amount: i64,
            $($site)*
            site: String,
        }

        impl Payment for $name {
            fn of(id: i64, state: State) -> Self {
                let State { account, slot, amount } = state;
                let site = if amount % 5 == 0 { "Rome" } else { "Ulm" }.to_owned();
                Self { account, at: time_of(id, slot), id, amount, site }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn state(&self) -> State {
                let slot = self.at.timestamp_millis() - 1_700_000_000_000 - self.id / IDS;
                State { account: self.account, slot: slot / STEP, amount: self.amount }
            }

            fn amount_is(amount: i64) -> AttributeFilter {
                $item::FIELDS.amount.eq(amount)
            }
        }
    )*};
}

models! {
    Counted CountedItem: [] [] [capacity = 10]
    CountedWithAttributes CountedWithAttributesItem: [#[bucket(attribute(array = "origin", k = "site"))]] []
        [capacity = 10, attributes(array = "origin")]
    Held HeldItem: [#[bucket(attribute(array = "origin", k = "site"))]] []
        [capacity = 10, attributes(array = "origin", store = "bucket")]
    Windowed WindowedItem: [] [] [window = "20s", capacity = 10]
    WindowedObjects WindowedObjectsItem: [#[bucket(attribute(array = "origin", k = "site"))]] [, avg = "avg"]
        [window = "20s", object_ids]
    WindowedHeld WindowedHeldItem: [#[bucket(attribute(array = "origin", k = "site"))]] []
        [window = "20s", capacity = 10, attributes(array = "origin", store = "bucket")]
    Timed TimedItem: [] [] [max_duration = "20s", capacity = 10]
    TimedHeld TimedHeldItem: [#[bucket(attribute(array = "origin", k = "site"))]] [, avg = "avg"]
        [max_duration = "20s", capacity = 10, attributes(array = "origin", store = "bucket")]
    Side SideItem: [#[bucket(attribute(array = "origin", k = "site"))]] [, avg = "avg"]
        [max_duration = "20s", capacity = 10, late = "side"]
    Strict StrictItem: [] [] [max_duration = "20s", capacity = 10, late = "reject"]
    Numbered NumberedItem: [] [] [capacity = 10, numbered]
    Versioned VersionedItem: [] [, version] [capacity = 10, on_conflict = "replace"]
    VersionedWindow VersionedWindowItem: [] [, version] [window = "20s", capacity = 10, on_conflict = "replace"]
    VersionedNumbers VersionedNumbersItem: [#[bucket(attribute(array = "origin", k = "site"))]] [, version]
        [capacity = 10, numbered, on_conflict = "replace", attributes(array = "origin", store = "bucket")]
    VersionedSide VersionedSideItem: [] [, version]
        [max_duration = "20s", capacity = 10, late = "side", on_conflict = "replace"]
    NumberedHeld NumberedHeldItem: [#[bucket(attribute(array = "origin", k = "site"))]] [, avg = "avg"]
        [capacity = 10, numbered, attributes(array = "origin", store = "bucket")]
    NumberedObjects NumberedObjectsItem: [#[bucket(attribute(array = "origin", k = "site"))]] []
        [capacity = 10, numbered, object_ids, max_bytes = "1KB"]
}
