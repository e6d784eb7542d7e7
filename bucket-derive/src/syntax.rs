//! The syntax of `#[bucket(..)]`: tokens in, raw attribute structs with spans out.
//!
//! Nothing here returns a `Result`: a malformed, unknown, misplaced or repeated key is reported to
//! the [`Diagnostics`](crate::diagnostics::Diagnostics) and otherwise ignored, so that one run
//! shows every mistake. Rules that span several keys or fields live in `model/check`.

pub(crate) mod aggregate;
pub(crate) mod attribute_array;
pub(crate) mod bytes;
pub(crate) mod choice;
pub(crate) mod closure;
pub(crate) mod container;
pub(crate) mod crate_path;
pub(crate) mod duration;
pub(crate) mod entry;
pub(crate) mod field;
pub(crate) mod key_type;
pub(crate) mod name;
pub(crate) mod percentiles;
pub(crate) mod slot;
pub(crate) mod value;
