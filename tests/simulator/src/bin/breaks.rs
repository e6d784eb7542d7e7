//! Breaks the library line by line in a copy of the workspace, and reports which breaks a minute of
//! histories finds.
//!
//! `cargo run --release -p simulator --bin breaks` tries all of `breaks.txt`; with numbers, only
//! those. All lines are built once: each checks at run time whether it is the broken one.
#![allow(clippy::print_stdout, clippy::panic, clippy::expect_used)]

use std::{
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
    let breaks = Break::all(include_str!("../../breaks.txt"));
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

    let binary = build(&copy);
    let picked: Vec<usize> = env::args()
        .skip(1)
        .filter_map(|it| it.parse().ok())
        .collect();
    let picked = if picked.is_empty() {
        (0..=breaks.len()).collect()
    } else {
        picked
    };
    let mut missed = 0;
    for number in picked {
        let what = number
            .checked_sub(1)
            .map_or("nothing is broken", |at| &breaks[at].what);
        let is_sound = number == 0;
        let run = Command::new(&binary)
            .arg("--nocapture")
            .env("SIM_BREAK", number.to_string())
            .env("SIM_SHRINK", "0")
            .output()
            .expect("histories that run");
        let told = String::from_utf8_lossy(&run.stderr);
        let histories = told
            .lines()
            .find(|line| line.contains(" histories in "))
            .unwrap_or("none ended");
        let verdict = if run.status.success() { "green" } else { "red" };
        println!("{number:>3} {verdict:<5} {what}\n          {histories}");
        let complaint = told.lines().find(|line| line.starts_with("SIM_SEED="));
        if let Some(complaint) = complaint {
            println!(
                "          {}",
                complaint.chars().take(200).collect::<String>()
            );
        }
        missed += usize::from(run.status.success() != is_sound);
    }
    println!("{missed} are not as they should be");
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
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
