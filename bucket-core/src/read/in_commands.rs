//! Splits lists so that each part fits into one command.

/// The most bytes that the values of one list may take in a command. The server accepts 16 MB, and
/// a value may appear in a command more than once, as a key does that is also part of its buckets'
/// ids.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// The BSON overhead of an element besides its value, rounded up.
const OF_ELEMENT: usize = 16;

/// The parts of a list, each for one command: at most this many values, whose bytes fit. A value
/// that is too long by itself gets its own part.
///
/// ```
/// let keys = ["a".repeat(3 << 20), "b".repeat(3 << 20), "c".into(), "d".into()];
/// let parts = bucket_core::read::in_commands(&keys, 2, String::len);
/// assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [1, 2, 1]);
/// ```
pub fn in_commands<T>(mut list: &[T], most: usize, bytes: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut parts = Vec::new();
    while !list.is_empty() {
        let (part, rest) = list.split_at(in_one_command(list, most, &bytes));
        parts.push(part);
        list = rest;
    }
    parts
}

/// The number of leading values for one command; 0 for an empty list.
pub(crate) fn in_one_command<T>(list: &[T], most: usize, bytes: impl Fn(&T) -> usize) -> usize {
    let mut total = 0_usize;
    let fits = |value: &&T| {
        total = total
            .saturating_add(bytes(value))
            .saturating_add(OF_ELEMENT);
        total <= MOST_BYTES
    };
    let number = list.iter().take(most).take_while(fits).count();
    number.max(1).min(list.len())
}
