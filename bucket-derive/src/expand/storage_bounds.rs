//! What a generic record needs beyond its own bounds to be stored and read.

use proc_macro2::TokenStream;
use quote::quote;

use super::{aggregates, attribute_methods, context::Expand};
use crate::model::generics;

impl Expand<'_> {
    /// The predicates.
    pub(super) fn storage_bounds(&self) -> Vec<TokenStream> {
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
        let version = self.model.version().map(|field| &field.ty);
        if let Some(ty) = version.filter(|ty| generics::mentions_any(all, ty)) {
            bounds.push(quote!(#ty: #private::RecordVersion));
        }
        bounds.extend(aggregates::bounds(self));
        bounds.extend(attribute_methods::bounds(self));
        bounds
    }
}
