//! An account that only one writer has, and erases: nothing that was stored before is there after it.

use bucket_mongo::{Bucketed, RecordOutcome};

use super::{
    models::{IDS, Payment, Possible, State},
    writer::Writer,
};

impl<T: Payment + Bucketed> Writer<T> {
    fn set_erased(&mut self, id: i64, possible: Possible) {
        if let Some(journal) = &self.journal {
            journal(id, &possible);
        }
        self.erased.insert(id, possible);
    }

    /// Stores some records, and now and then erases the account.
    pub(super) async fn erase(&mut self) {
        let (account, used) = self.own;
        let number = 1 + self.below(14);
        self.own.1 += number;
        // Far from the slots of all other records of the writer.
        let states = (used..used + number).map(|it| {
            let id = self.first + IDS / 2 + it;
            (
                id,
                State {
                    account,
                    slot: IDS / 2 + it,
                    amount: id,
                },
            )
        });
        let states: Vec<(i64, State)> = states.collect();
        for (id, state) in &states {
            self.set_erased(*id, [None, Some(*state)].into());
        }
        let records: Vec<T> = states.iter().map(|(id, it)| T::of(*id, *it)).collect();
        let report = self.buckets.insert_many(&records).await.unwrap();
        for (index, (id, state)) in states.iter().enumerate() {
            match report.outcome(index) {
                RecordOutcome::Stored | RecordOutcome::Duplicate => {
                    self.set_erased(*id, [Some(*state)].into());
                }
                RecordOutcome::Failed => self.open += 1,
                other => panic!("the outcome of {id} is {other:?}"),
            }
        }
        if self.below(2) > 0 {
            return;
        }
        let all: Vec<(i64, Possible)> = self.erased.clone().into_iter().collect();
        // A try of an open insert may arrive after this.
        let certain = |it: &Possible| it.len() == 1;
        for (id, possible) in &all {
            let with = possible.iter().copied().chain([None]).collect();
            self.set_erased(*id, with);
        }
        let told = self.buckets.delete_key(account).await;
        match told {
            Ok(_) => {
                self.count("erased");
                for (id, _) in all.iter().filter(|(_, it)| certain(it)) {
                    self.set_erased(*id, [None].into());
                }
            }
            Err(error) => {
                let is_allowed = super::writer::is_allowed(&error) || error.is_outcome_unknown();
                assert!(is_allowed, "{account}: {error:?}");
                self.count("not erased");
            }
        }
    }
}
