//! All workloads.

use clap::builder::PossibleValuesParser;

use super::{
    Workload, append, batches, bulk, contention, edits, encode, ingest, ingestor, key_memory,
    latest, many_keys, pages, range, seal, single, stats, storage, verify, watch, watch_delay,
};

/// In the order in which they are run and shown.
pub(crate) const ALL: &[Workload] = &[
    ingest::WORKLOAD,
    batches::WORKLOAD,
    bulk::WORKLOAD,
    many_keys::WORKLOAD,
    key_memory::WORKLOAD,
    encode::WORKLOAD,
    append::WORKLOAD,
    edits::WORKLOAD,
    watch::WORKLOAD,
    watch_delay::WORKLOAD,
    storage::WORKLOAD,
    seal::WORKLOAD,
    contention::WORKLOAD,
    single::WORKLOAD,
    ingestor::WORKLOAD,
    range::WORKLOAD,
    stats::WORKLOAD,
    pages::WORKLOAD,
    latest::WORKLOAD,
    verify::WORKLOAD,
];

/// What the page says about a workload; empty if no workload has this name any more.
pub(crate) fn about(name: &str) -> &'static str {
    let workload = ALL.iter().find(|workload| workload.name == name);
    workload.map_or("", |workload| workload.about.trim_end())
}

/// The names, for the command line.
pub(crate) fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(ALL.iter().map(|workload| workload.name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::scale::Scale;

    #[test]
    fn names_are_unique_and_can_be_file_names() {
        let names: BTreeSet<_> = ALL.iter().map(|workload| workload.name).collect();
        assert_eq!(names.len(), ALL.len());
        let plain = |c: char| c.is_ascii_lowercase() || c == '-';
        assert!(names.iter().all(|name| name.chars().all(plain)));
    }

    #[test]
    fn the_contestants_of_a_workload_have_different_names() {
        for workload in ALL {
            let plan = (workload.plan)(Scale::Quick);
            let names: Vec<_> = plan
                .entries
                .iter()
                .map(|entry| entry.contestant.name())
                .collect();
            let unique: BTreeSet<_> = names.iter().collect();
            assert_eq!(unique.len(), names.len(), "{names:?}");
        }
    }
}
