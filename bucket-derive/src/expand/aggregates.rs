//! The inputs and aggregates of the spec, and how a record's fields reach them.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, ext::IdentExt, spanned::Spanned};

use crate::{
    expand::{Expand, option},
    model::{
        aggregates::{AggregateKind, Input, InputOf},
        generics,
    },
    syntax::{choice::NonFinite, closure::Mapping},
    typed_path,
};

/// The inputs of the spec.
pub(super) fn inputs(cx: &Expand<'_>) -> impl Iterator<Item = TokenStream> {
    let private = &cx.private;
    cx.model.aggregates.inputs.iter().map(move |input| {
        let field = input.field.unraw().to_string();
        let non_finite = match input.non_finite {
            NonFinite::Reject => quote!(Reject),
            NonFinite::Skip => quote!(Skip),
        };
        let (name, optional) = (&input.name, input.is_optional());
        quote! {
            #private::Input {
                field: #field,
                name: #name,
                non_finite: #private::NonFinite::#non_finite,
                optional: #optional,
            }
        }
    })
}

/// The aggregates of the spec.
pub(super) fn stored(cx: &Expand<'_>) -> impl Iterator<Item = TokenStream> {
    let private = &cx.private;
    cx.model.aggregates.stored.iter().map(move |stored| {
        let (path, kind) = (&stored.path, kind(stored.kind));
        let input = Literal::usize_unsuffixed(stored.input);
        quote! {
            #private::Aggregate {
                path: #path,
                kind: #private::AggregateKind::#kind,
                input: #input,
            }
        }
    })
}

fn kind(kind: AggregateKind) -> TokenStream {
    match kind {
        AggregateKind::Min => quote!(Min),
        AggregateKind::Max => quote!(Max),
        AggregateKind::Sum => quote!(Sum),
        AggregateKind::SumOfSquares => quote!(SumOfSquares),
        AggregateKind::Avg { sum, count } => {
            let (sum, count) = (Literal::usize_unsuffixed(sum), index(count));
            quote!(Avg { sum: #sum, count: #count })
        }
        AggregateKind::Count => quote!(Count),
        AggregateKind::CountIf => quote!(CountIf),
        AggregateKind::Tally => quote!(Tally),
        AggregateKind::First => quote!(First),
        AggregateKind::Last => quote!(Last),
        AggregateKind::FirstTime => quote!(FirstTime),
        AggregateKind::LastTime => quote!(LastTime),
        AggregateKind::Percentiles { error_ppm } => {
            let error_ppm = Literal::u32_unsuffixed(error_ppm);
            quote!(Percentiles { error_ppm: #error_ppm })
        }
    }
}

/// An index that may be none.
pub(super) fn index(index: Option<usize>) -> TokenStream {
    option(index.map(Literal::usize_unsuffixed))
}

/// `Record::visit_inputs`, if there are inputs.
pub(super) fn visit(cx: &Expand<'_>) -> Option<TokenStream> {
    let Expand { model, private, .. } = cx;
    if model.aggregates.inputs.is_empty() {
        return None;
    }
    let visits = model.aggregates.inputs.iter().map(|input| {
        let Input { field, ty, of, .. } = input;
        match of {
            InputOf::Number => {
                let call = typed_path::of(ty, private, "Measure", "to_number");
                quote!(#private::InputSink::number(__sink, #call(&self.#field));)
            }
            InputOf::Flag(of) => {
                let of = mapping(of);
                quote! {
                    #private::InputSink::flag(
                        __sink,
                        #private::apply::<_, ::core::primitive::bool>(&self.#field, #of),
                    );
                }
            }
            InputOf::Tally(Mapping::Itself) => {
                let call = typed_path::of(ty, private, "BucketKey", "to_key");
                quote!(#private::InputSink::tally(__sink, #call(&self.#field));)
            }
            InputOf::Tally(of) => {
                let of = mapping(of);
                // The span of the mapping: a value that is not a key is reported there.
                let private = typed_path::at(of.span(), private);
                let value = quote!(&self.#field);
                let key = quote_spanned! {of.span()=>
                    #private::BucketKey::to_key(&#private::apply(#value, #of))
                };
                quote!(#private::InputSink::tally(__sink, #key);)
            }
        }
    });
    Some(quote! {
        fn visit_inputs(&self, __sink: &mut dyn #private::InputSink) {
            #(#visits)*
        }
    })
}

/// A model without errors has no broken mapping.
fn mapping(of: &Mapping) -> Option<&Expr> {
    match of {
        Mapping::By(of) => Some(of),
        Mapping::Itself | Mapping::Broken => None,
    }
}

/// What the aggregated fields of a generic record must implement.
pub(super) fn bounds(cx: &Expand<'_>) -> Vec<TokenStream> {
    let Expand { model, private, .. } = cx;
    let all = &model.record.generics;
    let generic = |input: &&Input| generics::mentions_any(all, &input.ty);
    let bounds = model.aggregates.inputs.iter().filter(generic);
    bounds
        .filter_map(|Input { ty, of, .. }| match of {
            InputOf::Number => Some(quote!(#ty: #private::Measure)),
            InputOf::Tally(Mapping::Itself) => Some(quote!(#ty: #private::BucketKey)),
            InputOf::Flag(_) | InputOf::Tally(_) => None,
        })
        .collect()
}
