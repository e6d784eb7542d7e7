//! A child process that ends, and whose folder is removed, whenever this process ends.
//!
//! The child runs under a small shell script that holds the read end of a pipe. The write end is only in this
//! process, and the system closes it however the process ends, `kill -9` included. The end of the pipe orders
//! the script to kill the child, wait for it and remove the folder. The script does the same when the child
//! ends by itself. A line through the pipe orders it to kill the child and keep the folder; the next line
//! starts the child again.

use std::{
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::{task, time};

use super::error::Error;

/// How long to wait for the end of a killed child.
const STOP_LIMIT: Duration = Duration::from_secs(10);
const POLL_PAUSE: Duration = Duration::from_millis(10);

/// Arguments: the folder, then the command. Prints the child's process id at each start, an empty line after
/// each ordered kill, and the child's log at the end.
///
/// Neither the child nor the watcher may keep the standard output open: its end tells the reader that
/// everything is done. `wait` returns early at a signal, hence the loop. The limit of `tail` is below the
/// capacity of a pipe, so that a child that ends by itself need not wait for a reader. A watcher that was
/// ordered to kill reports that by its status, and nothing stops it before.
const SCRIPT: &str = r#"
PATH=${PATH:+$PATH:}/usr/bin:/bin
folder=$1
shift
mkdir -m 700 "$folder" 2>&1 || exit 1
exec 3<&0
child=
trap 'kill -9 "$child"' HUP INT TERM
while :; do
    "$@" </dev/null >"$folder/log" 2>&1 3<&- &
    child=$!
    { if read -r _; then trap '' TERM; kill -9 "$child"; exit 3; fi; kill -9 "$child"; } <&3 >/dev/null &
    watcher=$!
    echo "$child"
    while kill -0 "$child"; do wait "$child"; done
    child=
    kill "$watcher"
    wait "$watcher"
    [ $? = 3 ] || break
    echo
    read -r _ <&3 || break
done
tail -c 16000 "$folder/log"
rm -rf "$folder"
"#;

/// A running child and the shell that supervises it.
#[derive(Debug)]
pub(super) struct Supervisor {
    /// The last child's.
    child_id: AtomicU32,
    /// Whether a child runs, as far as is known; locked during an order to the shell.
    running: tokio::sync::Mutex<bool>,
    program: PathBuf,
    folder: PathBuf,
    shell: Mutex<Shell>,
}

/// `stdin` is the pipe: the only copy of its write end, never inherited (close-on-exec). `output` is what the
/// shell prints next; `None` while someone reads it, or if the child must end for good.
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
        let (shell, output) = Shell::spawn(&folder, command).map_err(failed)?;
        // From here on, whatever happens, dropping this value ends everything that was started.
        let program = command.get_program().into();
        let supervisor = Self {
            child_id: AtomicU32::new(0),
            running: tokio::sync::Mutex::new(true),
            program,
            folder,
            shell: Mutex::new(shell),
        };
        supervisor.shell().output = Some(output);
        supervisor.read_child_id().await.map_err(failed)?;
        Ok(supervisor)
    }

    /// The process id of the last child.
    pub(super) fn child_id(&self) -> u32 {
        self.child_id.load(Ordering::Relaxed)
    }

    pub(super) fn program(&self) -> PathBuf {
        self.program.clone()
    }

    /// The file with the child's output; it is removed with the folder when the child has ended.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Whether the child has ended and its folder is removed.
    pub(super) fn has_ended(&self) -> bool {
        // An error means that someone else waited for the shell, so it has ended too.
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

    /// Kills the child, waits for its end and keeps its folder. Does nothing without a child.
    pub(super) async fn kill_child(&self) -> io::Result<()> {
        let mut running = self.running.lock().await;
        if *running {
            self.order()?;
            let line = self.read_line().await?;
            if !line.trim().is_empty() {
                return Err(io::Error::other(line));
            }
            *running = false;
        }
        Ok(())
    }

    /// Starts the same command on the same folder; returns whether none was running.
    pub(super) async fn start_child(&self) -> io::Result<bool> {
        let mut running = self.running.lock().await;
        if *running && !self.has_ended() {
            return Ok(false);
        }
        self.order()?;
        self.read_child_id().await?;
        *running = true;
        Ok(true)
    }

    /// Whether a child should run, according to the orders given.
    pub(super) async fn is_running(&self) -> bool {
        *self.running.lock().await && !self.has_ended()
    }

    /// Orders the shell to kill the child if one runs, else to start one.
    fn order(&self) -> io::Result<()> {
        let mut shell = self.shell();
        let stdin = shell.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(b"\n")
    }

    async fn read_child_id(&self) -> io::Result<()> {
        let line = self.read_line().await?;
        let line = line.trim();
        let id = line.parse().map_err(|_| io::Error::other(line))?;
        self.child_id.store(id, Ordering::Relaxed);
        Ok(())
    }

    /// Reads the next line of the shell; at the end, an empty text without a line break.
    async fn read_line(&self) -> io::Result<String> {
        let output = self.shell().output.take();
        let mut output = output.ok_or(io::ErrorKind::BrokenPipe)?;
        let read = task::spawn_blocking(move || {
            let mut line = String::new();
            output.read_line(&mut line).map(|_| (line, output))
        });
        let (line, output) = read.await.map_err(io::Error::other)??;
        self.shell().output = Some(output);
        if line.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line)
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
        // Nobody will read it any more, and the shell must not wait for a reader.
        shell.output = None;
    }

    fn shell(&self) -> MutexGuard<'_, Shell> {
        // No code that can panic runs under the lock, so the state is always complete.
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
        // `mongod` does not start with a locale that the system does not have.
        shell.env("LC_ALL", "C");
        shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        // Ctrl-C reaches the terminal's process group; the shell must survive it to clean up.
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

#[cfg(all(test, unix))]
mod tests {
    use std::env;

    use super::*;

    async fn supervised(name: &str) -> Result<Supervisor, Error> {
        let folder = format!("bucket-mongo-{name}-{}", std::process::id());
        let mut command = Command::new("sleep");
        command.arg("1000");
        Supervisor::start(env::temp_dir().join(folder), &command).await
    }

    #[tokio::test]
    async fn a_killed_child_is_started_again_in_the_same_folder() {
        let supervisor = supervised("again").await.unwrap();
        let file = supervisor.folder.join("file");
        std::fs::write(&file, "kept").unwrap();
        let mut ids = vec![supervisor.child_id()];
        for _ in 0..3 {
            supervisor.kill_child().await.unwrap();
            assert!(!supervisor.is_running().await);
            assert!(supervisor.start_child().await.unwrap());
            assert!(!supervisor.start_child().await.unwrap(), "it runs already");
            assert!(supervisor.is_running().await && file.exists());
            ids.push(supervisor.child_id());
        }
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }

    #[tokio::test]
    async fn the_folder_is_removed_whether_the_child_runs_or_was_killed_or_restarted() {
        for orders in 0..3 {
            let supervisor = supervised(&format!("gone-{orders}")).await.unwrap();
            if orders > 0 {
                supervisor.kill_child().await.unwrap();
            }
            if orders > 1 {
                supervisor.start_child().await.unwrap();
            }
            let folder = supervisor.folder.clone();
            assert!(folder.exists());
            supervisor.stop().await.unwrap();
            assert!(!folder.exists(), "after {orders} orders");
            assert!(supervisor.kill_child().await.is_err() || orders == 1);
            assert!(supervisor.start_child().await.is_err());
        }
    }
}
