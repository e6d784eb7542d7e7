//! `trades cancel CUSTOMER REF`: removes one trade.

use std::io::Write;

use bucket_mongo::{Buckets, RecordRef};
use example_kit::Error;

use crate::{
    cli::{Cancel, OneTrade},
    edited::Edited,
    model::Trade,
};

pub(super) async fn run(
    trades: &Buckets<Trade>,
    cancel: Cancel,
    out: &mut impl Write,
) -> Result<(), Error> {
    let OneTrade {
        customer,
        reference,
        dry_run,
        output,
    } = cancel.trade;
    let mut delete = trades.delete(customer, RecordRef::from(reference));
    if dry_run {
        delete = delete.dry_run();
    }
    let edited = Edited {
        customer,
        done: "cancelled",
        dry_run,
        trade: delete.await?,
    };
    edited.print(output.format(), out)
}
