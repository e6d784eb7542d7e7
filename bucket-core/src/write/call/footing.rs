//! Looks at the collection before the first write, and whenever it turns out to be another one.

use super::{
    Call, Reason,
    phase::{Lessons, Phase, Purpose},
};
use crate::{
    index::{self, Unmet},
    write::{Cache, Ground, Listing, Look, Round, collection_drift},
};

impl<E: Clone> Call<E> {
    /// Takes what other calls of the handle have learnt, and adds what this one has. It is fast: the caller
    /// may hold a lock.
    pub fn consult(&mut self, learnt: &mut Cache) {
        let purpose = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Consults(purpose) => purpose,
            other => {
                self.phase = other;
                return;
            }
        };
        self.teach(learnt);
        self.is_naming_unknown = learnt.is_naming_unknown();
        self.phase = match purpose {
            Purpose::Begin | Purpose::Elsewhere => {
                let known = learnt.ground();
                let known = known.filter(|known| Some(*known) != self.ground.as_ref());
                if known.is_none() {
                    Phase::Looks(Look::Collection, purpose)
                } else {
                    self.ground = known.cloned();
                    self.go_on(&purpose, learnt)
                }
            }
            Purpose::Send(rounds) => Phase::Sends(rounds),
            Purpose::End => {
                if self.has_begun {
                    learnt.remember(&self.batch, self.terms.for_good, self.is_uncertain);
                }
                Phase::Done
            }
        };
    }

    /// Continues with a known collection.
    fn go_on(&mut self, purpose: &Purpose, learnt: &mut Cache) -> Phase {
        if !matches!(purpose, Purpose::Begin) {
            return Phase::Pauses;
        }
        self.has_begun = !self.terms.in_session;
        if self.terms.in_session {
            self.batch.look_first();
        } else {
            learnt.recall(&mut self.batch, self.terms.for_good);
        }
        if self.batch.spec().unique().is_some() && !learnt.has_record_ids() {
            self.batch.suspect_one();
        }
        self.learn()
    }

    fn teach(&mut self, learnt: &mut Cache) {
        let Lessons {
            ground,
            saw_record_ids,
            leaves,
            forgets,
        } = std::mem::take(&mut self.lessons);
        if leaves {
            learnt.leave(self.ground.as_ref());
        }
        if forgets {
            learnt.forget_keys();
        }
        if saw_record_ids {
            learnt.saw_record_ids();
        }
        if let Some(ground) = ground {
            learnt.stand_on(ground);
            // The ground comes from what other calls have learnt.
            self.ground = None;
        }
    }

    pub(super) fn listed(&mut self, look: Look, purpose: Purpose, listing: Listing) -> Phase {
        match (look, listing) {
            (Look::Indexes, Listing::NotKnown) => Phase::Looks(Look::PlainIndexes, purpose),
            (Look::Collection, Listing::NotPermitted | Listing::NotKnown) => {
                self.lessons.ground = Some(Ground::Name);
                Phase::Consults(purpose)
            }
            (Look::Collection, Listing::Found(found)) => {
                let Some(found) = found.first() else {
                    return self.is_unmet(index::unmet(self.batch.spec(), &[]));
                };
                if let Some(drift) = collection_drift(found) {
                    self.report.stop(Reason::Drift(drift));
                    return Phase::Ends;
                }
                // The indexes after the collection: if the collection is replaced in between, the server
                // refuses its UUID.
                self.found = Some(Ground::of_listed(found));
                Phase::Looks(Look::Indexes, purpose)
            }
            (Look::Indexes | Look::PlainIndexes, listing) => {
                self.has_looked = true;
                if let Listing::Found(found) = listing {
                    let unmet = index::unmet(self.batch.spec(), &found);
                    if unmet.is_some() {
                        return self.is_unmet(unmet);
                    }
                    self.lessons.saw_record_ids = true;
                }
                self.lessons.ground = self.found.take();
                Phase::Consults(purpose)
            }
        }
    }

    fn is_unmet(&mut self, unmet: Option<Unmet>) -> Phase {
        // Every model has an index that writes depend on.
        let unmet = unmet.unwrap_or_else(|| Unmet::Missing {
            name: self.batch.spec().pages_index_name(),
        });
        self.report.stop(Reason::Unmet(unmet));
        Phase::Ends
    }

    /// Servers before MongoDB 6.0 do not report that the collection is another one. There a call looks again
    /// before it opens buckets, because an opening needs no index.
    pub(super) fn needs_a_look(&self, rounds: &[Round]) -> bool {
        let may_look = matches!(self.ground, Some(Ground::Collection(_)));
        self.is_naming_unknown && may_look && !self.has_looked && rounds.iter().any(Round::opens)
    }
}
