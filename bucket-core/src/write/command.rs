//! Encodes statements as one command.

use bson::{RawDocument, RawDocumentBuf};

use super::{Action, Statement, whole_bucket};
use crate::codec::raw::{Mark, RawWriter};
pub use crate::model::size::{MAX_COMMAND_BYTES, MAX_STATEMENTS};

/// A finished `update` or `insert` command; the driver adds the session's fields and `$db`.
///
/// ```
/// # use bucket_core::write::Command;
/// fn print(command: &Command) {
///     println!("{:?}, {} statements", command.body(), command.statements());
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Command {
    body: RawDocumentBuf,
    statements: usize,
}

impl Command {
    /// The command document.
    #[must_use]
    pub fn body(&self) -> &RawDocument {
        &self.body
    }

    /// The number of statements.
    #[must_use]
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// Takes the command document without a copy, and leaves the empty document.
    pub(super) fn take_body(&mut self) -> RawDocumentBuf {
        std::mem::take(&mut self.body)
    }
}

/// Encodes statements one after the other into one buffer.
///
/// ```
/// # use bucket_core::write::{CommandBuilder, Statement};
/// fn command(statement: &Statement<'_>) {
///     let mut builder = CommandBuilder::new("trades", true);
///     assert!(builder.push(statement));
///     assert_eq!(builder.finish(None).statements(), 1);
/// }
/// ```
#[derive(Debug)]
pub struct CommandBuilder {
    writer: RawWriter,
    command: Mark,
    list: Mark,
    inserts: bool,
    statements: usize,
}

impl CommandBuilder {
    /// Begins an `update` command on this collection. An ordered command stops at its first failing
    /// statement.
    #[must_use]
    pub fn new(collection: &str, ordered: bool) -> Self {
        Self::begin(collection, ordered, false)
    }

    /// Begins an `insert` command on this collection, for statements that open a bucket.
    #[must_use]
    pub fn inserting(collection: &str, ordered: bool) -> Self {
        Self::begin(collection, ordered, true)
    }

    fn begin(collection: &str, ordered: bool, inserts: bool) -> Self {
        let (name, list) = if inserts {
            ("insert", "documents")
        } else {
            ("update", "updates")
        };
        let mut writer = RawWriter::default();
        let command = writer.begin();
        writer.string(name, collection);
        writer.bool("ordered", ordered);
        let list = writer.begin_array(list);
        Self {
            writer,
            command,
            list,
            inserts,
            statements: 0,
        }
    }

    /// Adds a statement unless the command is full; the first one always fits.
    pub fn push(&mut self, statement: &Statement<'_>) -> bool {
        let bytes = self.writer.len() + statement.size();
        let full = bytes > MAX_COMMAND_BYTES || self.statements >= MAX_STATEMENTS;
        if full && self.statements > 0 {
            return false;
        }
        let element = self.writer.begin_element(self.statements);
        match statement.action {
            Action::Put(put) if self.inserts => {
                whole_bucket::write(statement, put, &mut self.writer);
            }
            _ => statement.write(&mut self.writer),
        }
        self.writer.end(element);
        self.statements += 1;
        true
    }

    /// The number of statements so far.
    #[must_use]
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// Ends the command, with this write concern if one is given.
    #[must_use]
    pub fn finish(mut self, write_concern: Option<&RawDocument>) -> Command {
        self.writer.end(self.list);
        if let Some(write_concern) = write_concern {
            self.writer.document("writeConcern", write_concern);
        }
        self.writer.end(self.command);
        // The writer closes every document with its length and NUL, and nothing else is checked. The empty
        // document is a fallback that cannot occur.
        let body = RawDocumentBuf::from_bytes(self.writer.into_bytes()).unwrap_or_default();
        Command {
            body,
            statements: self.statements,
        }
    }
}
