//! `Reading::specs()` and `reading.volume_in_ml()`: filters over attributes, and units converted.

use proc_macro2::TokenStream;
use quote::quote;

use crate::{
    attribute_arrays::{self, Asked, convert, filters},
    expand::Expand,
};

/// The types by which attributes are asked for.
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
    let record = &cx.model.record.ident;
    quote! {
        #[allow(dead_code)]
        impl #record {
            #filters
            #conversions
        }
    }
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
    let (record, private) = (&cx.model.record.ident, &cx.private);
    Asked {
        ident: record,
        vis: &cx.model.record.vis,
        private,
        specs: quote!(<#record as #private::Record>::SPEC.arrays()),
        arrays: cx.arrays,
    }
}
