//! What to do about a document.

use bson::{DateTime, RawDocument, RawDocumentBuf, doc};

use super::{changes::Changes, mends, statement};
use crate::{
    bucket::{
        header::{has_no_items, overwritten},
        key_of,
        record::Record,
        sealed::EXPIRED,
        unsealed,
    },
    check::{Checked, Problem, ProblemKind, document, problem},
    error::Damage,
    model::limits::Limits,
    read::{FindPlan, key_elements, newest},
};

/// What to do about a document.
#[derive(Debug)]
#[non_exhaustive]
pub enum Remedy {
    /// Nothing: it keeps its promises.
    Nothing,
    /// It gets other values of some fields, by this command.
    #[non_exhaustive]
    Mend {
        /// The command. It matches only the document that was read.
        command: RawDocumentBuf,
        /// What is mended.
        mended: Vec<Problem>,
        /// The harmless rest.
        left: Vec<Problem>,
    },
    /// It moves into the quarantine.
    #[non_exhaustive]
    Quarantine {
        /// What cannot be mended.
        problems: Vec<Problem>,
    },
    /// It stays as it is: what is wrong does no harm.
    #[non_exhaustive]
    Leave {
        /// What is wrong.
        problems: Vec<Problem>,
    },
}

impl Remedy {
    /// The move into the quarantine because of problems with other documents, unless the items of this one cannot be read.
    #[must_use]
    pub fn quarantine<T: Record>(stored: &RawDocument, problems: Vec<Problem>) -> Self {
        let unread = match unsealed(T::SPEC, stored) {
            // Its statistics are counted twice: the quarantine has them then.
            Err(Damage::Expired { .. }) => return Self::Quarantine { problems },
            read => read.err().map(problem),
        };
        not_mended::<T>(stored, problems.into_iter().chain(unread).collect())
    }
}

/// What to do about a document. `closed_for` is what asks for a bucket that takes no more records; `is_followed` says that
/// the key has a bucket after it, see [`newest_buckets`].
///
/// ```
/// # use bson::{DateTime, RawDocument};
/// # use bucket_core::{Record, repair::{Remedy, remedy}};
/// fn is_fine<T: Record>(stored: &RawDocument) -> bool {
///     matches!(remedy::<T>(stored, |_| None, DateTime::now(), None, false), Remedy::Nothing)
/// }
/// ```
pub fn remedy<T: Record>(
    stored: &RawDocument,
    limits: impl Fn(&T::Key) -> Option<Limits>,
    now: DateTime,
    closed_for: Option<Problem>,
    is_followed: bool,
) -> Remedy {
    let check = |stored: &RawDocument| document::<T>(stored, &limits, now);
    let before = check(stored).problems;
    let mut mending = Mending {
        changes: Changes::default(),
        stored: stored.to_owned(),
        checked: check(stored),
    };
    if let Some(problem) = &closed_for {
        let Some(changes) = mends::closing::<T>(stored, &limits) else {
            let problems = [problem.clone()].into_iter().chain(before).collect();
            return not_mended::<T>(stored, problems);
        };
        mending.take(changes, &check);
    }
    // One mend may show the next problem: without the right count, nothing else is compared.
    let rounds = before.len() + MORE;
    for _ in 0..rounds {
        let harmful = mending.problems(true);
        let mut all = Changes::default();
        for problem in &harmful {
            let mend = mends::of::<T>(problem, &mending.stored, &limits, now, is_followed);
            all.extend(mend.unwrap_or_default());
        }
        if all.is_empty() || !mending.take(all, &check) {
            break;
        }
    }
    let harmful = mending.problems(true);
    if !harmful.is_empty() {
        let unread = before
            .into_iter()
            .filter(|it| it.kind() == ProblemKind::Sealed);
        return not_mended::<T>(stored, harmful.into_iter().chain(unread).collect());
    }
    let needed = (mending.changes.clone(), mending.checked.problems.clone());
    let mut tried = Vec::new();
    while let Some(problem) = mending.next(&tried) {
        let mend = mends::of::<T>(&problem, &mending.stored, &limits, now, is_followed);
        if let Some(changes) = mend {
            mending.try_one(changes, &problem, &check);
        }
        tried.push(problem);
    }
    // The document may be too large for a statement that replaces its items, which harmless problems may ask for.
    for (changes, left) in [(mending.changes, mending.checked.problems), needed] {
        if changes.is_empty() {
            return if left.is_empty() {
                Remedy::Nothing
            } else {
                Remedy::Leave { problems: left }
            };
        }
        if let Some(command) = statement::mend::<T>(stored, &changes) {
            let before = before.into_iter();
            return Remedy::Mend {
                command,
                mended: closed_for
                    .into_iter()
                    .chain(before.filter(|it| !left.contains(it)))
                    .collect(),
                left,
            };
        }
    }
    Remedy::Leave { problems: before }
}

/// A document with problems that nothing mends. One whose items are elsewhere, or cannot be read by this program, stays: with
/// its items, more may be mended. So does one of which only the statistics are kept: reads would lose them.
fn not_mended<T: Record>(stored: &RawDocument, problems: Vec<Problem>) -> Remedy {
    let is_header = overwritten(T::SPEC, stored) == Some(EXPIRED);
    if is_header || has_no_items(T::SPEC, stored) {
        Remedy::Leave { problems }
    } else {
        Remedy::Quarantine { problems }
    }
}

/// The find for the newest buckets of a document's key, without their items; `None` if the key cannot be read.
#[must_use]
pub fn newest_buckets<T: Record>(stored: &RawDocument, buckets: usize) -> Option<FindPlan> {
    let spec = T::SPEC;
    let key = key_of::<T>(stored).ok()?;
    Some(FindPlan {
        limit: i64::try_from(buckets).unwrap_or(i64::MAX),
        projection: doc! { spec.items(): 0 },
        ..newest(spec, &key_elements::<T>(&key))
    })
}

/// How many rounds there are besides one for each problem.
const MORE: usize = 8;

/// A document on its way to one that keeps its promises.
struct Mending {
    changes: Changes,
    /// With the changes.
    stored: RawDocumentBuf,
    checked: Checked,
}

impl Mending {
    fn problems(&self, harmful: bool) -> Vec<Problem> {
        let problems = self.checked.problems.iter();
        let problems = problems.filter(|it| it.kind().is_harmful() == harmful);
        problems.cloned().collect()
    }

    /// The next harmless problem.
    fn next(&self, tried: &[Problem]) -> Option<Problem> {
        let is_new = |problem: &&Problem| {
            let mut tried = tried.iter();
            !tried.any(|tried| mends::are_mended_together(tried, problem))
        };
        let problems = self.checked.problems.iter();
        let mut harmless = problems.filter(|it| !it.kind().is_harmful());
        harmless.find(is_new).cloned()
    }

    /// Whether the changes change something.
    fn take(&mut self, changes: Changes, check: &impl Fn(&RawDocument) -> Checked) -> bool {
        let Some(stored) = changes.apply(&self.stored) else {
            return false;
        };
        if stored == self.stored {
            return false;
        }
        self.checked = check(&stored);
        self.stored = stored;
        self.changes.extend(changes);
        true
    }

    /// Takes the changes if they do no harm, and the problem is gone.
    fn try_one(
        &mut self,
        changes: Changes,
        problem: &Problem,
        check: &impl Fn(&RawDocument) -> Checked,
    ) {
        let Some(stored) = changes.apply(&self.stored) else {
            return;
        };
        let checked = check(&stored);
        let is_harmful = checked.problems.iter().any(|it| it.kind().is_harmful());
        if !is_harmful && !checked.problems.contains(problem) {
            self.stored = stored;
            self.checked = checked;
            self.changes.extend(changes);
        }
    }
}
