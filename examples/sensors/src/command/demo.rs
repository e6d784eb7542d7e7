//! The main job: the real readings through the tutorial's pipeline into a fresh database.

mod story;

use std::io::Write;

use bucket_mongo::mongodb::Database;
use example_kit::{Error, demo};

use crate::{APP, limits};

pub(super) async fn run<W: Write>(out: &mut W) -> Result<(), Error> {
    demo::run(APP, out, async |database: &Database, out: &mut W| {
        story::tell(&limits::buckets(database), out).await
    })
    .await
}
