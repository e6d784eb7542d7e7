//! The paths of parts.

use std::fmt::Write as _;

use bucket_mongo::{Record, RecordKey, bson::Bson};

use super::{hash, partition::PartitionBy};
use crate::{Format, civil::Month, hexadecimal};

/// The folder of what an export knows about its parts. pandas and Spark leave names with `_` out.
const OF_EXPORT: &str = "_export";

/// The longest name of a folder with a value as it is. File systems take 255 bytes.
const LONGEST: usize = 180;

/// A folder of this value has no value, as readers of partitions understand it.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The names of the parts of a model.
#[derive(Debug)]
pub(crate) struct Names {
    keys: Vec<String>,
    month: String,
    extension: &'static str,
}

impl Names {
    /// None of the folders has the name of a column: a reader of partitions would have two of one name.
    pub(crate) fn new<T: Record>(columns: &arrow_schema::Schema, format: Format) -> Self {
        let free = |name: &str| {
            let mut name = name.to_owned();
            while columns.column_with_name(&name).is_some() {
                name.push('_');
            }
            name
        };
        let keys = T::SPEC.keys().iter();
        Self {
            keys: keys
                .map(|key| free(&format!("key_{}", escaped(key.path))))
                .collect(),
            month: free("month"),
            extension: format.extension(),
        }
    }

    /// The folder of a key.
    pub(crate) fn of_key<T: Record>(&self, key: &T::Key) -> String {
        let values = key.to_values();
        let folders = self.keys.iter().zip(&values);
        let folders: Vec<String> = folders
            .map(|(name, value)| format!("{name}={}", of_value(value)))
            .collect();
        folders.join("/")
    }

    /// The path of a part.
    pub(crate) fn part(&self, folder: &str, month: Option<Month>) -> String {
        let end = self.extension;
        match month {
            Some(month) => format!("{folder}/{}={}/data.{end}", self.month, month.text()),
            None => format!("{folder}/data.{end}"),
        }
    }
}

/// The path of what is known about a part.
pub(crate) fn marker(folder: &str, month: Option<Month>) -> String {
    let name = month.map_or_else(|| "all".to_owned(), Month::text);
    format!("{}/{name}.json", markers(folder))
}

/// The folder of what is known about the parts of a key.
pub(crate) fn markers(folder: &str) -> String {
    format!("{OF_EXPORT}/parts/{folder}")
}

/// The path of what is known about the export.
pub(crate) fn of_export() -> String {
    format!("{OF_EXPORT}/export.json")
}

/// The month of a marker with this path. An error if it is no marker.
pub(crate) fn month_of(path: &str, partition_by: PartitionBy) -> Result<Option<Month>, ()> {
    let name = path
        .rsplit_once('/')
        .and_then(|(_, name)| name.strip_suffix(".json"));
    match (partition_by, name) {
        (PartitionBy::Key, Some("all")) => Ok(None),
        (PartitionBy::KeyAndMonth, Some(name)) => Month::parse(name).map(Some).ok_or(()),
        _ => Err(()),
    }
}

fn of_value(value: &Bson) -> String {
    match value {
        Bson::String(text) => shortened(&escaped(text), text),
        Bson::Binary(binary) => match binary.to_uuid() {
            Ok(uuid) => uuid.to_string(),
            Err(_) => hexadecimal::text(&binary.bytes),
        },
        Bson::ObjectId(id) => id.to_hex(),
        other => escaped(&other.to_string()),
    }
}

/// Only letters, digits, `_`, `-` and `.` as they are, and every other byte as `%2F`. So no text leaves its folder, and two
/// texts have two names.
fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"_-.".contains(&byte) {
            name.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(name, "%{byte:02X}");
        }
    }
    name
}

/// The begin of a long name or of the one that means null, and a hash of the text that it is for. `~` is in no other name.
fn shortened(name: &str, text: &str) -> String {
    if name.len() <= LONGEST && text != NULL {
        return name.to_owned();
    }
    let mut begin = &name[..name.len().min(LONGEST - 65)];
    // An escaped byte stays in one piece.
    if let Some(at) = begin.rfind('%')
        && at + 3 > begin.len()
    {
        begin = &begin[..at];
    }
    format!("{begin}~{}", hash::of([text.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn texts_stay_in_a_folder_of_their_own() {
        let long = "x".repeat(10_000);
        let mut longer = long.clone();
        longer.push('y');
        let percent = "%".repeat(300);
        let texts = [
            "", ".", "..", "/", "../..", "a/b", "a%2Fb", "\0", "a\\b", "~", "ä", "a b", "a=b", "a",
            "A", "%", "%25", "\u{202e}", &long, &longer, &percent,
        ];
        let names: HashSet<String> = texts
            .iter()
            .map(|text| of_value(&Bson::String((*text).to_owned())))
            .collect();
        assert_eq!(names.len(), texts.len());
        for name in names {
            assert!(name.len() <= LONGEST, "{name}");
            assert!(!name.contains(['/', '\\', '\0']), "{name}");
        }
    }
}
