//! A simplified MongoDB server for tests: commands go in as BSON documents, and replies come out as
//! the server would send them. It has no clock, no randomness and no I/O: the same commands give
//! the same replies.
//!
//! It knows what the library sends, and is compared with a real server statement by statement
//! (`tests/tests/models/server_model.rs`). It answers everything else with an error ([`UNKNOWN`])
//! that names what is unknown; the README of the package lists it.
//!
//! ```
//! use bson::{doc, RawDocumentBuf};
//! use server_model::Server;
//!
//! # fn main() -> Result<(), bson::error::Error> {
//! let mut server = Server::new();
//! let command = RawDocumentBuf::try_from(&doc! {
//!     "update": "trades",
//!     "updates": [{ "q": { "_id": 1 }, "u": { "$push": { "items": 5 } }, "upsert": true }],
//! })?;
//! let reply = server.run(&command);
//! assert_eq!(reply.get_i32("n").ok(), Some(1));
//! assert_eq!(server.documents("test.trades"), [doc! { "_id": 1, "items": [5] }]);
//! # Ok(())
//! # }
//! ```

mod collection;
mod command;
mod elements;
mod error;
mod expression;
mod filter;
mod index;
mod oplog;
mod order;
mod path;
mod pipeline;
mod projection;
mod replica;
mod server;
mod session;
mod sort;
mod text;
mod ttl;
mod update;
mod upsert;
mod value;

pub use self::{
    command::Between,
    error::UNKNOWN,
    replica::{Interruption, State},
    server::{Answer, Limits, Server},
};
