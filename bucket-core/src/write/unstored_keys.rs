//! The keys of the records that a batch did not store, for their errors.

use std::{collections::HashMap, sync::Arc};

use super::{Batch, Chain};
use crate::{codec::raw::RawWriter, model::key::text::stored_key_text};

impl Batch {
    /// The keys of the records that are not stored, or may not be, as text for messages, by the caller's index.
    /// Records that are still pending are not among them, nor those that were held back when they were pushed.
    ///
    /// A text is written once for each chain, and only here: records that are stored need none.
    ///
    /// ```
    /// # use bucket_core::write::Batch;
    /// fn explain(batch: &mut Batch) {
    ///     let lost = batch.give_up();
    ///     let keys = batch.unstored_keys();
    ///     for index in lost {
    ///         eprintln!("record {index} of {}", keys[&index]);
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn unstored_keys(&self) -> HashMap<usize, Arc<str>> {
        let mut keys = HashMap::new();
        for chain in self.chains() {
            let mut indexes = chain.unstored().peekable();
            if indexes.peek().is_some() {
                let key = text(chain);
                keys.extend(indexes.map(|index| (index, Arc::clone(&key))));
            }
        }
        for repeat in self.own_repeats() {
            if let Some(chain) = self.chains().get(repeat.record.chain) {
                keys.insert(repeat.index, text(chain));
            }
        }
        keys
    }
}

fn text(chain: &Chain) -> Arc<str> {
    let key = RawWriter::build(|writer| writer.elements(chain.key()));
    stored_key_text(&key).into()
}
