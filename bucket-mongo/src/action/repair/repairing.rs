//! The repair of one bucket after another.

use std::collections::HashMap;

use bucket_core::{
    Form, Record,
    check::{Finding, Problem},
    repair::{
        BetweenTwo, Remedy, between_two, document_with_id, move_out, newest_buckets,
        other_document, remedy,
    },
};
use mongodb::bson::{Bson, DateTime, RawDocumentBuf};

use super::{RepairReport, RepairedBucket};
use crate::{
    Buckets, Error, Result,
    action::edit::{Editing, Sent},
    error::Context,
    writer::Settings,
};

/// How often a bucket is read again if others change it.
const ATTEMPTS: usize = 8;
/// The server's codes for a document or a command of more than 16 MB.
const TOO_LARGE: [i32; 4] = [10_334, 17_280, 17_419, 17_420];

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

/// The buckets that a call has moved, or would move, and those that were gone, by their ids: each with those that have a
/// problem with it, in the order in which they were looked at. One that stays takes its place.
pub(super) type Moved = HashMap<String, Vec<Bson>>;

/// How many of the newest buckets of a key are read besides those that have moved, to find one after another bucket,
const LATER: usize = 16;
/// and the most in all.
const MOST_LATER: usize = 1_000;

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
        let mut places = HashMap::new();
        for finding in findings {
            let next = of_buckets.len();
            let place = *places.entry(finding.id.to_string()).or_insert(next);
            match of_buckets.get_mut(place) {
                Some((_, problems)) => problems.push(&finding.problem),
                None => of_buckets.push((finding, vec![&finding.problem])),
            }
        }
        let mut was_late = false;
        for (finding, problems) in of_buckets {
            let mut bucket = RepairedBucket {
                id: finding.id.clone(),
                key: finding.key.clone(),
                ..RepairedBucket::default()
            };
            match self.bucket(finding, &problems, &mut bucket).await {
                Ok(()) => was_late = false,
                // Somebody holds it, as a transaction does. If the next one is late, too, it is the server.
                Err(error) if is_late(&error) && !was_late => {
                    was_late = true;
                    bucket.stays(&error);
                    if bucket.left.is_empty() {
                        bucket.left = problems.into_iter().cloned().collect();
                    }
                }
                Err(error) => return Err(error),
            }
            if !bucket.quarantined.is_empty() {
                self.moved.entry(finding.id.to_string()).or_default();
            }
            self.report.add(bucket, self.keep);
        }
        Ok(())
    }

    async fn bucket(
        &mut self,
        found: &Finding,
        problems: &[&Problem],
        bucket: &mut RepairedBucket,
    ) -> Result<()> {
        let mut editing = Editing::new(self.buckets, None, self.settings, self.context.clone())?;
        let mut has_rival = false;
        for _ in 0..ATTEMPTS {
            let plan = document_with_id(&found.id);
            let Some(stored) = editing.read(plan).await?.pop() else {
                return Ok(());
            };
            let mut others = self
                .with_others(&mut editing, &stored, problems, found)
                .await?;
            others.is_followed |= has_rival;
            let is_followed = others.is_followed;
            let sent = self.one(&mut editing, &stored, others, bucket).await;
            match sent {
                Ok(Sent::Made(_)) => return Ok(()),
                Ok(Sent::Lost) => {}
                // A writer has opened a bucket since the look.
                Err(error) if error.is_duplicate_key() && !is_followed => has_rival = true,
                Err(error) if is_refused(&error) => {
                    bucket.stays(&error);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            (bucket.mended, bucket.quarantined) = (Vec::new(), Vec::new());
            bucket.left = Vec::new();
        }
        bucket.is_changed = true;
        Ok(())
    }

    /// Looks at the problems of a bucket with others again.
    async fn with_others(
        &mut self,
        editing: &mut Editing<'_, T>,
        stored: &RawDocumentBuf,
        problems: &[&Problem],
        of: &Finding,
    ) -> Result<WithOthers> {
        let own = &of.id;
        let newest = self.newest(editing, stored, problems).await?;
        let mut found = WithOthers {
            is_followed: newest.first().is_some_and(|newest| id_of(newest) != *own),
            ..WithOthers::default()
        };
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
            let others = match self.still_there(editing, other).await? {
                Some(other) => vec![other],
                None if is_with_later(problem) => newest.clone(),
                None => self.in_place_of(editing, other, own).await?,
            };
            let limits = |key: &T::Key| self.buckets.limits_of(key);
            let between = others
                .iter()
                .map(|other| between_two::<T>(problem, stored, other, limits))
                .find(|between| *between != BetweenTwo::Gone);
            match between {
                Some(BetweenTwo::Close) => found.close = Some(problem.clone()),
                Some(BetweenTwo::Quarantine) => found.quarantine.push(problem.clone()),
                _ => {}
            }
        }
        Ok(found)
    }

    /// The document with this id, unless it has moved, or is gone.
    async fn still_there(
        &mut self,
        editing: &mut Editing<'_, T>,
        id: &Bson,
    ) -> Result<Option<RawDocumentBuf>> {
        if self.has_moved(id) {
            return Ok(None);
        }
        let found = editing.read(document_with_id(id)).await?.pop();
        if found.is_none() {
            // Another call may have moved it.
            self.moved.insert(id.to_string(), Vec::new());
        }
        Ok(found)
    }

    fn has_moved(&self, id: &Bson) -> bool {
        self.moved.contains_key(&id.to_string())
    }

    /// The buckets that had a problem with one that has moved, as this one has, and stay.
    async fn in_place_of(
        &mut self,
        editing: &mut Editing<'_, T>,
        moved: &Bson,
        own: &Bson,
    ) -> Result<Vec<RawDocumentBuf>> {
        let before = self.moved.entry(moved.to_string()).or_default();
        if !before.contains(own) {
            before.push(own.clone());
        }
        let before = before.clone();
        let mut stay = Vec::new();
        for id in before.iter().take_while(|id| *id != own) {
            stay.extend(self.still_there(editing, id).await?);
        }
        Ok(stay)
    }

    /// The newest buckets of the bucket's key that have not moved, without their items, if what to do depends on them.
    async fn newest(
        &self,
        editing: &mut Editing<'_, T>,
        stored: &RawDocumentBuf,
        problems: &[&Problem],
    ) -> Result<Vec<RawDocumentBuf>> {
        let is_counted = matches!(T::SPEC.form(), Form::Count { .. });
        if !is_counted && !problems.iter().any(|problem| is_with_later(problem)) {
            return Ok(Vec::new());
        }
        // Some of them may have moved, and any that has not may be the open one.
        let buckets = match self.moved.len() {
            0 => 1,
            moved => moved.saturating_add(LATER).min(MOST_LATER),
        };
        let Some(plan) = newest_buckets::<T>(stored, buckets) else {
            return Ok(Vec::new());
        };
        let mut newest = editing.read(plan).await?;
        newest.retain(|bucket| !self.has_moved(&id_of(bucket)));
        Ok(newest)
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
            problems => Remedy::quarantine::<T>(stored, problems),
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
                let sent = editing.send(move_out(T::SPEC, stored), 1).await;
                match &sent {
                    // It has changed, or another call has moved it.
                    Ok(Sent::Lost) => self.leave(&copy).await?,
                    // It is still in its place. If the copy cannot be taken back, the next call finds it.
                    Err(error) if is_refused(error) || error.is_unauthorized() => {
                        self.leave(&copy).await.ok();
                    }
                    _ => {}
                }
                sent
            }
            Remedy::Leave { problems, .. } => {
                bucket.left.extend(problems);
                Ok(done)
            }
            _ => Ok(done),
        }
    }
}

/// Whether the server did not answer for this bucket in time.
fn is_late(error: &Error) -> bool {
    error.is_timed_out() || error.is_outcome_unknown()
}

fn id_of(stored: &RawDocumentBuf) -> Bson {
    let id = stored.get("_id").ok().flatten();
    id.and_then(|id| Bson::try_from(id).ok())
        .unwrap_or_default()
}

/// Whether the other bucket of the problem comes after the first one, so that any later one may have the same.
fn is_with_later(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::OpenBefore { .. } | Problem::TwoOpen { .. }
    )
}

/// Whether the server refused the statement for what is in it, so that another bucket may fare better.
fn is_refused(error: &Error) -> bool {
    let is_about_all = error.is_retryable()
        || error.is_outcome_unknown()
        || error.is_unauthorized()
        || error.is_unreachable()
        || error.is_timed_out()
        || error.is_drift();
    let is_too_large = error.code().is_some_and(|code| TOO_LARGE.contains(&code));
    error.is_duplicate_key() || is_too_large || (error.code().is_some() && !is_about_all)
}
