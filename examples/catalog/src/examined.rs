//! What the server examined for a query, according to its `explain`.

use std::fmt;

use bucket_mongo::{
    bson::{Bson, Document, doc},
    mongodb::Database,
};
use example_kit::{Error, text};
use serde::Serialize;

/// What a query cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Examined {
    /// The indexes that its plan uses; none for a scan of the collection.
    pub(crate) indexes: Vec<String>,
    /// The index entries that were examined.
    pub(crate) keys: u64,
    pub(crate) documents: u64,
}

/// Runs `explain` for a command, such as a `find`, and returns what it examined.
pub(crate) async fn explain(database: &Database, command: Document) -> Result<Examined, Error> {
    let explain = doc! { "explain": command, "verbosity": "executionStats" };
    let reply = database.run_command(explain).await?;
    Ok(Examined::read(&reply))
}

impl Examined {
    fn read(reply: &Document) -> Self {
        // An aggregation with more stages than a query has its query in the first stage.
        let cursor = || {
            let first = reply.get_array("stages").ok()?.first()?.as_document()?;
            first.get_document("$cursor").ok()
        };
        let reply = cursor().unwrap_or(reply);
        let stats = reply.get_document("executionStats").ok();
        let number = |name| stats.map_or(0, |stats| number(stats, name));
        let mut indexes = Vec::new();
        let planner = reply.get_document("queryPlanner");
        if let Ok(plan) = planner.and_then(|planner| planner.get_document("winningPlan")) {
            indexes_of(plan, &mut indexes);
        }
        Self {
            indexes,
            keys: number("totalKeysExamined"),
            documents: number("totalDocsExamined"),
        }
    }
}

/// The names of the indexes that a plan and the stages below it use, each once.
fn indexes_of(plan: &Document, indexes: &mut Vec<String>) {
    if let Ok(name) = plan.get_str("indexName")
        && !indexes.iter().any(|other| other == name)
    {
        indexes.push(name.to_owned());
    }
    for (_, below) in plan {
        match below {
            Bson::Document(below) => indexes_of(below, indexes),
            Bson::Array(all) => {
                let all = all.iter().filter_map(Bson::as_document);
                all.for_each(|below| indexes_of(below, indexes));
            }
            _ => {}
        }
    }
}

/// A number, whatever type the server gives it.
pub(crate) fn number(reply: &Document, name: &str) -> u64 {
    let number = match reply.get(name) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        // Sizes and counts are whole numbers.
        #[allow(clippy::cast_possible_truncation)]
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    };
    u64::try_from(number).unwrap_or_default()
}

impl fmt::Display for Examined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self
            .indexes
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let by = match names.as_slice() {
            [] => "no index".to_owned(),
            [one] => format!("index {one}"),
            several => format!("indexes {}", several.join(", ")),
        };
        let keys = text::counted(self.keys, "key");
        let documents = text::counted(self.documents, "document");
        write!(f, "{by}: {keys} and {documents} examined")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_found_at_any_depth() {
        let scan = doc! { "stage": "IXSCAN", "indexName": "by_specs" };
        let planned = doc! { "stage": "OR", "inputStages": [scan.clone(), scan] };
        let query = doc! {
            "queryPlanner": { "winningPlan": { "stage": "FETCH", "inputStage": planned } },
            "executionStats": { "totalKeysExamined": 3, "totalDocsExamined": 1_i64 },
        };
        let aggregation = doc! { "stages": [{ "$cursor": query.clone() }, { "$sort": {} }] };
        for reply in [query, aggregation] {
            let examined = Examined::read(&reply).to_string();
            assert_eq!(examined, "index `by_specs`: 3 keys and 1 document examined");
        }
    }

    #[test]
    fn a_scan_of_the_collection_is_reported() {
        let reply = doc! {
            "queryPlanner": { "winningPlan": { "stage": "COLLSCAN" } },
            "executionStats": { "totalKeysExamined": 0, "totalDocsExamined": 7 },
        };
        let expected = "no index: 0 keys and 7 documents examined";
        assert_eq!(Examined::read(&reply).to_string(), expected);
    }
}
