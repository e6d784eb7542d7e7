//! The model with the names and paths that several parts need, and tokens that all of them write.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Generics, Type};

use crate::{
    attribute_arrays::Array,
    locals,
    model::{Model, field::Field, generics},
};

pub(super) struct Expand<'a> {
    pub(super) model: &'a Model,
    /// The path of the only module that generated code may name.
    pub(super) private: TokenStream,
    pub(super) key: Ident,
    pub(super) item: Ident,
    pub(super) bucket: Ident,
    pub(super) stats: Ident,
    pub(super) key_generics: Generics,
    pub(super) item_generics: Generics,
    /// None in a model with errors about them.
    pub(super) arrays: &'a [Array],
}

impl<'a> Expand<'a> {
    pub(super) fn new(model: &'a Model, arrays: &'a [Array]) -> Self {
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

    /// `Trade<T>`.
    pub(super) fn record_ty(&self) -> TokenStream {
        ty(&self.model.record.ident, &self.model.record.generics)
    }

    /// `TradeKey<K>`.
    pub(super) fn key_ty(&self) -> TokenStream {
        ty(&self.key, &self.key_generics)
    }

    /// `TradeItem<V>`.
    pub(super) fn item_ty(&self) -> TokenStream {
        ty(&self.item, &self.item_generics)
    }

    /// `TradeBucket<T>`, which has all parameters of the record because its id has.
    pub(super) fn bucket_ty(&self) -> TokenStream {
        ty(&self.bucket, &self.model.record.generics)
    }

    /// `TradeStats<T>`; `NoStats` in models without aggregates.
    pub(super) fn stats_ty(&self) -> TokenStream {
        if self.model.aggregates.is_empty() {
            let private = &self.private;
            return quote!(#private::NoStats);
        }
        ty(&self.stats, &self.model.record.generics)
    }

    pub(super) fn is_generic(&self) -> bool {
        !self.model.record.generics.params.is_empty()
    }

    /// The attributes of a generated type.
    pub(super) fn type_attrs(&self) -> TokenStream {
        let allows = &self.model.record.allows;
        let deprecated = self.model.record.deprecated.then(|| quote!(, deprecated));
        // A key is as visible as the record even where its type is not.
        // The user did not write these types: unused ones must not warn, as they would in a `macro_rules!`.
        quote!(#[allow(dead_code, private_interfaces #deprecated)] #(#allows)*)
    }

    /// All impls in one block that has no name.
    pub(super) fn block(&self, impls: &TokenStream) -> TokenStream {
        let deprecated = self.model.record.deprecated.then(|| quote!(, deprecated));
        // Methods have the names of fields, whatever their style. Some paths and closures have the spans of
        // the user's types, where the user's lints apply.
        let allows = &self.model.record.allows;
        let kept_free = locals::kept_free(impls);
        quote! {
            #[allow(dead_code, unused_qualifications, clippy::redundant_closure #deprecated)]
            #(#allows)*
            const _: () = {
                #kept_free
                #impls
            };
        }
    }
}

fn types<'a>(fields: impl Iterator<Item = &'a Field>) -> Vec<&'a Type> {
    fields.map(|field| &field.ty).collect()
}

/// An option by its path.
pub(super) fn option(value: Option<impl ToTokens>) -> TokenStream {
    value.map_or_else(
        || quote!(::core::option::Option::None),
        |value| quote!(::core::option::Option::Some(#value)),
    )
}

/// A type by its name, with the parameters that it is used with.
pub(super) fn ty(ident: &Ident, generics: &Generics) -> TokenStream {
    let (_, args, _) = generics.split_for_impl();
    quote!(#ident #args)
}
