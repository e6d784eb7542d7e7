//! The aggregates of records, and the methods that read them.

use proc_macro2::{Ident, TokenStream};
use syn::Type;

use crate::{
    model::types,
    syntax::{choice::NonFinite, closure::Mapping},
};

/// The aggregates of a model; empty if no field has any.
#[derive(Default)]
pub(crate) struct Aggregates {
    pub(crate) inputs: Vec<Input>,
    pub(crate) stored: Vec<Stored>,
    /// One for each aggregated field that is not the time.
    pub(crate) views: Vec<View>,
    /// The aggregates of the time.
    pub(crate) times: Vec<Method>,
}

impl Aggregates {
    pub(crate) fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// The only view, whose methods the stats have too.
    pub(crate) fn only_view(&self) -> Option<&View> {
        match self.views.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }
}

/// A value of each record that is aggregated.
pub(crate) struct Input {
    pub(crate) field: Ident,
    /// The stored name, as serde writes it.
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) of: InputOf,
    pub(crate) non_finite: NonFinite,
}

impl Input {
    /// Whether a record can have no value: a missing number, or one that is left out. An alias may hide
    /// an option.
    pub(crate) fn is_optional(&self) -> bool {
        matches!(self.of, InputOf::Number)
            && (self.non_finite == NonFinite::Skip || !types::is_literally_number(&self.ty))
    }
}

/// What the record passes on for the field.
pub(crate) enum InputOf {
    Number,
    /// Whether the condition holds.
    Flag(Mapping),
    /// The value, or the result of the mapping.
    Tally(Mapping),
}

/// A stored aggregate.
pub(crate) struct Stored {
    pub(crate) path: String,
    pub(crate) kind: AggregateKind,
    /// The index of its input.
    pub(crate) input: usize,
    /// Its name among the typed paths.
    pub(crate) label: Ident,
    pub(crate) origin: Origin,
}

/// Where an aggregate comes from, for messages and docs.
pub(crate) struct Origin {
    pub(crate) at: TokenStream,
    /// `` `min` of `value` ``
    pub(crate) what: String,
    /// What to write for another path.
    pub(crate) renamed: String,
}

/// The kind of an aggregate; an index refers to another aggregate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AggregateKind {
    Min,
    Max,
    Sum,
    SumOfSquares,
    Avg { sum: usize, count: Option<usize> },
    Count,
    CountIf,
    Tally,
    First,
    Last,
    FirstTime,
    LastTime,
    Percentiles { error_ppm: u32 },
}

/// The typed view of one field's aggregates.
pub(crate) struct View {
    /// The name of its type.
    pub(crate) ident: Ident,
    pub(crate) field: Ident,
    /// The type of the numbers; any number if the field's own type was refused.
    pub(crate) measure: Type,
    /// The type of tallied values, likewise.
    pub(crate) tallied: Type,
    pub(crate) methods: Vec<Method>,
}

/// A method that reads aggregates.
#[derive(Clone)]
pub(crate) struct Method {
    pub(crate) ident: Ident,
    /// The tokens that give its name.
    pub(crate) at: TokenStream,
    pub(crate) reads: Reads,
}

/// What a method reads; an index refers to an aggregate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reads {
    Min(usize),
    Max(usize),
    Sum(usize),
    SumOfSquares(usize),
    Avg {
        sum: usize,
        count: Option<usize>,
    },
    Variance {
        sum: usize,
        squares: usize,
        count: Option<usize>,
    },
    StdDev {
        sum: usize,
        squares: usize,
        count: Option<usize>,
    },
    Count(usize),
    First(usize),
    Last(usize),
    CountIf(usize),
    Tally(usize),
    /// The caller chooses the type of the mapped values.
    MappedTally(usize),
    Percentile {
        at: usize,
        error_ppm: u32,
    },
    Sketch {
        at: usize,
        error_ppm: u32,
    },
    FirstTime(usize),
    LastTime(usize),
}

impl Reads {
    /// The index of the aggregate whose stored name the method has.
    pub(crate) const fn named_after(self) -> Option<usize> {
        match self {
            Self::CountIf(at)
            | Self::Tally(at)
            | Self::MappedTally(at)
            | Self::FirstTime(at)
            | Self::LastTime(at) => Some(at),
            _ => None,
        }
    }
}
