//! `impl BucketKey`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote, quote_spanned};
use syn::{Type, spanned::Spanned};

use crate::{
    derive_bucket_key::model::{KeyForm, KeyType, KeyVariant},
    locals,
    model::generics,
};

/// The impl of a type without errors.
pub(crate) fn full(key: &KeyType) -> TokenStream {
    match &key.form {
        KeyForm::Enum(variants) => enum_key(key, variants),
        KeyForm::Newtype(ty) => newtype_key(key, ty),
        KeyForm::Broken | KeyForm::Union => TokenStream::new(),
    }
}

/// The impl of a type with errors: it exists, so its uses report nothing. It never runs.
pub(crate) fn fallback(key: &KeyType) -> TokenStream {
    match &key.form {
        KeyForm::Union => TokenStream::new(),
        _ => implement(key, None, &quote!(loop {}), &quote!(loop {})),
    }
}

fn enum_key(key: &KeyType, variants: &[KeyVariant]) -> TokenStream {
    let krate = &key.krate;
    let idents: Vec<_> = variants.iter().map(|variant| &variant.ident).collect();
    let names = variants.iter().map(|variant| &variant.name);
    let patterns = variants.iter().map(|variant| {
        let KeyVariant { name, aliases, .. } = variant;
        quote!(#name #(| #aliases)*)
    });
    let unknown = format!("is no variant of `{}`", key.ident);
    let to_key = quote! {
        #krate::__private::KeyValue::String(match self {
            #(Self::#idents => #names,)*
        })
    };
    let from_key = quote! {
        let __name =
            <::std::string::String as #krate::__private::BucketKey>::from_key(__value)?;
        match __name.as_str() {
            #(#patterns => ::core::result::Result::Ok(Self::#idents),)*
            _ => ::core::result::Result::Err(
                #krate::__private::KeyError::new(::std::format!("`{}` {}", __name, #unknown)),
            ),
        }
    };
    implement(key, None, &to_key, &from_key)
}

fn newtype_key(key: &KeyType, ty: &Type) -> TokenStream {
    let krate = &key.krate;
    // The span of the user's type: a type that is not a key is reported there.
    let to_key = quote_spanned!(ty.span()=> <#ty as #krate::__private::BucketKey>::to_key);
    let from_key = quote_spanned!(ty.span()=> <#ty as #krate::__private::BucketKey>::from_key);
    let bound = generics::mentions_any(&key.generics, ty)
        .then(|| quote!(#ty: #krate::__private::BucketKey));
    implement(
        key,
        bound,
        &quote!(#to_key(&self.0)),
        &quote!(::core::result::Result::Ok(Self(#from_key(__value)?))),
    )
}

fn implement(
    key: &KeyType,
    bound: Option<TokenStream>,
    to_key: &TokenStream,
    from_key: &TokenStream,
) -> TokenStream {
    let KeyType {
        ident,
        generics,
        krate,
        ..
    } = key;
    let (params, args, own) = generics.split_for_impl();
    let own = own.into_iter().flat_map(|clause| &clause.predicates);
    let bounds: Vec<TokenStream> = own.map(ToTokens::to_token_stream).chain(bound).collect();
    let bounds = if bounds.is_empty() {
        None
    } else {
        Some(quote!(where #(#bounds),*))
    };
    let kept_free = locals::kept_free(&quote!(__value #from_key));
    quote! {
        #[allow(dead_code)]
        const _: () = {
            #kept_free
            #[automatically_derived]
            impl #params #krate::__private::BucketKey for #ident #args #bounds {
                fn to_key(&self) -> #krate::__private::KeyValue<'_> {
                    #to_key
                }

                fn from_key(
                    __value: #krate::__private::KeyValue<'_>,
                ) -> ::core::result::Result<Self, #krate::__private::KeyError> {
                    #from_key
                }
            }
        };
    }
}
