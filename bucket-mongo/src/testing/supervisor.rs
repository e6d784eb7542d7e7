//! A child process that is gone, with its folder, whenever this process is gone.
//!
//! The child runs under a small shell script that holds the read end of a pipe. The write end is in
//! this process only, and the system closes it on every way out, `kill -9` included; the end of
//! the pipe is the script's order to kill the child, wait for it and remove the folder. The script
//! does the same when the child ends by itself.

use std::{
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use tokio::{task, time};

use super::error::Error;

/// How long the end of a killed child is waited for.
const STOP_LIMIT: Duration = Duration::from_secs(10);
const POLL_PAUSE: Duration = Duration::from_millis(10);

/// Arguments: the folder, then the command. Says the child's process id, and at the end its log.
///
/// Neither the child nor the watcher may keep the standard output open: its end tells the reader
/// that all is done. `wait` returns early at a signal, hence the loop. The limit of `tail` is below
/// the capacity of a pipe: a child that ends by itself must not have to wait for a reader.
const SCRIPT: &str = r#"
PATH=${PATH:+$PATH:}/usr/bin:/bin
folder=$1
shift
mkdir -m 700 "$folder" 2>&1 || exit 1
exec 3<&0
child=
trap 'kill -9 "$child"' HUP INT TERM
"$@" </dev/null >"$folder/log" 2>&1 3<&- &
child=$!
{ while read -r _; do :; done; kill -9 "$child"; } <&3 >/dev/null &
watcher=$!
echo "$child"
while kill -0 "$child"; do wait "$child"; done
kill "$watcher"
tail -c 16000 "$folder/log"
rm -rf "$folder"
"#;

/// A running child and the shell that looks after it.
#[derive(Debug)]
pub(super) struct Supervisor {
    child_id: u32,
    program: PathBuf,
    folder: PathBuf,
    shell: Mutex<Shell>,
}

/// `stdin` is the pipe: the only copy of its write end, never inherited (close-on-exec). `output`
/// is what the shell says after the process id, until somebody reads it.
#[derive(Debug)]
struct Shell {
    process: Child,
    stdin: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl Supervisor {
    /// Starts `command` with its output in [`log`](Self::log); the shell makes `folder`.
    pub(super) async fn start(folder: PathBuf, command: &Command) -> Result<Self, Error> {
        let failed = |source| Error::Supervisor { source };
        let (shell, mut output) = Shell::spawn(&folder, command).map_err(failed)?;
        // From here on, whatever happens, the drop of this value ends all that was started.
        let program = command.get_program().into();
        let mut supervisor = Self {
            child_id: 0,
            program,
            folder,
            shell: Mutex::new(shell),
        };
        let read = task::spawn_blocking(move || {
            let mut line = String::new();
            output.read_line(&mut line).map(|_| (line, output))
        });
        let read = read.await.map_err(io::Error::other).and_then(|read| read);
        let (line, output) = read.map_err(failed)?;
        let line = line.trim();
        supervisor.child_id = line.parse().map_err(|_| failed(io::Error::other(line)))?;
        supervisor.shell().output = Some(output);
        Ok(supervisor)
    }

    pub(super) fn child_id(&self) -> u32 {
        self.child_id
    }

    pub(super) fn program(&self) -> PathBuf {
        self.program.clone()
    }

    /// What the child has written; it is gone with the folder when the child has ended.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whether the child has ended and its folder is removed.
    pub(super) fn has_ended(&self) -> bool {
        // An error means that someone else has waited for the shell: then it has ended too.
        !matches!(self.shell().process.try_wait(), Ok(None))
    }

    /// The end of the log of a child that has ended; only the first call gets it.
    pub(super) async fn last_words(&self) -> String {
        let Some(mut output) = self.shell().output.take() else {
            return String::new();
        };
        let mut text = Vec::new();
        let read = task::spawn_blocking(move || output.read_to_end(&mut text).map(|_| text));
        let text = read.await.ok().and_then(Result::ok).unwrap_or_default();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Kills the child and waits until its folder is removed.
    pub(super) async fn stop(&self) -> Result<(), Error> {
        self.close_pipes();
        let ended = async {
            while !self.has_ended() {
                time::sleep(POLL_PAUSE).await;
            }
        };
        let limit = STOP_LIMIT;
        time::timeout(limit, ended)
            .await
            .map_err(|_| Error::NotStopped { limit })
    }

    fn close_pipes(&self) {
        let mut shell = self.shell();
        shell.stdin = None;
        // Nobody will read it any more: the shell must not wait for that.
        shell.output = None;
    }

    fn shell(&self) -> MutexGuard<'_, Shell> {
        // No code that can panic runs under the lock, so there is no half-done state to fear.
        self.shell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.close_pipes();
        let start = Instant::now();
        while !self.has_ended() && start.elapsed() < STOP_LIMIT {
            thread::sleep(POLL_PAUSE);
        }
    }
}

impl Shell {
    fn spawn(folder: &Path, command: &Command) -> io::Result<(Self, BufReader<ChildStdout>)> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "sh"]).arg(folder);
        shell.arg(command.get_program()).args(command.get_args());
        // `mongod` refuses to start with the name of a locale that the system does not have.
        shell.env("LC_ALL", "C");
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Ctrl-C is for the processes of the terminal's group: this one must live to clean up.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        let mut process = shell.spawn()?;
        let stdin = process.stdin.take();
        let output = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok((
            Self {
                process,
                stdin,
                output: None,
            },
            BufReader::new(output),
        ))
    }
}
