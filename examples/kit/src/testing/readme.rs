//! Compares a README with the real output: each command that it shows is run, and the output must
//! contain what it shows.
//!
//! | block | what happens with it |
//! | --- | --- |
//! | `sh` | its line `cargo run .. -p APP -- ARGUMENTS` is run, without a server of the user's |
//! | `text`, up to the next heading | parts of that output, one after the other |
//! | `csv` | becomes the file `wrong.csv` |
//! | `console` | each line after `$ ` is run in a shell on one database; what follows it is the entire output |
//!
//! A line of dots matches any number of lines.

use std::{collections::BTreeSet, env, fs, path::Path};

use super::{Program, Running, server, uri};
use crate::text;

/// A README, and how to read it.
#[derive(Debug)]
pub struct Readme {
    /// The text.
    pub text: &'static str,
    /// The app.
    pub program: &'static Program,
    /// The beginnings of lines whose numbers differ from run to run.
    pub changing: &'static [&'static str],
    /// From this line to the end, all numbers and the order of the lines differ.
    pub changing_from: Option<&'static str>,
    /// A file that the commands name, as a name and a path.
    pub file: Option<(&'static str, &'static str)>,
}

/// A block between two lines of three backticks.
struct Block<'a> {
    language: &'a str,
    lines: Vec<&'a str>,
    /// Whether a heading comes between the previous block and this one.
    after_heading: bool,
}

impl Readme {
    /// Runs all commands.
    pub async fn check(&self) {
        server().await;
        let folder = Path::new(self.program.folder).join("readme");
        fs::create_dir_all(&folder).unwrap();
        if let Some((name, path)) = self.file {
            fs::copy(path, folder.join(name)).unwrap();
        }
        let mut output: Option<Vec<String>> = None;
        let mut database = "readme".to_owned();
        for block in blocks(self.text) {
            if block.after_heading {
                output = None;
            }
            match (block.language, &mut output) {
                ("sh", _) => output = Some(self.output_of(block.lines[0])),
                ("text", Some(output)) => self.check_part(&block.lines, output),
                ("csv", _) => {
                    let content = block.lines.join("\n") + "\n";
                    fs::write(folder.join("wrong.csv"), content).unwrap();
                }
                ("console", _) => self.check_console(&block.lines, &mut database, &folder),
                _ => {}
            }
        }
    }

    /// The output of the app, run with the command line of the README.
    fn output_of(&self, line: &str) -> Vec<String> {
        assert!(line.starts_with("cargo run "), "{line}");
        let arguments = line
            .split_once(" -- ")
            .map_or("", |(_, arguments)| arguments);
        let ran = self.shell(&format!("\"$APP\" {arguments}"), None, Path::new("."));
        ran.lines().map(str::to_owned).collect()
    }

    /// What a line prints on both outputs.
    fn shell(&self, line: &str, database: Option<&str>, folder: &Path) -> String {
        let binary = Path::new(self.program.binary);
        let path = env::var_os("PATH").unwrap_or_default();
        let folders = [binary.parent().unwrap().to_owned()]
            .into_iter()
            .chain(env::split_paths(&path));
        let mut command = self.program.command(database.map(uri).as_deref());
        let app = command.get_program().to_owned();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", line]).env("APP", app);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        command = shell;
        command
            .current_dir(folder)
            .env("PATH", env::join_paths(folders).unwrap());
        let ran = Running::start(command).end();
        // Remarks about a missing server are not part of the README.
        match database {
            Some(_) => ran.stderr + &ran.stdout,
            None => ran.stdout,
        }
    }

    fn check_console(&self, lines: &[&str], database: &mut String, folder: &Path) {
        let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in lines {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, Vec::new())),
                (None, Some((_, shown))) => shown.push(line),
                (None, None) => panic!("{line}"),
            }
        }
        for (command, mut shown) in commands {
            while shown.last().is_some_and(|line| line.is_empty()) {
                shown.pop();
            }
            if let Some(uri) = command.strip_prefix("export MONGODB_URI=") {
                uri.rsplit('/').next().unwrap().clone_into(database);
                continue;
            }
            if command.contains("| jq ") && !has_jq() {
                text::complain(&format!("`jq` is not installed: skipped: {command}"));
                continue;
            }
            let came = self.shell(command, Some(database), folder);
            let mut came: Vec<String> = came.lines().map(str::to_owned).collect();
            self.check_part(&shown, &mut came);
            assert!(
                came.iter().all(String::is_empty),
                "{command} also prints {came:#?}"
            );
        }
    }

    /// Finds the expected text in the output, and removes it with everything before it.
    fn check_part(&self, shown: &[&str], came: &mut Vec<String>) {
        let came_lines: Vec<&str> = came.iter().map(String::as_str).collect();
        let (shown, came_normal) = (self.normal(shown), self.normal(&came_lines));
        let mut rest = came_normal.as_slice();
        // Two parts of one output may have something between them.
        let mut skips = true;
        for part in shown.split(|(line, _)| matches!(line.trim(), ".." | "...")) {
            let is_here =
                |came: &[(String, usize)]| came.iter().map(line).eq(part.iter().map(line));
            let found = rest.windows(part.len().max(1)).position(is_here);
            match found {
                _ if part.is_empty() => {}
                Some(at) if at == 0 || skips => rest = &rest[at + part.len()..],
                _ => {
                    let (part, rest) = (lines(part), lines(rest));
                    panic!("the README shows:\n{part}\n\nthe output continues with:\n{rest}");
                }
            }
            skips = true;
        }
        let ends_in_dots = shown
            .last()
            .is_some_and(|(line, _)| matches!(line.trim(), ".." | "..."));
        let done = rest.first().map_or(came.len(), |(_, at)| *at);
        came.drain(..if ends_in_dots { came.len() } else { done });
    }

    /// The lines without what differs from run to run, each with its index.
    fn normal(&self, lines: &[&str]) -> Vec<(String, usize)> {
        let mut all_change = false;
        // Concurrent writers produce lines in any order.
        let mut changing = BTreeSet::new();
        let mut normal: Vec<(String, usize)> = Vec::new();
        for (index, line) in lines.iter().enumerate() {
            let start = line.trim_start();
            let changes = self
                .changing
                .iter()
                .any(|changing| start.starts_with(changing));
            let line = if let Some((origin, _)) = line.split_once(": mongod ") {
                // The version of the server, and where it comes from.
                origin
                    .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
                    .to_owned()
            } else if line.starts_with("database `") {
                "database".to_owned()
            } else if !line.is_empty() && line.chars().all(|c| c == '-') {
                // As wide as the table.
                "---".to_owned()
            } else if changes || all_change {
                without_numbers(line)
            } else {
                line.trim_end().to_owned()
            };
            if all_change {
                changing.insert(line);
            } else {
                all_change = self.changing_from.is_some_and(|from| from == line);
                normal.push((line, index));
            }
        }
        normal.extend(changing.into_iter().map(|line| (line, lines.len())));
        normal
    }
}

fn line((line, _): &(String, usize)) -> &str {
    line
}

fn lines(normal: &[(String, usize)]) -> String {
    normal.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Each number as `#`, one blank for several, no comma at the end.
fn without_numbers(line: &str) -> String {
    let mut normal = String::new();
    for c in line.trim_end_matches(',').chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        let is_one_more = (c == '#' || c == ' ') && normal.ends_with(c);
        // `12.5` is one number, `1_2` are two.
        if !is_one_more {
            normal.push(c);
        }
        if normal.ends_with("#.#") {
            normal.truncate(normal.len() - 2);
        }
    }
    normal
}

fn has_jq() -> bool {
    let jq = std::process::Command::new("jq").arg("--version").output();
    jq.is_ok_and(|jq| jq.status.success())
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut is_open, mut after_heading) = (false, false);
    for line in text.lines() {
        match (line.strip_prefix("```"), blocks.last_mut()) {
            (Some(_), _) if is_open => is_open = false,
            (Some(language), _) => {
                is_open = true;
                blocks.push(Block {
                    language,
                    lines: Vec::new(),
                    after_heading,
                });
                after_heading = false;
            }
            (None, Some(block)) if is_open => block.lines.push(line),
            (None, _) => after_heading |= line.starts_with('#'),
        }
    }
    blocks
}
