//! Breaks the library line by line in a copy of the workspace, and reports which breaks a minute of
//! histories finds, or for statements that no history sends: the tests that the list names.
//!
//! `cargo run --release -p simulator --bin breaks` tries all of `breaks.txt` and then of
//! `breaks-elsewhere.txt`; with numbers, only those. All lines are built once: each checks at run time
//! whether it is the broken one.
#![allow(clippy::print_stdout, clippy::panic, clippy::expect_used)]

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use simulator::breaks::Break;

/// What is added to the core: the number of the broken line.
const SWITCH: &str = r#"
#[doc(hidden)]
pub fn broken(number: u32) -> bool {
    static BROKEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let read = || std::env::var("SIM_BREAK").ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    *BROKEN.get_or_init(read) == number
}
"#;

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut breaks = Break::all(include_str!("../../breaks.txt"));
    breaks.extend(Break::all(include_str!("../../breaks-elsewhere.txt")));
    let copy = copy(&root);
    for (at, line) in breaks.iter().enumerate() {
        let path = copy.join(&line.file);
        let text = fs::read_to_string(&path).expect("a file of the library");
        let broken = line.apply(&text, &format!("crate::broken({})", at + 1));
        let broken = broken
            .unwrap_or_else(|times| panic!("{times} times in {}: {}", line.file, line.line()));
        fs::write(&path, broken).expect("a copy that can be written");
    }
    let lib = copy.join("bucket-core/src/lib.rs");
    let text = fs::read_to_string(&lib).expect("the core");
    fs::write(&lib, text + SWITCH).expect("a copy that can be written");

    let picked: Vec<usize> = env::args()
        .skip(1)
        .filter_map(|it| it.parse().ok())
        .collect();
    let picked = if picked.is_empty() {
        (1..=breaks.len()).collect()
    } else {
        picked
    };
    let picked = picked.into_iter().filter_map(|number| {
        let line = breaks.get(number.checked_sub(1)?)?;
        Some((number, line))
    });
    let mut runs: BTreeMap<Option<&str>, Run> = BTreeMap::new();
    let mut missed = 0;
    for (number, line) in picked {
        let tests = line.tests.as_deref();
        let run = runs.entry(tests).or_insert_with(|| {
            let run = Run::new(&copy, tests);
            let is_green = run.tries(0, tests.unwrap_or("nothing is broken"));
            missed += usize::from(!is_green);
            run
        });
        missed += usize::from(run.tries(number, &line.what));
    }
    println!("{missed} are not as they should be");
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What must find a break.
enum Run {
    /// Histories: their binary.
    Histories(PathBuf),
    /// `cargo test` with these arguments, in this copy.
    Tests(Vec<String>, PathBuf),
}

impl Run {
    fn new(copy: &Path, tests: Option<&str>) -> Self {
        match tests {
            None => Self::Histories(build(copy)),
            Some(tests) => {
                let tests = tests.split(' ').map(str::to_owned).collect();
                Self::Tests(tests, copy.to_owned())
            }
        }
    }

    /// Whether nothing is found.
    fn tries(&self, number: usize, what: &str) -> bool {
        let mut command = match self {
            Self::Histories(binary) => {
                let mut command = Command::new(binary);
                command.arg("--nocapture").env("SIM_SHRINK", "0");
                command
            }
            Self::Tests(tests, copy) => {
                let mut command = Command::new(env!("CARGO"));
                command.arg("test").args(tests).current_dir(copy);
                command.env("CARGO_TARGET_DIR", copy.join("../target"));
                command
            }
        };
        command.env("SIM_BREAK", number.to_string());
        let run = command.output().expect("tests that run");
        let is_green = run.status.success();
        let verdict = if is_green { "green" } else { "red" };
        println!("{number:>3} {verdict:<5} {what}");
        let mut told = String::from_utf8_lossy(&run.stderr).into_owned();
        told += &String::from_utf8_lossy(&run.stdout);
        // How many histories, and the first that failed; or which tests.
        let is_result = |line: &&str| {
            line.contains(" histories in ")
                || line.starts_with("SIM_SEED=")
                || line.ends_with("... FAILED")
                || line.starts_with("error")
        };
        for line in told.lines().filter(is_result).take(3) {
            println!("          {}", line.chars().take(200).collect::<String>());
        }
        is_green
    }
}

/// Copies the files under version control, and the new ones.
fn copy(root: &Path) -> PathBuf {
    let copy = root.join("target/breaks/copy");
    let _ = fs::remove_dir_all(&copy);
    let list = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .expect("git");
    for file in String::from_utf8_lossy(&list.stdout).lines() {
        let to = copy.join(file);
        if root.join(file).is_file() {
            fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
            fs::copy(root.join(file), to).expect("a copy");
        }
    }
    copy
}

fn build(copy: &Path) -> PathBuf {
    let target = copy.join("../target");
    let run = Command::new(env!("CARGO"))
        .args([
            "test",
            "--release",
            "-p",
            "simulator",
            "--test",
            "histories",
            "--no-run",
        ])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", &target)
        .output()
        .expect("cargo");
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{told}");
    let binary = told.lines().rev().find_map(|line| {
        let (_, path) = line.split_once("Executable")?;
        path.split_once('(')?.1.strip_suffix(')').map(str::to_owned)
    });
    let binary = PathBuf::from(binary.expect("a path"));
    if binary.is_absolute() {
        binary
    } else {
        copy.join(binary)
    }
}
