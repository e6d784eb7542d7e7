//! The records of bucket models as Arrow record batches, and as Parquet, Arrow IPC, CSV and JSON lines files.
//!
//! ```no_run
//! use bucket_arrow::ToArrow;
//! use bucket_mongo::{Bucketed, bson::DateTime, mongodb::Client};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, Serialize, Deserialize, Bucketed)]
//! #[bucket(collection = "readings", items = "readings", window = "1h")]
//! struct Reading {
//!     #[bucket(key)]
//!     sensor_id: i64,
//!     #[bucket(time)]
//!     at: DateTime,
//!     celsius: f64,
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::with_uri_str("mongodb://localhost:27017").await?;
//! let readings = Reading::buckets(&client.database("plant"));
//!
//! // `export/key_sensor_id=7/month=2024-01/data.parquet`, and so on.
//! let report = readings.to_arrow().to_folder("export").await?;
//! println!("{} records in {} parts", report.records, report.parts);
//! # Ok(())
//! # }
//! ```
//!
//! # I want to...
//!
//! | task | call |
//! | --- | --- |
//! | read records as record batches | [`ArrowQuery::stream`] |
//! | turn records in memory into record batches | [`Layout::batch`] |
//! | see the columns of a model | [`Layout::schema`] |
//! | write one file, or the body of a response | [`ArrowQuery::write_to`] |
//! | write a folder of files by key and month, and go on after a stop | [`ArrowQuery::to_folder`] |
//! | write the same to Amazon S3, Google Cloud or Azure | [`ArrowQuery::to_store`] |
//! | show how far it is | [`Export::progress`] |
//!
//! # Columns
//!
//! | value | column |
//! | --- | --- |
//! | booleans, whole numbers, floats | the same type, with the same number of bits |
//! | the time of the record, BSON dates | `Timestamp(Millisecond, "UTC")` |
//! | texts, `char` | `Utf8` |
//! | bytes (`serde_bytes`, `uuid::Uuid`) | `Binary` |
//! | `Binary` of `bson`, whose subtype is a part of the value | a struct of `subtype` and `bytes` |
//! | object ids, uuids of `bson` | `Utf8`, as they are shown |
//! | decimals | `Utf8`, in their canonical form |
//! | options | the column may be null |
//! | structs; tuples of several types | structs; those of tuples have the names `0`, `1`, .. |
//! | lists, arrays, tuples of one type | lists |
//! | maps | maps from text |
//! | enums without data | `Utf8`, the name of the variant |
//! | enums with data | a struct of `variant` and a column for the data of each variant |
//! | values of several types (`Bson`), what is inside of itself, rare types of BSON | `Utf8`, as canonical extended JSON |
//!
//! # Features
//!
//! | name | description | default |
//! | --- | --- | --- |
//! | `snappy` | Parquet with Snappy, in Rust | yes |
//! | `lz4` | Parquet with LZ4, in Rust | no |
//! | `zstd` | Parquet with Zstandard, which needs a C compiler | no |

mod batch;
mod civil;
mod column;
mod encode;
mod error;
mod export;
mod extended_json;
mod format;
mod hexadecimal;
mod key_text;
mod layout;
mod magic;
mod refuse;
mod shape;
mod to_arrow;
mod trace;
mod work;
mod write_to;

pub use arrow_array;
pub use arrow_schema;
pub use object_store;

#[doc(inline)]
pub use self::{
    batch::BatchBuilder,
    error::{Error, Result},
    export::{Export, ExportProgress, ExportReport, PartitionBy},
    format::{Compression, Format, Parquet},
    layout::{Layout, LayoutBuilder},
    to_arrow::{ArrowQuery, BatchStream, ToArrow},
    write_to::{WriteTo, Written},
};
