//! Which files import each other in a circle.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use crate::source::Imports;

/// The circles, each with all files that reach each other.
pub(crate) fn of(imports: &Imports) -> Vec<Vec<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = imports
        .keys()
        .map(|file| (file, reached_by(imports, file)))
        .collect();
    let mut circles: Vec<Vec<PathBuf>> = Vec::new();
    for (file, reaches) in &reached {
        if circles.iter().any(|circle| circle.contains(file)) {
            continue;
        }
        let back = |other: &&&PathBuf| reached.get(**other).is_some_and(|of| of.contains(file));
        let circle: Vec<PathBuf> = reaches.iter().filter(back).copied().cloned().collect();
        if !circle.is_empty() {
            circles.push(circle);
        }
    }
    circles
}

fn reached_by<'i>(imports: &'i Imports, file: &PathBuf) -> BTreeSet<&'i PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        for other in imports.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(other) {
                open.push(other);
            }
        }
    }
    reached
}
