//! `catalog compare`: the same products in both forms, in a fresh database.

use std::io::{self, Write};

use bucket_mongo::mongodb::Database;
use example_kit::{Error, cli::Format, demo, json, print, progress, text};

use crate::{
    APP,
    cli::Amount,
    comparison::{self, Comparison},
    products, table, verdict,
};

pub(super) async fn run<W: Write>(
    amount: Amount,
    format: Format,
    out: &mut W,
) -> Result<(), Error> {
    match format {
        Format::Text => {
            demo::run(APP, out, async |database: &Database, out: &mut W| {
                tell(database, amount, out).await
            })
            .await
        }
        Format::Json => {
            let mut compared = None;
            // The server and the database are shown to people only.
            demo::run(APP, &mut io::sink(), async |database: &Database, _| {
                compared = Some(compare(database, amount).await?);
                Ok(())
            })
            .await?;
            json::print(&compared, out)
        }
    }
}

/// Compares the forms and shows the results.
pub(super) async fn tell(
    database: &Database,
    amount: Amount,
    out: &mut impl Write,
) -> Result<(), Error> {
    let products = text::counted(amount.products.unsigned_abs().into(), "product");
    writeln!(
        out,
        "{products} of eight kinds, each with 4 to 6 of 13 attributes, one of them in both forms below.\n\
         As documents of many fields they have an index for each of 12 fields: plain ones as in the manual,\n\
         and sparse ones, which leave out what a product does not have. There is none for\n\
         `{}`, which was added later. With attributes they have what `ensure()` makes.\n",
        comparison::LATE
    )?;
    let compared = compare(database, amount).await?;
    for product in comparison::one_product(database).await? {
        writeln!(out, "{}", print::fitted(&product, 0))?;
    }
    write!(
        out,
        "\n{}\n{}\n{}\n{}",
        table::forms(&compared.forms),
        verdict::of_forms(&compared.forms),
        table::answers(&compared.answers),
        verdict::of_answers(&compared.answers),
    )?;
    Ok(())
}

async fn compare(database: &Database, amount: Amount) -> Result<Comparison, Error> {
    let products = products::numbered(1..=amount.products);
    // Each is stored in three forms.
    let bar = progress::records(3 * products.len() as u64);
    let compared = comparison::run(database, &products, &bar).await;
    bar.finish_and_clear();
    compared
}
