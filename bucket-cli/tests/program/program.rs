//! Runs the example as a user does: in a pipe, and in a pseudo-terminal.

use std::{
    env, fs,
    io::Read as _,
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use bucket_mongo::{
    Buckets,
    bson::{DateTime, Document, doc},
    mongodb::Database,
    testing::{DevServer, TestDatabase},
};
use futures_util::TryStreamExt as _;
use serde_json::Value;
use tokio::sync::OnceCell;

use super::models::{Reading, Trade};
use bucket_mongo::Bucketed as _;

static SERVER: OnceCell<DevServer> = OnceCell::const_new();

/// The program with a database of its own.
pub struct Program {
    pub database: TestDatabase,
    pub uri: String,
}

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// The example, which `cargo test -p bucket-cli` builds. With `--test program` it may be an old one: build it with
/// `cargo build -p bucket-cli --example two_models`.
pub fn binary() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap();
    folder.join("examples").join("two_models")
}

/// The program, without what the environment of the tests says.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).stdin(Stdio::null());
    for name in ["MONGODB_URI", "NO_COLOR", "RUST_BACKTRACE"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm");
    command
}

pub fn with_path(uri: &str, database: &str) -> String {
    let (hosts, options) = uri
        .split_once("/?")
        .unwrap_or((uri.trim_end_matches('/'), ""));
    format!("{hosts}/{database}?{options}")
}

impl Program {
    pub async fn new(test: &str) -> Self {
        let start = || async { DevServer::builder().own().await.unwrap() };
        let server = SERVER.get_or_init(start).await;
        Self::on(server, test).await
    }

    pub async fn on(server: &DevServer, test: &str) -> Self {
        let database = server.database(test).await.unwrap();
        let uri = with_path(server.uri(), database.name());
        Self { database, uri }
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    pub fn trades(&self) -> Buckets<Trade> {
        Trade::buckets(self.database())
    }

    pub fn readings(&self) -> Buckets<Reading> {
        Reading::buckets(self.database())
    }

    pub fn start(&self, arguments: &[&str]) -> Child {
        let mut command = command(arguments);
        command.env("MONGODB_URI", &self.uri);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.start(arguments).wait_with_output().unwrap().into()
    }

    /// In a pseudo-terminal of 80 columns, with both outputs on it.
    pub fn in_terminal(&self, arguments: &[&str], no_color: bool) -> Ran {
        const SCRIPT: &str = "
import fcntl, os, pty, struct, sys, termios
child, terminal = pty.fork()
if child == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.stdout.flush()
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";
        let mut python = Command::new("python3");
        python.args(["-c", SCRIPT]).arg(binary()).args(arguments);
        python.env("MONGODB_URI", &self.uri).env("TERM", "xterm");
        python.env_remove("NO_COLOR");
        if no_color {
            python.env("NO_COLOR", "1");
        }
        python.output().unwrap().into()
    }

    /// Every document of every collection of the models, in order.
    pub async fn everything(&self) -> Vec<Document> {
        let mut all = Vec::new();
        for name in [
            "trades",
            "readings",
            "readings_quarantine",
            "trades_quarantine",
            "old_readings",
        ] {
            let found = self.database().collection::<Document>(name);
            let found = found.find(doc! {}).sort(doc! { "_id": 1 }).await.unwrap();
            all.extend(found.try_collect::<Vec<_>>().await.unwrap());
        }
        all
    }

    /// Old readings of two sensors: some windows each, all of them over.
    pub async fn fill_readings(&self, hours: i64) {
        let readings = self.readings();
        readings.ensure().await.unwrap();
        let mut records = Vec::new();
        for device in ["a", "b"] {
            for minute in 0..hours * 6 {
                records.push(Reading {
                    device: device.to_owned(),
                    channel: 7,
                    at: DateTime::from_millis(1_704_067_200_000 + minute * 600_000),
                    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
                    value: (minute % 13) as f64,
                });
            }
        }
        let report = readings.insert_many(records).await.unwrap();
        report.into_result().unwrap();
    }

    pub async fn fill_trades(&self, customers: i64, trades: i64) {
        let buckets = self.trades();
        buckets.ensure().await.unwrap();
        let records = (0..customers).flat_map(|customer_id| {
            (0..trades).map(move |number| Trade {
                customer_id,
                date: DateTime::from_millis(1_700_000_000_000 + number * 1_000),
                ticker: "MDB".to_owned(),
                qty: i32::try_from(number).unwrap(),
            })
        });
        let report = buckets.insert_many(records.collect::<Vec<_>>());
        report.await.unwrap().into_result().unwrap();
    }

    /// The sum of a reading is another one than that of its items.
    pub async fn damage_readings(&self, hour: i64) {
        let readings = self.database().collection::<Document>("readings");
        let start = DateTime::from_millis(1_704_067_200_000 + hour * 3_600_000);
        let done = readings
            .update_one(
                doc! { "device": "b", "bucket_start": start },
                doc! { "$set": { "stats.sum": 1e6 } },
            )
            .await
            .unwrap();
        assert_eq!(done.modified_count, 1);
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Ran {
    /// The lines of JSON of the standard output.
    pub fn json(&self) -> Vec<Value> {
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{self:?}")))
            .collect()
    }
}

/// Sends a signal to a running program.
pub fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().unwrap();
    assert!(sent.success());
}

/// What it still writes.
pub fn rest(mut child: Child) -> Ran {
    let (mut out, mut err) = (String::new(), String::new());
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut out).unwrap();
    }
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_string(&mut err).unwrap();
    }
    let code = child.wait().unwrap().code();
    Ran { code, out, err }
}

/// A new folder for the files of a test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}
