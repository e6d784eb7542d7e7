//! Which messages are damaged, and how.

use std::{collections::BTreeMap, time::Duration};

use super::random::Random;

/// What happens to one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The request is dropped and the connection closed.
    CutBefore,
    /// The request is delivered, its reply dropped, the connection closed.
    CutAfter,
    /// The request is delivered a little later.
    Delay,
    /// The client's connection is closed at once; the request is delivered later, by the server's
    /// connection, and its reply dropped.
    Ghost,
    /// Half of the request is delivered, then the connection closed.
    HalfRequest,
    /// The request is delivered, and half of its reply, then the connection closed.
    HalfReply,
    /// The request is delivered twice, and the second reply is passed on: a router does so that has lost the first one.
    Retried,
}

impl Fault {
    /// All of them that can happen without a router.
    pub const ALL: [Self; 6] = [
        Self::CutBefore,
        Self::CutAfter,
        Self::Delay,
        Self::Ghost,
        Self::HalfRequest,
        Self::HalfReply,
    ];
}

/// The faults of a proxy, and how many there have been of each.
#[derive(Debug)]
pub struct Plan {
    mode: Mode,
    random: Random,
    injected: BTreeMap<Fault, u64>,
}

#[derive(Debug)]
enum Mode {
    Off,
    Drawn { percent: u64 },
    Next { fault: Fault, left: u64 },
}

impl Plan {
    /// Damages nothing.
    #[must_use]
    pub fn off() -> Self {
        Self::new(Mode::Off, 0)
    }

    /// Damages this percentage of the messages, each in a way that is drawn.
    #[must_use]
    pub fn drawn(seed: u64, percent: u64) -> Self {
        Self::new(Mode::Drawn { percent }, seed)
    }

    /// Damages this many of the next messages, all in one way.
    #[must_use]
    pub fn next(fault: Fault, number: u64) -> Self {
        let left = number;
        Self::new(Mode::Next { fault, left }, number)
    }

    fn new(mode: Mode, seed: u64) -> Self {
        Self {
            mode,
            random: Random::new(seed, 0),
            injected: BTreeMap::new(),
        }
    }

    /// Damages nothing from now on.
    pub(super) fn stop(&mut self) {
        self.mode = Mode::Off;
    }

    /// What happens to the next message.
    pub(super) fn draw(&mut self) -> Option<Fault> {
        let fault = match &mut self.mode {
            Mode::Next { fault, left } if *left > 0 => {
                *left -= 1;
                *fault
            }
            Mode::Drawn { percent } if self.random.below(100) < *percent => {
                Fault::ALL[usize::try_from(self.random.below(6)).unwrap_or(0)]
            }
            _ => return None,
        };
        *self.injected.entry(fault).or_default() += 1;
        Some(fault)
    }

    /// How much later a message is delivered.
    pub(super) fn lateness(&mut self, fault: Fault) -> Duration {
        Duration::from_millis(match fault {
            // Some arrive when everything known at their time has changed.
            Fault::Ghost if self.random.below(8) == 0 => 500 + self.random.below(2_500),
            Fault::Ghost => 50 + self.random.below(450),
            _ => 1 + self.random.below(100),
        })
    }

    pub(super) fn injected(&self) -> &BTreeMap<Fault, u64> {
        &self.injected
    }
}
