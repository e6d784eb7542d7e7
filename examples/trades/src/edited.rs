//! What an edit has done, as text and in JSON.

use std::{io::Write, slice};

use example_kit::{Error, cli::Format, json};
use serde::Serialize;

use crate::{json::Record, model::Trade, table};

/// What an edit has done.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) customer: i64,
    /// Such as `amended`.
    pub(crate) done: &'static str,
    pub(crate) dry_run: bool,
    /// The trade as it is after a correction, or as it was before a removal; none if it was removed before.
    pub(crate) trade: Option<Trade>,
}

/// The result in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    customer: i64,
    dry_run: bool,
    record: Option<Record<'a>>,
}

impl Edited {
    pub(crate) fn print(&self, format: Format, out: &mut impl Write) -> Result<(), Error> {
        let (customer, done) = (self.customer, self.done);
        if format == Format::Json {
            let record = self.trade.as_ref().map(Record::from);
            let dry_run = self.dry_run;
            return json::print(
                &Report {
                    customer,
                    dry_run,
                    record,
                },
                out,
            );
        }
        match &self.trade {
            None => writeln!(out, "customer {customer} no longer has this trade")?,
            Some(trade) => {
                let would = if self.dry_run { "would be " } else { "" };
                writeln!(out, "customer {customer}: 1 trade {would}{done}\n")?;
                write!(out, "{}", table::trades(slice::from_ref(trade)))?;
            }
        }
        Ok(())
    }
}
