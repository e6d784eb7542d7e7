//! `sensors load FILE.csv`.

use std::{io::Write, process::ExitCode};

use example_kit::{
    Error,
    load::{Input, Load},
};

use crate::{APP, limits};

pub(super) async fn run(input: &Input, out: &mut impl Write) -> Result<ExitCode, Error> {
    let load = Load {
        app: APP,
        record: "reading",
        key: "sensor",
        buckets: limits::buckets,
    };
    load.run(input, out).await
}
