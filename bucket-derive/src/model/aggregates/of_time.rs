//! The aggregates of the time: the first and the last, at the top level of the bucket.

use quote::ToTokens;

use super::{AggregateKind, Aggregates, Method, Origin, Reads, Stored, of_field::key_ident};
use crate::{
    model::{field::Field, rust_name},
    symbol::{FIRST, LAST},
};

/// The earliest and the latest time.
pub(super) fn read(to: &mut Aggregates, field: &Field) {
    let attrs = &field.aggregates;
    let first = (
        FIRST,
        attrs.first.get(),
        AggregateKind::FirstTime,
        "first_timestamp",
    );
    let last = (
        LAST,
        attrs.last.get(),
        AggregateKind::LastTime,
        "last_timestamp",
    );
    for (key, named, kind, default) in [first, last] {
        let Some(named) = named else { continue };
        let name = named.given().unwrap_or_else(|| default.to_owned());
        let label = rust_name::snake(&name).unwrap_or_else(|| key_ident(key));
        let at = to.stored.len();
        to.stored.push(Stored {
            path: name,
            kind,
            input: 0,
            label: label.clone(),
            origin: Origin {
                at: named.to_token_stream(),
                what: format!("`{key}` of `{}`", field.ident),
                renamed: format!("{key} = \"{key}_{}\"", field.rust_name()),
            },
        });
        to.times.push(Method {
            ident: label,
            at: named.to_token_stream(),
            reads: if key == FIRST {
                Reads::FirstTime(at)
            } else {
                Reads::LastTime(at)
            },
        });
    }
}
