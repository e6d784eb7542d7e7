//! `trades watch [CUSTOMER]`: the newest trades, and what happens to trades from then on.

use std::{io::Write, process::ExitCode};

use bucket_mongo::{Buckets, RecordChange, TailEvent, WatchEvent};
use example_kit::{Error, cli::Format, json, signal::Signals, text};
use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::{cli::Watch, json::Record, model::Trade};

/// An event in JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    customer: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    record: Option<Record<'a>>,
    /// The trade before it was amended or cancelled, if the server still has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Record<'a>>,
    /// How many trades a removed page had, or how many events were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
}

/// What happened, in the parts that are shown.
struct Shown<'a> {
    event: &'static str,
    customer: Option<i64>,
    trade: Option<&'a Trade>,
    before: Option<&'a Trade>,
    number: Option<u64>,
}

/// Ends with an error, after the asked number of events, or with a signal.
pub(super) async fn run(
    trades: &Buckets<Trade>,
    watch: Watch,
    out: &mut impl Write,
) -> Result<ExitCode, Error> {
    let mut signals = Signals::listen();
    let tail = match watch.customer {
        Some(customer) => trades.tail_key(customer),
        None => trades.tail(),
    };
    let mut events = tail.latest(watch.latest).with_before().await?;
    let format = watch.output.format();
    let mut left = watch.limit.unwrap_or(u64::MAX);
    while left > 0 {
        let next = tokio::select! {
            signal = signals.first() => return Ok(signal.into()),
            next = events.try_next() => next?,
        };
        let Some(event) = next else {
            break;
        };
        Shown::of(&event).print(format, out)?;
        out.flush()?;
        left -= 1;
    }
    Ok(ExitCode::SUCCESS)
}

impl<'a> Shown<'a> {
    fn of(event: &'a TailEvent<Trade>) -> Self {
        let nothing = Self {
            event: "changed",
            customer: None,
            trade: None,
            before: None,
            number: None,
        };
        let event: &WatchEvent<Trade> = match event {
            TailEvent::Change(event) => event,
            TailEvent::Skipped { events, .. } => {
                return Self {
                    event: "skipped",
                    number: Some(*events),
                    ..nothing
                };
            }
            _ => return nothing,
        };
        let key = event.change.key();
        let customer = key.map(|key| key.customer_id);
        let nothing = Self {
            customer,
            ..nothing
        };
        match &event.change {
            RecordChange::Stored { record, .. } => Self {
                event: "stored",
                trade: Some(record),
                ..nothing
            },
            RecordChange::Updated { record, before, .. } => Self {
                event: "amended",
                trade: Some(record),
                before: before.as_ref(),
                ..nothing
            },
            RecordChange::Removed { before, .. } => Self {
                event: "cancelled",
                before: before.as_ref(),
                ..nothing
            },
            RecordChange::BucketRemoved { records, .. } => Self {
                event: "page removed",
                number: records.map(u64::from),
                ..nothing
            },
            _ => nothing,
        }
    }

    fn print(&self, format: Format, out: &mut impl Write) -> Result<(), Error> {
        let Self {
            event,
            customer,
            trade,
            before,
            number,
        } = *self;
        if format == Format::Json {
            let report = Report {
                event,
                customer,
                record: trade.map(Record::from),
                before: before.map(Record::from),
                number,
            };
            return json::print(&report, out);
        }
        let of = customer.map_or_else(|| "?".to_owned(), |customer| customer.to_string());
        let number = number.map_or_else(String::new, |number| number.to_string());
        let what = trade.or(before).map_or(number, line);
        writeln!(out, "{event:<9}  {of:>8}  {what}")?;
        if let (Some(_), Some(before)) = (trade, before) {
            writeln!(out, "{:<9}  {:>8}  {}", "", "was", line(before))?;
        }
        Ok(())
    }
}

/// A trade as a part of a line.
fn line(trade: &Trade) -> String {
    let date = text::short_date(trade.date);
    let (side, ticker, qty) = (trade.side.to_string(), &trade.ticker, trade.qty);
    let price = trade
        .price
        .map_or_else(String::new, |price| format!("{price:.2}"));
    format!("{date}  {side:<4}  {ticker:<6}  {qty:>5}  {price:>8}")
}
