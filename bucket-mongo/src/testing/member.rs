//! One process of a started server, and what a test can do to it.

use std::{
    io,
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::{process::Command, time};

use super::{
    error::Error,
    replica_set::{self, Role},
    startup::{POLL_PAUSE, listening, watched},
    supervisor::Supervisor,
};

/// One `mongod` of a started server; see [`DevServer::members`](super::DevServer::members).
///
/// ```no_run
/// # async fn example() -> Result<(), bucket_mongo::testing::Error> {
/// use bucket_mongo::testing::DevServer;
///
/// let server = DevServer::builder().own().members(3).await?;
/// let primary = server.primary().await?;
/// primary.kill().await?;
/// println!("{} follows {}", server.primary().await?.address(), primary.address());
/// primary.restart().await?; // with its data on disk
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Member {
    supervisor: Supervisor,
    port: u16,
    paused: AtomicBool,
}

impl Member {
    pub(super) fn new(supervisor: Supervisor, port: u16) -> Self {
        Self {
            supervisor,
            port,
            paused: AtomicBool::new(false),
        }
    }

    pub(super) fn supervisor(&self) -> &Supervisor {
        &self.supervisor
    }

    /// Host and port, as in `127.0.0.1:27017`. A restart does not change it.
    ///
    /// ```no_run
    /// # fn example(member: &bucket_mongo::testing::Member) -> String {
    /// format!("mongodb://{}/?directConnection=true", member.address())
    /// # }
    /// ```
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The process id; after a kill, that of the last process. A restart changes it.
    ///
    /// ```no_run
    /// # fn example(member: &bucket_mongo::testing::Member) {
    /// println!("perf top -p {}", member.process_id());
    /// # }
    /// ```
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.supervisor.child_id()
    }

    /// Kills the process as `kill -9` does and waits for its end. Its data stay, for
    /// [`restart`](Self::restart). Does nothing if it was already killed.
    ///
    /// # Errors
    /// [`Error::Supervisor`] if the process ended by itself, or the whole server was killed.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     server: &bucket_mongo::testing::DevServer,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// server.primary().await?.kill().await
    /// # }
    /// ```
    pub async fn kill(&self) -> Result<(), Error> {
        let killed = self.supervisor.kill_child().await;
        killed.map_err(|source| Error::Supervisor { source })?;
        self.paused.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Starts a killed process again, with its data and on its port, and waits until it is a primary, a
    /// secondary or a standalone server. Does nothing while it runs.
    ///
    /// # Errors
    /// [`Error::Exited`] if it ends again (its data are then gone), [`Error::Timeout`] (60 s),
    /// [`Error::Supervisor`] if the whole server was killed.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     server: &bucket_mongo::testing::DevServer,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// let member = server.primary().await?;
    /// member.kill().await?;
    /// member.restart().await
    /// # }
    /// ```
    pub async fn restart(&self) -> Result<(), Error> {
        let started = self.supervisor.start_child().await;
        if !started.map_err(|source| Error::Supervisor { source })? {
            return Ok(());
        }
        let ready = async {
            listening(&self.supervisor).await?;
            while self.role().await == Role::Other {
                time::sleep(POLL_PAUSE).await;
            }
            Ok(())
        };
        watched(&self.supervisor, ready).await
    }

    /// Stops the process as `kill -STOP` does: it answers nothing, and its connections stay open. It
    /// continues with [`resume`](Self::resume).
    ///
    /// # Errors
    /// [`Error::Supervisor`] if there is no process.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     server: &bucket_mongo::testing::DevServer,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// let member = server.primary().await?;
    /// member.pause().await?; // another member is elected in the meantime
    /// member.resume().await
    /// # }
    /// ```
    pub async fn pause(&self) -> Result<(), Error> {
        self.signal("-STOP").await?;
        self.paused.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Lets a paused process continue, as `kill -CONT` does. Does nothing if it is not paused.
    ///
    /// # Errors
    /// [`Error::Supervisor`] if there is no process.
    ///
    /// ```no_run
    /// # async fn example(
    /// #     member: &bucket_mongo::testing::Member,
    /// # ) -> Result<(), bucket_mongo::testing::Error> {
    /// member.resume().await
    /// # }
    /// ```
    pub async fn resume(&self) -> Result<(), Error> {
        self.signal("-CONT").await?;
        self.paused.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// [`Role::Other`] if no process runs.
    pub(super) async fn role(&self) -> Role {
        if self.paused.load(Ordering::Relaxed) || !self.supervisor.is_running().await {
            return Role::Other;
        }
        replica_set::role(&self.address()).await
    }

    async fn signal(&self, name: &str) -> Result<(), Error> {
        let failed = |source| Error::Supervisor { source };
        if !self.supervisor.is_running().await {
            return Err(failed(io::Error::other("there is no process to signal")));
        }
        // The shell's built-in `kill`, because not every system has a `kill` program.
        let mut kill = Command::new("/bin/sh");
        kill.args(["-c", r#"kill "$1" "$2""#, "sh", name]);
        kill.arg(self.process_id().to_string()).stdin(Stdio::null());
        let output = kill.output().await.map_err(failed)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(io::Error::other(said.trim())))
    }
}
