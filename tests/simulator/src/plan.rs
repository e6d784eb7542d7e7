//! The plan of a history: clients, writers, their calls, and the faults. All of it is data drawn
//! from a seed, so that a history can be repeated and shrunk.

mod sealers;
mod shown;
mod wider;

use crate::random::Random;

/// Writers of a history.
const WRITERS: usize = 4;
/// Faults of a history.
const FAULTS: usize = 10;
/// Writers that edit, in the histories with edits.
const EDITORS: usize = 2;
/// The most calls of a writer.
const CALLS: u64 = 12;
/// The approximate number of messages in a history. A fault beyond them hits nothing.
const MESSAGES: u64 = 220;
/// The forms among which the first draw picks. Histories with others come from the stream [`WIDER`].
const FIRST_FORMS: u64 = 8;
/// The stream of what makes a history wider: more tasks, other forms and edits.
const WIDER: u64 = 5;
/// The stream of the random numbers of those who seal.
const SEALERS: u64 = 6;
/// The stream of the random numbers of those who merge.
const MERGERS: u64 = 7;
/// The stream of the random numbers of edits: of their own, so that histories without edits stay as they are.
const EDITS: u64 = 4;

/// A history.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The seed that it was drawn from.
    pub seed: u64,
    /// The index of its form in [`crate::forms`].
    pub form: usize,
    /// The keys that the writers share.
    pub keys: u8,
    /// The server refuses some records.
    pub validates: bool,
    /// Processes that write.
    pub clients: Vec<ClientPlan>,
    /// The writers and their records.
    pub writers: Vec<WriterPlan>,
    /// The faults, in the order of the messages.
    pub faults: Vec<FaultPlan>,
}

/// A process with its own handle.
#[derive(Debug, Clone, Copy)]
pub struct ClientPlan {
    /// Its capacity, instead of the model's, if the form accepts one.
    pub capacity: Option<u32>,
    /// Its commands have numbers.
    pub has_numbers: bool,
    /// It writes with `w: 1`, and relies on what the primary has.
    pub is_weak: bool,
}

/// A writer of a client. It makes its calls one after the other.
#[derive(Debug, Clone)]
pub struct WriterPlan {
    /// The seed of its records.
    pub stream: u64,
    /// The index of its client.
    pub client: usize,
    /// Its records come from this source, if the form accepts one.
    pub source: Option<u8>,
    /// All of its calls run in one session.
    pub in_session: bool,
    /// Its calls.
    pub calls: Vec<CallPlan>,
}

/// A call.
#[derive(Debug, Clone, Copy)]
pub struct CallPlan {
    /// The seed of its records.
    pub stream: u64,
    /// The number of records; a single one is an `insert`.
    pub records: u8,
    /// All of them have one key.
    pub of_one_key: bool,
    /// This many of them repeat those of another call, if the form or the source can detect that.
    pub again: u8,
    /// Two callers share the statements of these records.
    pub is_shared: bool,
    /// The milliseconds before it.
    pub wait: u16,
    /// Its deadline in milliseconds.
    pub deadline: u16,
    /// It sends no records, and edits what is stored.
    pub edit: Option<EditPlan>,
}

/// An edit. Which record it is about, the seed of the call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditPlan {
    /// What it does.
    pub kind: EditKind,
    /// It names the record by a reference, even if the record has an id.
    pub by_reference: bool,
    /// It takes a reference that somebody has read before, if there is one.
    pub is_stale: bool,
    /// Of a removal: it leaves no record ids.
    pub forgets: bool,
}

/// What an edit does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// It corrects a record.
    Update,
    /// It replaces a record by another one, or finds that this one does not replace it.
    Replace,
    /// It removes a record.
    Delete,
    /// It removes the records of a bucket that are about as old as this one.
    DeleteBetween,
    /// It removes those records of a bucket that meet a filter.
    DeleteWhere,
    /// It removes everything of the key of the record.
    DeleteKey,
}

impl EditKind {
    /// Whether it leaves another record in the place of one.
    pub(crate) fn is_correction(self) -> bool {
        matches!(self, Self::Update | Self::Replace)
    }

    /// Whether it leaves marks in the places of records.
    pub(crate) fn is_removal(self) -> bool {
        matches!(self, Self::Delete | Self::DeleteBetween | Self::DeleteWhere)
    }
}

/// A fault, and the message that it hits.
#[derive(Debug, Clone, Copy)]
pub struct FaultPlan {
    /// The index of the message among all messages.
    pub at: u32,
    /// What happens.
    pub fault: Fault,
}

/// A fault. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request is lost, and the client sees a broken connection.
    LoseRequest,
    /// The reply is lost.
    LoseReply,
    /// The connection broke, but the request arrives after this delay.
    Late(u16),
    /// The request arrives twice, before its reply: a router sends it again if it has lost the reply of a shard.
    Twice,
    /// The request takes longer.
    Slow(u16),
    /// The reply takes longer.
    SlowReply(u16),
    /// There is no connection.
    NotSent,
    /// The request is lost, without any signal.
    Silence,
    /// The next write command is interrupted.
    Interrupt {
        /// After this many statements.
        after: u8,
        /// Fully, or statement by statement.
        whole: bool,
    },
    /// The server is not the primary for this long.
    StepDown(u16),
    /// No majority has new writes for this long; then it has them.
    Lag(u16),
    /// No majority has new writes for this long; then the primary dies, and they are rolled back.
    FailOver(u16),
    /// The call that sends the message is dropped.
    Drop {
        /// Before the message leaves.
        before: bool,
    },
    /// The client that sends the message dies, and is back after this long.
    Kill(u16),
    /// One of the callers that share the call leaves.
    Leave,
    /// A bucket is removed.
    RemoveBucket(u8),
    /// All buckets of a key are removed.
    RemoveKey(u8),
    /// The collection is dropped, and set up again after this long.
    DropCollection(u16),
    /// An index is dropped, and built again after this long.
    DropIndex(u8, u16),
    /// The server removes expired documents.
    Expire,
    /// The next number of the client repeats that of the previous command.
    Miscount,
    /// Somebody reads a bucket, and seals it or gives it its rows back if it is as it was read after this long.
    Seal(u8, u16),
    /// Somebody puts sealed buckets together, and merges them in one transaction after this long.
    Merge(u16),
}

impl Plan {
    /// The history of a seed.
    #[must_use]
    pub fn draw(seed: u64, forms: usize) -> Self {
        let mut random = Random::new(seed, 1);
        let form = usize::try_from(random.below(FIRST_FORMS)).unwrap_or_default();
        let clients = (0..=random.below(3)).map(|_| client(&mut random)).collect();
        let mut plan = Self {
            seed,
            form,
            keys: 1 + u8::try_from(random.below(3)).unwrap_or_default(),
            validates: random.below(4) == 0,
            clients,
            writers: Vec::new(),
            faults: Vec::new(),
        };
        let miscounts = random.below(8) == 0;
        // The server executes the statements after one whose number was taken, so a position skips
        // that one.
        let sources = random.below(3) == 0 && !miscounts;
        for _ in 0..WRITERS {
            let writer = writer(&mut random, plan.clients.len(), sources);
            plan.writers.push(writer);
        }
        for _ in 0..FAULTS {
            let at = u32::try_from(random.below(MESSAGES)).unwrap_or_default();
            let fault = if miscounts {
                harmless(&mut random)
            } else {
                fault(&mut random)
            };
            plan.faults.push(FaultPlan { at, fault });
        }
        let mut more = Random::new(seed, 2);
        if !miscounts && more.below(6) == 0 {
            plan.remove_under_sources(&mut more);
        }
        plan.faults.sort_by_key(|fault| fault.at);
        let mut edits = Random::new(seed, EDITS);
        if edits.below(2) == 0 {
            let erases = edits.below(6) == 0;
            for _ in 0..EDITORS {
                plan.add_editor(&mut edits, erases);
            }
        }
        let mut wider = Random::new(seed, WIDER);
        if wider.below(2) == 0 {
            plan.widen(&mut wider, forms as u64, sources, miscounts);
        }
        let mut sealers = Random::new(seed, SEALERS);
        if sealers.below(2) == 0 {
            plan.add_sealers(&mut sealers);
        }
        let mut mergers = Random::new(seed, MERGERS);
        if mergers.below(8) == 0 {
            plan.add_mergers(&mut mergers, forms as u64);
        }
        plan
    }

    fn add_editor(&mut self, random: &mut Random, erases: bool) {
        let mut editor = writer(random, self.clients.len(), false);
        for call in &mut editor.calls {
            call.again = 0;
            call.is_shared = false;
            call.records = 0;
            call.wait = u16::try_from(random.below(120)).unwrap_or_default();
            if random.below(4) == 0 {
                // Outcomes stay unknown.
                call.deadline = u16::try_from(30 + random.below(200)).unwrap_or_default();
            }
            call.edit = Some(edit(random, erases));
        }
        self.writers.push(editor);
    }

    /// Lets all writers deliver sources whose keys are removed under their calls. Few histories have all of
    /// that by chance.
    fn remove_under_sources(&mut self, random: &mut Random) {
        for writer in self.writers.iter_mut().filter(|it| !it.in_session) {
            writer.source = Some(u8::try_from(random.below(2)).unwrap_or_default());
        }
        for planned in self.faults.iter_mut().step_by(2) {
            planned.fault = Fault::RemoveKey(small(random));
        }
    }
}

fn client(random: &mut Random) -> ClientPlan {
    ClientPlan {
        capacity: (random.below(6) == 0).then(|| if random.below(2) == 0 { 3 } else { 7 }),
        has_numbers: random.below(8) > 0,
        is_weak: false,
    }
}

fn writer(random: &mut Random, clients: usize, sources: bool) -> WriterPlan {
    let client = random.below(clients as u64);
    // Two of them may deliver the same source, like a writer that was taken for dead and its
    // successor.
    let source =
        (sources && random.below(4) > 0).then(|| u8::try_from(random.below(2)).unwrap_or_default());
    let in_session = source.is_none() && random.below(8) == 0;
    let calls = 8 + random.below(CALLS - 7);
    WriterPlan {
        stream: random.below(u64::MAX),
        client: usize::try_from(client).unwrap_or_default(),
        source,
        in_session,
        calls: (0..calls).map(|_| call(random)).collect(),
    }
}

fn edit(random: &mut Random, erases: bool) -> EditPlan {
    EditPlan {
        kind: match random.below(12) {
            0..=3 => EditKind::Update,
            4..=5 => EditKind::Replace,
            6..=8 => EditKind::Delete,
            9 if erases => EditKind::DeleteKey,
            _ => EditKind::DeleteBetween,
        },
        by_reference: random.below(2) == 0,
        is_stale: random.below(4) == 0,
        forgets: false,
    }
}

fn call(random: &mut Random) -> CallPlan {
    let records = match random.below(10) {
        0..=4 => 1,
        5..=7 => 2 + random.below(6),
        8 => 5 + random.below(12),
        _ => 12 + random.below(20),
    };
    let again = if random.below(4) == 0 {
        1 + random.below(records)
    } else {
        0
    };
    let wait = match random.below(4) {
        0 => 0,
        1 => random.below(400),
        _ => random.below(20),
    };
    let deadline = match random.below(6) {
        0 => 30 + random.below(300),
        _ => 10_000 + random.below(20_000),
    };
    CallPlan {
        stream: random.below(u64::MAX),
        records: u8::try_from(records).unwrap_or(1),
        of_one_key: random.below(2) == 0,
        again: u8::try_from(again).unwrap_or_default(),
        is_shared: records > 1 && random.below(6) == 0,
        wait: u16::try_from(wait).unwrap_or_default(),
        deadline: u16::try_from(deadline).unwrap_or(u16::MAX),
        edit: None,
    }
}

/// A few milliseconds mostly, sometimes seconds.
fn span(random: &mut Random) -> u16 {
    let span = match random.below(3) {
        0 => 5 + random.below(30),
        1 => 50 + random.below(500),
        _ => 1_000 + random.below(12_000),
    };
    u16::try_from(span).unwrap_or(u16::MAX)
}

fn small(random: &mut Random) -> u8 {
    u8::try_from(random.below(200)).unwrap_or_default()
}

fn fault(random: &mut Random) -> Fault {
    match random.below(40) {
        0..=2 => Fault::LoseRequest,
        3..=6 => Fault::LoseReply,
        // Meanwhile, the reason for refusing the repetition may change: a bucket fills up.
        7..=12 => Fault::Late(u16::try_from(5 + random.below(400)).unwrap_or_default()),
        13 => Fault::Late(span(random)),
        14 | 15 => {
            // Once the delay of the second one; the histories of earlier seeds stay as they were.
            span(random);
            Fault::Twice
        }
        16 | 17 => Fault::Slow(span(random)),
        18 => Fault::SlowReply(span(random)),
        19 => Fault::NotSent,
        20 => Fault::Silence,
        21..=23 => Fault::Interrupt {
            after: u8::try_from(random.below(4)).unwrap_or_default(),
            whole: random.below(2) == 0,
        },
        24 => Fault::StepDown(span(random)),
        25 => Fault::Lag(span(random)),
        26..=28 => Fault::FailOver(span(random)),
        29 | 30 => Fault::Drop {
            before: random.below(4) == 0,
        },
        31 | 32 => Fault::Kill(span(random)),
        33 => Fault::Leave,
        34 => Fault::RemoveBucket(small(random)),
        35 => Fault::RemoveKey(small(random)),
        36 => Fault::DropCollection(span(random)),
        37 => Fault::DropIndex(small(random), span(random)),
        _ => Fault::Expire,
    }
}

/// In histories with repeated numbers, no command is lost as well: the server cannot detect both at
/// once.
fn harmless(random: &mut Random) -> Fault {
    match random.below(8) {
        0..=4 => Fault::Miscount,
        5 => Fault::Slow(span(random)),
        6 => Fault::RemoveBucket(small(random)),
        _ => Fault::Leave,
    }
}
