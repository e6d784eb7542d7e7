//! The repair of one bucket after another.

use std::collections::HashMap;

use bucket_core::{
    Record,
    check::{Finding, Problem},
    repair::{
        BetweenTwo, Remedy, between_two, copied_document, count_calls, document_with_id,
        has_followers, may_be_taken_back, move_out, other_document, quarantine, remedy, take_back,
    },
};
use mongodb::{
    Collection,
    bson::{Bson, DateTime, Document, RawBson, RawDocumentBuf},
    options::{ReadConcern, ReadPreference, SelectionCriteria},
};

use super::{RepairReport, RepairedBucket};
use crate::{
    Buckets, Error, ErrorKind, Result,
    action::edit::{Editing, Sent},
    collection::collection,
    error::Context,
    write_concern::durable,
    writer::Settings,
};

/// How often a bucket is read again if others change it.
const ATTEMPTS: usize = 8;
/// How often a bucket with one id can be in the quarantine.
const MOST_COPIES: i32 = 1_000;

/// A `repair` at work.
pub(super) struct Repairing<'a, T: Record> {
    pub(super) buckets: &'a Buckets<T>,
    pub(super) quarantine: &'a str,
    pub(super) is_dry: bool,
    pub(super) settings: &'a Settings,
    pub(super) context: Context,
    pub(super) keep: usize,
    pub(super) report: RepairReport,
    pub(super) moved: Moved,
}

/// The buckets that a call has moved, or would move, by their ids, and for each the first bucket that has a problem with
/// it: later ones have that problem with this one.
pub(super) type Moved = HashMap<String, Option<Bson>>;

/// What has to be done about the problems of a bucket with others.
#[derive(Default)]
struct WithOthers {
    /// It takes no more records, because of this one.
    close: Option<Problem>,
    /// It moves, because of these.
    quarantine: Vec<Problem>,
    /// Only a person can decide.
    left: Vec<Problem>,
    /// A bucket of its key comes after it.
    is_followed: bool,
}

impl<T: Record> Repairing<'_, T> {
    /// Repairs the buckets of these findings.
    pub(super) async fn all(&mut self, findings: &[Finding]) -> Result<()> {
        let mut of_buckets: Vec<(&Finding, Vec<&Problem>)> = Vec::new();
        for finding in findings {
            let known = of_buckets.iter_mut().rev();
            // The findings of a document by itself follow each other.
            match known.take(16).find(|(first, _)| first.id == finding.id) {
                Some((_, problems)) => problems.push(&finding.problem),
                None => of_buckets.push((finding, vec![&finding.problem])),
            }
        }
        for (finding, problems) in of_buckets {
            let bucket = self.bucket(finding, &problems).await?;
            if !bucket.quarantined.is_empty() {
                self.moved.insert(finding.id.to_string(), None);
            }
            self.report.add(bucket, self.keep);
        }
        Ok(())
    }

    async fn bucket(&mut self, found: &Finding, problems: &[&Problem]) -> Result<RepairedBucket> {
        let mut bucket = RepairedBucket {
            id: found.id.clone(),
            key: found.key.clone(),
            ..RepairedBucket::default()
        };
        let mut editing = Editing::new(self.buckets, None, self.settings, self.context.clone())?;
        let mut has_rival = false;
        for _ in 0..ATTEMPTS {
            let plan = document_with_id(&found.id);
            let Some(stored) = editing.read(plan).await?.pop() else {
                return Ok(bucket);
            };
            let mut others = self
                .with_others(&mut editing, &stored, problems, &bucket)
                .await?;
            others.is_followed |= has_rival;
            let is_followed = others.is_followed;
            let sent = self.one(&mut editing, &stored, others, &mut bucket).await;
            match sent {
                Ok(Sent::Made(_)) => return Ok(bucket),
                Ok(Sent::Lost) => {}
                // A writer has opened a bucket since the look.
                Err(error) if error.is_duplicate_key() && !is_followed => has_rival = true,
                Err(error) if is_refused(&error) => {
                    bucket.left.append(&mut bucket.mended);
                    bucket.left.append(&mut bucket.quarantined);
                    bucket.refused = Some(error.to_string());
                    return Ok(bucket);
                }
                Err(error) => return Err(error),
            }
            (bucket.mended, bucket.quarantined) = (Vec::new(), Vec::new());
            bucket.left = Vec::new();
        }
        bucket.is_changed = true;
        Ok(bucket)
    }

    /// The bucket that has the problems with this one which another bucket had: that bucket, or if it has moved, the first
    /// one after it.
    fn in_place_of(&mut self, other: &Bson, own: &Bson) -> Bson {
        let mut other = other.clone();
        while other != *own
            && let Some(first) = self.moved.get_mut(&other.to_string())
        {
            other = first.get_or_insert_with(|| own.clone()).clone();
        }
        other
    }

    /// Looks at the problems of a bucket with others again.
    async fn with_others(
        &mut self,
        editing: &mut Editing<'_, T>,
        stored: &RawDocumentBuf,
        problems: &[&Problem],
        bucket: &RepairedBucket,
    ) -> Result<WithOthers> {
        let mut found = WithOthers::default();
        for problem in problems.iter().copied() {
            let Some(other) = other_document(problem) else {
                // Nothing in a document by itself shows these.
                if matches!(
                    problem,
                    Problem::Gap { .. } | Problem::RoomBefore { .. } | Problem::Position { .. }
                ) {
                    found.left.push(problem.clone());
                }
                continue;
            };
            let other = self.in_place_of(other, &bucket.id);
            let Some(other) = editing.read(document_with_id(&other)).await?.pop() else {
                continue;
            };
            let limits = |key: &T::Key| self.buckets.limits_of(key);
            match between_two::<T>(problem, stored, &other, limits) {
                BetweenTwo::Close => found.close = Some(problem.clone()),
                BetweenTwo::Quarantine => found.quarantine.push(problem.clone()),
                _ => {}
            }
        }
        if let Some(plan) = has_followers::<T>(stored) {
            let newest = editing.read(plan).await?.pop();
            let id = |of: &RawDocumentBuf| of.get("_id").ok().flatten().map(RawBson::from);
            found.is_followed = newest.is_some_and(|newest| id(&newest) != id(stored));
        }
        Ok(found)
    }

    /// Does what one state of a bucket needs.
    async fn one(
        &self,
        editing: &mut Editing<'_, T>,
        stored: &RawDocumentBuf,
        others: WithOthers,
        bucket: &mut RepairedBucket,
    ) -> Result<Sent> {
        let done = Sent::Made(1);
        bucket.left = others.left;
        let limits = |key: &T::Key| self.buckets.limits_of(key);
        let now = DateTime::now();
        let remedy = match others.quarantine {
            problems if problems.is_empty() => {
                remedy::<T>(stored, limits, now, others.close, others.is_followed)
            }
            problems => Remedy::quarantine(problems),
        };
        match remedy {
            Remedy::Mend {
                command,
                mended,
                left,
                ..
            } => {
                bucket.mended = mended;
                bucket.left.extend(left);
                if self.is_dry {
                    return Ok(done);
                }
                editing.send(command, 1).await
            }
            Remedy::Quarantine { problems, .. } => {
                // It leaves with what was between it and others.
                bucket.left = Vec::new();
                bucket.quarantined = problems;
                if self.is_dry {
                    return Ok(done);
                }
                let copy = self.copy(stored, &bucket.quarantined).await?;
                let sent = editing.send(move_out(T::SPEC, stored), 1).await?;
                if matches!(sent, Sent::Lost) {
                    // It has changed, or another call has moved it.
                    self.leave(&copy).await?;
                }
                Ok(sent)
            }
            Remedy::Leave { problems, .. } => {
                bucket.left.extend(problems);
                Ok(done)
            }
            _ => Ok(done),
        }
    }

    /// Stores a copy in the quarantine, or goes on with the one of an earlier call. Returns its id. The copy is there as long
    /// as this call relies on it.
    async fn copy(&self, stored: &RawDocumentBuf, problems: &[Problem]) -> Result<RawDocumentBuf> {
        let now = DateTime::now();
        let mut was_gone = false;
        for number in 0..MOST_COPIES {
            let into = self.quarantine;
            let (id, command) = quarantine(T::SPEC, into, stored, problems, number, now);
            let error = match self.in_quarantine(command).await {
                Ok(Sent::Made(_)) => return Ok(id),
                Ok(Sent::Lost) => continue,
                Err(error) => error,
            };
            let is_same = |copy: &RawDocumentBuf| {
                copied_document(copy).is_some_and(|it| it.as_bytes() == stored.as_bytes())
            };
            let is_unknown = error.is_outcome_unknown();
            if !error.is_duplicate_key() && !is_unknown {
                return Err(error);
            }
            let is_gone = loop {
                // Each call that relies on it counts itself before it looks.
                let counted = self.in_quarantine(count_calls(into, &id, 1)).await?;
                let is_counted = matches!(counted, Sent::Made(_));
                let copy = self.copied(&id).await?;
                let is_same = copy.as_ref().is_some_and(is_same);
                let is_lasting = copy.as_ref().is_some_and(|copy| !may_be_taken_back(copy));
                if is_same && (is_counted || is_lasting) {
                    return Ok(id);
                }
                if is_counted {
                    self.leave(&id).await?;
                }
                // Another call has made it since this one counted itself.
                if !is_same {
                    break copy.is_none();
                }
            };
            if is_unknown || (is_gone && was_gone) {
                return Err(error);
            }
            was_gone |= is_gone;
        }
        let message = format!("the quarantine has {MOST_COPIES} buckets with this id");
        let kind = ErrorKind::InvalidArgument { message };
        Err(Error::new(kind, &self.context))
    }

    /// This call does not rely on the copy any more. The last one removes it.
    async fn leave(&self, copy: &RawDocumentBuf) -> Result<()> {
        let into = self.quarantine;
        self.in_quarantine(count_calls(into, copy, -1)).await?;
        self.in_quarantine(take_back(into, copy)).await.map(drop)
    }

    /// Sends a statement for the quarantine.
    async fn in_quarantine(&self, command: RawDocumentBuf) -> Result<Sent> {
        let settings = Settings {
            write_concern: Some(durable()),
            deadline: self.settings.deadline,
        };
        let mut editing = Editing::new(self.buckets, None, &settings, self.context.clone())?;
        editing.send(command, 1).await
    }

    /// The copy with this id, on the primary. A rollback that takes it takes a later removal too.
    async fn copied(&self, id: &RawDocumentBuf) -> Result<Option<RawDocumentBuf>> {
        let database = self.buckets.store().database();
        let copies: Collection<RawDocumentBuf> = collection(database, self.quarantine);
        let failed = |error| Error::read(error, &self.context);
        let id = Document::try_from(id.clone()).map_err(|error| failed(error.into()))?;
        let mut filter = Document::new();
        filter.insert("_id", Bson::Document(id));
        let primary = SelectionCriteria::ReadPreference(ReadPreference::Primary);
        let find = copies.find_one(filter).selection_criteria(primary);
        find.read_concern(ReadConcern::local())
            .await
            .map_err(failed)
    }
}

/// Whether the server refused the statement for what is in it, so that another bucket may fare better.
fn is_refused(error: &Error) -> bool {
    let is_about_all = error.is_retryable()
        || error.is_outcome_unknown()
        || error.is_unauthorized()
        || error.is_unreachable()
        || error.is_timed_out()
        || error.is_drift();
    error.is_duplicate_key() || (error.code().is_some() && !is_about_all)
}
