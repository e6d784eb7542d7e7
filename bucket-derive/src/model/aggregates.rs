//! The aggregates of a bucket: inputs, stored aggregates, and the methods that read them.
//!
//! Everything is data in the order of the generated code; `expand` adds no rule.

mod kept;
mod numbers;
mod of_field;
mod of_time;

use std::collections::HashSet;

use proc_macro2::Ident;
use quote::format_ident;

pub(crate) use self::kept::{
    AggregateKind, Aggregates, Input, InputOf, Method, Origin, Reads, Stored, View,
};
use crate::model::{
    field::{Field, Role},
    rust_name,
};

impl Aggregates {
    /// Reads the aggregates of all fields. Nothing is checked here.
    pub(crate) fn read(record: &Ident, fields: &[Field], prefix: &str) -> Self {
        let mut this = Self::default();
        for field in fields {
            match field.role {
                _ if field.aggregates.given.is_empty() => {}
                Role::Time => of_time::read(&mut this, field),
                // A key has no aggregates, which is reported; uses of them are not.
                Role::Key | Role::Plain => of_field::read(&mut this, field, prefix),
            }
        }
        this.name_views(record);
        this.tell_labels_apart();
        this
    }

    fn name_views(&mut self, record: &Ident) {
        let stats = format_ident!("{record}Stats");
        let mut taken = HashSet::from([stats.to_string()]);
        for (index, view) in self.views.iter_mut().enumerate() {
            let field = rust_name::camel(&view.field);
            view.ident = format_ident!("{record}{field}Stats");
            // `value_1` and `value1` are one name in camel case.
            if !taken.insert(view.ident.to_string()) {
                view.ident = format_ident!("{record}{field}Field{index}Stats");
            }
        }
    }

    fn tell_labels_apart(&mut self) {
        let mut taken = HashSet::new();
        for (index, stored) in self.stored.iter_mut().enumerate() {
            if !taken.insert(stored.label.to_string()) {
                stored.label = format_ident!("{}_{index}", stored.label);
            }
        }
    }
}
