//! Readers and writers of structs.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error, Result};

use crate::members::{Member, members};

pub(crate) fn input(item: &DeriveInput) -> Result<TokenStream> {
    let members = members(item)?;
    if let Some(special) = members.iter().find(|member| member.skip || member.extra) {
        return Err(Error::new_spanned(special.ident, "a member of an input is neither skipped nor extra"));
    }
    let name = &item.ident;
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    let shape = shape(&members, &quote!(FromValue));
    let reads = members.iter().map(|member| {
        let (ident, wire, kind) = (member.ident, &member.wire, member.kind);
        let read = if member.optional { quote!(optional) } else { quote!(required) };
        quote!(#ident: members.#read::<#kind>(#wire)?)
    });
    Ok(quote! {
        impl #generics ::muster_engine::wire::FromValue for #name #arguments #bounds {
            fn shape() -> ::muster_engine::wire::Shape {
                #shape
            }

            fn from_value(value: ::muster_engine::wire::Value) -> ::core::result::Result<Self, ::muster_engine::wire::Mismatch> {
                let mut members = ::muster_engine::wire::Members::of(value)?;
                let _ = &mut members;
                ::core::result::Result::Ok(Self { #(#reads),* })
            }
        }
    })
}

pub(crate) fn output(item: &DeriveInput) -> Result<TokenStream> {
    let members: Vec<Member<'_>> = members(item)?.into_iter().filter(|member| !member.skip).collect();
    let name = &item.ident;
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    let shape = shape(&members, &quote!(ToValue));
    let writes = members.iter().map(|member| {
        let (ident, wire) = (member.ident, &member.wire);
        if member.optional {
            quote! {
                if let ::core::option::Option::Some(value) = self.#ident {
                    members.insert(::std::string::String::from(#wire), ::muster_engine::wire::ToValue::to_value(value));
                }
            }
        } else {
            quote! {
                members.insert(::std::string::String::from(#wire), ::muster_engine::wire::ToValue::to_value(self.#ident));
            }
        }
    });
    Ok(quote! {
        impl #generics ::muster_engine::wire::ToValue for #name #arguments #bounds {
            fn shape() -> ::muster_engine::wire::Shape {
                #shape
            }

            fn to_value(self) -> ::muster_engine::wire::Value {
                let mut members = ::muster_engine::wire::Map::new();
                #(#writes)*
                ::muster_engine::wire::Value::Object(members)
            }
        }
    })
}

fn shape(members: &[Member<'_>], of: &TokenStream) -> TokenStream {
    let members = members.iter().filter(|member| !member.extra).map(|member| {
        let (wire, kind, optional) = (&member.wire, member.kind, member.optional);
        let unit = match member.unit {
            Some(unit) => quote!(::core::option::Option::Some(#unit)),
            None => quote!(::core::option::Option::None),
        };
        quote! {
            ::muster_engine::wire::MemberShape {
                name: #wire,
                unit: #unit,
                optional: #optional,
                shape: <#kind as ::muster_engine::wire::#of>::shape(),
            }
        }
    });
    quote!(::muster_engine::wire::Shape::Record(::std::vec![#(#members),*]))
}
