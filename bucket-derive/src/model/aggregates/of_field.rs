//! The aggregates of one field that is not the time.

use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::{Type, ext::IdentExt, parse_quote};

use crate::{
    model::{
        aggregates::{
            AggregateKind, Aggregates, Input, InputOf, Method, Origin, Reads, Stored, View,
        },
        field::{Field, Role},
        rust_name,
        serde_names::Storage,
        types::{self, WrongType},
    },
    symbol::{COUNT_IF, PERCENTILES, Symbol, TALLY},
    syntax::{
        choice,
        closure::{Mapped, Mapping},
        name::Named,
    },
};

/// The aggregates and their view.
pub(super) fn read(to: &mut Aggregates, field: &Field, prefix: &str) {
    let mut reader = Reader {
        to,
        field,
        prefix,
        methods: Vec::new(),
    };
    reader.numbers();
    reader.count_ifs();
    reader.tallies();
    let methods = reader.methods;
    let refused = field.role != Role::Plain || field.storage != Storage::Named;
    let unless = |wrong: Option<WrongType>, otherwise: Type| {
        if refused || wrong.is_some() {
            otherwise
        } else {
            field.ty.clone()
        }
    };
    to.views.push(View {
        ident: field.ident.clone(),
        field: field.ident.clone(),
        measure: unless(types::wrong_measure(&field.ty), parse_quote!(f64)),
        tallied: unless(types::wrong_key(&field.ty), parse_quote!(i64)),
        methods,
    });
}

pub(super) struct Reader<'a> {
    pub(super) to: &'a mut Aggregates,
    pub(super) field: &'a Field,
    prefix: &'a str,
    methods: Vec<Method>,
}

impl Reader<'_> {
    fn count_ifs(&mut self) {
        for mapped in &self.field.aggregates.count_ifs {
            let input = self.input(InputOf::Flag(mapped.of.clone()));
            let at = self.store(&mapped.named, AggregateKind::CountIf, input);
            let ident = method_ident(&mapped.named.text(), COUNT_IF);
            self.method(ident, &mapped.named, Reads::CountIf(at));
        }
    }

    fn tallies(&mut self) {
        for Mapped { named, of } in &self.field.aggregates.tallies {
            let input = self.input(InputOf::Tally(of.clone()));
            let at = self.store(named, AggregateKind::Tally, input);
            let ident = method_ident(&self.name_of(named, AggregateKind::Tally), TALLY);
            let reads = match of {
                Mapping::Itself => Reads::Tally(at),
                Mapping::By(_) | Mapping::Broken => Reads::MappedTally(at),
            };
            self.method(ident, named, reads);
        }
    }

    pub(super) fn input(&mut self, of: InputOf) -> usize {
        let non_finite = self.field.aggregates.non_finite.get();
        self.to.inputs.push(Input {
            field: self.field.ident.clone(),
            name: self.field.name.clone(),
            ty: self.field.ty.clone(),
            of,
            non_finite: non_finite.copied().unwrap_or(choice::NON_FINITE[0].1),
        });
        self.to.inputs.len() - 1
    }

    pub(super) fn store(&mut self, named: &Named, kind: AggregateKind, input: usize) -> usize {
        let (field, key) = (self.field.rust_name(), &named.key);
        let name = self.name_of(named, kind);
        let own_name = matches!(kind, AggregateKind::CountIf | AggregateKind::Tally);
        let label = match rust_name::snake(&name).filter(|_| own_name) {
            Some(name) => name.unraw().to_string().trim_matches('_').to_owned(),
            None => key.to_string(),
        };
        let other = format!("{field}_{}", name.replace('.', "_"));
        self.to.stored.push(Stored {
            path: match self.prefix {
                "" => name,
                prefix => format!("{prefix}.{name}"),
            },
            kind,
            input,
            label: format_ident!("{field}_{label}"),
            origin: Origin {
                at: named.to_token_stream(),
                what: format!("`{key}` of `{}`", self.field.ident),
                renamed: self.renamed(named, kind, &other),
            },
        });
        self.to.stored.len() - 1
    }

    /// The name under which an aggregate is stored.
    fn name_of(&self, named: &Named, kind: AggregateKind) -> String {
        match kind {
            AggregateKind::Tally => named.given().unwrap_or_else(|| self.field.name.clone()),
            _ => named.text(),
        }
    }

    /// The key with another name.
    fn renamed(&self, named: &Named, kind: AggregateKind, name: &str) -> String {
        let mapped = |mapped: &Mapped| {
            mapped.named.text() == named.text() && !matches!(mapped.of, Mapping::Itself)
        };
        match kind {
            AggregateKind::Percentiles { error_ppm } => format!(
                "{PERCENTILES}(error = {}, name = \"{name}\")",
                f64::from(error_ppm) / 1e6
            ),
            AggregateKind::CountIf => format!("{COUNT_IF}(\"{name}\", ..)"),
            AggregateKind::Tally if self.field.aggregates.tallies.iter().any(mapped) => {
                format!("{TALLY}(\"{name}\", ..)")
            }
            _ => format!("{} = \"{name}\"", named.key),
        }
    }

    pub(super) fn method(&mut self, ident: Ident, named: &Named, reads: Reads) {
        self.methods.push(Method {
            ident,
            at: named.to_token_stream(),
            reads,
        });
    }
}

fn method_ident(name: &str, key: Symbol) -> Ident {
    rust_name::snake(name).unwrap_or_else(|| key_ident(key))
}

pub(super) fn key_ident(key: Symbol) -> Ident {
    Ident::new(key.as_str(), Span::call_site())
}
