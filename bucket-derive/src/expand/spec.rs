//! `Trade::SPEC`, `Trade::CAPACITY` and `Trade::COLLECTION`.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::ext::IdentExt;

use crate::{
    expand::{Expand, aggregates, attribute_methods, option, where_clause},
    model::{
        form::Form,
        id_template::{Segment, Unit},
        own_field::OwnField,
        own_role::OwnRole,
    },
    syntax::{choice::Late, duration::Window},
};

/// The inherent constants of the record.
pub(super) fn constants(cx: &Expand<'_>, stored_fields: &TokenStream) -> TokenStream {
    let Expand { model, private, .. } = cx;
    let vis = &model.record.vis;
    let (params, args, _) = model.record.generics.split_for_impl();
    let bounds = where_clause(&model.record.generics, &attribute_methods::bounds(cx));
    let record = &model.record.ident;
    let name = record.unraw().to_string();
    let (collection, items) = (&model.collection, &model.items.name);
    let form = form(private, model.form);
    let id = model.id.segments.iter().map(|part| segment(private, part));
    let keys = model.keys().map(|field| {
        let (field, path) = (field.rust_name(), &field.name);
        quote!(#private::KeyField { field: #field, path: #path })
    });
    let (time_field, time_name) = model
        .time()
        .map(|field| (field.rust_name(), field.name.clone()))
        .unwrap_or_default();
    let names = names(cx);
    let max_bytes = option(model.max_bytes.map(Literal::u32_unsuffixed));
    let raised_from = option(model.raised_from.map(Literal::u32_unsuffixed));
    let expire_after = option(model.expire_after.map(Literal::u32_unsuffixed));
    let keep_stats = option(model.keep_stats.map(Literal::u32_unsuffixed));
    let seal_after = option(model.seal_after.map(Literal::u32_unsuffixed));
    let span = |span: Option<_>| {
        option(span.map(|span| {
            let window = window(span);
            quote!(#private::Window::#window)
        }))
    };
    let (merge, merge_stats) = (span(model.merge), span(model.merge_stats));
    let object_ids = model.object_ids;
    let compression = option(model.compression);
    let unique = option(model.unique().map(|field| field.name.clone()));
    let (inputs, aggregates) = (aggregates::inputs(cx), aggregates::stored(cx));
    let arrays = attribute_methods::specs(cx);
    let capacity = model.form.capacity().map(|capacity| {
        let capacity = Literal::u32_unsuffixed(capacity);
        quote! {
            /// The largest number of records in one bucket.
            #vis const CAPACITY: ::core::primitive::u32 = #capacity;
        }
    });
    quote! {
        impl #params #record #args #bounds {
            /// The bucket model of this record.
            #vis const SPEC: #private::BucketSpec =
                #private::BucketSpec::__new(#private::SpecParts {
                    record: #name,
                    collection: #collection,
                    items: #items,
                    form: #form,
                    id: &[#(#id),*],
                    keys: &[#(#keys),*],
                    time: #private::TimeField { field: #time_field, name: #time_name },
                    names: #names,
                    max_bytes: #max_bytes,
                    raised_from: #raised_from,
                    expire_after: #expire_after,
                    keep_stats: #keep_stats,
                    seal_after: #seal_after,
                    merge: #merge,
                    merge_stats: #merge_stats,
                    object_ids: #object_ids,
                    compression: #compression,
                    inputs: &[#(#inputs),*],
                    aggregates: &[#(#aggregates),*],
                    unique: #unique,
                    arrays: &[#(#arrays),*],
                    fields: {
                        #[allow(unused_imports)]
                        use #private::UnknownKind as _;
                        &[#stored_fields]
                    },
                });
            #capacity
            /// The collection that holds the buckets.
            #vis const COLLECTION: &'static ::core::primitive::str = #collection;
        }
    }
}

fn window(window: Window) -> TokenStream {
    match window {
        Window::Seconds(seconds) => {
            let seconds = Literal::u32_unsuffixed(seconds);
            quote!(Seconds(#seconds))
        }
        Window::Day => quote!(Day),
        Window::Week => quote!(Week),
        Window::Month => quote!(Month),
    }
}

fn form(private: &TokenStream, form: Form) -> TokenStream {
    match form {
        Form::Count { capacity } => {
            let capacity = Literal::u32_unsuffixed(capacity);
            quote!(#private::Form::Count { capacity: #capacity })
        }
        Form::Window {
            window,
            capacity,
            parts,
        } => {
            let window = self::window(window);
            let capacity = option(capacity.map(Literal::u32_unsuffixed));
            quote! {
                #private::Form::Window {
                    window: #private::Window::#window,
                    capacity: #capacity,
                    parts: #parts,
                }
            }
        }
        Form::Hybrid {
            capacity,
            max_duration,
            late,
        } => {
            let capacity = Literal::u32_unsuffixed(capacity);
            let max_duration = Literal::i64_unsuffixed(i64::from(max_duration) * 1_000);
            let late = match late {
                Late::Merge => quote!(Merge),
                Late::Side => quote!(Side),
                Late::Reject => quote!(Reject),
            };
            quote! {
                #private::Form::Hybrid {
                    capacity: #capacity,
                    max_duration: #max_duration,
                    late: #private::LatePolicy::#late,
                }
            }
        }
        Form::Numbered { capacity } => {
            let capacity = Literal::u32_unsuffixed(capacity);
            quote!(#private::Form::Numbered { capacity: #capacity })
        }
    }
}

/// The names of the bucket's own fields; what is not given is the default.
fn names(cx: &Expand<'_>) -> TokenStream {
    let Expand { model, private, .. } = cx;
    let given = |field: &&OwnField| {
        field.role == OwnRole::CreatedAt || field.name != field.role.rust_name()
    };
    let own = model.own_fields.iter().filter(given).map(|field| {
        let ident = spec_name(field.role);
        let name = &field.name;
        if field.role == OwnRole::CreatedAt {
            quote!(#ident: ::core::option::Option::Some(#name))
        } else {
            quote!(#ident: #name)
        }
    });
    let stats = model.stats.iter().map(|stats| quote!(stats: #stats));
    let names: Vec<TokenStream> = own.chain(stats).collect();
    if names.is_empty() {
        quote!(#private::Names::DEFAULT)
    } else {
        quote!(#private::Names { #(#names,)* ..#private::Names::DEFAULT })
    }
}

/// The field of `Names`.
fn spec_name(role: OwnRole) -> Ident {
    let name = match role {
        OwnRole::Start => "start",
        OwnRole::End => "end",
        OwnRole::Closed => "closed",
        OwnRole::Late => "late",
        OwnRole::Number => "number",
        OwnRole::Size => "size",
        OwnRole::Full => "full",
        OwnRole::Bytes => "bytes",
        OwnRole::CreatedAt => "created_at",
        OwnRole::ExpireFrom => "expire_from",
        OwnRole::Count => "count",
    };
    quote::format_ident!("{name}")
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
        Segment::Number => quote!(#private::IdSegment::Number),
    }
}
