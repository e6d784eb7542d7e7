//! The main job: the real trades and the manual's own, loaded into a fresh database and shown.

mod manual;
mod story;

use std::io::Write;

use bucket_mongo::{Bucketed as _, mongodb::Database};
use example_kit::{Error, demo};

use crate::{APP, model::Trade};

pub(super) async fn run<W: Write>(out: &mut W) -> Result<(), Error> {
    demo::run(APP, out, async |database: &Database, out: &mut W| {
        story::tell(&Trade::buckets(database), out).await
    })
    .await
}
