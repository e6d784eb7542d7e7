//! Looks for a text in everything that a server stores and logs.

use std::{collections::BTreeSet, path::Path};

use bucket_mongo::{
    bson::{Document, RawDocumentBuf, doc},
    mongodb::{Collection, options::FindOptions},
    testing::DevServer,
};
use futures_util::TryStreamExt;

/// No part of a name, a message or a number.
pub(super) const SECRET: &str = "zqxjsecretkv";

/// The places that have the text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) collections: BTreeSet<String>,
    /// Each as `database.collection index`.
    pub(super) indexes: BTreeSet<String>,
}

impl Found {
    pub(super) fn only(collection: &str) -> Self {
        Self {
            collections: [collection.to_owned()].into(),
            indexes: BTreeSet::new(),
        }
    }

    pub(super) fn places(&self) -> Vec<&String> {
        self.collections.iter().chain(&self.indexes).collect()
    }
}

pub(super) fn has_secret(bytes: &[u8]) -> bool {
    let secret = SECRET.as_bytes();
    bytes.windows(secret.len()).any(|part| part == secret)
}

/// All collections of a server, with their databases.
async fn collections(server: &DevServer) -> Vec<Collection<RawDocumentBuf>> {
    let client = server.client().await.unwrap();
    let mut all = Vec::new();
    for name in client.list_database_names().await.unwrap() {
        let database = client.database(&name);
        let no_view = doc! { "type": { "$ne": "view" } };
        let names = database.list_collection_names().filter(no_view);
        for collection in names.await.unwrap() {
            all.push(database.collection(&collection));
        }
    }
    assert!(all.len() > 8, "{all:?}");
    all
}

/// Whether what a `find` with these options finds has the text.
async fn finds(of: &Collection<RawDocumentBuf>, filter: Document, options: FindOptions) -> bool {
    let found = of.find(filter).with_options(options).await;
    let mut found = found.unwrap_or_else(|error| panic!("{}: {error}", of.namespace()));
    while let Some(document) = found.try_next().await.unwrap() {
        if has_secret(document.as_bytes()) {
            return true;
        }
    }
    false
}

/// Looks at each document of each collection, and at each index by itself.
pub(super) async fn scan(server: &DevServer) -> Found {
    let mut found = Found::default();
    for collection in collections(server).await {
        let name = collection.namespace().to_string();
        if finds(&collection, doc! {}, FindOptions::default()).await {
            found.collections.insert(name.clone());
        }
        let indexes: Vec<_> = match collection.list_indexes().await {
            Ok(indexes) => indexes.try_collect().await.unwrap(),
            // Not every collection of the server itself has some.
            Err(error) => panic!("{name}: {error}"),
        };
        for index in indexes {
            let options = index.options.unwrap();
            let index = options.name.unwrap();
            // Only keys of the index, and no document.
            let keys = FindOptions::builder()
                .hint(bucket_mongo::mongodb::options::Hint::Name(index.clone()))
                .return_key(true)
                .build();
            let filter = options.partial_filter_expression.unwrap_or_default();
            if finds(&collection, filter, keys).await {
                found.indexes.insert(format!("{name} {index}"));
            }
        }
    }
    found
}

/// The collections whose cached plans have the text.
pub(super) async fn plan_caches(server: &DevServer) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for collection in collections(server).await {
        let name = collection.namespace();
        if name.db == "local" || name.db == "config" {
            continue;
        }
        let cached = collection.aggregate([doc! { "$planCacheStats": {} }]);
        let cached: Vec<Document> = cached.await.unwrap().try_collect().await.unwrap();
        if cached.iter().any(|plan| plan.to_string().contains(SECRET)) {
            found.insert(name.to_string());
        }
    }
    found
}

/// The whole log of a started server.
pub(super) async fn log_of(server: &DevServer) -> Vec<u8> {
    let admin = server.client().await.unwrap().database("admin");
    let asked = admin.run_command(doc! { "getCmdLineOpts": 1 }).await;
    let options = asked.unwrap();
    let storage = options
        .get_document("parsed")
        .unwrap()
        .get_document("storage");
    let folder = storage.unwrap().get_str("dbPath").unwrap();
    let log = std::fs::read(Path::new(folder).join("log")).unwrap();
    assert!(log.len() > 1_000);
    log
}
