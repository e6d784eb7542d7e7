//! From the model to tokens. One file for each emitted thing; each reads the model and nothing else.
//!
//! Emitted code is data and one-line calls: behaviour lives in `bucket-core`. Public types stand
//! beside the record struct, so that the user's paths resolve in them; impls stand in one
//! `const _`. Paths are absolute, calls name their trait.

mod aggregates;
mod attribute_methods;
mod bucket;
mod conditional;
mod docs;
mod fallback;
mod fields;
mod id;
mod item;
mod key;
mod marker;
mod own_fields;
mod record;
mod spec;
mod stats;
mod view;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Generics, Type};

use crate::{
    attribute_arrays::Array,
    model::{Model, field::Field, generics},
};

/// The model with the names and paths that several parts need.
pub(crate) struct Expand<'a> {
    model: &'a Model,
    /// The path of the only module that emitted code may name.
    private: TokenStream,
    key: Ident,
    item: Ident,
    bucket: Ident,
    stats: Ident,
    key_generics: Generics,
    item_generics: Generics,
    /// None in a model with errors about them.
    arrays: &'a [Array],
}

/// Expands a model without errors.
pub(crate) fn full(model: &Model) -> TokenStream {
    let cx = Expand::new(model, &model.arrays);
    let key = key::derived(&cx);
    let item = item::derived(&cx);
    let others = cx.other_types();
    let filters = attribute_methods::types(&cx);
    let shared = cx.shared_impls();
    let parts = [
        shared,
        key::record_key(&cx),
        item::default(&cx),
        record::record(&cx),
        bucket::document(&cx),
        bucket::serde(&cx),
        bucket::methods(&cx),
        attribute_methods::methods(&cx),
    ];
    let impls = cx.block(&quote!(#(#parts)*));
    quote!(#key #item #others #filters #impls)
}

/// Expands the best effort that is left of a model with errors: the same names with the same
/// shapes, so that their uses elsewhere give no further errors.
pub(crate) fn fallback(model: &Model) -> TokenStream {
    let arrays: &[Array] = if model.arrays_are_sound {
        &model.arrays
    } else {
        &[]
    };
    let cx = Expand::new(model, arrays);
    let key = key::declaration(&cx);
    let item = item::declaration(&cx);
    let others = cx.other_types();
    let filters = attribute_methods::types(&cx);
    let shared = cx.shared_impls();
    let impls = fallback::impls(&cx);
    let methods = attribute_methods::methods(&cx);
    let impls = cx.block(&quote!(#shared #impls #methods));
    quote!(#key #item #others #filters #impls)
}

impl<'a> Expand<'a> {
    fn new(model: &'a Model, arrays: &'a [Array]) -> Self {
        let krate = &model.krate;
        let record = &model.record;
        Self {
            model,
            private: quote!(#krate::__private),
            key: format_ident!("{}Key", record.ident),
            item: format_ident!("{}Item", record.ident),
            bucket: format_ident!("{}Bucket", record.ident),
            stats: format_ident!("{}Stats", record.ident),
            key_generics: generics::used_by(&record.generics, &types(model.keys())),
            item_generics: generics::used_by(&record.generics, &types(model.item_fields())),
            arrays,
        }
    }

    /// The types that are the same whether the model has errors or not.
    fn other_types(&self) -> TokenStream {
        let bucket = bucket::declaration(self);
        let id = id::alias(self);
        let fields = fields::declarations(self);
        let stats = stats::declarations(self);
        quote!(#bucket #id #fields #stats)
    }

    /// The impls that are the same whether the model has errors or not.
    fn shared_impls(&self) -> TokenStream {
        let spec = spec::constants(self);
        let fields = fields::constants(self);
        let key = key::conversions(self);
        let item = item::conditional(self);
        let bucket = bucket::conditional(self);
        let stats = stats::impls(self);
        quote!(#spec #fields #key #item #bucket #stats)
    }

    /// `Trade<T>`.
    fn record_ty(&self) -> TokenStream {
        ty(&self.model.record.ident, &self.model.record.generics)
    }

    /// `TradeKey<K>`.
    fn key_ty(&self) -> TokenStream {
        ty(&self.key, &self.key_generics)
    }

    /// `TradeItem<V>`.
    fn item_ty(&self) -> TokenStream {
        ty(&self.item, &self.item_generics)
    }

    /// `TradeBucket<T>`, which has all parameters of the record because its id has.
    fn bucket_ty(&self) -> TokenStream {
        ty(&self.bucket, &self.model.record.generics)
    }

    /// `TradeStats<T>`, or what stands in for it in models without aggregates.
    fn stats_ty(&self) -> TokenStream {
        if self.model.aggregates.is_empty() {
            let private = &self.private;
            return quote!(#private::NoStats);
        }
        ty(&self.stats, &self.model.record.generics)
    }

    fn is_generic(&self) -> bool {
        !self.model.record.generics.params.is_empty()
    }

    /// The attributes of a generated type.
    fn type_attrs(&self) -> TokenStream {
        let allows = &self.model.record.allows;
        let deprecated = self.model.record.deprecated.then(|| quote!(, deprecated));
        // A key is as visible as the record even where its type is not.
        // Nobody asked for it by name; of a model that a `macro_rules!` makes the compiler would tell
        // what of it is never used.
        quote!(#[allow(dead_code, private_interfaces #deprecated)] #(#allows)*)
    }

    /// All impls in one block that has no name.
    fn block(&self, impls: &TokenStream) -> TokenStream {
        let deprecated = self.model.record.deprecated.then(|| quote!(, deprecated));
        // Methods are called as fields are, whatever that looks like.
        let allows = &self.model.record.allows;
        quote! {
            #[allow(dead_code #deprecated)]
            #(#allows)*
            const _: () = {
                #impls
            };
        }
    }

    /// What a generic record needs beyond its own bounds to be stored and read.
    fn storage_bounds(&self) -> Vec<TokenStream> {
        if !self.is_generic() {
            return Vec::new();
        }
        let private = &self.private;
        let (record, key, item) = (self.record_ty(), self.key_ty(), self.item_ty());
        let mut bounds = vec![
            quote! {
                #record: #private::serde::Serialize + ::core::marker::Send + ::core::marker::Sync
                    + 'static
            },
            quote! {
                #item: #private::serde::Serialize + #private::serde::de::DeserializeOwned
                    + ::core::marker::Send
            },
            quote!(#key: #private::RecordKey),
        ];
        let all = &self.model.record.generics;
        for field in self
            .model
            .keys()
            .filter(|field| generics::mentions_any(all, &field.ty))
        {
            let ty = &field.ty;
            bounds.push(quote!(#ty: #private::BucketKey));
        }
        let time = self
            .model
            .time()
            .filter(|field| generics::mentions_any(all, &field.ty));
        if let Some(field) = time {
            let ty = &field.ty;
            bounds.push(quote!(#ty: #private::BucketTime));
        }
        let unique = self.model.unique().map(|field| &field.ty);
        if let Some(ty) = unique.filter(|ty| generics::mentions_any(all, ty)) {
            bounds.push(quote!(#ty: #private::BucketKey));
        }
        bounds.extend(aggregates::bounds(self));
        bounds
    }
}

fn types<'a>(fields: impl Iterator<Item = &'a Field>) -> Vec<&'a Type> {
    fields.map(|field| &field.ty).collect()
}

/// An option by its path.
fn option(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// Tokens with another span: that is where what is wrong with them is reported.
fn at(span: Span, tokens: &TokenStream) -> TokenStream {
    let respanned = |mut token: TokenTree| {
        token.set_span(span);
        token
    };
    tokens.clone().into_iter().map(respanned).collect()
}

fn ty(ident: &Ident, generics: &Generics) -> TokenStream {
    let (_, args, _) = generics.split_for_impl();
    quote!(#ident #args)
}

/// `where` with the predicates of `generics` and these.
fn where_clause(generics: &Generics, bounds: &[TokenStream]) -> TokenStream {
    let own = generics
        .where_clause
        .iter()
        .flat_map(|clause| &clause.predicates);
    let all: Vec<TokenStream> = own
        .map(ToTokens::to_token_stream)
        .chain(bounds.iter().cloned())
        .collect();
    if all.is_empty() {
        TokenStream::new()
    } else {
        quote!(where #(#all),*)
    }
}
