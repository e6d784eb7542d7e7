//! The main job: the manual's bottles and movies, and products in both forms.

mod bottles;
mod moved;
mod movies;

use std::io::Write;

use bucket_mongo::{
    Attributed, Documents,
    bson::{Document, doc},
    mongodb::Database,
};
use example_kit::{Error, demo, print};
use futures_util::TryStreamExt as _;

use super::compare;
use crate::{APP, cli::Amount};

pub(super) async fn run<W: Write>(amount: Amount, out: &mut W) -> Result<(), Error> {
    demo::run(APP, out, async |database: &Database, out: &mut W| {
        bottles::tell(database, out).await?;
        movies::tell(database, out).await?;
        compare::tell(database, amount, out).await?;
        moved::tell(database, amount, out).await?;
        writeln!(out, "\nthe commands: load, find, compare, migrate")?;
        Ok(())
    })
    .await
}

/// Stores documents and shows them as they are stored.
async fn store<T: Attributed>(
    documents: &Documents<T>,
    all: &[T],
    out: &mut impl Write,
) -> Result<(), Error> {
    let collection = documents.spec().collection();
    writeln!(out, "`{collection}`: {}\n", documents.ensure().await?)?;
    documents.insert_many(all).await?.into_result()?;
    let stored = documents.collection::<Document>();
    let stored = stored.find(doc! {}).sort(doc! { "_id": 1 }).await?;
    let stored: Vec<Document> = stored.try_collect().await?;
    for document in stored {
        writeln!(out, "{}", print::fitted(&document, 0))?;
    }
    writeln!(out)?;
    Ok(())
}
