//! A separate process for one figure of memory.
//!
//! Memory that the process held before, or that its allocator keeps, would hide growth. So each round has a fresh
//! process.

use std::{
    fs, io,
    process::{self, Stdio},
    thread,
};

use tokio::process::Command;

use crate::{
    error::{Error, Result},
    scale::Scale,
};

pub(crate) const MIB: usize = 1_024 * 1_024;

/// Starts this program with an option that names the work, and its value. Returns the figure that it prints.
pub(crate) async fn figure(option: &str, value: usize, scale: Scale) -> Result<f64> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(option).arg(value.to_string());
    if scale == Scale::Quick {
        command.arg("--quick");
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()?;
    // This end closes with this process, however it ends.
    let _tie = child.stdin.take();
    let ended = child.wait_with_output().await?;
    let text = String::from_utf8_lossy(&ended.stdout);
    let figure = ended.status.success().then(|| text.trim().parse());
    figure.and_then(std::result::Result::ok).ok_or(Error::Child)
}

/// The process that does the work must not outlive a program that was killed.
pub(crate) fn end_with_the_caller() {
    thread::spawn(|| {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        process::exit(1);
    });
}

/// Bytes of this process in memory now, as Linux counts them.
pub(crate) fn resident() -> Result<usize> {
    status("VmRSS:")
}

/// How far the memory of this process has grown at most since it had this many bytes, in MiB.
#[allow(clippy::cast_precision_loss, reason = "far less than 2^53")]
pub(crate) fn grown_from(before: usize) -> Result<f64> {
    let most = status("VmHWM:")?;
    Ok(most.saturating_sub(before) as f64 / MIB as f64)
}

fn status(name: &str) -> Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let figure = line.and_then(|line| line.split_whitespace().next());
    let kib: Option<usize> = figure.and_then(|figure| figure.parse().ok());
    kib.map(|kib| kib * 1_024).ok_or(Error::Child)
}
