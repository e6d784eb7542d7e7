//! The edits of stored records: one file for each, and what they share.

mod again;
mod archived_key;
mod copies;
mod correction;
mod delete;
mod delete_key;
mod delete_range;
mod delete_where;
mod editing;
mod removal;
mod removed;
mod transaction;
mod update;

pub(super) use self::again::passes;
pub(super) use self::editing::{Editing, Sent};
pub(super) use self::transaction::Transaction;
pub(crate) use self::{correction::Correction, editing::deadline};
pub use self::{
    delete::Delete, delete_key::DeleteKey, delete_range::DeleteRange, delete_where::DeleteWhere,
    removed::Removed, update::Update,
};
