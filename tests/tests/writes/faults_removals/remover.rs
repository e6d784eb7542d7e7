//! Removes keys, full buckets and entire collections, sets collections up again, and checks the
//! rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bucket_core::Form;
use bucket_mongo::{
    Bucketed, Record,
    bson::{Document, doc},
    mongodb::Collection,
    testing::TestDatabase,
};
use bucket_tests::faults::{
    ledger::{Name, name},
    random::Random,
    sample::{Sample, SampleBucket},
    stored::{check_rest, check_values, has_room, stored, window_of},
};
use tokio::time::sleep;

use super::{
    book::{Book, Gap, Moment, Removal, Scope},
    writers::KEYS,
};

/// The longest pause before a removal, in milliseconds.
const PAUSE: u64 = 25;

/// The numbers of the buckets of a key, or the parts of one of its windows.
type Numbers = BTreeMap<(String, Option<i64>), Vec<u64>>;

/// The remover.
pub(super) struct Remover<const F: usize> {
    pub(super) database: TestDatabase,
    book: Arc<Book>,
    random: Random,
    /// The keys of sources: none of their buckets is removed separately, because later ones pass
    /// its positions.
    sources: Vec<String>,
    /// The times without a set-up: when the removal began and had ended.
    gone: Option<(Moment, Moment)>,
    removals: Vec<Removal>,
    gaps: Vec<Gap>,
    numbers: Numbers,
    /// Keys that lost something during writes. A removal of several buckets is not atomic: the
    /// first part of a window may be created again before the last one is gone.
    torn: BTreeSet<String>,
    /// How often each action was done.
    pub(super) done: BTreeMap<&'static str, u64>,
}

impl<const F: usize> Remover<F> {
    pub(super) fn new(
        database: TestDatabase,
        book: &Arc<Book>,
        seed: u64,
        sources: Vec<String>,
    ) -> Self {
        Self {
            database,
            book: Arc::clone(book),
            random: Random::new(seed, 5),
            sources,
            gone: None,
            removals: Vec::new(),
            gaps: Vec::new(),
            numbers: Numbers::new(),
            torn: BTreeSet::new(),
            done: BTreeMap::new(),
        }
    }

    fn collection(&self) -> Collection<Document> {
        self.database.collection(Sample::<F>::SPEC.collection())
    }

    fn count(&mut self, what: &'static str) {
        *self.done.entry(what).or_default() += 1;
    }

    /// While writers write.
    pub(super) async fn disturb(&mut self) {
        if self.gone.is_some() {
            self.pause().await;
            self.set_up().await;
        }
        if self.random.below(5) < 3 {
            return self.count("quiet rounds");
        }
        for _ in 0..=self.random.below(2) {
            self.pause().await;
            match self.random.below(4) {
                0 => {
                    let key = self.key();
                    self.count("keys");
                    let removal = self.remove_key(&key).await;
                    self.removals.push(removal);
                    self.torn.insert(key);
                }
                1 => {
                    if let Some((key, removal)) = self.remove_bucket().await {
                        self.count("buckets");
                        self.removals.push(removal);
                        self.torn.insert(key);
                    }
                }
                2 => {
                    self.count("collections");
                    self.drop_collection().await;
                    self.set_up().await;
                }
                _ => {
                    self.count("collections, set up later");
                    self.drop_collection().await;
                    self.make_another().await;
                    self.pause().await;
                    self.set_up().await;
                }
            }
        }
    }

    /// When all writers have come to rest: checks everything, and removes more.
    pub(super) async fn rest(&mut self) {
        let buckets = stored::<F>(&self.database).await;
        let mut found: BTreeMap<Name, u64> = BTreeMap::new();
        for bucket in &buckets {
            check_values(bucket);
            for item in &bucket.items {
                let record = Sample::<F>::assemble(bucket.key.clone(), item.clone());
                *found.entry(name(&record)).or_default() += 1;
            }
        }
        self.book.settle(&found, &self.removals, &self.gaps);
        self.check_rooms(&buckets);
        self.check_numbers(&buckets);
        let torn_source = |removal: &Removal| match &removal.scope {
            Scope::All => true,
            Scope::Key(key) => self.sources.contains(key),
            Scope::Records(_) => false,
        };
        // What was removed during a delivery is passed by the records after it.
        if self.removals.iter().any(torn_source) {
            for key in self.sources.clone() {
                self.remove_at_rest(key).await;
            }
        }
        self.removals.clear();
        self.gaps.clear();
        self.remove_more().await;
        self.numbers = numbers(&stored::<F>(&self.database).await);
    }

    async fn remove_more(&mut self) {
        match self.random.below(10) {
            0 | 1 => {}
            2..=4 => {
                self.count("keys at rest");
                let key = self.key();
                self.remove_at_rest(key).await;
                for key in self.torn.clone() {
                    self.remove_at_rest(key).await;
                }
            }
            5..=7 => {
                if let Some((_, removal)) = self.remove_bucket().await {
                    self.count("buckets at rest");
                    self.book.removed(&removal.scope);
                }
            }
            8 => {
                self.count("collections at rest");
                self.drop_collection().await;
                self.set_up().await;
                self.forget();
            }
            _ => {
                self.count("collections at rest, set up later");
                self.drop_collection().await;
                self.make_another().await;
                self.forget();
            }
        }
    }

    /// The removal of everything happens at rest.
    fn forget(&mut self) {
        self.book.removed(&Scope::All);
        self.removals.clear();
        self.gaps.clear();
    }

    async fn pause(&mut self) {
        sleep(Duration::from_millis(self.random.below(PAUSE))).await;
    }

    fn key(&mut self) -> String {
        let sources = u64::try_from(self.sources.len()).unwrap();
        let key = self.random.below(KEYS + sources);
        match key.checked_sub(KEYS) {
            Some(source) => self.sources[usize::try_from(source).unwrap()].clone(),
            None => key.to_string(),
        }
    }

    async fn remove_key(&self, key: &str) -> Removal {
        let begin = self.book.now();
        let of_key = doc! { "device": key };
        self.collection().delete_many(of_key).await.unwrap();
        Removal {
            scope: Scope::Key(key.to_owned()),
            begin,
            end: self.book.now(),
        }
    }

    async fn remove_at_rest(&mut self, key: String) {
        let removal = self.remove_key(&key).await;
        self.book.removed(&removal.scope);
        self.torn.remove(&key);
    }

    /// A bucket that accepts nothing more; of a window, the last one.
    async fn remove_bucket(&mut self) -> Option<(String, Removal)> {
        let buckets = stored::<F>(&self.database).await;
        let is_last = |at: usize, bucket: &SampleBucket<F>| {
            let next = buckets.get(at + 1);
            let same = |next: &SampleBucket<F>| {
                next.key == bucket.key && window_of(next) == window_of(bucket)
            };
            !next.is_some_and(same)
        };
        let is_window = matches!(Sample::<F>::SPEC.form(), Form::Window { .. });
        let full = buckets.iter().enumerate().filter(|(at, bucket)| {
            bucket.count > 0
                && !has_room(bucket)
                && !bucket.fields.is_late
                && !self.sources.contains(&bucket.key.0)
                && (!is_window || is_last(*at, bucket))
        });
        let full: Vec<&SampleBucket<F>> = full.map(|(_, bucket)| bucket).collect();
        // The newest bucket of a key more often than others: it is the one that handles remember.
        let newest = full.iter().zip(full.iter().skip(1).map(Some).chain([None]));
        let newest = newest.filter(|(one, next)| next.is_none_or(|next| next.key != one.key));
        let newest: Vec<&SampleBucket<F>> = newest.map(|(one, _)| *one).collect();
        let from = if self.random.below(3) > 0 {
            newest
        } else {
            full
        };
        let number = u64::try_from(from.len()).unwrap();
        if number == 0 {
            return None;
        }
        let bucket = from[usize::try_from(self.random.below(number)).unwrap()];
        let one = doc! { "device": &bucket.key.0, "items": { "$elemMatch": {
            "unique": bucket.items[0].unique, "code": &bucket.items[0].code,
        } } };
        let begin = self.book.now();
        let taken = self.collection().find_one_and_delete(one).await.unwrap()?;
        let items = taken.get_array("items").unwrap().iter();
        let names = items.map(|item| {
            let item = item.as_document().unwrap();
            let code = item.get_str("code").unwrap().to_owned();
            (code, item.get_i64("unique").unwrap())
        });
        let removal = Removal {
            scope: Scope::Records(names.collect()),
            begin,
            end: self.book.now(),
        };
        Some((bucket.key.0.clone(), removal))
    }

    async fn drop_collection(&mut self) {
        let begin = self.book.now();
        self.collection().drop().await.unwrap();
        let since = self.book.now();
        self.removals.push(Removal {
            scope: Scope::All,
            begin,
            end: since,
        });
        self.gone = Some((begin, since));
        self.torn.clear();
        self.numbers.clear();
    }

    /// No collection, one without indexes, or one that mixes keys.
    async fn make_another(&mut self) {
        let name = Sample::<F>::SPEC.collection();
        match self.random.below(3) {
            0 => {}
            1 => {
                let made = self.database.create_collection(name).await;
                made.expect("a collection that no writer has created");
            }
            _ => {
                let collation = doc! { "locale": "en", "strength": 2 };
                let create = doc! { "create": name, "collation": collation };
                let made = self.database.run_command(create).await;
                made.expect("a collection that no writer has created");
            }
        }
    }

    async fn set_up(&mut self) {
        let Some((begin, since)) = self.gone.take() else {
            return;
        };
        let stored = self.collection().find_one(doc! {}).await.unwrap();
        assert!(stored.is_none(), "stored without a set-up: {stored:?}");
        let found = self.database.list_collections().await.unwrap();
        let found: Vec<_> = futures_util::TryStreamExt::try_collect(found)
            .await
            .unwrap();
        if found.iter().any(|found| found.options.collation.is_some()) {
            self.collection().drop().await.unwrap();
        }
        let until = self.book.now();
        Sample::<F>::buckets(&self.database).ensure().await.unwrap();
        self.gaps.push(Gap {
            begin,
            since,
            until,
            end: self.book.now(),
        });
    }

    /// Capacities, spans, marks, and at most one bucket with room.
    fn check_rooms(&self, buckets: &[SampleBucket<F>]) {
        let mut open = BTreeMap::new();
        for bucket in buckets.iter().filter(|bucket| has_room(bucket)) {
            let key = bucket.key.0.clone();
            if window_of(bucket).is_some() && self.torn.contains(&key) {
                continue;
            }
            let id = bucket.id.as_str();
            let other = open.insert((key, window_of(bucket)), id);
            assert!(other.is_none(), "two buckets with room: {other:?}, {id}");
        }
        let whole: Vec<_> = buckets
            .split(|bucket| self.torn.contains(&bucket.key.0))
            .collect();
        for buckets in whole {
            check_rest(buckets);
        }
    }

    /// If nothing was removed during writes, new buckets follow the old ones.
    fn check_numbers(&self, buckets: &[SampleBucket<F>]) {
        let form = Sample::<F>::SPEC.form();
        for ((key, window), now) in numbers(buckets) {
            if self.torn.contains(&key) || self.removals.iter().any(|it| it.begin > 0) {
                continue;
            }
            let none = Vec::new();
            let before = self.numbers.get(&(key.clone(), window)).unwrap_or(&none);
            let first = before.last().map_or(first_number::<F>(), |last| last + 1);
            let new = u64::try_from(now.len() - before.len()).unwrap();
            let expected = before.iter().copied().chain(first..first + new);
            assert!(
                now.iter().copied().eq(expected),
                "{form:?}: the numbers of {key} in {window:?} went from {before:?} to {now:?}"
            );
        }
    }
}

fn first_number<const F: usize>() -> u64 {
    u64::from(matches!(Sample::<F>::SPEC.form(), Form::Numbered { .. }))
}

fn numbers<const F: usize>(buckets: &[SampleBucket<F>]) -> Numbers {
    let mut numbers = Numbers::new();
    for bucket in buckets {
        let number = match Sample::<F>::SPEC.form() {
            Form::Numbered { .. } => bucket.fields.number,
            Form::Window { .. } => bucket.id.sequence(),
            _ => continue,
        };
        let line = (bucket.key.0.clone(), window_of(bucket));
        numbers.entry(line).or_default().push(number);
    }
    numbers
}
