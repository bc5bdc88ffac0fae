//! Closed lists of words.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, LitStr, Result};

use crate::members::Wire;

pub(crate) fn derive(item: &DeriveInput) -> Result<TokenStream> {
    let Data::Enum(data) = &item.data else {
        return Err(Error::new_spanned(&item.ident, "only an enum is a closed list of words"));
    };
    let case = Case::read(Wire::read(&item.attrs)?.case.as_ref())?;
    let (mut variants, mut words): (Vec<_>, Vec<String>) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(Error::new_spanned(variant, "a word has no data"));
        }
        let word = Wire::read(&variant.attrs)?.name.unwrap_or_else(|| case.word(&variant.ident.unraw().to_string()));
        if words.contains(&word) {
            return Err(Error::new_spanned(variant, format!("another variant is `{word}` already")));
        }
        variants.push(&variant.ident);
        words.push(word);
    }
    let name = &item.ident;
    Ok(quote! {
        impl ::muster_engine::wire::Words for #name {
            const ALL: &'static [(Self, &'static str)] = &[#((Self::#variants, #words)),*];

            fn word(&self) -> &'static str {
                match self {
                    #(Self::#variants => #words),*
                }
            }
        }

        impl ::muster_engine::wire::FromValue for #name {
            fn shape() -> ::muster_engine::wire::Shape {
                ::muster_engine::wire::Shape::Words(::std::vec![#(#words),*])
            }

            fn from_value(value: ::muster_engine::wire::Value) -> ::core::result::Result<Self, ::muster_engine::wire::Mismatch> {
                match value.as_str() {
                    #(::core::option::Option::Some(#words) => ::core::result::Result::Ok(Self::#variants),)*
                    _ => ::core::result::Result::Err(::muster_engine::wire::Mismatch::words(&[#(#words),*])),
                }
            }
        }

        impl ::muster_engine::wire::ToValue for #name {
            fn shape() -> ::muster_engine::wire::Shape {
                ::muster_engine::wire::Shape::Words(::std::vec![#(#words),*])
            }

            fn to_value(self) -> ::muster_engine::wire::Value {
                ::muster_engine::wire::Value::from(::muster_engine::wire::Words::word(&self))
            }
        }
    })
}

/// How the name of a variant becomes a word.
enum Case {
    Separated(char),
    Lower,
    Upper,
    Pascal,
}

impl Case {
    fn read(name: Option<&LitStr>) -> Result<Self> {
        let Some(name) = name else { return Ok(Self::Separated('_')) };
        match name.value().as_str() {
            "snake" => Ok(Self::Separated('_')),
            "kebab" => Ok(Self::Separated('-')),
            "lower" => Ok(Self::Lower),
            "upper" => Ok(Self::Upper),
            "pascal" => Ok(Self::Pascal),
            _ => Err(Error::new_spanned(name, "known are `snake`, `kebab`, `lower`, `upper` and `pascal`")),
        }
    }

    fn word(&self, variant: &str) -> String {
        match self {
            Self::Lower => variant.to_lowercase(),
            Self::Upper => variant.to_uppercase(),
            Self::Pascal => variant.to_owned(),
            Self::Separated(separator) => {
                let mut word = String::new();
                for (at, letter) in variant.chars().enumerate() {
                    if letter.is_uppercase() && at > 0 {
                        word.push(*separator);
                    }
                    word.extend(letter.to_lowercase());
                }
                word
            }
        }
    }
}
