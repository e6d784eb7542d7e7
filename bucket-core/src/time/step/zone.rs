//! Time zones: what clocks show, and when a day begins. Only this file uses `jiff`'s zones.

use std::hash::{Hash, Hasher};

use jiff::{
    Timestamp,
    tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase},
};

use crate::{error::IntervalError, time::window::DAY};

/// A time zone that is not UTC.
#[derive(Debug, Clone)]
pub(super) struct Zone {
    name: String,
    rules: TimeZone,
}

/// 400 years are a whole number of weeks, so the rules of a zone ("the last Sunday of March")
/// repeat.
const CYCLE: i128 = 146_097 * DAY;

/// The dates that are passed to `jiff`: well inside its years -9999 to 9999. The first cycle is
/// before all clocks, the last one after every change that a zone has planned.
const FIRST: i128 = -20 * CYCLE;
const END: i128 = 16 * CYCLE;

impl Zone {
    /// The zone of this name; `None` for UTC under one of its names.
    pub(super) fn named(name: &str) -> Result<Option<Self>, IntervalError> {
        // `jiff`'s default database may be the machine's own.
        let database = TimeZoneDatabase::bundled();
        let found = database.get(name).ok().filter(|rules| !rules.is_unknown());
        let Some(rules) = found else {
            return Err(IntervalError::UnknownZone {
                name: name.to_owned(),
                meant: similar(&database, name),
            });
        };
        let always_utc = rules.to_offset(Timestamp::UNIX_EPOCH) == Offset::UTC
            && rules.following(Timestamp::MIN).next().is_none();
        let name = rules.iana_name().unwrap_or(name).to_owned();
        Ok((!always_utc).then_some(Self { name, rules }))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// What clocks show at this moment, in milliseconds since they showed 1970-01-01.
    pub(super) fn local(&self, millis: i128) -> i128 {
        let (within, _) = in_reach(millis);
        millis + offset_millis(self.rules.to_offset(timestamp(within)))
    }

    /// The first moment at which clocks show this day (counted from 1970) or a later one.
    pub(super) fn start_of_day(&self, day: i128) -> i128 {
        let (within, beyond) = in_reach(day * DAY);
        let midnight = Offset::UTC.to_datetime(timestamp(within));
        let at = match self.rules.to_ambiguous_timestamp(midnight).offset() {
            AmbiguousOffset::Unambiguous { offset } => within - offset_millis(offset),
            // Clocks show the moment twice: the first one counts.
            AmbiguousOffset::Fold { before, .. } => within - offset_millis(before),
            AmbiguousOffset::Gap { before, .. } => {
                // As long after the change as midnight is after the start of the skipped time.
                let behind = within - offset_millis(before);
                let mut changes = self.rules.preceding(timestamp(behind + 1));
                let change = changes.next().map(|change| change.timestamp());
                change.map_or(behind, |change| i128::from(change.as_millisecond()))
            }
        };
        at + beyond
    }
}

/// The equivalent date that is passed to `jiff`, and the difference between the two.
fn in_reach(millis: i128) -> (i128, i128) {
    let beyond = match millis {
        ..FIRST => (millis - FIRST).div_euclid(CYCLE) * CYCLE,
        FIRST..END => 0,
        END.. => ((millis - END).div_euclid(CYCLE) + 1) * CYCLE,
    };
    (millis - beyond, beyond)
}

/// Callers pass dates in reach and those one day outside, which `jiff` can hold.
fn timestamp(millis: i128) -> Timestamp {
    let millis = i64::try_from(millis).unwrap_or_default();
    Timestamp::from_millisecond(millis).unwrap_or_default()
}

fn offset_millis(offset: Offset) -> i128 {
    i128::from(offset.seconds()) * 1_000
}

/// The zone for a name without its region (`berlin`), or for a city's name with spaces.
fn similar(database: &TimeZoneDatabase, name: &str) -> Option<String> {
    let wanted = name.trim().replace(' ', "_");
    database.available().find_map(|zone| {
        let zone = zone.as_str();
        let city = zone.rsplit('/').next().unwrap_or(zone);
        let same = [zone, city]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(&wanted));
        same.then(|| zone.to_owned())
    })
}

/// The name identifies a zone; its rules follow from the name.
impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

impl Hash for Zone {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}
