//! Orders of a read.

use std::sync::Arc;

use crate::{
    error::Refusal,
    index::{Index, Key},
    value::Fields,
};

/// The order of a read. The server sorts by the keys that an index on the same paths would have. If
/// a document has several keys, the first one counts.
#[derive(Debug)]
pub(crate) struct Sort(Index);

impl Sort {
    pub(crate) fn parse(sort: &Fields) -> Result<Self, Refusal> {
        if sort
            .0
            .iter()
            .any(|(_, direction)| !matches!(direction.as_whole(), Some(1 | -1)))
        {
            return Err(Refusal::unknown("such an order"));
        }
        Ok(Self(Index::on(sort)?))
    }

    /// Sorts. Equal documents keep their order.
    pub(crate) fn sort(&self, documents: &mut Vec<Arc<Fields>>) -> Result<(), Refusal> {
        let mut keyed: Vec<(Option<Key>, Arc<Fields>)> = Vec::with_capacity(documents.len());
        for fields in documents.drain(..) {
            let keys = self.0.keys(&fields);
            let keys = keys.map_err(|refusal| Refusal { code: 2, ..refusal })?;
            let key = keys.keys.into_iter().min();
            keyed.push((key, fields));
        }
        keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
        documents.extend(keyed.into_iter().map(|(_, fields)| fields));
        Ok(())
    }
}
