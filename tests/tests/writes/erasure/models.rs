//! Visits in every form, with and without record ids.

use std::fmt::Debug;

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A record of any of the models.
pub(super) trait Visit:
    Bucketed<Key: for<'a> From<&'a str> + From<String>> + Clone + Debug + PartialEq
{
    const HAS_IDS: bool;
    fn of(user: &str, number: i64, second: i64) -> Self;
    fn id_of(user: &str, number: i64) -> String;
    fn number(&self) -> i64;
    fn set_page(&mut self, page: &str);
    fn set_second(&mut self, second: i64);
    /// To another key, without anything that names this one.
    fn go_to(&mut self, user: &str);
}

pub(super) fn date(second: i64) -> DateTime {
    DateTime::from_millis(1_698_335_220_000 + second * 1_000)
}

macro_rules! models {
    ($($name:ident $has_ids:literal [$($unique:tt)*] [$($sum:tt)*] [$($attributes:tt)*];)*) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "visits", items = "items", $($attributes)*)]
        #[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
        pub(super) struct $name {
            #[bucket(key)]
            user: String,
            #[bucket(time)]
            at: DateTime,
            $($unique)*
            id: String,
            $($sum)*
            number: i64,
            #[bucket(tally = "seen")]
            page: String,
            #[bucket(attribute(array = "origin", k = "site"))]
            site: String,
            #[bucket(attribute(array = "specs", k = "agent"))]
            agent: String,
        }

        impl Visit for $name {
            const HAS_IDS: bool = $has_ids;

            fn of(user: &str, number: i64, second: i64) -> Self {
                let text = |name: &str| format!("{name} of {user}");
                Self {
                    user: user.to_owned(),
                    at: date(second),
                    id: Self::id_of(user, number),
                    number,
                    page: text("page"),
                    site: text("site"),
                    agent: text("agent"),
                }
            }

            fn id_of(user: &str, number: i64) -> String {
                // The records with larger numbers go to another key, where their ids stay.
                if number < 14 { format!("{number} of {user}") } else { number.to_string() }
            }

            fn number(&self) -> i64 {
                self.number
            }

            fn set_page(&mut self, page: &str) {
                self.page = format!("{page} of {}", self.user);
            }

            fn set_second(&mut self, second: i64) {
                self.at = date(second);
            }

            fn go_to(&mut self, user: &str) {
                let Self { at, number, .. } = *self;
                *self = Self { at, ..Self::of(user, number, 0) };
            }
        }
    )*};
}

models! {
    Counted true [#[bucket(unique)]] [#[bucket(sum, last)]] [capacity = 4];
    Plain false [] [#[bucket(sum)]] [capacity = 4, max_bytes = "4KB", expire_after = "20000d"];
    Averaged true [#[bucket(unique)]] [#[bucket(avg = "avg")]] [capacity = 4];
    Windowed true [#[bucket(unique)]] [#[bucket(sum)]] [window = "1m", capacity = 4];
    WindowedObjects false [] [#[bucket(sum)]] [window = "1m", capacity = 4, object_ids];
    Hybrid true [#[bucket(unique)]] [#[bucket(sum)]] [capacity = 4, max_duration = "1m", late = "side"];
    HybridObjects false [] [#[bucket(sum)]] [capacity = 4, max_duration = "1m", late = "side"];
    Numbered true [#[bucket(unique)]] [#[bucket(sum)]] [capacity = 4, numbered];
    NumberedObjects true [#[bucket(unique)]] [#[bucket(sum)]] [capacity = 4, numbered, object_ids];
}
