//! Entries in every form.

use std::fmt::Debug;

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

pub(super) const ACCOUNTS: i64 = 3;
/// Ids of one writer.
pub(super) const IDS: i64 = 1_000_000;
const START: i64 = 1_700_000_000_000;
/// The time from one slot to the next.
const STEP: i64 = 400;

/// What may change of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct State {
    pub(super) account: i64,
    pub(super) slot: i64,
    pub(super) amount: i64,
}

/// A record of any of the models. The millionth part of its id is the number of its writer.
pub(super) trait Entry: Bucketed<Key: From<i64>> + Clone + Debug + PartialEq {
    fn of(id: i64, state: State) -> Self;
    fn id(&self) -> i64;
    fn state(&self) -> State;
}

macro_rules! models {
    ($($name:ident: [$($more:tt)*] [$($attributes:tt)*])*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "entries", items = "items", $($attributes)*)]
        pub(super) struct $name {
            #[bucket(key)]
            account: i64,
            #[bucket(time)]
            at: DateTime,
            #[bucket(unique)]
            id: i64,
            #[bucket(sum, min, max $($more)*)]
            amount: i64,
        }

        impl Entry for $name {
            fn of(id: i64, state: State) -> Self {
                let State { account, slot, amount } = state;
                Self { account, at: DateTime::from_millis(START + slot * STEP), id, amount }
            }

            fn id(&self) -> i64 {
                self.id
            }

            fn state(&self) -> State {
                let slot = (self.at.timestamp_millis() - START) / STEP;
                State { account: self.account, slot, amount: self.amount }
            }
        }
    )*};
}

models! {
    Counted: [, avg = "avg"] [capacity = 10]
    WindowedObjects: [] [window = "20s", capacity = 10, object_ids]
    Side: [, avg = "avg"] [max_duration = "20s", capacity = 10, late = "side"]
    Numbered: [] [capacity = 10, numbered]
}
