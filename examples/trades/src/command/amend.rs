//! `trades amend CUSTOMER REF`: corrects one trade in its place.

use std::io::Write;

use bucket_mongo::{Buckets, RecordRef};
use example_kit::Error;

use crate::{cli::Amend, edited::Edited, model::Trade};

pub(super) async fn run(
    trades: &Buckets<Trade>,
    amend: Amend,
    out: &mut impl Write,
) -> Result<(), Error> {
    let Amend { trade, new } = amend;
    let reference = RecordRef::from(trade.reference);
    let mut update = trades.update(trade.customer, reference, |trade| {
        trade.qty = new.qty.unwrap_or(trade.qty);
        trade.price = new.price.or(trade.price);
    });
    if trade.dry_run {
        update = update.dry_run();
    }
    let edited = Edited {
        customer: trade.customer,
        done: "amended",
        dry_run: trade.dry_run,
        trade: update.await?,
    };
    edited.print(trade.output.format(), out)
}
