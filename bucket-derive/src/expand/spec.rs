//! `Trade::SPEC`, `Trade::CAPACITY` and `Trade::COLLECTION`.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::ext::IdentExt;

use crate::{
    expand::Expand,
    model::id_template::{Segment, Unit},
};

/// The inherent constants of the record.
pub(super) fn constants(cx: &Expand<'_>) -> TokenStream {
    let Expand { model, private, .. } = cx;
    let vis = &model.record.vis;
    let (params, args, bounds) = model.record.generics.split_for_impl();
    let record = &model.record.ident;
    let name = record.unraw().to_string();
    let (collection, items) = (&model.collection, &model.items.name);
    let capacity = Literal::u32_unsuffixed(model.capacity);
    let id = model.id.segments.iter().map(|part| segment(private, part));
    let keys = model.keys().map(|field| {
        let (field, path) = (field.rust_name(), &field.name);
        quote!(#private::KeyField { field: #field, path: #path })
    });
    let (time_field, time_name) = model
        .time()
        .map(|field| (field.rust_name(), field.name.clone()))
        .unwrap_or_default();
    quote! {
        impl #params #record #args #bounds {
            /// The bucket model of this record.
            #vis const SPEC: #private::BucketSpec =
                #private::BucketSpec::__new(#private::SpecParts {
                    record: #name,
                    collection: #collection,
                    items: #items,
                    capacity: #capacity,
                    id: &[#(#id),*],
                    keys: &[#(#keys),*],
                    time: #private::TimeField { field: #time_field, name: #time_name },
                });
            /// The largest number of records in one bucket.
            #vis const CAPACITY: u32 = #capacity;
            /// The collection that holds the buckets.
            #vis const COLLECTION: &'static str = #collection;
        }
    }
}

fn segment(private: &TokenStream, segment: &Segment) -> TokenStream {
    match segment {
        Segment::Literal(text) => quote!(#private::IdSegment::Literal(#text)),
        Segment::Key(index) => {
            let index = Literal::usize_unsuffixed(*index);
            quote!(#private::IdSegment::Key(#index))
        }
        Segment::Time(Unit::Seconds) => {
            quote!(#private::IdSegment::Time(#private::TimeUnit::Seconds))
        }
        Segment::Time(Unit::Millis) => {
            quote!(#private::IdSegment::Time(#private::TimeUnit::Millis))
        }
    }
}
