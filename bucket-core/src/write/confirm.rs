//! Checks that full buckets remembered from an earlier batch still exist.
//!
//! A bucket that follows a full one is opened under an id derived from it, and a statement cannot check
//! another document. So before anything is built on the full bucket, the server is asked. If the buckets of
//! the key were removed in the meantime, the numbers of the next ones would leave a gap.

use std::collections::HashMap;

use bson::{RawDocument, RawDocumentBuf};

use super::Batch;
use crate::{
    bucket::{id::Place, stored_fields, stored_place},
    model::spec::ID,
    read::{self, FindPlan, Remembered},
};

impl Batch {
    /// The read that finds the full buckets that these chains rely on, for
    /// [`Need::Confirmation`](super::Need::Confirmation).
    #[must_use]
    pub fn remembered(&self, chains: &[usize]) -> FindPlan {
        let chains = chains.iter().filter_map(|at| self.chains().get(*at));
        let buckets: Vec<Remembered<'_>> = chains
            .filter_map(|chain| {
                let known = chain.remembered()?;
                Some(Remembered {
                    key: chain.key(),
                    id: &known.id,
                    start: known.start,
                    place: known.place,
                })
            })
            .collect();
        let position = self.source().map(super::Source::path);
        read::remembered(self.spec, &buckets, position)
    }

    /// Takes the buckets that this read found. The chains continue from their current state, and those whose
    /// bucket is gone look again. Returns the indexes of the records that are already stored.
    pub fn saw_remembered(&mut self, chains: &[usize], found: &[RawDocumentBuf]) -> Vec<usize> {
        let by_name: HashMap<Vec<u8>, &RawDocumentBuf> = found
            .iter()
            .filter_map(|bucket| Some((self.name_of(bucket)?, bucket)))
            .collect();
        let now = self.now();
        let mut stored = Vec::new();
        for at in chains {
            let Some(chain) = self.chains.get_mut(*at) else {
                continue;
            };
            let name = chain.remembered().map(|known| {
                if self.spec.object_ids() {
                    name(chain.key(), known.place)
                } else {
                    known.id.clone().into_bytes()
                }
            });
            let bucket = name.and_then(|name| by_name.get(&name).copied());
            stored.extend(chain.confirm(bucket.map(|bucket| &**bucket), now));
        }
        stored
    }

    /// What identifies a bucket among all others.
    fn name_of(&self, bucket: &RawDocument) -> Option<Vec<u8>> {
        if !self.spec.object_ids() {
            return Some(bucket.get_str(ID).ok()?.as_bytes().to_vec());
        }
        let fields = stored_fields(self.spec, bucket).ok()?;
        let place = stored_place(self.spec, &fields, bucket).ok()?;
        Some(name(&(self.stored_key)(bucket).ok()?, place))
    }
}

fn name(key: &[u8], place: Place) -> Vec<u8> {
    let mut name = key.to_vec();
    name.extend_from_slice(&place.time.to_le_bytes());
    name.extend_from_slice(&place.sequence.to_le_bytes());
    name
}
