//! The backfill: documents of a flat collection, each the serde form of a record, become buckets.
//!
//! | piece | file |
//! | --- | --- |
//! | in which order the documents are read, and how a read goes on | `order` |
//! | whether the server tells two places of an index apart | `place` |
//! | which documents are stored together, and how many | `chunk` |
//! | a document as a record, and whether the record keeps all of it | `reading` |
//! | what is stored of the progress, and what guards it | `job` |
//! | what is kept of a document that is not stored | `reject` |
//!
//! A chunk is one transaction: its records, its rejects, and the step of the job. So each document counts once, whatever ends
//! the process, in every form, and nothing is compared afterwards. The step has a number. A statement for it matches only the
//! number that its worker has set, so a worker that was overtaken by another one stores nothing more.

mod chunk;
mod job;
mod order;
mod place;
mod reading;
mod reject;

pub use self::{
    chunk::{Chunk, Gathering, Pace},
    job::{Advance, COLLECTION, Counts, Job, JobFault},
    order::{Find, Order, Pass, Position},
    reading::{Misfit, Reading},
    reject::{reject, rejects_name},
};
