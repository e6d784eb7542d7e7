//! What a command examined.
#![allow(unreachable_pub, missing_docs, dead_code)]

use bucket_core::read::{FindPlan, SIMPLE};
use bucket_mongo::{
    bson::{Bson, Document, doc},
    testing::TestDatabase,
};

/// What a command examined, and the stages of its plan.
pub struct Explained {
    pub keys: i64,
    pub documents: i64,
    pub plan: String,
}

/// The command of a plan.
pub fn find(collection: &str, plan: FindPlan) -> Document {
    doc! {
        "find": collection,
        "filter": Document::try_from(plan.filter).unwrap(),
        "sort": plan.sort,
        "skip": i64::try_from(plan.skip).unwrap(),
        "limit": plan.limit,
        "projection": plan.projection,
        "hint": plan.hint,
        "collation": { "locale": SIMPLE },
    }
}

pub async fn explain(database: &TestDatabase, command: Document) -> Explained {
    let explain = doc! { "explain": command, "verbosity": "executionStats" };
    let reply = database.run_command(explain).await.unwrap();
    let cursor = || -> Option<&Document> {
        let first = reply.get_array("stages").ok()?.first()?.as_document()?;
        first.get_document("$cursor").ok()
    };
    let reply = cursor().unwrap_or(&reply);
    let stats = reply.get_document("executionStats").unwrap();
    let number = |name| match stats.get(name) {
        Some(Bson::Int32(n)) => i64::from(*n),
        Some(Bson::Int64(n)) => *n,
        other => panic!("{name}: {other:?}"),
    };
    let plan = reply
        .get_document("queryPlanner")
        .unwrap()
        .get_document("winningPlan")
        .unwrap();
    Explained {
        keys: number("totalKeysExamined"),
        documents: number("totalDocsExamined"),
        plan: plan.to_string(),
    }
}
