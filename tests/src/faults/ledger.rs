//! What writers have sent and which answers they got, and the check of the stored buckets against
//! it.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard},
};

use bucket_mongo::{Error, Record, mongodb::Database};

use super::{
    sample::Sample,
    stored::{check_form, check_values, stored},
};

/// A record: its writer, and its number among that writer's records. Both are stored in the record.
pub type Name = (String, i64);

/// The answer that a writer got for a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Told {
    Stored,
    NotStored,
    /// The outcome is unknown, or the writer did not wait for it.
    Unknown,
}

/// What the writers of one collection have sent, and their answers. Clones share it.
#[derive(Debug)]
pub struct Ledger<const F: usize> {
    books: Arc<Mutex<Books<F>>>,
}

#[derive(Debug)]
struct Books<const F: usize> {
    records: BTreeMap<Name, (Sample<F>, Told)>,
    errors: Errors,
}

/// How many records got an error of each kind, and the first one of it.
type Errors = BTreeMap<String, (u64, String)>;

impl<const F: usize> Clone for Ledger<F> {
    fn clone(&self) -> Self {
        Self {
            books: Arc::clone(&self.books),
        }
    }
}

impl<const F: usize> Default for Ledger<F> {
    fn default() -> Self {
        let books = Books {
            records: BTreeMap::new(),
            errors: BTreeMap::new(),
        };
        Self {
            books: Arc::new(Mutex::new(books)),
        }
    }
}

impl<const F: usize> Ledger<F> {
    /// Notes a record before it is sent; until an answer is noted, it may be stored or not.
    ///
    /// # Panics
    ///
    /// If it was noted already.
    pub fn send(&self, record: &Sample<F>) {
        let entry = (record.clone(), Told::Unknown);
        let before = self.books().records.insert(name(record), entry);
        assert!(before.is_none(), "{:?} is sent twice", name(record));
    }

    /// Notes the answer for a record.
    pub fn tell(&self, record: &Sample<F>, told: Result<(), &Error>) {
        let told = match told {
            Ok(()) => Told::Stored,
            Err(error) => {
                let kind = format!("{:?}", error.kind());
                let kind = kind.split([' ', '(']).next().unwrap_or_default().to_owned();
                let mut books = self.books();
                let entry = books.errors.entry(kind);
                entry.or_insert_with(|| (0, error.to_string())).0 += 1;
                drop(books);
                if error.is_outcome_unknown() {
                    Told::Unknown
                } else {
                    Told::NotStored
                }
            }
        };
        self.note(record, told);
    }

    /// Notes that a record was not sent at all.
    pub fn take_back(&self, record: &Sample<F>) {
        self.note(record, Told::NotStored);
    }

    fn note(&self, record: &Sample<F>, told: Told) {
        let mut books = self.books();
        let entry = books.records.get_mut(&name(record));
        entry.expect("a record that was sent").1 = told;
    }

    fn books(&self) -> MutexGuard<'_, Books<F>> {
        self.books.lock().expect("no panic under the lock")
    }

    /// Reads all buckets and compares. This asserts whatever concerns only one bucket, or the
    /// buckets of a key.
    ///
    /// # Panics
    ///
    /// If the buckets cannot be read, or break a promise of their form.
    pub async fn audit(&self, database: &Database) -> Verdict {
        let buckets = stored::<F>(database).await;
        check_form(&buckets);
        let books = self.books();
        let mut found: BTreeMap<Name, u64> = BTreeMap::new();
        let mut verdict = Verdict {
            errors: books.errors.clone(),
            ..Verdict::default()
        };
        for bucket in &buckets {
            check_values(bucket);
            for item in &bucket.items {
                let record = Sample::assemble(bucket.key.clone(), item.clone());
                let name = name(&record);
                if books.records.get(&name).map(|(sent, _)| sent) != Some(&record) {
                    verdict.never_sent.push(name.clone());
                }
                *found.entry(name).or_default() += 1;
            }
        }
        for (name, (_, told)) in &books.records {
            let times = found.get(name).copied().unwrap_or_default();
            verdict.add(name, *told, times);
        }
        verdict
    }
}

/// The identity of a record.
#[must_use]
pub fn name<const F: usize>(record: &Sample<F>) -> Name {
    (record.code.clone(), record.unique)
}

/// The result of the comparison.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Records that were reported as stored, and are.
    pub stored: u64,
    /// Records that were reported as not stored, and are not.
    pub not_stored: u64,
    /// Records with an unknown outcome.
    pub unknown: u64,
    /// The stored ones among them.
    pub unknown_stored: u64,
    /// Records that were reported as stored, and are not.
    pub lost: Vec<Name>,
    /// Records that are stored more than once.
    pub doubled: Vec<Name>,
    /// Records that were reported as not stored, and are.
    pub denied: Vec<Name>,
    /// Records that are stored but were never sent, or are stored with other content.
    pub never_sent: Vec<Name>,
    /// How many records got an error of each kind, and the first one of it.
    pub errors: BTreeMap<String, (u64, String)>,
}

impl Verdict {
    fn add(&mut self, name: &Name, told: Told, times: u64) {
        if times > 1 {
            self.doubled.push(name.clone());
        }
        match (told, times) {
            (Told::Stored, 0) => self.lost.push(name.clone()),
            (Told::Stored, _) => self.stored += 1,
            (Told::NotStored, 0) => self.not_stored += 1,
            (Told::NotStored, _) => self.denied.push(name.clone()),
            (Told::Unknown, _) => {
                self.unknown += 1;
                self.unknown_stored += times.min(1);
            }
        }
    }

    /// Asserts that the answers to the writers are true.
    ///
    /// # Panics
    ///
    /// If one is not.
    pub fn assert_true(&self) {
        let false_ones = [&self.lost, &self.doubled, &self.denied, &self.never_sent];
        assert!(false_ones.iter().all(|names| names.is_empty()), "{self:#?}");
        assert!(self.stored > 0, "nothing was stored: {self}");
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} stored, {} not stored, {} unknown ({} of them stored), {} lost, {} doubled, \
             {} stored but denied, {} never sent, errors {:?}",
            self.stored,
            self.not_stored,
            self.unknown,
            self.unknown_stored,
            self.lost.len(),
            self.doubled.len(),
            self.denied.len(),
            self.never_sent.len(),
            self.errors,
        )
    }
}
