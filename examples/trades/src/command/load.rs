//! `trades load FILE.csv`.

use std::{io::Write, process::ExitCode};

use bucket_mongo::Bucketed as _;
use example_kit::{
    Error,
    load::{Input, Load},
};

use crate::{APP, model::Trade};

pub(super) async fn run(input: &Input, out: &mut impl Write) -> Result<ExitCode, Error> {
    let load = Load {
        app: APP,
        record: "trade",
        key: "customer",
        buckets: Trade::buckets,
    };
    load.run(input, out).await
}
