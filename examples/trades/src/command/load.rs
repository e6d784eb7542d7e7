//! `trades load FILE.csv`.

use std::{io::Write, path::Path, process::ExitCode};

use bucket_mongo::Bucketed as _;
use example_kit::{Error, cli::Format, load::Load};

use crate::{APP, model::Trade};

pub(super) async fn run(
    file: &Path,
    format: Format,
    out: &mut impl Write,
) -> Result<ExitCode, Error> {
    let load = Load {
        app: APP,
        record: "trade",
        key: "customer",
        buckets: Trade::buckets,
    };
    load.run(file, format, out).await
}
