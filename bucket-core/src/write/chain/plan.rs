//! The next statements of a chain, and their encoding.

use bson::DateTime;

use super::{Chain, Known, MAX_STATEMENT_BYTES, Step, Tail};
use crate::{
    stats::contribution::Fold,
    write::{Action, CommandBuilder, Put, Statement, batch::Encoded, statement::Positions},
};

impl Chain {
    /// Tries this bucket before anything is read. In the manual's form and in forms with marked buckets, such
    /// a statement misses without a trace, so it must be the only one of its command.
    pub(in crate::write) fn guess(&mut self, id: String) {
        if !id.starts_with(&self.prefix) {
            return;
        }
        let kind = self.kind;
        kind.rules().guess(self, id);
    }

    /// Plans the statements that store the pending records, at most `limit`. Send them in this order, and
    /// each only if the one before it was applied.
    #[must_use]
    pub fn plan(&self, limit: usize) -> Vec<Step> {
        if let Some(id) = &self.guess {
            return vec![Step {
                action: self.kind.rules().guessed(self, id),
                take: 1,
                after: Tail::Unknown,
            }];
        }
        let rules = self.kind.rules();
        let mut steps = Vec::new();
        let mut tail = self.tail.clone();
        let mut from = 0;
        while from < self.pending.len() && steps.len() < limit {
            let Some(step) = rules.next(self, &tail, from) else {
                break;
            };
            from += step.take;
            tail = step.after.clone();
            steps.push(step);
            let takes_over = matches!(
                steps.last(),
                Some(Step {
                    action: Action::TakeOver { .. },
                    ..
                })
            );
            if takes_over || self.kind.is_late() {
                // The next record may need another bucket, which must be looked up; and a bucket that is
                // taken over gets its records in a later command.
                break;
            }
        }
        steps
    }

    /// Whether these statements may be sent all at once. The bucket at the end was just seen, and this chain
    /// can open the next ones as long as no one else writes to it.
    pub(in crate::write) fn may_go_at_once(&self, steps: &[Step]) -> bool {
        let opens = steps.first().is_some_and(|step| step.action.is_opening());
        let known = !matches!(self.tail, Tail::Unknown) && !self.assumed && self.guess.is_none();
        known && self.misses == 0 && (opens || self.confirmed)
    }

    /// The size of the items of these statements, in bytes.
    pub(in crate::write) fn bytes_of(&self, steps: &[Step]) -> u64 {
        self.bytes(0, steps.iter().map(Step::take).sum())
    }

    /// The pending record at this place.
    pub(super) fn time_at(&self, from: usize) -> DateTime {
        self.pending
            .get(from)
            .map_or(DateTime::MIN, |slot| slot.time)
    }

    /// How many records from `from` on go into one statement for this bucket; at least 1.
    pub(super) fn fit(&self, from: usize, known: &Known, room: u32) -> usize {
        // At most our own limit, even if the bucket takes more: values are checked against the largest sum of
        // that many records.
        let room = usize::try_from(room.min(self.kind.size()))
            .unwrap_or(usize::MAX)
            .min(self.max_take)
            .max(1);
        let limit = match self.spec.max_bytes() {
            Some(max) => u64::from(max).saturating_sub(known.bytes),
            None => MAX_STATEMENT_BYTES,
        };
        let limit = limit.min(MAX_STATEMENT_BYTES);
        let mut bytes = 0;
        let slots = self.pending.iter().skip(from).take(room);
        let fitting = slots.take_while(|slot| {
            bytes += slot.bytes;
            bytes <= limit && self.kind.covers(known.start, slot.time)
        });
        fitting.count().max(1)
    }

    /// The size of these records as counted against `max_bytes`.
    pub(super) fn bytes(&self, from: usize, take: usize) -> u64 {
        let slots = self.pending.iter().skip(from).take(take);
        slots.map(|slot| slot.bytes).sum()
    }

    /// The statement that puts the next records into this bucket.
    pub(super) fn put(&self, known: &Known, from: usize) -> Step {
        let take = self.fit(from, known, known.room());
        let after = known.with(take, self.bytes(from, take));
        let full = !after.has_room(self.spec);
        let in_parts = self.kind.in_parts();
        let put = Put {
            id: known.id.clone(),
            start: known.start,
            number: known.place.time,
            part: i64::try_from(known.place.sequence).unwrap_or(i64::MAX),
            size: known.size,
            fills_from: (in_parts || (full && self.kind.marks())).then_some(known.count),
            fresh: known.fresh,
            lone: false,
        };
        Step {
            action: Action::Put(put),
            take,
            after: if full {
                Tail::Full(after)
            } else {
                Tail::Open(after)
            },
        }
    }

    /// The statement that marks this bucket as one that takes no more.
    pub(super) fn close(known: &Known) -> Step {
        Step {
            action: Action::Close {
                id: known.id.clone(),
                number: known.place.time,
            },
            take: 0,
            after: Tail::Full(Known {
                marked: true,
                ..known.clone()
            }),
        }
    }

    /// Adds the statements of a plan to a command and returns how many fitted.
    pub(in crate::write) fn encode(
        &self,
        steps: &[Step],
        encoded: &Encoded,
        now: DateTime,
        command: &mut CommandBuilder,
    ) -> usize {
        let mut from = 0;
        let (mut items, mut ids) = (Vec::new(), Vec::new());
        for (index, step) in steps.iter().enumerate() {
            items.clear();
            ids.clear();
            let mut fold = Fold::new(self.spec);
            let mut latest = DateTime::MIN;
            let mut last_bytes = 0;
            let first_position = self.pending.get(from).map_or(0, |slot| slot.position);
            let mut last_position = 0;
            for slot in self.pending.iter().skip(from).take(step.take) {
                items.push(&encoded.items[slot.item.clone()]);
                ids.extend(encoded.id(slot));
                fold.add(&encoded.inputs, slot.row, slot.time);
                latest = latest.max(slot.time);
                last_position = slot.position;
                last_bytes = slot.bytes;
            }
            let statement = Statement {
                spec: self.spec,
                kind: self.kind,
                key: &self.key,
                action: &step.action,
                items: &items,
                ids: &ids,
                fold,
                bytes: self.bytes(from, step.take),
                last_bytes,
                latest,
                now,
                positions: self.watermark.as_ref().map(|watermark| Positions {
                    path: watermark.path(),
                    first: first_position,
                    last: last_position,
                }),
            };
            if !command.push(&statement) {
                return index;
            }
            from += step.take;
        }
        steps.len()
    }
}
