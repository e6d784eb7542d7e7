//! `Bottle::specs().volume().ml()`: a method for each array, key and unit.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::LitStr;

use super::{
    array::{Array, Attribute},
    asked::Asked,
    filter_type,
    number::number,
};
use crate::{
    model::rust_name::{camel, snake},
    typed_path,
};

/// `Bottle::specs()` of each array.
pub(crate) fn methods(model: &Asked<'_>) -> TokenStream {
    let vis = model.vis;
    let methods = model.arrays.iter().filter_map(|array| {
        let (method, ident) = (snake(&array.name)?, array_type(model, array)?);
        let (ty, nothing) = (model.with_args(&ident), filter_type::nothing(model));
        let doc = format!(" Filters on the attributes in `{}`.", array.name);
        Some(quote! {
            #[doc = #doc]
            #[must_use]
            #vis const fn #method() -> #ty {
                #ident(#nothing)
            }
        })
    });
    quote!(#(#methods)*)
}

/// The types that the methods return.
pub(crate) fn types(model: &Asked<'_>) -> TokenStream {
    let types = model.arrays.iter().enumerate().filter_map(|(at, array)| {
        let cx = Context::new(model, at, array)?;
        let keys = array.keys();
        let (methods, types): (Vec<_>, Vec<_>) =
            keys.into_iter().filter_map(|key| cx.key(key)).unzip();
        let other = cx.other();
        let doc = format!(
            " Filters on the attributes of a `{}` in `{}`.",
            model.ident, array.name
        );
        let of_array = filter_type::declared(model, &cx.ty, &doc, &quote!(#(#methods)* #other));
        Some(quote! {
            #of_array
            #(#types)*
        })
    });
    quote!(#(#types)*)
}

fn array_type(model: &Asked<'_>, array: &Array) -> Option<Ident> {
    let name = camel(&snake(&array.name)?);
    Some(format_ident!("{}{}", model.ident, name))
}

/// An array with what its methods need.
struct Context<'a> {
    model: &'a Asked<'a>,
    array: &'a Array,
    ty: Ident,
    private: TokenStream,
    /// The array's spec.
    spec: TokenStream,
}

impl<'a> Context<'a> {
    fn new(model: &'a Asked<'a>, at: usize, array: &'a Array) -> Option<Self> {
        let specs = &model.specs;
        Some(Self {
            model,
            array,
            ty: array_type(model, array)?,
            spec: quote!(&#specs[#at]),
            private: model.private.clone(),
        })
    }

    /// The method of a key, and the type with the methods of its units.
    fn key(&self, key: &LitStr) -> Option<(TokenStream, TokenStream)> {
        let vis = &self.model.vis;
        let (text, method) = (key.value(), snake(&key.value())?);
        let fields: Vec<&Attribute> = self.array.of_key(key).collect();
        let doc = format!(" `{text}` in `{}`.", self.array.name);
        if let [field @ Attribute { u: None, .. }] = fields.as_slice() {
            let (ty, value) = self.attribute(field, &quote!(None));
            let method = quote! {
                #[doc = #doc]
                #[must_use]
                #vis fn #method(self) -> #ty {
                    #value
                }
            };
            return Some((method, TokenStream::new()));
        }
        let ty = format_ident!("{}{}", self.ty, camel(&method));
        let units = fields.iter().filter_map(|field| self.unit(field));
        let any = self.any(&fields);
        let converted = self.converted(&text, &fields);
        let (output, nothing) = (self.model.with_args(&ty), filter_type::nothing(self.model));
        let of_key = quote! {
            #[doc = #doc]
            #[must_use]
            #vis const fn #method(self) -> #output {
                #ty(#nothing)
            }
        };
        let methods = quote!(#(#units)* #any #converted);
        let types = filter_type::declared(self.model, &ty, &doc, &methods);
        Some((of_key, types))
    }

    /// The method of a unit.
    fn unit(&self, field: &Attribute) -> Option<TokenStream> {
        let vis = &self.model.vis;
        let (method, unit, doc) = if let Some(unit) = &field.u {
            let unit = unit.value();
            let doc = format!(" In `{unit}`: the field `{}`.", field.ident);
            (snake(&unit)?, quote!(Is(#unit)), doc)
        } else {
            let doc = format!(" Without a unit: the field `{}`.", field.ident);
            (format_ident!("without_unit"), quote!(None), doc)
        };
        let (ty, value) = self.attribute(field, &unit);
        Some(quote! {
            #[doc = #doc]
            #[must_use]
            #vis fn #method(self) -> #ty {
                #value
            }
        })
    }

    /// The method that matches any unit without conversion.
    fn any(&self, fields: &[&Attribute]) -> TokenStream {
        let vis = &self.model.vis;
        // A number compares with numbers and with text, text only with text.
        let number = fields.iter().find(|field| !field.text);
        let Some(field) = number.or(fields.first()) else {
            return TokenStream::new();
        };
        let (ty, value) = self.attribute(field, &quote!(Any));
        quote! {
            /// In any unit, without conversion; a value stored as text matches only by equality.
            #[must_use]
            #vis fn any_unit(self) -> #ty {
                #value
            }
        }
    }

    /// The methods that compare values of all units, one method for each unit.
    fn converted(&self, k: &str, fields: &[&Attribute]) -> TokenStream {
        let (vis, private, spec) = (&self.model.vis, &self.private, &self.spec);
        let of = |field: &&Attribute| field.u.as_ref().map(LitStr::value).zip(field.factor);
        let units: Vec<(String, f64)> = fields.iter().filter_map(of).collect();
        let methods = units.iter().filter_map(|(asked, base)| {
            let method = format_ident!("in_{}", snake(asked)?.to_string().trim_start_matches("r#"));
            let doc = format!(" In `{asked}`; values in other units are converted.");
            // Its own first, as `convert` reads them.
            let own = units.iter().filter(|(unit, _)| unit == asked);
            let others = units.iter().filter(|(unit, _)| unit != asked);
            let each = own.chain(others).map(|(unit, factor)| {
                let factor = if unit == asked { 1.0 } else { factor / base };
                let factor = number(factor);
                quote!((#unit, #factor))
            });
            Some(quote! {
                #[doc = #doc]
                #[must_use]
                #vis fn #method(self) -> #private::Attribute<::core::primitive::f64> {
                    #private::Attribute::new(#spec, #k, #private::Unit::Converted(&[#(#each),*]))
                }
            })
        });
        quote!(#(#methods)*)
    }

    /// The method for keys that the struct does not name.
    fn other(&self) -> TokenStream {
        let (vis, private, spec) = (&self.model.vis, &self.private, &self.spec);
        let rest = self.array.rest.as_ref();
        let Some((rest, method)) = rest.zip(snake(&self.array.k)) else {
            return TokenStream::new();
        };
        let value = typed_path::of(&rest.ty, private, "AttributeRest", "Value");
        let attribute = quote!(#private::Attribute);
        let ty = typed_path::wrapped(&rest.ty, &attribute, &value);
        let body = typed_path::call(
            &rest.ty,
            &quote!(#attribute::new),
            quote!(#spec, __key, #private::Unit::Any),
        );
        let doc = format!(" The value of this `{}`, in any unit.", self.array.k);
        quote! {
            #[doc = #doc]
            #[must_use]
            #vis fn #method(
                self,
                __key: impl ::core::convert::Into<::std::borrow::Cow<'static, ::core::primitive::str>>,
            ) -> #ty {
                #body
            }
        }
    }

    /// The type and the value of an attribute.
    fn attribute(&self, field: &Attribute, unit: &TokenStream) -> (TokenStream, TokenStream) {
        let (private, spec) = (&self.private, &self.spec);
        let k = field.k.value();
        let value = typed_path::of(&field.ty, private, "AttributeValue", "Value");
        let kind = if field.text {
            quote!(TextAttribute)
        } else {
            quote!(Attribute)
        };
        let attribute = quote!(#private::#kind);
        let new = quote!(#attribute::new);
        (
            typed_path::wrapped(&field.ty, &attribute, &value),
            typed_path::call(&field.ty, &new, quote!(#spec, #k, #private::Unit::#unit)),
        )
    }
}
