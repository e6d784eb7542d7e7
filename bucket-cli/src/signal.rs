//! The signals that end a program: the first one asks a job to end, the next one ends the program
//! at once.
//!
//! While there is nothing to report or clean up, signals end the program by themselves.

use std::{
    fmt,
    process::{self, ExitCode},
};

use tokio::sync::watch;

/// A signal that ends a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    /// SIGHUP: the terminal is gone.
    HangUp,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: `kill`, and the end of a container or a service.
    Terminate,
}

/// Waits for the first signal.
#[derive(Debug, Clone)]
pub(crate) struct Signals {
    first: watch::Receiver<Option<Signal>>,
}

impl Signal {
    /// The exit code that shells use for a signal: 128 plus its number.
    #[must_use]
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::HangUp => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

impl From<Signal> for ExitCode {
    fn from(signal: Signal) -> Self {
        signal.exit_code().into()
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HangUp => "interrupted (SIGHUP)",
            Self::Interrupt => "interrupted",
            Self::Terminate => "interrupted (SIGTERM)",
        })
    }
}

impl Signals {
    /// From here on the first signal does not end the program; the next one does, whatever the job
    /// is doing.
    #[must_use]
    pub(crate) fn listen() -> Self {
        let (say, first) = watch::channel(None);
        let mut source = Source::open();
        tokio::spawn(async move {
            let signal = source.next().await;
            // Nobody listens any more: the job is done, and the program is about to end.
            let _ = say.send(Some(signal));
            let signal = source.next().await;
            process::exit(signal.exit_code().into());
        });
        Self { first }
    }

    /// Waits for work that may be given up at any moment; `Err` if a signal came before its end.
    pub(crate) async fn unless<W: IntoFuture>(&self, work: W) -> Result<W::Output, Signal> {
        let mut signals = self.clone();
        tokio::select! {
            biased;
            signal = signals.first() => Err(signal),
            done = work.into_future() => Ok(done),
        }
    }

    /// The first signal, if it has come.
    pub(crate) fn came(&self) -> Option<Signal> {
        *self.first.borrow()
    }

    /// The first signal, once it has come.
    pub(crate) async fn first(&mut self) -> Signal {
        let came = self.first.wait_for(Option::is_some).await.map(|came| *came);
        match came {
            Ok(Some(signal)) => signal,
            // The listening task ends with the program.
            _ => std::future::pending().await,
        }
    }
}

#[cfg(unix)]
struct Source {
    listeners: Vec<(Signal, tokio::signal::unix::Signal)>,
}

#[cfg(unix)]
impl Source {
    fn open() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let kinds = [
            (Signal::HangUp, SignalKind::hangup()),
            (Signal::Interrupt, SignalKind::interrupt()),
            (Signal::Terminate, SignalKind::terminate()),
        ];
        let ignored = ignored();
        let listeners = kinds.into_iter().filter_map(|(name, kind)| {
            let is_ignored = ignored & (1 << (kind.as_raw_value() - 1)) != 0;
            // A signal that cannot be listened to ends the program by itself.
            let listener = if is_ignored { None } else { signal(kind).ok() };
            listener.map(|listener| (name, listener))
        });
        Self {
            listeners: listeners.collect(),
        }
    }

    async fn next(&mut self) -> Signal {
        use std::task::Poll;

        std::future::poll_fn(|cx| {
            for (name, listener) in &mut self.listeners {
                if let Poll::Ready(Some(())) = listener.poll_recv(cx) {
                    return Poll::Ready(*name);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// The signals that this program was started to ignore, as `nohup` does with SIGHUP: one bit each.
///
/// Linux provides them; elsewhere they are only available through the C library.
#[cfg(unix)]
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or_default()
}

#[cfg(not(unix))]
struct Source;

#[cfg(not(unix))]
impl Source {
    fn open() -> Self {
        Self
    }

    async fn next(&mut self) -> Signal {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Signal::Interrupt,
            Err(_) => std::future::pending().await,
        }
    }
}
