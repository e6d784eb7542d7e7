//! The texts of the library in the words of this program: it has commands and options where the library has methods.

use bucket_mongo::error::Damage;

/// Each after the longer ones that hold it.
const COMMANDS: [(&str, &str); 11] = [
    (
        "`ensure().replace_indexes().change_expiry()`",
        "`ensure --replace indexes --yes` and `expire --yes`",
    ),
    (
        "`ensure().replace_indexes()`",
        "`ensure --replace indexes --yes`",
    ),
    (
        "`ensure().replace_validator()`",
        "`ensure --replace validator --yes`",
    ),
    (
        "`ensure().replace_description()`",
        "`ensure --replace description --yes`",
    ),
    ("`ensure().change_expiry()`", "`expire --yes`"),
    ("call `ensure()`", "run `ensure`"),
    ("call `verify()`", "run `verify`"),
    ("`ensure()`", "`ensure`"),
    ("`verify()`", "`verify`"),
    ("`repair()`", "`repair`"),
    ("use `verify_again()`", "raise --keep"),
];

/// What the library says of a bucket whose items are in the archive.
const ARCHIVED: &str = "its items are archived: give --archive-database, --archive-collection or both to read them, or move them \
    back with `archive --undo`";
/// What follows that where the library takes it for a bucket of a later release.
const OF_LATER: &str =
    ": this program cannot read it; read it with a later release, built with the feature `seal`";

/// A text of the library for a user of this program.
pub(crate) fn of_program(text: &str) -> String {
    let archived = Damage::Archived.to_string();
    let text = text.replace(&format!("{archived}{OF_LATER}"), ARCHIVED);
    let text = text.replace(&archived, ARCHIVED);
    COMMANDS.iter().fold(text, |text, (method, command)| {
        text.replace(method, command)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_become_commands() {
        for (text, expected) in [
            (
                "the index `x` is missing, or hidden: call `ensure()` to create it, or `ensure().replace_indexes()` to",
                "the index `x` is missing, or hidden: run `ensure` to create it, or `ensure --replace indexes --yes` to",
            ),
            ("close it, as `repair()` does", "close it, as `repair` does"),
        ] {
            assert_eq!(of_program(text), expected);
        }
        let archived = format!("the bucket 1: {}", Damage::Archived);
        let shown = of_program(&archived);
        assert!(shown.contains("--archive-database"), "{shown}");
        assert!(!shown.contains("with_archive"), "{shown}");
    }
}
