//! Where results have the packed items of sealed buckets of which only a part is shown: the server cannot tell which.

/// In what is said of a key.
pub(super) const OF_SUMMARY: &str = "cut";
/// In the number of its records.
pub(super) const OF_COUNT: &str = "_cut";

/// All of them.
pub(crate) const CUTS: [&str; 2] = [OF_SUMMARY, OF_COUNT];
