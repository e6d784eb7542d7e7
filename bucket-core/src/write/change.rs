//! What a statement does to a bucket: the one list of its parts, for every form of writing it.
//!
//! A statement is written as update operators, as a pipeline, or, if it opens a bucket, as the whole
//! document. All three come from this list: the operation, the path and the value.

use std::borrow::Cow;

use super::{Action, Put, Statement};
use crate::{
    bucket::sealed,
    codec::raw::Operand,
    model::{
        form::{OrderedBy, OwnField},
        spec::ID,
    },
};

/// The operations on a part of a bucket, in the order in which a statement does them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// Equal in every bucket that the statement matches, and set in one that it opens.
    Is,
    /// Appends the items.
    Push,
    /// Adds the number.
    Add,
    /// Replaces a greater value.
    Least,
    /// Replaces a lesser value.
    Greatest,
    /// Sets the value in any case.
    Set,
    /// Sets the value when the bucket is opened.
    SetOnOpen,
}

/// The part that an operation changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Id,
    Own(OwnField),
    Aggregate,
    /// How far a source was stored.
    Position,
    /// Since when it takes no more records.
    Closing,
    Items,
}

/// The change of one path of a bucket.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) op: Op,
    pub(super) part: Part,
    pub(super) path: Cow<'a, str>,
    pub(super) value: Operand<'a>,
}

impl<'a> Change<'a> {
    #[inline]
    fn new(op: Op, part: Part, path: impl Into<Cow<'a, str>>, value: Operand<'a>) -> Self {
        Self {
            op,
            part,
            path: path.into(),
            value,
        }
    }
}

/// A form in which changes are written.
pub(super) trait Render<'a> {
    fn change(&mut self, change: Change<'a>);
}

impl<'a> Statement<'a> {
    /// The equalities that identify the bucket of a put.
    pub(super) fn identity(&self, put: &Put, to: &mut impl Render<'a>) {
        let window = self.kind.window();
        let has_parts = self.spec.identified_by() == OrderedBy::Start;
        let own = self.kind.told_apart_by().iter().copied();
        for own in own.filter(|own| has_parts || *own != OwnField::Part) {
            let value = match own {
                OwnField::Start => Operand::date(window.map_or(put.start, |window| window.start)),
                OwnField::End => Operand::date(window.map_or(put.start, |window| window.end)),
                OwnField::Part => Operand::integer(put.part),
                OwnField::Number => Operand::integer(put.number),
                OwnField::Size => Operand::integer(i64::from(put.size)),
                // A bucket that takes records has no mark.
                _ => Operand::Bool(false),
            };
            to.change(self.own(Op::Is, own, value));
        }
    }

    /// The changes of the statement, in the order of [`Op`].
    pub(super) fn changes(&self, to: &mut impl Render<'a>) {
        match self.action {
            Action::Close { .. } => self.mark(to),
            Action::Reserve { id, .. } => self.reserve(id, to),
            Action::TakeOver { .. } => {
                to.change(self.own(Op::Set, OwnField::Count, Operand::Int32(0)));
            }
            _ => self.bring(to),
        }
    }

    /// The changes that store records.
    fn bring(&self, to: &mut impl Render<'a>) {
        let items = Operand::Items(self.items);
        to.change(Change::new(Op::Push, Part::Items, self.spec.items(), items));
        let begins = matches!(self.action, Action::Begin { .. });
        let taken = Operand::Int32(i32::try_from(self.items.len()).unwrap_or(i32::MAX));
        if !begins {
            to.change(self.own(Op::Add, OwnField::Count, taken));
        }
        if self.spec.max_bytes().is_some() {
            let bytes = Operand::Int64(i64::try_from(self.bytes).unwrap_or(i64::MAX));
            to.change(self.own(Op::Add, OwnField::Bytes, bytes));
        }
        let aggregate = Part::Aggregate;
        self.fold
            .each_sum(|path, sum| to.change(Change::new(Op::Add, aggregate, path, sum)));
        self.fold
            .each_smallest(|path, least| to.change(Change::new(Op::Least, aggregate, path, least)));
        if self.kind.sorts() {
            to.change(self.own(Op::Greatest, OwnField::End, Operand::date(self.latest)));
        }
        if self.spec.dated_by().is_some() {
            // A record dated in the future counts as one of now. Otherwise it would keep the others of its
            // bucket past their time.
            let date = Operand::date(self.latest.min(self.now));
            to.change(self.own(Op::Greatest, OwnField::ExpireFrom, date));
        }
        if let Some(positions) = self.positions {
            let last = Operand::Int64(positions.last);
            let (op, part) = (Op::Greatest, Part::Position);
            to.change(Change::new(op, part, positions.path, last));
        }
        self.fold.each_largest(|path, greatest| {
            to.change(Change::new(Op::Greatest, aggregate, path, greatest));
        });
        if let Action::Open { id, .. } | Action::Place { id, .. } = self.action {
            to.change(Self::opened_under(id));
        }
        if begins {
            // With the type that counts have.
            to.change(self.own(Op::Set, OwnField::Count, taken));
        }
        if matches!(self.action, Action::Put(put) if put.fills_from.is_some()) {
            self.mark(to);
        }
        self.created_at(to);
        if self.kind.is_late() {
            let yes = Operand::Bool(true);
            to.change(self.own(Op::SetOnOpen, OwnField::Closed, yes));
            to.change(self.own(Op::SetOnOpen, OwnField::Late, yes));
        }
    }

    /// An empty bucket; the type of its count marks it as reserved.
    fn reserve(&self, id: &'a str, to: &mut impl Render<'a>) {
        let (zero, none) = (Operand::Int64(0), Operand::Items(&[]));
        let (op, items) = (Op::SetOnOpen, self.spec.items());
        to.change(Self::opened_under(id));
        to.change(self.own(op, OwnField::Count, zero));
        if self.spec.max_bytes().is_some() {
            to.change(self.own(op, OwnField::Bytes, zero));
        }
        to.change(Change::new(op, Part::Items, items, none));
        self.created_at(to);
    }

    /// Not only set when a bucket is opened: on a match this must fail instead of doing nothing.
    fn opened_under(id: &'a str) -> Change<'a> {
        Change::new(Op::Set, Part::Id, ID, Operand::Text(id))
    }

    fn created_at(&self, to: &mut impl Render<'a>) {
        if self.spec.names().created_at.is_some() {
            let now = Operand::date(self.now);
            to.change(self.own(Op::SetOnOpen, OwnField::CreatedAt, now));
        }
    }

    /// The mark of a bucket that takes no more.
    fn mark(&self, to: &mut impl Render<'a>) {
        if let Some(mark) = self.kind.mark() {
            to.change(self.own(Op::Set, mark, Operand::Bool(true)));
        }
        if self.kind.in_parts() {
            let now = Operand::date(self.now);
            to.change(Change::new(Op::Set, Part::Closing, sealed::at_path(), now));
        }
    }

    #[inline]
    fn own(&self, op: Op, own: OwnField, value: Operand<'a>) -> Change<'a> {
        Change::new(op, Part::Own(own), own.name(self.spec.names()), value)
    }
}
