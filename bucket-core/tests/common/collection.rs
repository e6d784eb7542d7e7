//! A collection on the modelled server, with the indexes of a model of records.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use std::cell::{Cell, RefCell};

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use bucket_core::{BucketSpec, index, read::FindPlan};
use server_model::Server;

pub struct Collection {
    /// A read is a command, too.
    server: RefCell<Server>,
    spec: &'static BucketSpec,
    sessions: Cell<usize>,
}

impl Collection {
    pub fn new(spec: &'static BucketSpec) -> Self {
        Self::with(spec, Vec::new())
    }

    /// A collection with these documents.
    pub fn with(spec: &'static BucketSpec, documents: Vec<Document>) -> Self {
        Self::make(spec, documents, true)
    }

    fn make(spec: &'static BucketSpec, documents: Vec<Document>, unique: bool) -> Self {
        let collection = Self {
            server: RefCell::new(Server::new()),
            spec,
            sessions: Cell::new(0),
        };
        let mut plans = index::plan(spec);
        for plan in &mut plans {
            plan.unique &= unique;
        }
        let indexes: Vec<Document> = plans.iter().map(index::IndexPlan::definition).collect();
        collection.succeed(&doc! { "createIndexes": spec.collection(), "indexes": indexes });
        if !documents.is_empty() {
            collection.succeed(&doc! { "insert": spec.collection(), "documents": documents });
        }
        collection
    }

    /// The documents, in the order of their insertion.
    pub fn documents(&self) -> Vec<Document> {
        let namespace = format!("test.{}", self.spec.collection());
        self.server.borrow().documents(&namespace)
    }

    /// Somebody changes documents by hand.
    pub fn edit(&mut self, edit: impl FnOnce(&mut Vec<Document>)) {
        let mut documents = self.documents();
        edit(&mut documents);
        *self = Self::with(self.spec, documents);
    }

    /// Somebody changes documents to what no unique index would allow.
    pub fn damage(&mut self, damage: impl FnOnce(&mut Vec<Document>)) {
        let mut documents = self.documents();
        damage(&mut documents);
        *self = Self::make(self.spec, documents, false);
    }

    /// The server's reply to a command.
    pub fn run(&self, command: &RawDocument) -> Document {
        let reply = self.server.borrow_mut().run(command);
        let code = reply.get_i32("code").unwrap_or_default();
        assert_ne!(code, server_model::UNKNOWN, "{reply}");
        reply
    }

    /// What a read finds.
    pub fn find(&self, plan: &FindPlan) -> Vec<RawDocumentBuf> {
        let reply = self.run(&plan.single_batch(self.spec.collection()));
        let cursor = reply.get_document("cursor");
        let cursor = cursor.unwrap_or_else(|_| panic!("{reply}"));
        let found = cursor.get_array("firstBatch").unwrap().iter();
        found
            .map(|it| RawDocumentBuf::try_from(it.as_document().unwrap()).unwrap())
            .collect()
    }

    /// A session that no command has used.
    pub fn session(&self) -> usize {
        self.sessions.update(|number| number + 1);
        self.sessions.get()
    }

    /// From now on, a validator refuses buckets with an item whose field has one of these values.
    pub fn refuse(&self, field: &str, values: &[i64]) {
        let values: Vec<Bson> = values.iter().copied().map(Bson::from).collect();
        let path = format!("{}.{field}", self.spec.items());
        self.succeed(&doc! {
            "collMod": self.spec.collection(),
            "validator": { path: { "$nin": values } },
        });
    }

    fn succeed(&self, command: &Document) {
        let reply = self.run(&RawDocumentBuf::try_from(command).unwrap());
        let is_done = is_ok(&reply) && !reply.contains_key("writeErrors");
        assert!(is_done, "{command}: {reply}");
    }
}

/// Whether the server has executed a command.
pub fn is_ok(reply: &Document) -> bool {
    matches!(reply.get_f64("ok"), Ok(ok) if ok > 0.5)
}
