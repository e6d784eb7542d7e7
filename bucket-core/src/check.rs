//! Checks stored buckets against what the library promises of them.
//!
//! | question | file |
//! | --- | --- |
//! | what can be wrong, what it does, what to do | `problem`, `kind`, `damage` |
//! | whether one document keeps its promises | `document` |
//! | its id, its own fields, its marks and dates | `fields` |
//! | its items, and what it stores of them | `items` |
//! | whether the buckets of a key keep theirs | `neighbours`, `ids` |
//! | what a writer may have been in the middle of | `suspect` |
//! | the order of the walk, and where it goes on | `position`, `walk` |
//!
//! A document is written by one statement, so what is wrong with one is never a writer's doing. What is
//! between two documents may be: they are read at two moments. Such a suspicion is looked at again.

mod damage;
mod document;
mod fields;
mod ids;
mod items;
mod kind;
mod neighbours;
mod position;
mod problem;
mod suspect;
mod walk;

pub(crate) use self::position::index_order;
pub(crate) use self::{
    damage::problem,
    document::{Checked, document, head},
    fields::Own,
    ids::share_one,
    position::index_fields,
};
pub use self::{
    position::{CheckPosition, PositionError},
    problem::{Finding, Problem, ProblemKind},
    suspect::Suspicion,
    walk::{Checker, ScanPlan},
};
