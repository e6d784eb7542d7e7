//! Looks at the collection before the first write, and whenever it turns out to be another one.

use super::{
    Call, MAX_STRAYS, Reason,
    phase::{Lessons, Phase, Purpose},
};
use crate::{
    index::{self, Drift, Unmet},
    write::{
        Cache, Ground, Listing, Look, Round, WriteFailure, codes::OTHER_COLLECTION,
        collection_drift,
    },
};

impl<E: Clone> Call<E> {
    /// Takes what other calls of the handle have learned, and adds what this one has. It is fast: the caller
    /// may hold a lock.
    pub fn consult(&mut self, cache: &mut Cache) {
        let purpose = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Consults(purpose) => purpose,
            other => {
                self.phase = other;
                return;
            }
        };
        self.teach(cache);
        self.is_naming_unknown = cache.is_naming_unknown();
        self.phase = match purpose {
            Purpose::Begin | Purpose::Elsewhere => {
                if std::mem::take(&mut self.terms.looks_anew) {
                    // What it finds is compared with it.
                    self.ground = cache.ground().cloned();
                    self.phase = Phase::Looks(Look::Collection, purpose);
                    return;
                }
                let known = cache.ground();
                let known = known.filter(|known| Some(*known) != self.ground.as_ref());
                if known.is_none() {
                    Phase::Looks(Look::Collection, purpose)
                } else {
                    self.ground = known.cloned();
                    self.go_on(&purpose, cache)
                }
            }
            Purpose::Send(rounds) => Phase::Sends(rounds),
            Purpose::End => {
                if self.has_begun {
                    cache.remember(&self.batch, self.terms.for_good, self.is_uncertain);
                }
                Phase::Done
            }
        };
    }

    /// Continues with a known collection.
    fn go_on(&mut self, purpose: &Purpose, cache: &mut Cache) -> Phase {
        if !matches!(purpose, Purpose::Begin) {
            return Phase::Pauses;
        }
        self.has_begun = !self.terms.in_session;
        if self.terms.in_session {
            self.batch.look_first();
        } else {
            cache.recall(&mut self.batch, self.terms.for_good);
        }
        self.batch.look_for_merged();
        if self.batch.spec().unique().is_some() && !cache.has_record_ids() {
            self.batch.suspect_one();
        }
        self.learn()
    }

    fn teach(&mut self, cache: &mut Cache) {
        let Lessons {
            ground,
            saw_record_ids,
            leaves,
            forgets,
        } = std::mem::take(&mut self.lessons);
        if leaves {
            cache.leave(self.ground.as_ref());
        }
        if forgets {
            cache.forget_keys();
        }
        if saw_record_ids {
            cache.saw_record_ids();
        }
        if let Some(ground) = ground {
            cache.stand_on(ground);
            // The ground comes from what other calls have learned.
            self.ground = None;
        }
    }

    pub(super) fn listed(&mut self, look: Look, purpose: Purpose, listing: Listing) -> Phase {
        match (look, listing) {
            (Look::Indexes, Listing::NotKnown) => Phase::Looks(Look::PlainIndexes, purpose),
            (_, Listing::OtherKind(kind)) => self.has_other_kind(kind),
            (Look::Collection, Listing::NotPermitted | Listing::NotKnown) => {
                if let Some(kind) = self.other_kind {
                    return self.has_other_kind(kind);
                }
                self.found = Some(Ground::Indexes);
                Phase::Looks(Look::Indexes, purpose)
            }
            (Look::Collection, Listing::Found(found)) => {
                let Some(found) = found.first() else {
                    return self.is_unmet(index::unmet(self.batch.spec(), &[]));
                };
                if let Some(drift) = collection_drift(found) {
                    return self.has_drifted(drift);
                }
                self.other_kind = None;
                // The indexes after the collection: were it replaced in between, its UUID is the one that
                // is refused.
                let found = Ground::of_listed(found);
                let purpose = match purpose {
                    Purpose::Send(_) if self.ground.as_ref() != Some(&found) => {
                        self.leave();
                        Purpose::Elsewhere
                    }
                    Purpose::Begin => {
                        if self.ground.as_ref().is_some_and(|known| *known != found) {
                            self.leave();
                        }
                        Purpose::Begin
                    }
                    purpose => purpose,
                };
                self.found = Some(found);
                Phase::Looks(Look::Indexes, purpose)
            }
            (Look::Indexes | Look::PlainIndexes, listing) => {
                self.has_looked = true;
                let found = self.found.take();
                // It stays on the ground that it is on.
                let found = found.filter(|_| !matches!(purpose, Purpose::Send(_)));
                self.lessons.ground = match listing {
                    Listing::Found(listed) => {
                        let unmet = index::unmet(self.batch.spec(), &listed);
                        if unmet.is_some() {
                            return self.is_unmet(unmet);
                        }
                        self.lessons.saw_record_ids = true;
                        found
                    }
                    _ => found.map(Ground::without_indexes),
                };
                Phase::Consults(purpose)
            }
        }
    }

    fn has_other_kind(&mut self, kind: &str) -> Phase {
        self.has_drifted(Drift::Kind {
            found: kind.to_owned(),
        })
    }

    fn has_drifted(&mut self, drift: Drift) -> Phase {
        self.lessons.leaves = true;
        self.report.stop(Reason::Drift(drift));
        Phase::Ends
    }

    fn is_unmet(&mut self, unmet: Option<Unmet>) -> Phase {
        self.lessons.leaves = true;
        // Every model has an index that writes depend on.
        let unmet = unmet.unwrap_or_else(|| Unmet::Missing {
            name: self.batch.spec().pages_index_name(),
        });
        self.report.stop(Reason::Unmet(unmet));
        Phase::Ends
    }

    /// Whether a look at the collection is to tell why the server refused a read or a whole command: it does not
    /// belong to a plain collection any more, or not to the one that has the indexes.
    pub(super) fn goes_astray(&mut self, failure: &WriteFailure) -> bool {
        let kind = failure.other_kind();
        if kind.is_none() && failure.code != OTHER_COLLECTION && !failure.misses_an_index() {
            return false;
        }
        self.other_kind = kind.or(self.other_kind);
        self.strays += 1;
        self.strays <= MAX_STRAYS
    }

    pub(super) fn look_elsewhere(&mut self) -> Phase {
        self.is_astray = false;
        self.leave();
        Phase::Consults(Purpose::Elsewhere)
    }

    /// Nothing counts any more that was seen of the collection.
    fn leave(&mut self) {
        self.batch.forget();
        self.lessons.leaves = true;
        self.lessons.forgets = true;
    }

    pub(super) fn could_not_read(&mut self, error: E) -> Phase {
        let unknown = false;
        self.report.stop(Reason::Failed { error, unknown });
        Phase::Ends
    }

    /// Where commands cannot say which collection they are for, the server does not say that it is another one. There
    /// a call looks before it opens buckets, which needs no index to be there.
    pub(super) fn needs_a_look(&self, rounds: &[Round]) -> bool {
        let is_unnamed = match self.ground {
            Some(Ground::Collection(_)) => self.is_naming_unknown,
            Some(Ground::Indexes) => true,
            Some(Ground::Name) | None => false,
        };
        is_unnamed && !self.has_looked && rounds.iter().any(Round::opens)
    }

    /// What it looks at then.
    pub(super) fn first_look(&self) -> Look {
        match self.ground {
            Some(Ground::Collection(_)) => Look::Collection,
            _ => Look::Indexes,
        }
    }
}
