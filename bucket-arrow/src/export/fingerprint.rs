//! What the buckets of a key were before they are read.

use bucket_mongo::{
    Buckets, Record, RecordKey,
    bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc},
    mongodb::options::{AggregateOptions, ReadConcern},
};
use futures_util::TryStreamExt;

use super::hash;
use crate::{Error, Result};

/// The buckets of a key, without their records.
#[derive(Debug, Default)]
pub(crate) struct Heads(Vec<Head>);

#[derive(Debug)]
struct Head {
    /// The id, the count, what is known of edits, and the aggregates.
    state: Vec<u8>,
    /// The times of its records, both included; `None` if the bucket does not show them.
    span: Option<(i64, i64)>,
}

impl Heads {
    /// Reads them. The server reads each bucket of the key, and sends a line for it.
    ///
    /// What a majority has: what is read of the buckets later is not older.
    pub(crate) async fn read<T: Record>(buckets: &Buckets<T>, key: &T::Key) -> Result<Self> {
        let spec = T::SPEC;
        let names = spec.keys().iter().map(|field| field.path.to_owned());
        let filter: Document = names.zip(key.to_values()).collect();
        let time = format!("${}.{}", spec.items(), spec.time().name);
        let own = spec.names();
        let or_null = |path: &str| doc! { "$ifNull": [format!("${path}"), Bson::Null] };
        let mut state: Vec<Bson> = vec![
            "$_id".into(),
            or_null(own.count).into(),
            or_null("_edits").into(),
            // Its records have expired, and its statistics are kept.
            or_null("_sealed.expired").into(),
        ];
        // Where a bucket was removed and stored again with other values, only these differ.
        state.extend(own.created_at.map(|path| Bson::from(or_null(path))));
        let aggregates = spec.aggregates().iter();
        state.extend(aggregates.map(|aggregate| Bson::from(or_null(aggregate.path))));
        let shown = doc! {
            "state": state,
            "first": { "$min": time.as_str() },
            "last": { "$max": time.as_str() },
            "sealed": "$_sealed",
            "start": format!("${}", own.start),
            "end": format!("${}", own.end),
        };
        let pipeline = vec![doc! { "$match": filter }, doc! { "$project": shown }];
        let options = AggregateOptions::builder()
            .read_concern(ReadConcern::majority())
            .build();
        let failed = |error| Error::driver("looking at the buckets of a key", error);
        let collection = buckets.collection::<RawDocumentBuf>();
        let found = collection.aggregate(pipeline).with_options(options);
        let mut found = found.await.map_err(failed)?.with_type::<RawDocumentBuf>();
        let mut heads = Vec::new();
        while let Some(row) = found.try_next().await.map_err(failed)? {
            heads.push(Head::of(&row));
        }
        // Not the order in which the server has them.
        heads.sort_by(|one, other| one.state.cmp(&other.state));
        Ok(Self(heads))
    }

    /// A hash of the buckets that have records between these times.
    pub(crate) fn hash(&self, from: Option<i64>, to: Option<i64>) -> String {
        let reaching = self.0.iter().filter(|head| head.reaches(from, to));
        // With its length before it, a state ends where it ends.
        hash::of(reaching.flat_map(|head| {
            let length = (head.state.len() as u64).to_le_bytes();
            [length.to_vec(), head.state.clone()]
        }))
    }

    /// Whether there may be records between these times.
    pub(crate) fn reach(&self, from: Option<i64>, to: Option<i64>) -> bool {
        self.0.iter().any(|head| head.reaches(from, to))
    }
}

impl Head {
    fn of(row: &RawDocument) -> Self {
        let state = row.get("state").ok().flatten();
        let state = state.map(|state| {
            let mut bytes = Vec::new();
            if let Some(array) = state.as_array() {
                bytes.extend_from_slice(array.as_bytes());
            }
            bytes
        });
        let date = |name: &str| date(row, name);
        let sealed = |name: &str| {
            let sealed = row.get_document("sealed").ok()?;
            self::date(sealed, name)
        };
        let shown = [
            date("first").zip(date("last")),
            sealed("first").zip(sealed("last")),
        ];
        let shown = shown.into_iter().flatten();
        let joined = shown.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        Self {
            state: state.unwrap_or_default(),
            span: joined.or_else(|| date("start").zip(date("end"))),
        }
    }

    fn reaches(&self, from: Option<i64>, to: Option<i64>) -> bool {
        let Some((first, last)) = self.span else {
            return true;
        };
        from.is_none_or(|from| last >= from) && to.is_none_or(|to| first < to)
    }
}

fn date(of: &RawDocument, name: &str) -> Option<i64> {
    let date: DateTime = of.get_datetime(name).ok()?;
    Some(date.timestamp_millis())
}
