//! The main job: several writers on one fresh collection, and what it holds afterwards.

use std::io::Write;

use bucket_mongo::{
    Bucketed as _, Buckets,
    bson::{Document, doc},
    mongodb::Database,
};
use example_kit::{Error, demo, print, text};

use crate::{
    APP, endpoint,
    model::{Request, RequestBucket},
    table,
    writers::{self, Stop},
};

pub(super) async fn run<W: Write>(out: &mut W) -> Result<(), Error> {
    demo::run(APP, out, async |database: &Database, out: &mut W| {
        tell(&Request::buckets(database), out).await
    })
    .await
}

async fn tell(requests: &Buckets<Request>, out: &mut impl Write) -> Result<(), Error> {
    writeln!(out, "{}\n", requests.ensure().await?)?;
    let written = writers::run(requests, &Stop::default()).await?;
    writeln!(
        out,
        "{} writers, {} requests each, all at the same time -> {} ({} per bucket)\n",
        writers::WRITERS,
        writers::REQUESTS,
        text::counted(written.buckets, "bucket"),
        Request::CAPACITY,
    )?;
    let endpoints = endpoint::all(requests).await?;
    writeln!(out, "{}", table::endpoints(&endpoints))?;
    show_one(requests, out).await
}

/// The first bucket of an endpoint as it is stored.
async fn show_one(requests: &Buckets<Request>, out: &mut impl Write) -> Result<(), Error> {
    let fields = RequestBucket::FIELDS;
    let collection = requests.collection::<Document>();
    let first = collection
        .find_one(doc! { fields.bucket_number.as_str(): 1 })
        .sort(doc! { fields.id.as_str(): 1 });
    if let Some(stored) = first.await? {
        writeln!(
            out,
            "one bucket as it is stored:\n\n{}",
            print::shortened(&stored, 2)
        )?;
    }
    Ok(())
}
