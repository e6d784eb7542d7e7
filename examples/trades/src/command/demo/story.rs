//! The output of the main job, in its order.

use std::{
    collections::{HashMap, HashSet},
    io::Write,
};

use bucket_mongo::{
    Buckets,
    bson::{DateTime, Document},
};
use example_kit::{Error, print, text};
use futures_util::TryStreamExt as _;

use super::manual;
use crate::{
    csv_input,
    model::{Trade, TradeBucket},
    stored, table,
};

pub(super) async fn tell(trades: &Buckets<Trade>, out: &mut impl Write) -> Result<(), Error> {
    writeln!(out, "{}\n", trades.ensure().await?)?;

    let real = csv_input::built_in()?;
    load(trades, &real, out).await?;
    if let Some(busiest) = busiest(&real) {
        show_busiest(trades, &busiest, out).await?;
    }
    append_the_manuals(trades, out).await
}

async fn load(trades: &Buckets<Trade>, real: &[Trade], out: &mut impl Write) -> Result<(), Error> {
    let report = trades.insert_many(real).await?.into_result()?;
    let customers: HashSet<_> = real.iter().map(|trade| trade.customer_id).collect();
    writeln!(
        out,
        "{} trades of {} customers -> {} buckets ({} per bucket)",
        report.stored(),
        customers.len(),
        report.opened_buckets(),
        Trade::CAPACITY,
    )?;
    Ok(())
}

/// A customer with many trades at one time.
struct Busiest {
    customer: i64,
    date: DateTime,
    trades: usize,
}

/// The customer with the most trades at the same time.
fn busiest(trades: &[Trade]) -> Option<Busiest> {
    let mut numbers = HashMap::<_, usize>::new();
    for trade in trades {
        *numbers.entry((trade.customer_id, trade.date)).or_default() += 1;
    }
    let busiest = numbers.into_iter().max_by_key(|&(_, number)| number);
    busiest.map(|((customer, date), trades)| Busiest {
        customer,
        date,
        trades,
    })
}

async fn show_busiest(
    trades: &Buckets<Trade>,
    busiest: &Busiest,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Busiest {
        customer,
        date,
        trades: number,
    } = *busiest;
    let pages: Vec<TradeBucket> = trades.pages(customer).await?;
    writeln!(
        out,
        "customer {customer} made {number} trades in one second ({}); the manual's code, whose\n\
         `_id` is customer and second, can store {} of them; here they fill {}:\n\n{}",
        text::short_date(date),
        Trade::CAPACITY,
        text::counted(pages.len() as u64, "page"),
        table::pages(&pages),
    )?;
    let first = trades.page(customer, 1).await?;
    writeln!(
        out,
        "page 1 of customer {customer}:\n\n{}",
        table::trades(first.into_records())
    )?;
    Ok(())
}

async fn append_the_manuals(trades: &Buckets<Trade>, out: &mut impl Write) -> Result<(), Error> {
    trades.insert_many(manual::trades()).await?.into_result()?;
    trades.insert(&manual::appended()).await?;
    let stored = stored::documents(trades, &manual::CUSTOMERS).await?;
    let stored: Vec<Document> = stored.try_collect().await?;
    writeln!(
        out,
        "the manual's three trades, and the one that it appends, are stored as in the manual\n\
         (except its own slips: its ids are four hours late, one `qty` is called `quantity`):\n\n{}",
        print::documents(&stored),
    )?;
    Ok(())
}
