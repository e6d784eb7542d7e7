//! What a statement does to a bucket: the one list of its parts, whatever it is written as.
//!
//! A statement is written as update operators, as a pipeline, or, where it opens a bucket, as the whole
//! document. All three are made of what is told here: what is done to which path with which value.

use super::{Action, Put, Statement};
use crate::{
    form::{OrderedBy, OwnField},
    raw::Operand,
    spec::ID,
};

/// What is done to a part of a bucket, in the order in which a statement does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Op {
    /// It is so in every bucket that the statement is for, and in one that it opens.
    Is,
    /// The items are put after those that are there.
    Push,
    /// The number is added.
    Add,
    /// The value takes the place of a greater one.
    Least,
    /// The value takes the place of a lesser one.
    Greatest,
    /// Whatever was there.
    Set,
    /// In a bucket that is opened.
    SetOnOpen,
}

/// What it is done to, in the order in which a whole bucket has its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Id,
    Own(OwnField),
    Aggregate,
    /// How far a source was stored.
    Position,
    Items,
}

/// One change; its path is told beside it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) part: Part,
    pub(super) op: Op,
    pub(super) value: Operand<'a>,
}

/// What changes are written as.
pub(super) trait Render<'a> {
    fn change(&mut self, path: &str, change: Change<'a>);
}

impl<'a> Statement<'a> {
    /// What is equal in the buckets that a put is for.
    pub(super) fn identity(&self, put: &Put, to: &mut impl Render<'a>) {
        let window = self.kind.window();
        let has_parts = self.spec.identified_by() == OrderedBy::Start;
        let own = self.kind.told_apart_by().iter();
        for own in own.filter(|own| has_parts || **own != OwnField::Part) {
            let value = match own {
                OwnField::Start => Operand::date(window.map_or(put.start, |window| window.start)),
                OwnField::End => Operand::date(window.map_or(put.start, |window| window.end)),
                OwnField::Part => Operand::integer(put.part),
                OwnField::Number => Operand::integer(put.number),
                OwnField::Size => Operand::integer(i64::from(put.size)),
                // A bucket that takes records has no mark.
                _ => Operand::Bool(false),
            };
            self.own(*own, Op::Is, value, to);
        }
    }

    /// What the statement changes, by the order of [`Op`].
    pub(super) fn changes(&self, to: &mut impl Render<'a>) {
        match self.action {
            Action::Close { .. } => self.mark(to),
            Action::Reserve { id, .. } => self.reserve(id, to),
            Action::TakeOver { .. } => {
                self.own(OwnField::Count, Op::Set, Operand::Int32(0), to);
            }
            _ => self.bring(to),
        }
    }

    /// Records.
    fn bring(&self, to: &mut impl Render<'a>) {
        let aggregate = |op: Op, value: Operand<'a>| Change {
            part: Part::Aggregate,
            op,
            value,
        };
        to.change(
            self.spec.items(),
            Change {
                part: Part::Items,
                op: Op::Push,
                value: Operand::Items(self.items),
            },
        );
        let begins = matches!(self.action, Action::Begin { .. });
        let taken = Operand::Int32(i32::try_from(self.items.len()).unwrap_or(i32::MAX));
        if !begins {
            self.own(OwnField::Count, Op::Add, taken, to);
        }
        if self.spec.max_bytes().is_some() {
            let bytes = Operand::Int64(i64::try_from(self.bytes).unwrap_or(i64::MAX));
            self.own(OwnField::Bytes, Op::Add, bytes, to);
        }
        self.fold
            .each_sum(|path, sum| to.change(path, aggregate(Op::Add, sum)));
        self.fold
            .each_smallest(|path, value| to.change(path, aggregate(Op::Least, value)));
        if self.kind.sorts() {
            let latest = Operand::date(self.latest);
            self.own(OwnField::End, Op::Greatest, latest, to);
        }
        if self.spec.dated_by().is_some() {
            // A record that is dated in the future counts as one of now: it would keep the others of its
            // bucket beyond their time.
            let date = Operand::date(self.latest.min(self.now));
            self.own(OwnField::ExpireFrom, Op::Greatest, date, to);
        }
        if let Some(positions) = self.positions {
            to.change(
                positions.path,
                Change {
                    part: Part::Position,
                    op: Op::Greatest,
                    value: Operand::Int64(positions.last),
                },
            );
        }
        self.fold
            .each_largest(|path, value| to.change(path, aggregate(Op::Greatest, value)));
        if let Action::Open { id, .. } | Action::Place { id, .. } = self.action {
            self.open_under(id, to);
        }
        if begins {
            // Of the type that counts have.
            self.own(OwnField::Count, Op::Set, taken, to);
        }
        if self.fills() {
            self.mark(to);
        }
        self.created_at(to);
        if self.kind.is_late() {
            self.own(OwnField::Closed, Op::SetOnOpen, Operand::Bool(true), to);
            self.own(OwnField::Late, Op::SetOnOpen, Operand::Bool(true), to);
        }
    }

    /// An empty bucket that is known to be reserved by the type of its count.
    fn reserve(&self, id: &'a str, to: &mut impl Render<'a>) {
        self.open_under(id, to);
        let zero = Operand::Int64(0);
        self.own(OwnField::Count, Op::SetOnOpen, zero, to);
        if self.spec.max_bytes().is_some() {
            self.own(OwnField::Bytes, Op::SetOnOpen, zero, to);
        }
        to.change(
            self.spec.items(),
            Change {
                part: Part::Items,
                op: Op::SetOnOpen,
                value: Operand::Items(&[]),
            },
        );
        self.created_at(to);
    }

    /// Not only where a bucket is opened: on a match this must fail, not do nothing.
    fn open_under(&self, id: &'a str, to: &mut impl Render<'a>) {
        let (part, op, value) = (Part::Id, Op::Set, Operand::Text(id));
        to.change(ID, Change { part, op, value });
    }

    fn created_at(&self, to: &mut impl Render<'a>) {
        if self.spec.names().created_at.is_some() {
            let now = Operand::date(self.now);
            self.own(OwnField::CreatedAt, Op::SetOnOpen, now, to);
        }
    }

    /// The bucket takes no more.
    fn mark(&self, to: &mut impl Render<'a>) {
        if let Some(mark) = self.kind.mark() {
            self.own(mark, Op::Set, Operand::Bool(true), to);
        }
    }

    fn own(&self, own: OwnField, op: Op, value: Operand<'a>, to: &mut impl Render<'a>) {
        let part = Part::Own(own);
        to.change(own.name(self.spec.names()), Change { part, op, value });
    }

    /// Whether the bucket takes no more after this.
    fn fills(&self) -> bool {
        matches!(self.action, Action::Put(put) if put.fills_from.is_some())
    }
}
