//! How much space a collection takes, by the server's own statistics.

use std::{collections::BTreeMap, fmt};

use bson::{RawDocument, doc};
use serde::Serialize;

use super::AggregatePlan;
use crate::{codec::raw::elements, model::whole, text::bytes::ShownBytes};

/// The server's statistics of the collection: one document for each shard, for [`Sizes::add`].
#[must_use]
pub fn sizes() -> AggregatePlan {
    let wanted = [
        "count",
        "size",
        "storageSize",
        "freeStorageSize",
        "indexSizes",
    ];
    let wanted = wanted.map(|name| (format!("storageStats.{name}"), 1.into()));
    AggregatePlan {
        pipeline: vec![
            doc! { "$collStats": { "storageStats": {} } },
            doc! { "$project": wanted.into_iter().collect::<bson::Document>() },
        ],
        hint: String::new(),
        spills: false,
    }
}

/// How much space a collection takes, as the server counts it.
///
/// All sizes are in bytes. It prints as a short table and serialises with serde.
///
/// ```
/// # use bucket_core::Sizes;
/// fn on_disk(sizes: &Sizes) -> String {
///     format!("{} bytes, of them {} of indexes", sizes.total(), sizes.index_total())
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Sizes {
    /// The number of documents: buckets, and those that are damaged or empty.
    pub documents: u64,
    /// The size of all documents as BSON, without compression.
    pub data: u64,
    /// What the documents take on disk, with compression.
    pub storage: u64,
    /// The part of `storage` that is free for further documents.
    pub free: u64,
    /// What each index takes on disk, by its name.
    pub indexes: BTreeMap<String, u64>,
}

impl Sizes {
    /// Adds the statistics of a shard.
    #[doc(hidden)]
    pub fn add(&mut self, found: &RawDocument) {
        let Ok(stats) = found.get_document("storageStats") else {
            return;
        };
        let number = |stats: &RawDocument, name: &str| {
            let number = stats.get(name).ok().flatten().and_then(whole::of_raw);
            number.map_or(0, |number| u64::try_from(number).unwrap_or(0))
        };
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.documents, number(stats, "count"));
        add(&mut self.data, number(stats, "size"));
        add(&mut self.storage, number(stats, "storageSize"));
        add(&mut self.free, number(stats, "freeStorageSize"));
        let Ok(indexes) = stats.get_document("indexSizes") else {
            return;
        };
        for index in elements(indexes).flatten() {
            let sum = self.indexes.entry(index.name.to_owned()).or_default();
            add(sum, number(indexes, index.name));
        }
    }

    /// What all indexes take on disk.
    #[must_use]
    pub fn index_total(&self) -> u64 {
        self.indexes
            .values()
            .fold(0, |sum, size| sum.saturating_add(*size))
    }

    /// What documents and indexes take on disk together.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.storage.saturating_add(self.index_total())
    }

    /// The mean size of a document without compression, rounded down; `None` if there are none.
    #[must_use]
    pub fn mean_document(&self) -> Option<u64> {
        self.data.checked_div(self.documents)
    }

    /// What each of this many records takes on disk on average, with its share of the indexes; `None` for no
    /// records. [`FillReport::records`](crate::FillReport::records) has their number.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a mean is rounded")]
    pub fn per_record(&self, records: u64) -> Option<f64> {
        (records > 0).then(|| self.total() as f64 / records as f64)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} documents, {} of data",
            self.documents,
            ShownBytes(self.data)
        )?;
        if let Some(mean) = self.mean_document() {
            write!(f, ", {} a document", ShownBytes(mean))?;
        }
        let rows = [
            ("documents on disk", self.storage),
            ("of them free", self.free),
        ];
        let indexes = self.indexes.iter();
        let indexes = indexes.map(|(name, size)| (name.as_str(), *size));
        let rows = rows
            .into_iter()
            .chain(indexes)
            .chain([("in all on disk", self.total())]);
        let rows: Vec<(&str, String)> = rows
            .map(|(name, size)| (name, ShownBytes(size).to_string()))
            .collect();
        let width = rows.iter().map(|(name, _)| name.chars().count()).max();
        let width = width.unwrap_or_default();
        for (name, size) in rows {
            write!(f, "\n{name:<width$}  {size:>10}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bson::{RawDocumentBuf, doc};

    use super::Sizes;

    fn of_shard(count: i32, pages: i64) -> RawDocumentBuf {
        let indexes = doc! { "_id_": 4_096, "bucket_pages": pages };
        let stats = doc! {
            "count": count, "size": 1_000.0, "storageSize": 8_192_i64, "freeStorageSize": 4_096, "indexSizes": indexes,
        };
        RawDocumentBuf::try_from(&doc! { "storageStats": stats }).unwrap_or_default()
    }

    #[test]
    fn the_sizes_of_all_shards_are_added_up_whatever_types_their_numbers_have() {
        let mut sizes = Sizes::default();
        assert_eq!((sizes.mean_document(), sizes.per_record(0)), (None, None));
        sizes.add(&of_shard(3, 100));
        sizes.add(&of_shard(2, i64::MAX));
        assert_eq!((sizes.documents, sizes.data), (5, 2_000));
        assert_eq!((sizes.storage, sizes.free), (16_384, 8_192));
        assert_eq!(sizes.indexes["_id_"], 8_192);
        assert_eq!(sizes.indexes["bucket_pages"], 100 + i64::MAX.unsigned_abs());
        assert_eq!(sizes.mean_document(), Some(400));
    }

    #[test]
    fn the_table_has_a_line_for_each_index_and_one_for_the_sum() {
        let mut sizes = Sizes::default();
        sizes.add(&of_shard(4, 12_288));
        let expected = "4 documents, 1000 B of data, 250 B a document\n\
                        documents on disk      8.0 KB\n\
                        of them free           4.0 KB\n\
                        _id_                   4.0 KB\n\
                        bucket_pages          12.0 KB\n\
                        in all on disk        24.0 KB";
        assert_eq!(sizes.to_string(), expected);
        assert_eq!(sizes.per_record(100), Some(245.76));
    }
}
