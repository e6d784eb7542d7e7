//! An export that is under way.

use bucket_mongo::{Record, TimeRange, bson::DateTime, mongodb::options::ReadConcern};
use futures_util::TryStreamExt;

use super::{
    collection,
    fingerprint::Heads,
    hash,
    marker::{self, Marker, OfExport, Origin},
    name::{self, Names},
    part::{Part, Step},
    partition::PartitionBy,
    report::{ExportProgress, ExportReport},
    settings::{OnProgress, Settings},
    target::Target,
};
use crate::{ArrowQuery, Error, Format, Layout, Result, civil::Month, extended_json, key_text};

/// The state of an export.
pub(crate) struct Run<'a, T: Record> {
    query: ArrowQuery<'a, T>,
    layout: Layout<T>,
    target: Target,
    format: Format,
    partition_by: PartitionBy,
    names: Names,
    /// A hash of the columns.
    columns: String,
    on_progress: Option<OnProgress<'a>>,
    report: ExportReport,
}

/// A key that is being exported.
struct OfKey<'k, T: Record> {
    key: &'k T::Key,
    text: String,
    folder: String,
    heads: Heads,
    /// The parts of earlier exports that have not been written anew.
    before: Vec<Option<Month>>,
}

/// A span of time without a complete part, in milliseconds.
type Gap = (Option<i64>, Option<i64>);

/// How far a read is: the begin of the part that is open, and what was counted before it.
struct Reached {
    from: Option<i64>,
    records: u64,
    bytes: u64,
}

impl<'a, T: Record> Run<'a, T> {
    pub(crate) async fn begin(settings: Settings<'a, T>) -> Result<Self> {
        let (query, layout) = settings.query.checked()?;
        let mut run = Self {
            names: Names::new::<T>(&layout.schema(), settings.format),
            columns: hash::of([format!("{:?}", layout.root())]),
            query,
            layout,
            target: settings.target,
            format: settings.format,
            partition_by: settings.partition_by,
            on_progress: settings.on_progress,
            report: ExportReport::default(),
        };
        run.claim().await?;
        Ok(run)
    }

    /// Says whose export the folder has, if nobody has yet.
    async fn claim(&mut self) -> Result<()> {
        let path = name::of_export();
        let own = OfExport {
            version: Marker::VERSION,
            database: self.query.buckets.database().name().to_owned(),
            uuid: collection::uuid(self.query.buckets).await?,
            collection: T::SPEC.collection().to_owned(),
            extension: self.format.extension().to_owned(),
            partition_by: format!("{:?}", self.partition_by),
        };
        let Some(found) = self.target.get(&path).await? else {
            return self.target.put(&path, marker::bytes(&own)).await;
        };
        let found = serde_json::from_slice::<OfExport>(&found).ok();
        let Some(found) = found.filter(|found| found.goes_with(&own)) else {
            return Err(Error::Taken {
                path,
                message: "it belongs to an export of another database, collection, format or partition, or of a collection that \
                          was dropped or renamed and has been made anew: use another folder, or remove this one"
                    .to_owned(),
            });
        };
        if found.uuid.is_none() && own.uuid.is_some() {
            self.target.put(&path, marker::bytes(&own)).await?;
        }
        Ok(())
    }

    pub(crate) async fn all(mut self) -> Result<ExportReport> {
        let mut keys = self.query.all_keys();
        while let Some(key) = keys.try_next().await? {
            self.key(&key).await?;
            self.report.keys += 1;
            self.tell(None);
        }
        Ok(self.report)
    }

    async fn key(&mut self, key: &T::Key) -> Result<()> {
        let mut of = OfKey::<T> {
            text: extended_json::text(&key_text::document::<T>(key).into()),
            folder: self.names.of_key::<T>(key),
            heads: Heads::read(self.query.buckets, key).await?,
            key,
            before: Vec::new(),
        };
        let complete = self.look(&mut of).await?;
        for (from, to) in gaps(self.query.range, &complete) {
            if of.heads.reach(from, to) {
                self.gap(&mut of, (from, to)).await?;
            }
        }
        self.remove(&of).await
    }

    /// Finds the parts of earlier exports. Gives those that are as this one would write them.
    async fn look(&mut self, of: &mut OfKey<'_, T>) -> Result<Vec<Option<Month>>> {
        let mut complete = Vec::new();
        for path in self.target.list(&name::markers(&of.folder)).await? {
            let Ok(month) = name::month_of(&path, self.partition_by) else {
                continue;
            };
            let Some(found) = self.target.get(&path).await? else {
                continue;
            };
            // One that cannot be read was not completed by this version: the part is written anew.
            let found = Marker::read(&found);
            if let Some(found) = &found
                && found.origin.key != of.text
            {
                return Err(Error::Taken {
                    path,
                    message: format!(
                        "it has the records of the key {}, and this file system gives the key {} the same name: export one of them to another folder",
                        found.origin.key, of.text
                    ),
                });
            }
            if !self.is_asked(month) {
                continue;
            }
            let own = self.origin(of, month);
            let size = self
                .target
                .size(&self.names.part(&of.folder, month))
                .await?;
            if let Some(found) = &found
                && size.is_some()
                && found.origin.has_more_than(&own)
            {
                return Err(Error::Taken {
                    path: self.names.part(&of.folder, month),
                    message: "it has records of a longer time than the range of this export has of it: pass a range that contains \
                              all of it, or use another folder"
                        .to_owned(),
                });
            }
            let is_same = found.is_some_and(|found| {
                let bytes = found.complete.map(|complete| complete.bytes);
                found.origin == own && bytes.is_some() && bytes == size
            });
            if is_same {
                complete.push(month);
                self.report.skipped += 1;
            } else {
                of.before.push(month);
            }
        }
        complete.sort_unstable();
        Ok(complete)
    }

    /// Whether the range has a part of the month.
    fn is_asked(&self, month: Option<Month>) -> bool {
        let (from, to) = self.bounds(month);
        from.zip(to).is_none_or(|(from, to)| from < to)
    }

    /// The time of a part: that of its month, as far as it is in the range.
    fn bounds(&self, month: Option<Month>) -> Gap {
        let (start, end) = (
            millis(self.query.range.start()),
            millis(self.query.range.end()),
        );
        let Some(month) = month else {
            return (start, end);
        };
        let from = month.start().max(start);
        let to = [month.next().start(), end].into_iter().flatten().min();
        (from, to)
    }

    fn origin(&self, of: &OfKey<'_, T>, month: Option<Month>) -> Origin {
        let (from, to) = self.bounds(month);
        let of_all = month.map_or((None, None), |month| (month.start(), month.next().start()));
        Origin {
            key: of.text.clone(),
            from: from.filter(|_| from != of_all.0),
            to: to.filter(|_| to != of_all.1),
            format: format!("{:?}", self.format),
            columns: self.columns.clone(),
            buckets: of.heads.hash(from, to),
        }
    }

    /// Reads a span of time, and writes its parts. A read that the server has ended because it saw a moment too long ago begins
    /// again with the part that is open, once for each part.
    async fn gap(&mut self, of: &mut OfKey<'_, T>, (from, to): Gap) -> Result<()> {
        let mut at = Reached {
            from,
            records: self.report.records,
            bytes: self.report.bytes,
        };
        let mut again = None;
        loop {
            match self.read(of, (at.from, to), &mut at).await {
                Err(error) if is_too_old(&error) && again != Some(at.from) => {
                    again = Some(at.from);
                    (self.report.records, self.report.bytes) = (at.records, at.bytes);
                }
                ended => return ended,
            }
        }
    }

    async fn read(
        &mut self,
        of: &mut OfKey<'_, T>,
        (from, to): Gap,
        at: &mut Reached,
    ) -> Result<()> {
        let range = TimeRange::new(
            from.map(DateTime::from_millis),
            to.map(DateTime::from_millis),
        );
        let read = self.query.buckets.range(of.key.clone(), range);
        // No marker says that a part is complete which has what a failover takes back. Of models with `merge` a read sees a
        // snapshot, and a majority has that.
        let mut records = if T::SPEC.merge().is_none() {
            read.read_concern(ReadConcern::majority()).stream()
        } else {
            read.stream()
        };
        let mut open: Option<Part<T>> = None;
        loop {
            let next = records.try_next().await.map_err(Error::from);
            let next = match next {
                Ok(next) => next,
                Err(error) => {
                    if let Some(part) = open {
                        part.abandon().await;
                    }
                    return Err(error);
                }
            };
            let Some(record) = next else { break };
            let month = match self.partition_by {
                PartitionBy::KeyAndMonth => Some(Month::of(record.time().timestamp_millis())),
                PartitionBy::Key => None,
            };
            let mut part = match open.take() {
                Some(part) if part.month == month => part,
                other => {
                    if let Some(part) = other {
                        self.complete(of, part).await?;
                    }
                    *at = Reached {
                        from: month.and_then(Month::start).max(from),
                        records: self.report.records,
                        bytes: self.report.bytes,
                    };
                    let path = self.names.part(&of.folder, month);
                    Part::begin(&self.target, path, month, self.format, &self.layout).await?
                }
            };
            if let Err(error) = part.push(&record) {
                part.abandon().await;
                return Err(error);
            }
            if part.is_full(self.query.rows) {
                let (same, step) = part.write().await?;
                part = same;
                self.count(&step);
                let path = part.path().to_owned();
                self.tell(Some(path));
            }
            open = Some(part);
        }
        match open {
            Some(part) => self.complete(of, part).await,
            None => Ok(()),
        }
    }

    async fn complete(&mut self, of: &mut OfKey<'_, T>, part: Part<T>) -> Result<()> {
        let month = part.month;
        let path = part.path().to_owned();
        let marker = name::marker(&of.folder, month);
        let origin = self.origin(of, month);
        let step = part.complete(&self.target, &marker, origin).await?;
        of.before.retain(|before| *before != month);
        self.count(&step);
        self.report.parts += 1;
        self.tell(Some(path));
        Ok(())
    }

    /// Removes the parts that have no records any more.
    async fn remove(&mut self, of: &OfKey<'_, T>) -> Result<()> {
        for month in &of.before {
            // A file that is still there has its marker, by which the next call finds it.
            self.target
                .remove(&self.names.part(&of.folder, *month))
                .await?;
            self.target
                .remove(&name::marker(&of.folder, *month))
                .await?;
            self.report.removed += 1;
        }
        Ok(())
    }

    fn count(&mut self, step: &Step) {
        self.report.records += step.records;
        self.report.bytes += step.bytes;
    }

    fn tell(&mut self, path: Option<String>) {
        let Some(call) = &mut self.on_progress else {
            return;
        };
        call(&ExportProgress {
            keys: self.report.keys,
            records: self.report.records,
            parts: self.report.parts,
            skipped: self.report.skipped,
            bytes: self.report.bytes,
            path: path.unwrap_or_default(),
        });
    }
}

/// The server's code for a read in a snapshot that it does not keep any more.
const SNAPSHOT_TOO_OLD: i32 = 239;

fn is_too_old(error: &Error) -> bool {
    matches!(error, Error::Buckets(error) if error.code() == Some(SNAPSHOT_TOO_OLD))
}

fn millis(date: Option<DateTime>) -> Option<i64> {
    date.map(DateTime::timestamp_millis)
}

/// What a range has besides these parts, which are in order.
fn gaps(range: TimeRange, complete: &[Option<Month>]) -> Vec<Gap> {
    let mut from = millis(range.start());
    let end = millis(range.end());
    let mut gaps = Vec::new();
    for month in complete {
        // The only part of the key.
        let Some(month) = month else {
            return Vec::new();
        };
        let start = month.start();
        if start.is_some_and(|start| from.is_none_or(|from| from < start)) {
            gaps.push((from, start));
        }
        match month.next().start() {
            None => return gaps,
            next => from = next,
        }
    }
    if end.is_none_or(|end| from.is_none_or(|from| from < end)) {
        gaps.push((from, end));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use bucket_mongo::IntoTimeRange;

    use super::*;

    #[test]
    fn gaps_are_what_complete_months_leave_of_a_range() {
        let at = |millis: i64| DateTime::from_millis(millis);
        let day = 86_400_000;
        let january = Some(Month::of(0));
        let april = Some(Month::of(100 * day));
        assert_eq!(gaps(TimeRange::ALL, &[]), [(None, None)]);
        let both = gaps(TimeRange::ALL, &[january, april]);
        assert_eq!(
            both,
            [
                (None, Some(0)),
                (Some(31 * day), Some(90 * day)),
                (Some(120 * day), None)
            ]
        );
        let inside = (at(5 * day)..at(100 * day)).into_time_range();
        assert_eq!(
            gaps(inside, &[january, april]),
            [(Some(31 * day), Some(90 * day))]
        );
        assert!(gaps(inside, &[None]).is_empty());
    }
}
