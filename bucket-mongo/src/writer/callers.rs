//! The calls of a group: which still wait, and the result of each.

use std::{future::poll_fn, ops::Range, task::Poll};

use tokio::sync::oneshot;

use super::report::Written;

/// The calls of a group, in order.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    seats: Vec<Seat>,
}

#[derive(Debug)]
struct Seat {
    records: usize,
    /// The first index of its records in the group ..
    offset: usize,
    /// .. and the first index after them.
    end: usize,
    operation: &'static str,
    result: oneshot::Sender<Written>,
    /// The call was dropped.
    is_gone: bool,
    /// Its records were taken out.
    is_taken_out: bool,
}

impl Callers {
    /// Adds a call with this number of records, whose own indexes are below `end`. Returns the offset of its
    /// indexes.
    pub(crate) fn add(
        &mut self,
        records: usize,
        end: usize,
        operation: &'static str,
        result: oneshot::Sender<Written>,
    ) -> usize {
        let offset = self.seats.last().map_or(0, |seat| seat.end);
        self.seats.push(Seat {
            records,
            offset,
            end: offset + end,
            operation,
            result,
            is_gone: false,
            is_taken_out: false,
        });
        offset
    }

    pub(crate) fn len(&self) -> usize {
        self.seats.len()
    }

    /// Ends when another call was dropped by its caller.
    pub(crate) async fn leave(&mut self) {
        poll_fn(|cx| {
            let mut someone_left = false;
            for seat in self.seats.iter_mut().filter(|seat| !seat.is_gone) {
                seat.is_gone = seat.result.poll_closed(cx).is_ready();
                someone_left |= seat.is_gone;
            }
            if someone_left {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Passes on the records of each call that was dropped since the last time.
    pub(crate) fn take_out_gone(&mut self, mut gone: impl FnMut(Range<usize>)) {
        for seat in &mut self.seats {
            if !seat.is_taken_out && seat.result.is_closed() {
                seat.is_taken_out = true;
                gone(seat.offset..seat.end);
            }
        }
    }

    /// Sends each call the outcome of its own records. The command figures are the same for all.
    pub(crate) fn deal_out(self, written: Written) {
        let mut parts: Vec<Written> = self
            .seats
            .iter()
            .map(|_| Written {
                commands: written.commands,
                resent: written.resent,
                missed: written.missed,
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
        for mut contested in written.contested {
            if let Some((part, index)) = self.own(&mut parts, contested.index) {
                contested.index = index;
                part.contested.push(contested);
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
            if !part.failed.is_empty() {
                part.stopped_by.clone_from(&written.stopped_by);
            }
            let errors = part.failed.iter_mut().map(|(_, error)| error);
            for error in errors.chain(&mut part.stopped_by) {
                error.set_operation(seat.operation);
            }
            // A caller that has left does not receive it.
            let _ = seat.result.send(part);
        }
    }

    /// The index of the call of this record.
    fn at(&self, index: usize) -> usize {
        self.seats.partition_point(|seat| seat.end <= index)
    }

    /// The part of the call that has this record, and the call's own index of it.
    fn own<'a>(&self, parts: &'a mut [Written], index: usize) -> Option<(&'a mut Written, usize)> {
        let at = self.at(index);
        let seat = self.seats.get(at)?;
        Some((parts.get_mut(at)?, index.checked_sub(seat.offset)?))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "in a test it is the point")]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::oneshot;

    use super::*;
    use crate::error::{Context, Error, ErrorKind};

    #[test]
    fn each_call_gets_its_own_records_with_its_own_indexes() {
        let mut seats = Callers::default();
        let mut results = Vec::new();
        for (records, end, offset) in [(3, 3, 0), (2, 10, 3), (4, 4, 13)] {
            let (result, ended) = oneshot::channel();
            assert_eq!(seats.add(records, end, "insert", result), offset);
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

    #[test]
    fn the_error_that_stopped_a_group_reaches_the_calls_it_concerns() {
        let mut seats = Callers::default();
        let (first, mut is_stored) = oneshot::channel();
        let (second, mut is_lost) = oneshot::channel();
        seats.add(1, 1, "insert", first);
        seats.add(1, 1, "insert", second);
        let context = Context {
            operation: "insert_many",
            collection: "samples",
            spec: None,
            key: None,
        };
        let error = Error::new(ErrorKind::ShutDown, &context);
        seats.deal_out(Written {
            stored: 1,
            failed: vec![(1, error.clone())],
            stopped_by: Some(error),
            ..Written::default()
        });
        let part = is_stored.try_recv().unwrap();
        assert!(part.stopped_by.is_none() && part.stored == 1);
        let part = is_lost.try_recv().unwrap();
        assert!(part.stopped_by.is_some() && part.stored == 0);
    }

    #[test]
    fn the_records_of_a_dropped_call_are_reported() {
        let mut seats = Callers::default();
        let mut results = Vec::new();
        for (records, end) in [(3, 3), (2, 10), (4, 4)] {
            let (result, ended) = oneshot::channel();
            seats.add(records, end, "insert", result);
            results.push(ended);
        }
        let gone = |seats: &mut Callers| {
            let mut gone = Vec::new();
            seats.take_out_gone(|records| gone.push(records));
            gone
        };
        assert_eq!(gone(&mut seats), []);
        assert!(seats.leave().now_or_never().is_none());
        drop(results.remove(1));
        assert!(seats.leave().now_or_never().is_some());
        // Each is reported once.
        assert!(seats.leave().now_or_never().is_none());
        let records: Vec<usize> = gone(&mut seats).into_iter().flatten().collect();
        assert_eq!(records, (3..13).collect::<Vec<_>>());
        assert_eq!(gone(&mut seats), []);
    }
}
