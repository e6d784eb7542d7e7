//! A job: what is stored of its progress, and the statements that guard each step of it.
//!
//! Each step has a number. Whoever begins to work on a job sets the next number and an id of its own, and each chunk sets the next
//! number in its transaction. Both match only what the worker has set before. So of two workers the later one goes on, and the
//! other one stores nothing more. The number by itself would not do: a job that is removed and begun anew counts from 0 again, and
//! so does one whose last claim was rolled back.
//!
//! The job also names the sessions of its workers. A process that is killed may leave a transaction open, which keeps others
//! from its documents for a minute: the next worker ends the sessions that are named.

use bson::{Bson, DateTime, Document, doc, oid::ObjectId};

use super::order::{Order, Pass, Position};
use crate::model::{spec::ID, whole};

/// The collection that has the jobs of a database.
pub const COLLECTION: &str = "bucket_backfills";
/// How many sessions a job names.
const SESSIONS: i32 = 16;

/// What a job has done, in all its runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// The documents that were read.
    pub read: u64,
    /// The records that were stored.
    pub stored: u64,
    /// The records that were stored already under their id.
    pub duplicates: u64,
    /// The documents that were rejected.
    pub rejected: u64,
}

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    id: Document,
    /// What identifies the collection that is read, if the server says it.
    source: Option<Bson>,
    index: Option<String>,
    fields: Vec<String>,
    step: i64,
    /// Who works on it.
    worker: Option<ObjectId>,
    position: Position,
    counts: Counts,
    sessions: Vec<Document>,
}

/// Why a job cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobFault {
    /// What is stored is no job.
    Malformed,
    /// The job read another collection, which had the same name.
    OtherSource,
    /// The job reads in another order than the one asked for.
    OtherOrder,
}

/// A statement on the document of a job.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Advance {
    /// Matches the job, if nobody else has set another number or worker.
    pub filter: Document,
    /// The change.
    pub update: Document,
}

impl Job {
    /// A job that has not begun: it reads the source with this name into this collection.
    #[must_use]
    pub fn new(from: &str, to: &str, source: Option<Bson>, order: &Order) -> Self {
        Self {
            id: doc! { "from": from, "to": to },
            source,
            index: order.index().map(str::to_owned),
            fields: order.fields().map(str::to_owned).collect(),
            step: 0,
            worker: None,
            position: order.begin(),
            counts: Counts::default(),
            sessions: Vec::new(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.id.get_str("from").unwrap_or_default()
    }

    /// Matches the document of the job.
    #[must_use]
    pub fn filter(&self) -> Document {
        doc! { ID: self.id.clone() }
    }

    /// The document of a new job.
    #[must_use]
    pub fn document(&self, now: DateTime) -> Document {
        doc! {
            ID: self.id.clone(),
            "source": self.source.clone(),
            "index": self.index.clone(),
            "fields": self.fields.clone(),
            "step": self.step,
            "worker": self.worker,
            "pass": pass_name(self.position.pass),
            "place": self.position.place.clone(),
            "crowds": [],
            "read": 0_i64,
            "stored": 0_i64,
            "duplicates": 0_i64,
            "rejected": 0_i64,
            "sessions": [],
            "begun": now,
            "changed": now,
        }
    }

    /// The job that is stored.
    ///
    /// # Errors
    ///
    /// If it is none, or none that reads this source.
    pub fn stored(&self, document: &Document) -> Result<Self, JobFault> {
        let stored = Self::of(document).ok_or(JobFault::Malformed)?;
        match (&self.source, &stored.source) {
            (Some(this), Some(other)) if this != other => Err(JobFault::OtherSource),
            _ => Ok(stored),
        }
    }

    fn of(document: &Document) -> Option<Self> {
        let text = |name| document.get_str(name).ok();
        let number = |name| u64::try_from(whole::field(document, name)?).ok();
        let fields = document.get_array("fields").ok()?.iter();
        let sessions = document.get_array("sessions").ok()?.iter();
        let crowds = document.get_array("crowds").ok()?.iter();
        let filled = |name| document.get(name).filter(|value| **value != Bson::Null);
        let pass = [Pass::Index, Pass::Id, Pass::Done];
        let pass = pass
            .into_iter()
            .find(|pass| Some(pass_name(*pass)) == text("pass"))?;
        Some(Self {
            id: document.get_document(ID).ok()?.clone(),
            source: filled("source").cloned(),
            index: match filled("index") {
                Some(Bson::String(name)) => Some(name.clone()),
                Some(_) => return None,
                None => None,
            },
            fields: fields
                .map(|name| name.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            step: whole::field(document, "step")?,
            worker: match filled("worker") {
                Some(Bson::ObjectId(worker)) => Some(*worker),
                Some(_) => return None,
                None => None,
            },
            position: Position {
                pass,
                place: match filled("place") {
                    Some(Bson::Array(place)) => Some(place.clone()),
                    Some(_) => return None,
                    None => None,
                },
                crowds: crowds
                    .map(|crowd| crowd.as_array().cloned())
                    .collect::<Option<_>>()?,
            },
            counts: Counts {
                read: number("read")?,
                stored: number("stored")?,
                duplicates: number("duplicates")?,
                rejected: number("rejected")?,
            },
            sessions: sessions
                .filter_map(|session| session.as_document().cloned())
                .collect(),
        })
    }

    /// The name of the index that the job reads by; `None` for that on `_id`.
    #[must_use]
    pub fn index(&self) -> Option<&str> {
        self.index.as_deref()
    }

    /// Checks that the job reads in this order.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub fn check_order(&self, order: &Order) -> Result<(), JobFault> {
        let is_same = self.index() == order.index()
            && self.fields.iter().map(String::as_str).eq(order.fields());
        if is_same {
            Ok(())
        } else {
            Err(JobFault::OtherOrder)
        }
    }

    /// Where the job goes on.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.position.pass == Pass::Done
    }

    /// What it has done.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The sessions of its workers.
    #[must_use]
    pub fn sessions(&self) -> &[Document] {
        &self.sessions
    }

    fn guarded(&self, step: i64, update: Document) -> Advance {
        let mut filter = self.filter();
        filter.insert("step", step);
        filter.insert("worker", self.worker);
        Advance { filter, update }
    }

    /// Makes this worker, which has this id for this claim only, the one that goes on; [`claimed`](Self::claimed) follows.
    #[must_use]
    pub fn claim(&self, worker: ObjectId, now: DateTime) -> Advance {
        let step = self.step + 1;
        let update = doc! { "$set": { "step": step, "worker": worker, "changed": now } };
        self.guarded(self.step, update)
    }

    /// This worker goes on.
    pub fn claimed(&mut self, worker: ObjectId) {
        self.step += 1;
        self.worker = Some(worker);
    }

    /// The first statement of a chunk: nothing else of it is sent where another worker has taken over.
    #[must_use]
    pub fn begin_step(&self) -> Advance {
        self.guarded(self.step, doc! { "$set": { "step": self.step + 1 } })
    }

    /// The last statement of a chunk; [`made_step`](Self::made_step) follows when it is committed.
    #[must_use]
    pub fn end_step(&self, next: &Position, counts: Counts, now: DateTime) -> Advance {
        let long = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let update = doc! {
            "$set": {
                "pass": pass_name(next.pass),
                "place": next.place.clone(),
                "crowds": next.crowds.iter().map(|crowd| Bson::from(crowd.clone())).collect::<Vec<_>>(),
                "changed": now,
            },
            "$inc": {
                "read": long(counts.read),
                "stored": long(counts.stored),
                "duplicates": long(counts.duplicates),
                "rejected": long(counts.rejected),
            },
        };
        self.guarded(self.step + 1, update)
    }

    /// The chunk is stored.
    pub fn made_step(&mut self, next: Position, counts: Counts) {
        self.step += 1;
        self.position = next;
        self.counts.read += counts.read;
        self.counts.stored += counts.stored;
        self.counts.duplicates += counts.duplicates;
        self.counts.rejected += counts.rejected;
    }

    /// Names a session, before it begins a transaction.
    #[must_use]
    pub fn name_session(&self, session: &Document) -> Advance {
        let session = doc! { "$each": [session.clone()], "$slice": -SESSIONS };
        self.guarded(self.step, doc! { "$push": { "sessions": session } })
    }

    /// Takes the names of sessions away, whoever works on the job.
    #[must_use]
    pub fn forget_sessions(&self, sessions: &[Document]) -> Advance {
        Advance {
            filter: self.filter(),
            update: doc! { "$pull": { "sessions": { "$in": sessions.to_vec() } } },
        }
    }
}

fn pass_name(pass: Pass) -> &'static str {
    match pass {
        Pass::Index => "index",
        Pass::Id => "_id",
        Pass::Done => "done",
    }
}

#[cfg(test)]
mod tests {
    use bson::{Bson, DateTime, doc, oid::ObjectId};

    use super::{Counts, Job, JobFault};
    use crate::backfill::{
        chunk::tests::SPEC,
        order::{Order, Pass, Position},
    };

    fn job() -> Job {
        let index = doc! { "name": "i", "key": { "k": 1, "t": 1 } };
        let order = Order::best(&SPEC, &[index]);
        Job::new("a.b", "readings", Some(Bson::Int32(1)), &order)
    }

    #[test]
    fn a_job_is_read_as_it_was_written() {
        let job = job();
        let document = job.document(DateTime::from_millis(0));
        assert_eq!(job.stored(&document), Ok(job.clone()));
        let mut other = document.clone();
        other.insert("source", 2);
        assert_eq!(job.stored(&other), Err(JobFault::OtherSource));
        other.insert("source", Bson::Null);
        assert!(job.stored(&other).is_ok());
        for name in [
            "step", "pass", "fields", "sessions", "crowds", "read", "worker", "_id",
        ] {
            let mut other = document.clone();
            other.insert(name, "x");
            assert_eq!(job.stored(&other), Err(JobFault::Malformed), "{name}");
        }
        assert_eq!(
            job.check_order(&Order::by_id(&SPEC)),
            Err(JobFault::OtherOrder)
        );
    }

    #[test]
    fn each_statement_requires_the_number_of_the_one_before_and_its_worker() {
        let mut job = job();
        let worker = ObjectId::new();
        let id = doc! { "from": "a.b", "to": "readings" };
        let filter = |step: i64, worker: Option<ObjectId>| doc! { "_id": id.clone(), "step": step, "worker": worker };
        let claim = job.claim(worker, DateTime::from_millis(0));
        assert_eq!(claim.filter, filter(0, None));
        let set = claim.update.get_document("$set").unwrap();
        assert_eq!(set.get_object_id("worker").unwrap(), worker);
        job.claimed(worker);
        let begun = job.begin_step();
        assert_eq!(begun.filter, filter(1, Some(worker)));
        assert_eq!(begun.update, doc! { "$set": { "step": 2_i64 } });
        let next = Position {
            pass: Pass::Index,
            place: Some(vec![Bson::Int32(1), Bson::Null]),
            crowds: Vec::new(),
        };
        let counts = Counts {
            read: 7,
            ..Counts::default()
        };
        let ended = job.end_step(&next, counts, DateTime::from_millis(0));
        assert_eq!(ended.filter, filter(2, Some(worker)));
        job.made_step(next.clone(), counts);
        assert_eq!((job.position(), job.counts()), (&next, counts));
        assert_eq!(job.begin_step().filter.get_i64("step").unwrap(), 2);
        assert_eq!(job.forget_sessions(&[]).filter, doc! { "_id": id });
    }
}
