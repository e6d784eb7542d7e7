//! The outcome of a batch, with this crate's errors.

use std::collections::HashMap;

use bucket_core::{
    index::Unmet,
    write::{Batch, Contested, Reason, Report, Unstored},
};

use crate::error::{Context, Error, ErrorKind, NotKnown};

/// The outcome of a batch.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// The number of stored records.
    pub(crate) stored: usize,
    /// The first record of each bucket that was opened.
    pub(crate) opened: Vec<usize>,
    /// The number of commands sent.
    pub(crate) commands: usize,
    /// The number of commands sent again because of a fault.
    pub(crate) resent: usize,
    /// The number of statements refused because a bucket was not as last seen.
    pub(crate) missed: usize,
    /// Records that were already stored, by an earlier call or as an earlier record of this one.
    pub(crate) duplicates: Vec<usize>,
    /// Records that replaced what was stored under their ids.
    pub(crate) replaced: Vec<usize>,
    /// Records that do not replace what is stored under their ids.
    pub(crate) superseded: Vec<usize>,
    /// Records whose id another record has, if the batch keeps them.
    pub(crate) contested: Vec<Contested>,
    /// Records that are not stored, or may not be, and why.
    pub(crate) failed: Vec<(usize, Error)>,
    /// Why the call stopped early: the connection was lost, or no record could be stored.
    pub(crate) stopped_by: Option<Error>,
}

impl Written {
    /// None of these records was stored.
    pub(crate) fn all_failed(failed: Vec<(usize, Error)>, error: &Error) -> Self {
        Self {
            failed,
            stopped_by: Some(error.clone()),
            ..Self::default()
        }
    }

    /// The outcome of the records of this batch.
    pub(super) fn of(report: Report<Error>, batch: &Batch, context: &Context) -> Self {
        let keys = match (&context.key, report.failed.as_slice()) {
            (None, [_, ..]) => batch.unstored_keys(),
            _ => HashMap::new(),
        };
        let keys = &keys;
        let failed = report.failed.into_iter().flat_map(|unstored| {
            let Unstored {
                records, reason, ..
            } = unstored;
            let error = error(reason, context);
            let records = records.into_iter();
            records.map(move |index| (index, error.for_key(keys.get(&index))))
        });
        Self {
            failed: failed.collect(),
            stopped_by: report.stopped_by.map(|reason| error(reason, context)),
            stored: report.stored,
            opened: report.opened,
            commands: report.commands,
            resent: report.resent,
            missed: report.missed,
            duplicates: report.duplicates,
            contested: report.contested,
            ..Self::default()
        }
    }
}

/// The error of each record of a batch that is not sent, with its key.
pub(crate) fn all_unsent(batch: &mut Batch, error: &Error) -> Vec<(usize, Error)> {
    let indexes = batch.indexes();
    batch.give_up();
    let keys = batch.unstored_keys();
    let indexes = indexes.into_iter();
    let failed = indexes.map(|index| (index, error.for_key(keys.get(&index))));
    failed.collect()
}

fn error(reason: Reason<Error>, context: &Context) -> Error {
    let kind = match reason {
        Reason::Failed { error, .. } => return error,
        Reason::Refused { action, failure } => return Error::refused(&action, &failure, context),
        Reason::HeldBack(held) => return Error::held_back(&held, context),
        Reason::NotSent(reason) => return error(*reason, context).not_sent(),
        Reason::TransactionEnded => return Error::transaction_ended(context),
        Reason::LostTry => return Error::not_known(NotKnown::LostTry, context),
        Reason::TakenNumber => return Error::not_known(NotKnown::TakenNumber, context),
        Reason::Concern(failure) => {
            return Error::not_known(NotKnown::Concern(&failure), context);
        }
        Reason::Late(source) => ErrorKind::Encode(source),
        Reason::Damaged(damage) => ErrorKind::Damaged(damage),
        Reason::Drift(drift) | Reason::Unmet(Unmet::Differs(drift)) => {
            ErrorKind::Drift(Box::new(drift))
        }
        Reason::Unmet(Unmet::Missing { name }) => ErrorKind::MissingIndex { name },
        Reason::Unmet(Unmet::Unfinished { name }) => ErrorKind::UnfinishedIndex { name },
        // Future variants about an index.
        Reason::Unmet(_) => ErrorKind::MissingIndex {
            name: String::new(),
        },
        Reason::Contention { attempts } => ErrorKind::Contention { attempts },
        Reason::Reserved => ErrorKind::Reserved,
        Reason::Conflict { id } => ErrorKind::Conflict { id },
        Reason::Withdrawn => ErrorKind::Unreachable {
            message: "its call was dropped before the record was sent".to_owned(),
        },
    };
    Error::new(kind, context)
}
