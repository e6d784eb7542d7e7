//! `sensors load FILE.csv`.

use std::{io::Write, path::Path, process::ExitCode};

use example_kit::{Error, cli::Format, load::Load};

use crate::{APP, limits};

pub(super) async fn run(
    file: &Path,
    format: Format,
    out: &mut impl Write,
) -> Result<ExitCode, Error> {
    let load = Load {
        app: APP,
        record: "reading",
        key: "sensor",
        buckets: limits::buckets,
    };
    load.run(file, format, out).await
}
