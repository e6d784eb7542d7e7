//! A writer against the naive collection: each statement is executed on its own, replies come last,
//! and what was read may be as stale as can be.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::panic)]

use bson::Document;
use bucket_core::{
    Record,
    write::{Batch, Doubt, Need, Repetition, Round},
};

use super::collection::{Answer, Collection, reply};

pub struct Writer<T: Record> {
    pub batch: Batch<T>,
    /// The batch after this one goes by what this one leaves, however old that is by then.
    next: Option<Batch<T>>,
    under_way: Vec<UnderWay>,
    pub stored: Vec<usize>,
    pub refused: Vec<usize>,
    /// With record ids: those that were stored before, and those of which the id is.
    pub duplicates: Vec<usize>,
    pub conflicts: Vec<usize>,
    /// The reads for record ids.
    pub looks: usize,
    pub opened: usize,
    commands: usize,
    /// The open buckets were read and the newest ones not yet: others may go on in between.
    between: bool,
}

struct UnderWay {
    round: Round,
    statements: Vec<Document>,
    answers: Vec<Answer>,
    ordered: bool,
}

impl<T: Record> Writer<T> {
    pub fn new(batch: Batch<T>, next: Option<Batch<T>>) -> Self {
        Self {
            batch,
            next,
            under_way: Vec::new(),
            stored: Vec::new(),
            refused: Vec::new(),
            duplicates: Vec::new(),
            conflicts: Vec::new(),
            looks: 0,
            opened: 0,
            commands: 0,
            between: false,
        }
    }

    /// Does one thing: executes a statement, takes a reply, or plans the next round.
    pub fn go_on(&mut self, collection: &mut Collection) {
        let Some(under_way) = self.under_way.first_mut() else {
            let ended = self.is_at_end();
            match self.next.take_if(|_| ended) {
                Some(next) => self.begin(next),
                None => self.plan(collection),
            }
            return;
        };
        let failed = matches!(under_way.answers.last(), Some(Answer::Refused(..)));
        if under_way.statements.is_empty() || (under_way.ordered && failed) {
            let UnderWay { round, answers, .. } = self.under_way.remove(0);
            let settled = self.batch.settle(&round, &reply(&answers), Doubt::None);
            assert!(settled.failed.is_empty(), "{:?}", settled.failed);
            self.stored.extend(settled.stored);
            self.opened += settled.opened.len();
            return;
        }
        let statement = under_way.statements.remove(0);
        under_way.answers.push(collection.execute(&statement));
    }

    pub fn finish(&mut self, collection: &mut Collection) {
        while !self.is_done() {
            self.go_on(collection);
        }
    }

    fn plan(&mut self, collection: &Collection) {
        self.commands += 1;
        assert!(self.commands < 10_000, "a writer does not come to an end");
        let between = std::mem::take(&mut self.between);
        let asking = |chain: &bucket_core::write::Chain| chain.need() == Need::Confirmation;
        let asking: Vec<usize> = (0..self.batch.chains().len())
            .filter(|at| asking(&self.batch.chains()[*at]))
            .collect();
        if !asking.is_empty() {
            let found = collection.find(&self.batch.remembered(&asking));
            let stored = self.batch.saw_remembered(&asking, &found);
            self.duplicates.extend(stored);
            // Others may go on before the next plan.
            return;
        }
        for chain in self.batch.chains_mut() {
            let need = chain.need();
            if !matches!(need, Need::OpenBucket | Need::NewestBucket) {
                continue;
            }
            if between {
                match collection.find(&chain.newest_bucket()).first() {
                    Some(newest) => chain.saw_newest(newest).unwrap(),
                    None => chain.saw_none_open(),
                }
            } else if let Some(open) = collection.find(&chain.open_bucket()).first() {
                chain.saw(open).unwrap();
            } else if need == Need::NewestBucket {
                self.between = true;
            } else {
                chain.saw_none_open();
            }
        }
        if self.between {
            return;
        }
        if self.look_for_repeats(collection) {
            return;
        }
        let sorted_out = self.batch.sort_out_late();
        self.refused
            .extend(sorted_out.refused.into_iter().map(|(index, _)| index));
        for chain in self.batch.chains() {
            assert!(chain.taken_id().is_none(), "{:?}", chain.taken_id());
        }
        let rounds = self.batch.rounds(None);
        assert!(
            !rounds.is_empty() || sorted_out.moved > 0 || self.is_at_end(),
            "a writer is stuck"
        );
        for round in rounds {
            let body = Document::try_from(round.command().body().to_owned()).unwrap();
            let list = if body.contains_key("insert") {
                "documents"
            } else {
                "updates"
            };
            let statements = body.get_array(list).unwrap().iter();
            let statements = statements
                .map(|statement| statement.as_document().unwrap().clone())
                .collect();
            self.under_way.push(UnderWay {
                round,
                statements,
                answers: Vec::new(),
                ordered: body.get_bool("ordered").unwrap(),
            });
        }
    }

    /// Looks for the records of the chains that ask for it; others may go on before the next plan.
    fn look_for_repeats(&mut self, collection: &Collection) -> bool {
        let mut looked = false;
        for at in 0..self.batch.chains().len() {
            while self.batch.chains()[at].need() == Need::Repeats {
                let plans = self.batch.repeats(at).into_iter();
                let found: Vec<_> = plans.flat_map(|plan| collection.find(&plan)).collect();
                let repeats = self.batch.saw_repeats(at, &found);
                let conflicts = repeats.conflicts.into_iter();
                self.conflicts.extend(conflicts.map(|(index, _)| index));
                self.duplicates.extend(repeats.duplicates);
                self.looks += 1;
                looked = true;
            }
        }
        looked
    }

    fn begin(&mut self, next: Batch<T>) {
        self.take_own_repeats();
        let last = std::mem::replace(&mut self.batch, next);
        let lone = last.records() == 1;
        self.batch.recall(|chain| {
            let mut same = last.chains().iter();
            let same = same.find(|other| other.memory_key() == chain.memory_key());
            same.and_then(|chain| chain.recollection(lone))
        });
    }

    /// What became of the records whose id came twice in the batch, which is at its end.
    pub fn take_own_repeats(&mut self) {
        for repeat in self.batch.own_repeats() {
            let list = match repeat.repetition {
                Repetition::Stored => &mut self.duplicates,
                _ if self.refused.contains(&repeat.first) => &mut self.refused,
                Repetition::Other { .. } => &mut self.conflicts,
                _ if self.conflicts.contains(&repeat.first) => &mut self.conflicts,
                _ => &mut self.duplicates,
            };
            list.push(repeat.index);
        }
    }

    pub fn is_done(&self) -> bool {
        self.next.is_none() && self.is_at_end()
    }

    fn is_at_end(&self) -> bool {
        let chains = self.batch.chains();
        self.under_way.is_empty() && chains.iter().all(|chain| chain.need() == Need::Nothing)
    }
}
