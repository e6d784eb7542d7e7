//! The form of a model as its attributes say it.

use std::time::Duration;

use bucket_mongo::{BucketSpec, Form};

use crate::span;

/// `window = 1h, capacity = 100`.
pub(crate) fn shown(spec: &BucketSpec) -> String {
    match spec.form() {
        Form::Count { capacity } => format!("capacity = {capacity}"),
        Form::Numbered { capacity } => format!("capacity = {capacity}, numbered"),
        Form::Hybrid {
            capacity,
            max_duration,
            ..
        } => {
            let millis = u64::try_from(max_duration).unwrap_or_default();
            let longest = span::shown(Duration::from_millis(millis));
            format!("capacity = {capacity}, max_duration = {longest}")
        }
        Form::Window {
            window,
            capacity,
            parts,
        } => {
            let capacity = capacity.map(|capacity| format!(", capacity = {capacity}"));
            let parts = if parts { ", parts" } else { "" };
            format!("window = {window}{}{parts}", capacity.unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use bucket_mongo::{Bucketed, bson::DateTime};
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize, Bucketed)]
    #[bucket(
        collection = "readings",
        items = "readings",
        window = "15m",
        capacity = 100
    )]
    struct Reading {
        #[bucket(key)]
        device: String,
        #[bucket(time)]
        at: DateTime,
    }

    #[test]
    fn a_form_is_written_as_in_the_model() {
        assert_eq!(shown(&Reading::SPEC), "window = 15m, capacity = 100");
    }
}
