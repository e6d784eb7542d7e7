//! BSON documents as packed columns and back, to the bit.
//!
//! The records of a bucket that takes no more of them are alike: the same fields in the same order, times that rise by
//! nearly the same step, values near those before them. As rows they repeat every name and every type in each record.
//! As columns they are a list of times and a list of values, which shrink to a few bytes a record. Numbers are packed
//! by [`pco`](https://docs.rs/pco), repeated text by a dictionary.
//!
//! ```
//! use bson::{RawDocumentBuf, rawdoc};
//! use bucket_columns::{Columns, pack};
//!
//! let readings: Vec<RawDocumentBuf> = (0..1_000).map(|n| rawdoc! { "minute": n, "value": 20.5 }).collect();
//! let packed = pack(readings.iter().map(|reading| &**reading))?;
//! // 37 bytes each as rows.
//! assert!(packed.len() < 100);
//!
//! let mut rows = Columns::read(&packed)?.into_rows();
//! for reading in &readings {
//!     assert_eq!(rows.next_row(), Some(&**reading));
//! }
//! assert_eq!(rows.next_row(), None);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is given back
//!
//! Every document byte by byte: the order of its fields, the type of each value, the payload of a NaN, `-0.0`, what is
//! missing and what is null. A field may have another type in another document. A document that fits no columns, such as
//! one whose fields are in another order or twice there, is kept as it is.
//!
//! # The format
#![doc = include_str!("../FORMAT.md")]

mod blobs;
mod bytes;
mod doubles;
mod element;
mod error;
mod integers;
mod node;
mod numbers;
mod pack;
mod row;
mod rows;
mod tags;
mod unpack;
mod values;

pub use self::{
    error::{PackError, UnpackError},
    pack::pack,
    row::{Fields, Packed, Row, Value},
    rows::Rows,
    unpack::Columns,
};

/// The version of the format that is written, and the only one that is read.
const VERSION: u8 = 1;

/// The most bytes that documents may have together, unpacked: 64 MiB.
const MOST_BYTES: usize = 64 << 20;

/// The most bytes that a reader keeps for columns, for each byte of documents: packed bytes that say otherwise are
/// damaged.
const MOST_FOR_EACH: usize = 16;

/// The most documents of a part: no more fit into [`MOST_BYTES`].
const MOST_ROWS: usize = MOST_BYTES / 5;

/// How deep documents are taken apart.
const MOST_LEVELS: usize = 64;
