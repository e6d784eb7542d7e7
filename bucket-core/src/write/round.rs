//! The next commands of a batch, and what their replies settle.
//!
//! The statements of one key depend on each other, those of different keys do not. So a round has
//! unordered commands that carry the first statement of many keys each, and ordered ones that
//! carry the whole chain of a single key whose records fill several buckets.

use bson::{Document, RawDocument, RawDocumentBuf};

use super::{
    Batch, Chain, CommandBuilder, Doubt, Doubtful, Need, Outcome, Reply, Step, UpdateCommand,
    WriteFailure, command::MAX_STATEMENTS,
};
use crate::record::Record;

/// A chain of at least this many statements travels in a command of its own.
const LONG_CHAIN: usize = 8;

/// One command, and which statements of which keys it carries.
#[derive(Debug)]
pub struct Round {
    command: UpdateCommand,
    steps: Vec<(usize, Step)>,
    ordered: bool,
}

impl Round {
    /// The command to send.
    #[must_use]
    pub fn command(&self) -> &UpdateCommand {
        &self.command
    }

    /// The command document, to be sent; the round keeps what it needs to settle the reply.
    pub fn take_body(&mut self) -> RawDocumentBuf {
        self.command.take_body()
    }

    /// The number of records that the command carries.
    #[must_use]
    pub fn records(&self) -> usize {
        self.steps.iter().map(|(_, step)| step.take()).sum()
    }

    /// This statement and those of the same chain behind it.
    fn steps_from(&self, at: usize) -> Vec<Step> {
        let rest = self.steps.get(at..).unwrap_or_default();
        let chain = rest.first().map(|(chain, _)| *chain);
        let steps = rest.iter().filter(|(other, _)| Some(*other) == chain);
        steps.map(|(_, step)| step.clone()).collect()
    }
}

/// What a reply settled.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Settled {
    /// The records that are stored.
    pub stored: Vec<usize>,
    /// The number of buckets that were opened.
    pub opened: usize,
    /// The records that cannot be stored, and why.
    pub failed: Vec<Failed>,
    /// The statements that were refused because a bucket was not as last seen.
    pub missed: usize,
    /// The records of which it is not known whether they are stored.
    pub unknown: Vec<usize>,
    /// Statements of which a look tells whether they were applied; see [`Doubtful`].
    pub doubtful: Vec<Doubtful>,
    /// Why the write concern was not met, if it was not: the stored records may be rolled back.
    pub write_concern_error: Option<WriteFailure>,
}

impl Settled {
    fn fail(&mut self, records: Vec<usize>, step: &Step, failure: &WriteFailure) {
        self.failed.extend(records.into_iter().map(|index| Failed {
            index,
            action: step.action().clone(),
            failure: failure.clone(),
        }));
    }
}

/// A record that cannot be stored.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failed {
    /// The caller's index of the record.
    pub index: usize,
    /// What the statement did.
    pub action: super::Action,
    /// What the server says.
    pub failure: WriteFailure,
}

impl<T: Record> Batch<T> {
    /// The commands that are to be sent next; they may be sent at the same time. Empty when no
    /// chain has statements.
    #[must_use]
    pub fn rounds(&self, write_concern: Option<&RawDocument>) -> Vec<Round> {
        let ready = self
            .chains()
            .iter()
            .enumerate()
            .filter(|(_, c)| c.need() == Need::Statements);
        let mut shared: Vec<(usize, &Chain, Vec<Step>)> = Vec::new();
        let mut rounds = Vec::new();
        for (index, chain) in ready {
            let steps = chain.plan(LONG_CHAIN);
            if steps.is_empty() {
                continue;
            }
            if steps.len() < LONG_CHAIN {
                shared.push((index, chain, steps));
                continue;
            }
            let own = [(index, chain, chain.plan(MAX_STATEMENTS))];
            rounds.extend(round(self, &own, true, write_concern).map(|(r, _)| r));
        }
        if let [_] = shared.as_slice() {
            rounds.extend(round(self, &shared, true, write_concern).map(|(r, _)| r));
            return rounds;
        }
        for (_, _, steps) in &mut shared {
            steps.truncate(1);
        }
        let mut rest = shared.as_slice();
        while let Some((round, fitted)) = round(self, rest, self.in_order(), write_concern) {
            rounds.push(round);
            rest = &rest[fitted..];
        }
        rounds
    }

    /// Takes the reply to a round into account.
    pub fn settle(&mut self, round: &Round, reply: &Document, doubt: Doubt) -> Settled {
        let steps: Vec<&Step> = round.steps.iter().map(|(_, step)| step).collect();
        let reply = Reply::read(T::SPEC, &steps, round.ordered, reply);
        let mut settled = Settled {
            write_concern_error: reply.write_concern_error,
            opened: reply.opened,
            ..Settled::default()
        };
        let chains = self.chains_mut();
        for (at, outcome) in reply.outcomes.into_iter().enumerate() {
            let (index, step) = &round.steps[at];
            let Some(chain) = chains.get_mut(*index) else {
                continue;
            };
            match (outcome, doubt) {
                (Outcome::Applied, _) => settled.stored.extend(chain.applied(step)),
                (_, Doubt::Open) => settled.unknown.extend(chain.abandon(step)),
                (Outcome::OtherOpen, Doubt::Overtaken) => settled.doubtful.push(Doubtful {
                    chain: *index,
                    steps: round.steps_from(at),
                }),
                (Outcome::Missed | Outcome::OtherOpen, _) => {
                    settled.missed += 1;
                    chain.missed(step);
                }
                (Outcome::Failed(failure), _) => {
                    let failed = chain.refused(step, &failure);
                    settled.fail(failed, step, &failure);
                }
                (Outcome::NotTried, _) => {}
            }
        }
        settled
    }

    /// Gives up on the records of a round whose reply was lost. Gives their indexes.
    pub fn abandon(&mut self, round: &Round) -> Vec<usize> {
        let chains = self.chains_mut();
        let mut abandoned = Vec::new();
        for (index, step) in &round.steps {
            if let Some(chain) = chains.get_mut(*index) {
                abandoned.extend(chain.abandon(step));
            }
        }
        abandoned
    }
}

/// A command of as many of these chains' steps as fit, and how many chains were begun.
fn round<T: Record>(
    batch: &Batch<T>,
    chains: &[(usize, &Chain, Vec<Step>)],
    ordered: bool,
    write_concern: Option<&RawDocument>,
) -> Option<(Round, usize)> {
    let mut builder = CommandBuilder::new(T::SPEC.collection(), ordered);
    let mut carried = Vec::new();
    let mut begun = 0;
    for (index, chain, steps) in chains {
        let fitted = chain.encode(steps, batch.encoded(), batch.now(), &mut builder);
        carried.extend(steps.iter().take(fitted).map(|step| (*index, step.clone())));
        if fitted == 0 {
            break;
        }
        begun += 1;
    }
    if begun == 0 {
        return None;
    }
    let command = builder.finish(write_concern);
    Some((
        Round {
            command,
            steps: carried,
            ordered,
        },
        begun,
    ))
}
