//! The next commands of a batch, and what their replies settle.
//!
//! Statements of one key depend on each other; those of different keys do not. A bucket that may have changed
//! since it was seen gets only one statement at first: unordered commands carry the first statement of each
//! of many keys. Once a key's bucket has taken records or was seen full, the following buckets are sent all
//! at once, those of many keys in one ordered command. If another writer opens one of them first, the command
//! stops there, and the rest is planned again.

use bson::{Document, RawDocument, RawDocumentBuf};

use super::{
    Action, Batch, Certainty, Chain, Command, CommandBuilder, Need, Outcome, Reply, Step,
    Uncertain, WriteFailure, command::MAX_STATEMENTS, whole_bucket,
};

/// A single chain with at most this many statements is one command.
const SHORT_CHAIN: usize = 4;
/// A chain with this many statements is worth a command of its own.
const LONG_CHAIN: usize = 8;
/// With at least this many records, an insert is tried although the bucket may already exist: a refusal costs
/// less than the insert saves.
const MANY: usize = 16;
/// This many buckets are tried first where nothing says whether unmet ones are new.
const SAMPLE: usize = 200;
/// Statements are split into at most this many commands that are sent at the same time ..
const MAX_PARTS: usize = 4;
/// .. of about this many statements ..
const PART_STATEMENTS: usize = 48;
/// .. or bytes of items.
const PART_BYTES: usize = 256 * 1024;

/// One command, and which statements of which keys it carries.
#[derive(Debug)]
pub struct Round {
    command: Command,
    steps: Vec<(usize, Step)>,
    ordered: bool,
    inserts: bool,
}

impl Round {
    /// The command to send.
    #[must_use]
    pub fn command(&self) -> &Command {
        &self.command
    }

    /// Takes the command document to send; the round keeps what it needs to settle the reply.
    pub fn take_body(&mut self) -> RawDocumentBuf {
        self.command.take_body()
    }

    /// The number of records that the command carries.
    #[must_use]
    pub fn records(&self) -> usize {
        self.steps.iter().map(|(_, step)| step.take()).sum()
    }

    /// Whether one of its statements creates a bucket if there is none.
    #[must_use]
    pub fn opens(&self) -> bool {
        self.inserts
            || self
                .steps
                .iter()
                .any(|(_, step)| step.action().is_opening())
    }

    /// Whether its statement at this index opened a bucket, given those that did.
    fn opened(&self, at: usize, opened: &[usize]) -> bool {
        // A bucket that was opened without records counts from its first records on.
        let begins = matches!(self.steps[at].1.action(), Action::Begin { .. });
        begins || self.inserts || opened.binary_search(&at).is_ok()
    }

    /// This statement, and those that the server executes only after it.
    fn steps_from(&self, at: usize) -> &[(usize, Step)] {
        let end = if self.ordered {
            self.steps.len()
        } else {
            at + 1
        };
        self.steps.get(at..end).unwrap_or_default()
    }
}

/// What a reply settled.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Settled {
    /// The records that are stored.
    pub stored: Vec<usize>,
    /// The first record of each bucket that was opened.
    pub opened: Vec<usize>,
    /// The collection is not the one that the command named: see [`Batch::forget`].
    pub other_collection: bool,
    /// What the name belongs to by then, where the server says that it is no plain collection.
    pub other_kind: Option<&'static str>,
    /// The records that cannot be stored, and why.
    pub failed: Vec<Failed>,
    /// The statements that were refused because a bucket was not as last seen.
    pub missed: usize,
    /// The records that were passed over and can no longer be sent.
    pub(super) unsent: Vec<usize>,
    /// The records whose outcome is unknown.
    pub unknown: Vec<usize>,
    /// Statements for which a look shows whether they were applied; see [`Uncertain`].
    pub doubtful: Vec<Uncertain>,
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
    pub action: Action,
    /// What the server says.
    pub failure: WriteFailure,
}

/// A chain and those of its statements that go into the next command.
type Planned<'a> = (usize, &'a Chain, Vec<Step>);

impl Batch {
    /// The commands to send next; they may be sent at the same time. Empty if no chain has statements.
    #[must_use]
    pub fn rounds(&self, write_concern: Option<&RawDocument>) -> Vec<Round> {
        let mut ready: Vec<Planned<'_>> = Vec::new();
        for (index, chain) in self.front() {
            if chain.need() == Need::Statements {
                let steps = chain.plan(MAX_STATEMENTS);
                if !steps.is_empty() {
                    ready.push((index, chain, steps));
                }
            }
        }
        let commands = Commands {
            batch: self,
            write_concern,
        };
        if let [only @ (_, chain, steps)] = ready.as_slice()
            && steps.len() <= SHORT_CHAIN
        {
            let inserts = chain.kind().in_parts() && are_whole_buckets(only, 1);
            return commands.of(&ready, true, inserts);
        }
        let (whole, mut first): (Vec<_>, Vec<_>) = ready
            .into_iter()
            .partition(|(_, chain, steps)| self.goes_at_once(chain, steps));
        for (_, _, steps) in &mut first {
            steps.truncate(1);
        }
        let (opened, put) = whole.into_iter().partition(|it| are_whole_buckets(it, 1));
        let (tried, mut first): (Vec<_>, Vec<_>) = first
            .into_iter()
            .partition(|it| are_whole_buckets(it, self.least_to_try(it.1)));
        if self.newness.is_open() && !self.in_order() {
            // The next ones are sent as the outcome of these says.
            let mut unmet = 0;
            first.retain(|(_, chain, steps)| {
                unmet += usize::from(chain.is_unmet() && steps.iter().all(Step::may_be_inserted));
                unmet <= SAMPLE
            });
        }
        let groups: [(Vec<Planned<'_>>, _, _); 4] = [
            (first, self.in_order(), false),
            (tried, self.in_order(), true),
            (put, true, false),
            (opened, true, true),
        ];
        let mut rounds = Vec::new();
        for (group, ordered, inserts) in &groups {
            // If refusals are likely, a chain gets an ordered command of its own, so that it stops no other chain.
            let alone = *ordered && self.is_raced();
            for part in parts(group, alone) {
                rounds.extend(commands.of(part, *ordered, *inserts));
            }
        }
        rounds
    }

    /// The fewest records for which an insert is tried.
    fn least_to_try(&self, chain: &Chain) -> usize {
        if chain.kind().in_parts() {
            return 1;
        }
        let is_new = chain.is_unmet() && self.newness.is_likely() && !self.in_order();
        match is_new {
            true => 1,
            // It would be refused again.
            false if chain.is_met() => usize::MAX,
            false => MANY,
        }
    }

    /// Whether a chain's statements are sent all at once. If another writer works through the same keys just
    /// ahead, each of its openings would stop a command of many chains. Then only a long chain is sent at
    /// once, in a command of its own.
    fn goes_at_once(&self, chain: &Chain, steps: &[Step]) -> bool {
        chain.may_go_at_once(steps) && (!self.is_raced() || steps.len() >= LONG_CHAIN)
    }

    /// The server refused a whole command because of one of its records; nothing of it was executed. The next
    /// commands are smaller, until the record to blame is isolated. Returns the indexes of the records that
    /// cannot be stored.
    ///
    /// ```
    /// # use bucket_core::write::{Batch, Round, WriteFailure};
    /// fn too_deep(batch: &mut Batch, round: &Round) -> usize {
    ///     let failure = WriteFailure::new(15, "nested too deep".to_owned());
    ///     batch.refused(round, &failure).len() // the next rounds are smaller
    /// }
    /// ```
    pub fn refused(&mut self, round: &Round, failure: &WriteFailure) -> Vec<usize> {
        let statements = round.steps.len();
        if let [(index, step)] = round.steps.as_slice() {
            let chain = self.chains_mut().get_mut(*index);
            let failed = chain.map_or_else(Vec::new, |chain| chain.failed(step, failure));
            self.set_held_back_aside();
            return failed;
        }
        self.set_max_statements(self.max_statements().min(statements / 2));
        Vec::new()
    }

    /// Settles the reply to a round.
    pub fn settle(&mut self, round: &Round, reply: &Document, doubt: Certainty) -> Settled {
        self.settle_but(round, reply, doubt, &[])
    }

    /// Settles the reply to a round, of which these statements were not executed.
    pub(super) fn settle_but(
        &mut self,
        round: &Round,
        reply: &Document,
        doubt: Certainty,
        taken: &[usize],
    ) -> Settled {
        let steps: Vec<&Step> = round.steps.iter().map(|(_, step)| step).collect();
        let reply = Reply::read(self.spec, &steps, round.ordered, reply);
        let opened = reply.opened;
        self.set_max_statements(self.max_statements().saturating_mul(2));
        let mut settled = Settled {
            write_concern_error: reply.write_concern_error,
            ..Settled::default()
        };
        if round.ordered && reply.outcomes.contains(&Outcome::NotTried) {
            self.set_raced();
        }
        // What is stored may be rolled back.
        let is_unsafe = settled.write_concern_error.is_some();
        let mut passed_over = PassedOver::default();
        // Statements that an earlier try may have executed after they were refused.
        let mut refused = Vec::new();
        let (chains, newness) = (&mut self.chains, &mut self.newness);
        for (at, outcome) in reply.outcomes.into_iter().enumerate() {
            let (index, step) = &round.steps[at];
            let Some(chain) = chains.get_mut(*index) else {
                continue;
            };
            if taken.binary_search(&at).is_ok() {
                settled.missed += 1;
                passed_over.add(*index, step);
                continue;
            }
            let before = passed_over.before(*index);
            let is_unmet = chain.is_unmet() && step.may_open();
            match outcome {
                Outcome::Applied if is_unmet => newness.saw(round.opened(at, &opened)),
                Outcome::Missed if is_unmet => newness.saw(false),
                _ => {}
            }
            match (outcome, doubt) {
                (Outcome::Applied, _) => {
                    let stored = match before {
                        0 => chain.applied(step),
                        before => chain.applied_past(step, before),
                    };
                    settled
                        .opened
                        .extend(stored.first().filter(|_| round.opened(at, &opened)));
                    if is_unsafe {
                        chain.are_unstored(&stored);
                    }
                    settled.stored.extend(stored);
                }
                (_, _) if before > 0 => settled.missed += 1,
                (_, Certainty::Open) => settled.unknown.extend(chain.abandon(step)),
                (Outcome::OtherOpen, Certainty::Overtaken) => refused.push(at),
                (Outcome::Missed, Certainty::Overtaken) if !chain.tells_repeats() => {
                    refused.push(at);
                }
                (Outcome::Missed | Outcome::OtherOpen, _) => {
                    settled.missed += 1;
                    if !round.inserts {
                        chain.missed(step);
                        chain.suspect(step);
                    } else if is_unmet && !chain.kind().in_parts() {
                        // Only the id of its bucket can refuse an insert.
                        chain.met();
                    } else {
                        chain.missed(step);
                    }
                }
                (Outcome::Repeated, _) => {
                    settled.missed += 1;
                    chain.repeated(step);
                }
                (refused @ (Outcome::OtherCollection | Outcome::OtherKind(_)), _) => {
                    settled.other_collection = true;
                    if let Outcome::OtherKind(kind) = refused {
                        settled.other_kind = Some(kind);
                    }
                    settled.missed += 1;
                    chain.missed(step);
                }
                (Outcome::Failed(failure), _) => {
                    let failed = if self.in_transaction {
                        chain.ended(step)
                    } else {
                        chain.refused(step, &failure)
                    };
                    settled.fail(failed, step, &failure);
                }
                (Outcome::NotTried, _) => {}
            }
        }
        settled.unsent = passed_over.settle(chains);
        for at in refused {
            if let Some(doubtful) = Uncertain::of(round.steps_from(at), self.chains()) {
                settled.doubtful.push(doubtful);
                continue;
            }
            let (index, step) = &round.steps[at];
            settled.missed += 1;
            if let Some(chain) = self.chains_mut().get_mut(*index) {
                chain.missed(step);
            }
        }
        // Only now: what was sent with a record that failed may be stored.
        self.set_held_back_aside();
        settled
    }

    /// The collection is another one: everything that was seen of it is forgotten, and every chain looks
    /// again.
    pub fn forget(&mut self) {
        self.chains_mut().iter_mut().for_each(Chain::forget);
    }

    /// Gives up on the records of a round whose reply was lost. Returns their indexes.
    pub fn abandon(&mut self, round: &Round) -> Vec<usize> {
        let chains = self.chains_mut();
        let mut abandoned = Vec::new();
        for (index, step) in &round.steps {
            if let Some(chain) = chains.get_mut(*index) {
                abandoned.extend(chain.abandon(step));
            }
        }
        self.set_held_back_aside();
        abandoned
    }
}

/// Statements of a round that the server did not execute, although it executed later ones, because another
/// command had executed statements under its number.
#[derive(Debug, Default)]
struct PassedOver {
    /// The number of first records of each chain that they would have stored.
    chains: Vec<(usize, usize)>,
}

impl PassedOver {
    fn add(&mut self, chain: usize, step: &Step) {
        match self.chains.iter_mut().find(|(other, _)| *other == chain) {
            Some((_, records)) => *records += step.take(),
            None => self.chains.push((chain, step.take())),
        }
    }

    /// How many records of a chain were passed over so far.
    fn before(&self, chain: usize) -> usize {
        let mut chains = self.chains.iter();
        let chain = chains.find(|(other, _)| *other == chain);
        chain.map_or(0, |(_, records)| *records)
    }

    /// They are planned again. Returns the records that can no longer be sent.
    fn settle(self, chains: &mut [Chain]) -> Vec<usize> {
        let mut unsent = Vec::new();
        for (chain, records) in self.chains {
            if let Some(chain) = chains.get_mut(chain) {
                unsent.extend(chain.passed_over(records));
            }
        }
        unsent
    }
}

/// Whether these statements can be inserted: each stores everything that its bucket holds so far, and at
/// least this many records.
fn are_whole_buckets((_, chain, steps): &Planned<'_>, records: usize) -> bool {
    let is_whole = |step: &Step| step.may_be_inserted() && step.take() >= records;
    whole_bucket::is_possible(chain.spec()) && steps.iter().all(is_whole)
}

/// Splits the chains into about equal parts, as many as are worth a command each: the server works on one
/// command at a time.
fn parts<'a, 'b>(chains: &'b [Planned<'a>], alone: bool) -> std::slice::Chunks<'b, Planned<'a>> {
    let statements: usize = chains.iter().map(|(_, _, steps)| steps.len()).sum();
    let bytes: u64 = chains
        .iter()
        .map(|(_, chain, steps)| chain.bytes_of(steps))
        .sum();
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let parts = (statements / PART_STATEMENTS).max(bytes / PART_BYTES);
    let parts = parts.clamp(1, MAX_PARTS);
    let chains_each = if alone {
        1
    } else {
        chains.len().div_ceil(parts)
    };
    chains.chunks(chains_each.max(1))
}

/// Encodes the statements of a batch as commands.
struct Commands<'a> {
    batch: &'a Batch,
    write_concern: Option<&'a RawDocument>,
}

impl Commands<'_> {
    /// Commands of all these chains' statements.
    fn of(&self, chains: &[Planned<'_>], ordered: bool, inserts: bool) -> Vec<Round> {
        let mut rounds = Vec::new();
        let mut rest = chains;
        while let Some((round, begun)) = self.next(rest, ordered, inserts) {
            rounds.push(round);
            rest = &rest[begun..];
        }
        rounds
    }

    /// A command of as many statements as fit, and how many chains it begins. A chain that does not fit
    /// completely continues in the next round.
    fn next(&self, chains: &[Planned<'_>], ordered: bool, inserts: bool) -> Option<(Round, usize)> {
        let collection = self.batch.spec().collection();
        let mut builder = if inserts {
            CommandBuilder::inserting(collection, ordered)
        } else {
            CommandBuilder::new(collection, ordered)
        };
        let mut carried = Vec::new();
        let mut begun = 0;
        for (index, chain, steps) in chains {
            let room = self.batch.max_statements() - carried.len();
            if room == 0 {
                break;
            }
            let steps = &steps[..steps.len().min(room)];
            let (encoded, now) = (self.batch.encoded(), self.batch.now());
            let fitted = chain.encode(steps, encoded, now, &mut builder);
            carried.extend(steps.iter().take(fitted).map(|step| (*index, step.clone())));
            if fitted == 0 {
                break;
            }
            begun += 1;
            if fitted < steps.len() {
                break;
            }
        }
        if begun == 0 {
            return None;
        }
        let command = builder.finish(self.write_concern);
        let round = Round {
            command,
            steps: carried,
            ordered,
            inserts,
        };
        Some((round, begun))
    }
}
