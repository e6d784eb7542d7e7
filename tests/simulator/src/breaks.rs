//! Changes of single lines that histories, or other tests, must detect.

use std::fmt::Write;

/// A line of the library, sound and broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Break {
    /// The file, from the root of the workspace.
    pub file: String,
    /// What the break does.
    pub what: String,
    /// The part of the line before the break.
    pub before: String,
    /// The sound code.
    pub sound: String,
    /// The broken code.
    pub broken: String,
    /// The rest of the line.
    pub after: String,
    /// What `cargo test` runs, unless histories must detect it.
    pub tests: Option<String>,
}

impl Break {
    /// All entries of a list.
    ///
    /// # Panics
    ///
    /// If an entry is malformed.
    #[must_use]
    pub fn all(list: &str) -> Vec<Self> {
        let is_code = |line: &&str| !line.starts_with('#') && !line.is_empty();
        let entries = list
            .split("\n\n")
            .map(|entry| entry.lines().filter(is_code));
        let entries = entries.map(Iterator::collect::<Vec<&str>>);
        let entries = entries.filter(|entry| !entry.is_empty());
        entries.map(|entry| Self::read(&entry)).collect()
    }

    fn read(entry: &[&str]) -> Self {
        let [file, what, line, tests @ ..] = entry else {
            panic!("no entry: {entry:?}")
        };
        let parts = line.split_once("[[").and_then(|(before, rest)| {
            let (change, after) = rest.split_once("]]")?;
            let (sound, broken) = change.split_once(" ==> ")?;
            Some([before, sound, broken, after])
        });
        let Some([before, sound, broken, after]) = parts.map(|it| it.map(str::to_owned)) else {
            panic!("no change: {line}")
        };
        let (file, what) = ((*file).to_owned(), (*what).to_owned());
        Self {
            file,
            what,
            before,
            sound,
            broken,
            after,
            tests: tests.first().map(|&tests| tests.to_owned()),
        }
    }

    /// The sound line.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{}{}{}", self.before, self.sound, self.after)
    }

    /// The file with this line broken whenever `condition` holds.
    ///
    /// # Errors
    ///
    /// The number of times that the line occurs, unless it is one.
    pub fn apply(&self, text: &str, condition: &str) -> Result<String, usize> {
        let line = self.line();
        let mut found = 0;
        let mut broken = String::with_capacity(text.len() + 100);
        for own in text.lines() {
            if own.trim() == line {
                found += 1;
                let indent = &own[..own.len() - own.trim_start().len()];
                let Self {
                    before,
                    sound,
                    broken: other,
                    after,
                    ..
                } = self;
                let _ = writeln!(
                    broken,
                    "{indent}{before}(if {condition} {{ {other} }} else {{ {sound} }}){after}"
                );
            } else {
                broken += own;
                broken.push('\n');
            }
        }
        if found == 1 { Ok(broken) } else { Err(found) }
    }
}
