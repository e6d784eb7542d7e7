//! What became of a group, told to each of its calls.

use tokio::sync::oneshot;

use crate::writer::Written;

/// The calls of a group, in their order.
#[derive(Debug, Default)]
pub(super) struct Seats {
    seats: Vec<Seat>,
}

#[derive(Debug)]
struct Seat {
    records: usize,
    /// The first index of its records in the group ..
    offset: usize,
    /// .. and the first one behind them.
    end: usize,
    result: oneshot::Sender<Written>,
}

impl Seats {
    /// Adds a call of this number of records, whose own indexes are below `end`. Gives what its
    /// indexes grow by.
    pub(super) fn add(
        &mut self,
        records: usize,
        end: usize,
        result: oneshot::Sender<Written>,
    ) -> usize {
        let offset = self.seats.last().map_or(0, |seat| seat.end);
        self.seats.push(Seat {
            records,
            offset,
            end: offset + end,
            result,
        });
        offset
    }

    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// Tells each call. What concerns no record of its own (the commands, their fate) is the same for
    /// all.
    pub(super) fn deal_out(self, written: Written) {
        let mut parts: Vec<Written> = self
            .seats
            .iter()
            .map(|_| Written {
                commands: written.commands,
                resent: written.resent,
                missed: written.missed,
                stopped_by: written.stopped_by.clone(),
                ..Written::default()
            })
            .collect();
        for index in written.opened {
            if let Some((part, index)) = self.own(&mut parts, index) {
                part.opened.push(index);
            }
        }
        for index in written.duplicates {
            if let Some((part, index)) = self.own(&mut parts, index) {
                part.duplicates.push(index);
            }
        }
        for (index, error) in written.failed {
            if let Some((part, index)) = self.own(&mut parts, index) {
                part.failed.push((index, error));
            }
        }
        for (seat, mut part) in self.seats.into_iter().zip(parts) {
            let others = part.failed.len() + part.duplicates.len();
            part.stored = seat.records.saturating_sub(others);
            // A caller that has gone does not mind.
            let _ = seat.result.send(part);
        }
    }

    /// The part of the call whose record this is, and the call's own index of it.
    fn own<'a>(&self, parts: &'a mut [Written], index: usize) -> Option<(&'a mut Written, usize)> {
        let at = self.seats.partition_point(|seat| seat.end <= index);
        let seat = self.seats.get(at)?;
        Some((parts.get_mut(at)?, index.checked_sub(seat.offset)?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test it is the point")]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[test]
    fn each_call_is_told_of_its_own_records_by_their_own_indexes() {
        let mut seats = Seats::default();
        let mut results = Vec::new();
        for (records, end, offset) in [(3, 3, 0), (2, 10, 3), (4, 4, 13)] {
            let (result, ended) = oneshot::channel();
            assert_eq!(seats.add(records, end, result), offset);
            results.push(ended);
        }
        assert_eq!(seats.len(), 3);
        seats.deal_out(Written {
            stored: 7,
            opened: vec![0, 11, 12, 16],
            duplicates: vec![2, 13],
            commands: 5,
            ..Written::default()
        });
        let parts: Vec<Written> = results
            .iter_mut()
            .map(|ended| ended.try_recv().unwrap())
            .collect();
        let stored: Vec<_> = parts.iter().map(|part| part.stored).collect();
        let opened: Vec<_> = parts.iter().map(|part| part.opened.as_slice()).collect();
        let duplicates: Vec<_> = parts.iter().map(|part| &part.duplicates[..]).collect();
        assert_eq!(stored, [2, 2, 3]);
        assert_eq!(opened, [&[0][..], &[8, 9], &[3]]);
        assert_eq!(duplicates, [&[2][..], &[], &[0]]);
        assert!(parts.iter().all(|part| part.commands == 5));
    }
}
