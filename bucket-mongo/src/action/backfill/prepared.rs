//! The documents of a chunk, as records and as rejects.

use bucket_core::{
    Record,
    backfill::{Chunk, Reading},
};
use mongodb::bson::RawDocumentBuf;
use serde::de::DeserializeOwned;
use tokio::task::yield_now;

use crate::Error;

/// The most documents that are read as records in a row while other tasks wait.
const BREATHER: usize = 1_024;

/// The documents of a chunk, as records and as rejects.
pub(super) struct Prepared<'c, T> {
    pub(super) chunk: &'c Chunk,
    pub(super) records: Vec<T>,
    /// The document of each record, as its index in the chunk.
    documents: Vec<usize>,
    /// Documents that are not stored, as their indexes in the chunk, and why.
    rejects: Vec<(usize, String)>,
}

impl<'c, T: Record + DeserializeOwned> Prepared<'c, T> {
    pub(super) async fn of(chunk: &'c Chunk, reading: &mut Reading<T>) -> Self {
        let mut prepared = Self {
            chunk,
            records: Vec::with_capacity(chunk.documents.len()),
            documents: Vec::with_capacity(chunk.documents.len()),
            rejects: Vec::new(),
        };
        for (index, document) in chunk.documents.iter().enumerate() {
            if index % BREATHER == BREATHER - 1 {
                yield_now().await;
            }
            match reading.record(document) {
                Ok(record) => {
                    prepared.records.push(record);
                    prepared.documents.push(index);
                }
                Err(misfit) => prepared.rejects.push((index, misfit.to_string())),
            }
        }
        prepared
    }
}

impl<T> Prepared<'_, T> {
    pub(super) fn has_rejects(&self) -> bool {
        !self.rejects.is_empty()
    }

    /// Makes a reject of a record.
    pub(super) fn reject(&mut self, at: usize, error: &Error) {
        if at < self.records.len() {
            self.records.remove(at);
            let document = self.documents.remove(at);
            self.rejects.push((document, error.kind().to_string()));
        }
    }

    /// The rejects in the order of their documents, with these records, which the model refuses.
    pub(super) fn rejects_with(&self, refused: &[(usize, Error)]) -> Vec<(usize, String)> {
        let mut rejects = self.rejects.clone();
        rejects.extend(refused.iter().filter_map(|(at, error)| {
            let document = self.documents.get(*at)?;
            Some((*document, error.kind().to_string()))
        }));
        rejects.sort_by_key(|(document, _)| *document);
        rejects
    }

    /// The document of the last record.
    pub(super) fn last_document(&self) -> Option<&RawDocumentBuf> {
        self.chunk.documents.get(*self.documents.last()?)
    }
}
