//! The `update` command that changes the form of many documents, and its reply.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};

use super::{FormChange, Migration, form_change::id_of};
use crate::{
    attribute::DocumentError,
    codec::raw::RawWriter,
    model::{
        size::{MAX_COMMAND_BYTES, MAX_STATEMENTS},
        whole,
    },
};

/// Changes that are sent to the server together, within the size of a command.
///
/// ```
/// use bucket_core::attribute::FormBatch;
///
/// fn ids(batch: &FormBatch) -> Vec<bson::Bson> {
///     batch.changes().iter().map(|change| change.id()).collect()
/// }
/// ```
#[derive(Debug, Default)]
pub struct FormBatch {
    changes: Vec<FormChange>,
    statements: Vec<RawDocumentBuf>,
    bytes: usize,
}

/// The reply to a [`FormBatch`].
///
/// ```
/// use bson::doc;
/// use bucket_core::attribute::FormReply;
///
/// let error = doc! { "index": 1, "code": 121, "errmsg": "Document failed validation" };
/// let reply = FormReply::of(&doc! { "n": 1, "writeErrors": [error] });
/// assert_eq!(reply.made, 1);
/// assert_eq!(reply.refused, [(1, 121, "Document failed validation".to_owned())]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FormReply {
    /// The number of changes made.
    pub made: u64,
    /// The changes that the server refused: index in the batch, error code, message.
    pub refused: Vec<(usize, i32, String)>,
}

impl FormBatch {
    /// Adds a change. If it no longer fits, returns the batch so far and begins a new one.
    ///
    /// # Errors
    ///
    /// As for [`FormChange::statement`]; the batch stays unchanged.
    pub fn push(&mut self, change: FormChange) -> Result<Option<Self>, DocumentError> {
        let statement = change.statement()?;
        let bytes = statement.as_bytes().len();
        let is_full =
            self.bytes + bytes > MAX_COMMAND_BYTES || self.changes.len() >= MAX_STATEMENTS;
        let full = (is_full && !self.is_empty()).then(|| std::mem::take(self));
        self.bytes += bytes;
        self.changes.push(change);
        self.statements.push(statement);
        Ok(full)
    }

    /// Whether it has no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The changes, in the order of their statements.
    #[must_use]
    pub fn changes(&self) -> &[FormChange] {
        &self.changes
    }

    /// The changes, in the order of their statements.
    #[must_use]
    pub fn into_changes(self) -> Vec<FormChange> {
        self.changes
    }

    /// The command. Its write concern waits for the journals of a majority.
    #[must_use]
    pub fn command(&self, collection: &str) -> RawDocumentBuf {
        RawWriter::build(|to| {
            to.string("update", collection);
            to.bool("ordered", false);
            let concern = to.begin_document("writeConcern");
            to.string("w", "majority");
            to.bool("j", true);
            to.end(concern);
            let updates = to.begin_array("updates");
            for (index, statement) in self.statements.iter().enumerate() {
                to.element(index, statement.as_bytes());
            }
            to.end(updates);
        })
    }
}

impl FormReply {
    /// Reads the reply.
    #[must_use]
    pub fn of(reply: &Document) -> Self {
        let whole = |of: &Document, name: &str| whole::field(of, name).unwrap_or_default();
        let errors = reply.get_array("writeErrors").map(Vec::as_slice);
        let errors = errors.unwrap_or_default().iter();
        let refused = errors.filter_map(Bson::as_document).filter_map(|error| {
            let index = usize::try_from(whole(error, "index")).ok()?;
            let code = i32::try_from(whole(error, "code")).unwrap_or(i32::MAX);
            let message = error.get_str("errmsg").unwrap_or_default();
            Some((index, code, message.to_owned()))
        });
        Self {
            made: u64::try_from(whole(reply, "n")).unwrap_or(0),
            refused: refused.collect(),
        }
    }
}

impl Migration {
    /// A filter for the documents after an `_id`, in the order of all BSON types.
    ///
    /// Query operators only compare values of the same type; an expression compares all types.
    ///
    /// ```
    /// use bson::{Bson, doc};
    /// use bucket_core::attribute::Migration;
    ///
    /// assert_eq!(Migration::behind(None), doc! {});
    /// let after = doc! { "$expr": { "$gt": ["$_id", { "$literal": 7 }] } };
    /// assert_eq!(Migration::behind(Some(&Bson::Int32(7))), after);
    /// ```
    #[must_use]
    pub fn behind(id: Option<&Bson>) -> Document {
        match id {
            Some(id) => doc! { "$expr": { "$gt": ["$_id", { "$literal": id }] } },
            None => doc! {},
        }
    }

    /// The `_id` of a stored document; null if it has none, which stored documents never lack.
    ///
    /// ```
    /// use bson::{Bson, RawDocumentBuf, doc};
    /// use bucket_core::attribute::Migration;
    ///
    /// let stored = RawDocumentBuf::try_from(&doc! { "_id": 7 })?;
    /// assert_eq!(Migration::id(&stored), Bson::Int32(7));
    /// # Ok::<(), bson::error::Error>(())
    /// ```
    #[must_use]
    pub fn id(stored: &RawDocument) -> Bson {
        id_of(stored)
    }
}
