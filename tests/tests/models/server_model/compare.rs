//! Runs both servers and compares the comparable parts of their replies.

use bucket_mongo::{
    bson::{Bson, Document, RawDocumentBuf, doc},
    mongodb::{self, ClientSession, Database, error::ErrorKind},
};
use futures_util::TryStreamExt;
use server_model::{Server, UNKNOWN};

pub(crate) struct Pair<'a> {
    pub(crate) model: Server,
    database: &'a Database,
    collection: String,
    /// Added to the transaction numbers of commands: the server remembers its sessions from earlier
    /// runs.
    numbers: i64,
    sessions: Vec<ClientSession>,
    /// Commands that the model does not know: the server does not get them.
    pub(crate) skipped: usize,
}

/// A command and the two replies to it, or the two states after it.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) sent: String,
    pub(crate) server: String,
    pub(crate) model: String,
}

impl<'a> Pair<'a> {
    pub(crate) fn new(database: &'a Database, collection: String, number: usize) -> Self {
        Self {
            model: Server::new(),
            database,
            collection,
            numbers: i64::try_from(number).unwrap() * 1_000,
            sessions: Vec::new(),
            skipped: 0,
        }
    }

    /// Returns the model's reply to a command on the collection, once the server's is the same.
    pub(crate) async fn run(&mut self, command: &Document) -> Result<Document, Difference> {
        let mut command = command.clone();
        let name = command.keys().next().unwrap().clone();
        if !matches!(&*name, "listCollections" | "ping") {
            command.insert(&name, self.collection.clone());
        }
        if !matches!(&*name, "find" | "listIndexes" | "listCollections" | "ping") {
            // The journal takes most of the time.
            command.insert("writeConcern", doc! { "w": 1 });
        }
        let mut modelled = command.clone();
        modelled.insert("$db", self.database.name());
        if command.get("collectionUUID") == Some(&Bson::Null) {
            // The UUID of this collection, which differs between the two servers.
            let uuid = |bytes: &[u8]| uuid_of(bytes);
            let own = self.model.uuid(&self.namespace()).unwrap_or([9; 16]);
            modelled.insert("collectionUUID", uuid(&own));
            let own = self.uuid().await.unwrap_or_else(|| vec![9; 16]);
            command.insert("collectionUUID", uuid(&own));
        }
        let before = self.model.clone();
        let reply = self
            .model
            .run(&RawDocumentBuf::try_from(&modelled).unwrap());
        if reply.get_i32("code").is_ok_and(|code| code == UNKNOWN) {
            if std::env::var_os("BUCKET_MODEL_UNKNOWN").is_some() {
                eprintln!("{reply}");
            }
            self.skipped += 1;
            self.model = before;
            return Ok(reply);
        }
        let own = self.send(command.clone()).await;
        let (ours, theirs) = (
            comparable(&reply, &name, &command),
            comparable(&own, &name, &command),
        );
        if !same(&ours, &theirs) {
            return Err(Difference {
                sent: command.to_string(),
                server: Bson::Document(theirs).to_string(),
                model: Bson::Document(ours).to_string(),
            });
        }
        Ok(reply)
    }

    /// Sends a command to the real server; a command with a number is sent in a session of the
    /// driver.
    async fn send(&mut self, mut command: Document) -> Document {
        let Ok(number) = command.get_i64("txnNumber") else {
            return send(self.database, &command).await;
        };
        command.insert("txnNumber", number + self.numbers);
        let session = command.remove("lsid").unwrap();
        let session = session.as_document().unwrap();
        let at = usize::from(bytes_of(session.get("id"))[0]);
        while self.sessions.len() <= at {
            self.sessions
                .push(self.database.client().start_session().await.unwrap());
        }
        let raw = RawDocumentBuf::try_from(&command).unwrap();
        let run = self.database.run_raw_command(raw);
        reply(run.session(&mut self.sessions[at]).await, &command)
    }

    /// Compares the documents.
    pub(crate) async fn compare_documents(&self) -> Result<(), Difference> {
        let collection = self.database.collection::<Document>(&self.collection);
        let found = collection
            .find(doc! {})
            .hint(mongodb_natural())
            .await
            .unwrap();
        let found: Vec<Document> = found.try_collect().await.unwrap();
        let theirs = without_object_ids(documents(found));
        let ours = without_object_ids(documents(self.model.documents(&self.namespace())));
        if same_value(&ours, &theirs) {
            return Ok(());
        }
        Err(Difference {
            sent: "the documents".to_owned(),
            server: theirs.to_string(),
            model: ours.to_string(),
        })
    }

    fn namespace(&self) -> String {
        format!("{}.{}", self.database.name(), self.collection)
    }

    async fn uuid(&self) -> Option<Vec<u8>> {
        let asked = doc! { "listCollections": 1, "filter": { "name": &self.collection } };
        let reply = send(self.database, &asked).await;
        let batch = reply
            .get_document("cursor")
            .unwrap()
            .get_array("firstBatch")
            .unwrap();
        let info = batch.first()?.as_document()?.get_document("info").unwrap();
        Some(bytes_of(info.get("uuid")))
    }
}

fn mongodb_natural() -> mongodb::options::Hint {
    mongodb::options::Hint::Keys(doc! { "$natural": 1 })
}

fn documents(documents: Vec<Document>) -> Bson {
    Bson::Array(documents.into_iter().map(Bson::Document).collect())
}

pub(crate) fn uuid_of(bytes: &[u8]) -> Bson {
    Bson::Binary(bucket_mongo::bson::Binary {
        subtype: bucket_mongo::bson::spec::BinarySubtype::Uuid,
        bytes: bytes.to_vec(),
    })
}

fn bytes_of(value: Option<&Bson>) -> Vec<u8> {
    match value {
        Some(Bson::Binary(binary)) => binary.bytes.clone(),
        other => panic!("{other:?}"),
    }
}

/// The reply of the real server, errors included.
pub(crate) async fn send(database: &Database, command: &Document) -> Document {
    let raw = RawDocumentBuf::try_from(command).unwrap();
    reply(database.run_raw_command(raw).await, command)
}

fn reply(result: mongodb::error::Result<Document>, command: &Document) -> Document {
    match result {
        Ok(reply) => reply,
        Err(error) => match *error.kind {
            ErrorKind::Command(ref refused) => doc! {
                "ok": 0.0,
                "code": refused.code,
                "codeName": &refused.code_name,
                "errmsg": &refused.message,
            },
            ref other => panic!("{other:?} after {command}"),
        },
    }
}

/// The comparable part of both replies, without values that each server generates.
fn comparable(reply: &Document, command: &str, sent: &Document) -> Document {
    let mut kept = Document::new();
    for name in [
        "ok",
        "n",
        "nModified",
        "upserted",
        "retriedStmtIds",
        "code",
        "writeErrors",
        "cursor",
        "numIndexesBefore",
        "numIndexesAfter",
        "nIndexesWas",
        "expireAfterSeconds_old",
        "expireAfterSeconds_new",
        "createdCollectionAutomatically",
        "note",
    ] {
        if let Some(value) = reply.get(name) {
            kept.insert(name, without_object_ids(value.clone()));
        }
    }
    if let Ok(cursor) = kept.get_document_mut("cursor") {
        let mut batch = cursor.get_array("firstBatch").unwrap().clone();
        let sorted = sent.get_document("sort").is_ok_and(|it| !it.is_empty());
        if command == "find" && !sorted {
            // Without a sort, the order is undefined.
            batch.sort_by_key(Bson::to_string);
        }
        if command == "listCollections" {
            batch = batch
                .iter()
                .map(|it| it.as_document().unwrap().get("name").unwrap().clone())
                .collect();
        }
        kept.insert("cursor", batch);
    }
    if let Ok(errors) = kept.get_array_mut("writeErrors") {
        for error in errors.iter_mut().filter_map(Bson::as_document_mut) {
            error.remove("errInfo");
            error.remove("collectionUUID");
            let code = error.get_i32("code").unwrap();
            let text = error.get_str("errmsg").unwrap().to_owned();
            error.insert("errmsg", message(code, &text));
        }
    }
    kept
}

/// The part of a message that does not depend on how a server plans.
fn message(code: i32, text: &str) -> String {
    // The reason why a validator refuses, and values as expressions print them, may differ.
    if code == 121 || code == 40_400 {
        return String::new();
    }
    match text.find("planner returned error") {
        Some(at) => text[at..].to_owned(),
        None => text.to_owned(),
    }
}

/// Ids that a server generates may differ.
fn without_object_ids(value: Bson) -> Bson {
    match value {
        Bson::ObjectId(_) => Bson::String("an object id".to_owned()),
        Bson::Array(items) => Bson::Array(items.into_iter().map(without_object_ids).collect()),
        Bson::Document(fields) => Bson::Document(
            fields
                .into_iter()
                .map(|(name, value)| (name, without_object_ids(value)))
                .collect(),
        ),
        other => other,
    }
}

fn same(a: &Document, b: &Document) -> bool {
    same_value(&Bson::Document(a.clone()), &Bson::Document(b.clone()))
}

/// Exact equality: types, the sign of zero, NaN, the order of fields.
fn same_value(a: &Bson, b: &Bson) -> bool {
    match (a, b) {
        (Bson::Double(a), Bson::Double(b)) => {
            a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
        }
        (Bson::Array(a), Bson::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b))
        }
        (Bson::Document(a), Bson::Document(b)) => {
            a.len() == b.len()
                && a.iter()
                    .zip(b)
                    .all(|((a_name, a), (b_name, b))| a_name == b_name && same_value(a, b))
        }
        (a, b) => a == b,
    }
}
