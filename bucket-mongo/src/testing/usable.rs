//! Whether a file can be run as a program.

use std::path::Path;

/// The reason why the file cannot be run, if there is one.
pub(super) fn unusable(path: &Path) -> Option<&'static str> {
    let Ok(metadata) = path.metadata() else {
        return Some("does not exist");
    };
    if !metadata.is_file() {
        return Some("is not a file");
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 == 0 {
        return Some("is not executable");
    }
    None
}

#[cfg(test)]
mod tests {
    use std::env;

    use super::*;

    #[test]
    fn only_an_executable_file_is_usable() {
        assert_eq!(
            unusable(Path::new("/nowhere/mongod")),
            Some("does not exist")
        );
        assert_eq!(unusable(&env::temp_dir()), Some("is not a file"));
        let this_source = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        assert_eq!(unusable(&this_source), Some("is not executable"));
    }
}
