//! Sizes in messages.

use std::fmt;

/// A number of bytes in units of 1,024.
pub(crate) struct ShownBytes(pub(crate) u64);

const UNITS: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];

impl fmt::Display for ShownBytes {
    #[allow(clippy::cast_precision_loss, reason = "one digit is shown")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut size, mut unit) = (self.0 as f64, "B");
        if self.0 < 1_024 {
            return write!(f, "{} B", self.0);
        }
        for larger in UNITS {
            if size < 1_023.95 {
                break;
            }
            (size, unit) = (size / 1_024.0, larger);
        }
        write!(f, "{size:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::ShownBytes;

    #[test]
    fn sizes_have_a_unit_in_which_they_are_short() {
        for (bytes, text) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KB"),
            (1_536, "1.5 KB"),
            (1_048_575, "1.0 MB"),
            (u64::MAX, "16.0 EB"),
        ] {
            assert_eq!(ShownBytes(bytes).to_string(), text);
        }
    }
}
