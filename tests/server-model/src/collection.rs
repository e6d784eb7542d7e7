//! A collection: documents, indexes, a validator.

use std::{collections::BTreeMap, sync::Arc};

use bson::{Bson, Document, doc};

use crate::{
    error::Refusal,
    filter::Filter,
    index::{Index, Keys, RecordId},
    value::{Fields, Value},
};

#[derive(Debug, Clone)]
pub(crate) struct Collection {
    pub(crate) uuid: [u8; 16],
    pub(crate) documents: BTreeMap<RecordId, Arc<Fields>>,
    pub(crate) next: RecordId,
    pub(crate) indexes: Vec<Index>,
    pub(crate) validator: Option<Arc<Filter>>,
    pub(crate) options: Document,
}

/// Where a read searches for documents.
#[derive(Debug)]
enum Source<'a> {
    Id(&'a Value),
    Index(&'a Index),
    All,
}

impl Collection {
    pub(crate) fn new(number: u64) -> Self {
        let mut uuid = [0; 16];
        uuid[8..].copy_from_slice(&number.to_be_bytes());
        uuid[6] = 0x40;
        uuid[8] |= 0x80;
        Self {
            uuid,
            documents: BTreeMap::new(),
            next: 1,
            indexes: vec![Index::of_ids()],
            validator: None,
            options: Document::new(),
        }
    }

    /// The id of the next record.
    pub(crate) fn reserve(&mut self) -> RecordId {
        let id = self.next;
        self.next += 1;
        id
    }

    /// Replaces one version of a document by another, if the indexes and the validator allow it. A
    /// refusal changes nothing.
    pub(crate) fn put(
        &mut self,
        namespace: &str,
        id: RecordId,
        before: Option<&Arc<Fields>>,
        after: Option<Arc<Fields>>,
    ) -> Result<(), Refusal> {
        if let (Some(validator), Some(after)) = (&self.validator, &after)
            && !validator.matches(after)
        {
            let failing = after.get("_id").map_or(Bson::Null, Value::to_bson);
            let details = doc! { "errInfo": { "failingDocumentId": failing } };
            return Err(Refusal {
                details: Some(Box::new(details)),
                ..Refusal::new(121, "Document failed validation")
            });
        }
        let mut moves: Vec<Option<(Keys, Keys)>> = Vec::with_capacity(self.indexes.len());
        for index in &self.indexes {
            if let (Some(before), Some(after)) = (before, after.as_deref())
                && index.is_untouched(before, after)
            {
                moves.push(None);
                continue;
            }
            let old = before.map_or(Ok(Keys::default()), |fields| index.keys(fields))?;
            let new = after
                .as_deref()
                .map_or(Ok(Keys::default()), |fields| index.keys(fields))?;
            let is_moved = old.keys != new.keys;
            if is_moved {
                index.check(namespace, &new, id)?;
            }
            moves.push(is_moved.then_some((old, new)));
        }
        for (index, moved) in self.indexes.iter_mut().zip(moves) {
            if let Some((old, new)) = moved {
                index.remove(&old, id);
                index.add(new, id);
            }
        }
        match after {
            Some(after) => self.documents.insert(id, after),
            None => self.documents.remove(&id),
        };
        Ok(())
    }

    /// Adds an index over the existing documents.
    pub(crate) fn build(&mut self, namespace: &str, mut index: Index) -> Result<(), Refusal> {
        for (id, fields) in &self.documents {
            let keys = index.keys(fields)?;
            index.check(namespace, &keys, *id)?;
            index.add(keys, *id);
        }
        self.indexes.push(index);
        Ok(())
    }

    pub(crate) fn hinted(&self, hint: &Value) -> Result<&Index, Refusal> {
        let found = self.indexes.iter().find(|index| index.is_hinted(hint));
        found.ok_or_else(no_such_hint)
    }

    /// The documents that match, in the order in which the server examines them: that of the hinted
    /// index, or the order of insertion. At most `limit` of them.
    ///
    /// Without a hint, the server chooses an index, and so decides which of several documents an
    /// update changes. The model refuses to guess.
    pub(crate) fn select(
        &self,
        filter: &Filter,
        hint: Option<&Value>,
        limit: usize,
        order_counts: bool,
    ) -> Result<Vec<RecordId>, Refusal> {
        let id = filter.equal_to("_id");
        let id = id.filter(|id| !matches!(id, Value::Null | Value::Array(_)));
        let source = match (hint, id) {
            (None, Some(id)) => Source::Id(id),
            (Some(hint), _) => Source::Index(self.hinted(hint)?),
            // The server uses the index on ids.
            (None, None) if filter.is_bounded("_id") => match self.indexes.first() {
                Some(index) => Source::Index(index),
                None => Source::All,
            },
            (None, None) => Source::All,
        };
        let is_choice = match &source {
            Source::Id(_) => false,
            Source::Index(index) if hint.is_some() => index.multikey || filter.has_branches(),
            Source::Index(_) => self.indexes.len() > 1 || filter.has_branches(),
            Source::All => {
                self.indexes.len() > 1 || filter.has_branches() || filter.mentions("_id")
            }
        };
        // One more document shows whether there was a choice.
        let wanted = limit.saturating_add(usize::from(is_choice && order_counts));
        let mut found: Vec<RecordId> = Vec::new();
        let mut take = |id: RecordId, several: bool| {
            let matches = self.documents.get(&id).is_some_and(|it| filter.matches(it));
            if matches && !(several && found.contains(&id)) {
                found.push(id);
            }
            found.len() >= wanted
        };
        match source {
            Source::Id(id) => {
                if let Some(index) = self.indexes.first() {
                    let _ = index.scan(vec![id.clone()]).any(|id| take(id, false));
                }
            }
            Source::Index(index) => {
                let prefix = prefix(index, filter);
                let _ = index.scan(prefix).any(|id| take(id, index.multikey));
            }
            Source::All => {
                let _ = self.documents.keys().any(|id| take(*id, false));
            }
        }
        if order_counts && is_choice && found.len() > limit {
            return Err(Refusal::unknown(
                "which one of several matching documents the server takes here",
            ));
        }
        Ok(found)
    }
}

/// The values that a filter requires for the first fields of an index.
fn prefix(index: &Index, filter: &Filter) -> Vec<Value> {
    let mut prefix = Vec::new();
    for path in index.paths.iter() {
        match filter.equal_to(path) {
            // These have other keys as well.
            None | Some(Value::Null | Value::Array(_)) => break,
            Some(value) => prefix.push(value.clone()),
        }
    }
    prefix
}

fn no_such_hint() -> Refusal {
    Refusal::new(
        2,
        "error processing query: planner returned error :: caused by :: hint provided does not \
         correspond to an existing index",
    )
}
