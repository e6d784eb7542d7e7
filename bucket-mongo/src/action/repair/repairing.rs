//! The repair of one bucket after another.

use bucket_core::{
    Record,
    check::{Finding, Problem},
    repair::{
        BetweenTwo, Remedy, between_two, copied_document, document_with_id, has_followers,
        move_out, other_document, quarantine, remedy,
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
}

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
            self.report.add(bucket, self.keep);
        }
        Ok(())
    }

    async fn bucket(&self, found: &Finding, problems: &[&Problem]) -> Result<RepairedBucket> {
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
            let mut others = self.with_others(&mut editing, &stored, problems).await?;
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

    /// Looks at the problems of a bucket with others again.
    async fn with_others(
        &self,
        editing: &mut Editing<'_, T>,
        stored: &RawDocumentBuf,
        problems: &[&Problem],
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
            let Some(other) = editing.read(document_with_id(other)).await?.pop() else {
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
                self.copy(stored, &bucket.quarantined).await?;
                editing.send(move_out(T::SPEC, stored), 1).await
            }
            Remedy::Leave { problems, .. } => {
                bucket.left.extend(problems);
                Ok(done)
            }
            _ => Ok(done),
        }
    }

    /// Stores a copy in the quarantine, or finds the one of an earlier call.
    async fn copy(&self, stored: &RawDocumentBuf, problems: &[Problem]) -> Result<()> {
        let settings = Settings {
            write_concern: Some(durable()),
            deadline: self.settings.deadline,
        };
        let now = DateTime::now();
        for number in 0..MOST_COPIES {
            let into = self.quarantine;
            let (id, command) = quarantine(T::SPEC, into, stored, problems, number, now);
            let mut editing = Editing::new(self.buckets, None, &settings, self.context.clone())?;
            let error = match editing.send(command, 1).await {
                Ok(Sent::Made(_)) => return Ok(()),
                Ok(Sent::Lost) => continue,
                Err(error) => error,
            };
            if !error.is_duplicate_key() && !error.is_outcome_unknown() {
                return Err(error);
            }
            let copy = self.copied(&id).await?;
            let copied = copy.as_ref().and_then(|copy| copied_document(copy));
            match copied {
                Some(copied) if copied.as_bytes() == stored.as_bytes() => return Ok(()),
                Some(_) if error.is_duplicate_key() => {}
                _ => return Err(error),
            }
        }
        let message = format!("the quarantine has {MOST_COPIES} buckets with this id");
        let kind = ErrorKind::InvalidArgument { message };
        Err(Error::new(kind, &self.context))
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
