//! `Reading::specs()` and `reading.volume_in_ml()`: filters over attributes, and units converted.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    attribute_arrays::{self, Asked, convert, filters},
    expand::{Expand, where_clause},
};

/// The filter types.
pub(super) fn types(cx: &Expand<'_>) -> TokenStream {
    filters::types(&asked(cx))
}

/// The methods of the record.
pub(super) fn methods(cx: &Expand<'_>) -> TokenStream {
    if cx.arrays.is_empty() {
        return TokenStream::new();
    }
    let asked = asked(cx);
    let (filters, conversions) = (filters::methods(&asked), convert::methods(&asked));
    let record = cx.record_ty();
    let all = &cx.model.record.generics;
    let (params, _, _) = all.split_for_impl();
    let bounds = where_clause(all, &asked.bounds());
    quote! {
        #[allow(dead_code)]
        impl #params #record #bounds {
            #filters
            #conversions
        }
    }
}

/// What the attributes of a generic record must have.
pub(super) fn bounds(cx: &Expand<'_>) -> Vec<TokenStream> {
    asked(cx).bounds()
}

/// The specs of the arrays.
pub(super) fn specs(cx: &Expand<'_>) -> Vec<TokenStream> {
    let (items, private) = (&cx.model.items.name, &cx.private);
    let specs = cx.arrays.iter().map(|array| {
        let spec = attribute_arrays::spec(array, &cx.private);
        let place = if array.is_shared {
            quote!(Bucket)
        } else {
            quote!(Items)
        };
        quote!(#spec.at(#private::ArrayPlace::#place(#items)))
    });
    specs.collect()
}

fn asked<'a>(cx: &'a Expand<'_>) -> Asked<'a> {
    let (record, private) = (cx.record_ty(), &cx.private);
    Asked {
        ident: &cx.model.record.ident,
        generics: &cx.model.record.generics,
        vis: &cx.model.record.vis,
        private,
        specs: quote!(<#record as #private::Record>::SPEC.arrays()),
        has_specs: quote!(#private::Record),
        arrays: cx.arrays,
    }
}
