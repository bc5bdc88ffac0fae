//! Generates the implementation of `Request`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{ExprRange, Type};

use crate::attributes::{Field, FieldKind, Presence, RequestStruct, bounds};

/// The implementation of `Request`.
pub fn expand(request: &RequestStruct) -> TokenStream {
    let RequestStruct { ident, options, fields, .. } = request;
    let reads = fields.iter().map(read);
    let values = fields.iter().map(value);
    let names = fields.iter().map(name_of);
    let check = options.check.as_ref().map(|check| quote! { #check(fields); });
    let first = options.first.as_ref().map(|first| quote! { #first(fields); });
    let required = options.required.iter().map(|name| {
        let name = name.to_string();
        quote! { let _ = fields.require::<()>(#name, ::core::option::Option::None); }
    });
    let (example, conversion) = (example(request), conversion(request));
    let (images, empty, open) = (options.takes_images, options.may_be_empty, options.open);
    let (last, skip_empty) = (options.last, options.skip_empty);
    quote! {
        impl ::muster_request::Request for #ident {
            const TAKES_IMAGES: bool = #images;
            const MAY_BE_EMPTY: bool = #empty;
            const OPEN: bool = #open;
            const QUERY: ::muster_request::QueryRules =
                ::muster_request::QueryRules { last_counts: #last, skip_empty: #skip_empty };

            #[allow(unused_variables, reason = "a request may have no fields")]
            fn read(fields: &mut ::muster_request::Fields<'_>) -> ::core::option::Option<Self> {
                #first
                #(#reads)*
                #(#required)*
                #check
                ::core::option::Option::Some(Self { #(#values),* })
            }

            #[allow(unused_variables, reason = "a request may have no fields")]
            fn names(names: &mut ::std::vec::Vec<&'static str>) {
                #(#names)*
            }

            fn example() -> ::serde_json::Map<::std::string::String, ::serde_json::Value> {
                #example
            }
        }
        #conversion
    }
}

/// The conversion into another struct with the same fields.
fn conversion(request: &RequestStruct) -> Option<TokenStream> {
    let (ident, into) = (&request.ident, request.options.into.as_ref()?);
    let fields = request.fields.iter().map(|field| {
        let name = &field.ident;
        match field.kind {
            FieldKind::Flatten => quote! { #name: ::core::convert::Into::into(request.#name) },
            _ => quote! { #name: request.#name },
        }
    });
    Some(quote! {
        impl ::core::convert::From<#ident> for #into {
            fn from(request: #ident) -> Self {
                Self { #(#fields),* }
            }
        }
    })
}

/// Reads one field into a variable: an `Option` where it is required, else the field's own type.
fn read(field: &Field) -> TokenStream {
    let Field { name, base, options, .. } = field;
    let variable = variable(field);
    match field.kind {
        FieldKind::Flatten => return quote! { let #variable = <#base as ::muster_request::Request>::read(fields); },
        FieldKind::Described => return quote! { let #variable = (); },
        _ => {}
    }
    let message = match &options.message {
        Some(message) => quote! { ::core::option::Option::Some(&|| ::std::string::ToString::to_string(&(#message))) },
        None => quote! { ::core::option::Option::None },
    };
    let value = base_value(field, &message);
    let refuse_null = options.not_null.then(|| quote! { fields.refuse_null(#name); });
    let no_nul = options.no_nul;
    let chars = options.chars.as_ref().map(|range| {
        let (least, most) = sizes(range);
        quote! { let value = fields.chars(#name, value, #least, #most, #no_nul, #message); }
    });
    // Of a list of requests, those are counted that were sent.
    let items = options.items.as_ref().filter(|_| !matches!(field.kind, FieldKind::List)).map(|range| {
        let (least, most) = sizes(range);
        quote! { let value = fields.items(#name, value, #least, #most, #message); }
    });
    let check = options.check.as_ref().map(|check| {
        quote! { let value = fields.check(#name, value, |value: &#base| #check(value)); }
    });
    let presence = match &field.presence {
        Presence::Required => quote! { fields.required(#name, value, before) },
        Presence::Optional => quote! { value },
        Presence::Nullable => quote! { fields.nullable(#name, value) },
        Presence::Defaulted(default) => quote! { value.unwrap_or_else(|| #default) },
    };
    let before = matches!(field.presence, Presence::Required).then(|| quote! { let before = fields.failures(); });
    quote! {
        let #variable = {
            #before
            #refuse_null
            let value: ::core::option::Option<#base> = #value;
            #chars #items #check
            #presence
        };
    }
}

fn base_value(field: &Field, message: &TokenStream) -> TokenStream {
    let Field { name, base, options, .. } = field;
    match &field.kind {
        FieldKind::Text => quote! { fields.string(#name) },
        FieldKind::Bool => quote! { fields.bool(#name) },
        FieldKind::Any => quote! { fields.value(#name).cloned() },
        FieldKind::Integer => {
            let (least, most) = options.range.as_ref().map_or((None, None), bounds);
            let least = least.map_or_else(|| quote! { <#base>::MIN }, |least| quote! { #least });
            let most = most.map_or_else(|| quote! { <#base>::MAX }, |most| quote! { #most });
            quote! { fields.integer_or::<#base>(#name, (#least) as i128..=(#most) as i128, #message) }
        }
        FieldKind::Float => {
            let (least, most) = options.range.as_ref().map_or((None, None), bounds);
            let least = least.map_or_else(|| quote! { f64::NEG_INFINITY }, |least| quote! { #least });
            let most = most.map_or_else(|| quote! { f64::INFINITY }, |most| quote! { #most });
            quote! { fields.number_or(#name, #least..=#most, #message).map(|number| number as #base) }
        }
        FieldKind::Serde => quote! { fields.choice(#name) },
        FieldKind::Nested => quote! { fields.nested::<#base>(#name) },
        FieldKind::List => match options.items.as_ref().map(sizes) {
            None => quote! { fields.list(#name) },
            Some((least, most)) => quote! { fields.list_of(#name, #least, #most, #message) },
        },
        FieldKind::With(with) => {
            let using = options.using.iter().map(|name| format_ident!("field_{name}"));
            quote! { #with(fields, #name #(, &#using)*) }
        }
        FieldKind::Flatten | FieldKind::Described => quote! { ::core::option::Option::None },
    }
}

/// Sizes of a text or list: the least, and the most where there is one.
fn sizes(range: &ExprRange) -> (TokenStream, TokenStream) {
    let (least, most) = bounds(range);
    let least = least.map_or_else(|| quote! { 0 }, |least| quote! { #least });
    let most = most
        .map_or_else(|| quote! { ::core::option::Option::None }, |most| quote! { ::core::option::Option::Some(#most) });
    (least, most)
}

fn variable(field: &Field) -> syn::Ident {
    format_ident!("field_{}", field.ident.to_string().trim_start_matches("r#"))
}

fn value(field: &Field) -> TokenStream {
    let (ident, variable) = (&field.ident, variable(field));
    match (&field.kind, &field.presence) {
        (FieldKind::Flatten, _) | (_, Presence::Required) => quote! { #ident: #variable? },
        _ => quote! { #ident: #variable },
    }
}

fn name_of(field: &Field) -> TokenStream {
    let Field { name, base, .. } = field;
    match field.kind {
        FieldKind::Flatten => quote! { <#base as ::muster_request::Request>::names(names); },
        _ => quote! { names.push(#name); },
    }
}

/// The struct's own example, or one made of the fields'.
fn example(request: &RequestStruct) -> TokenStream {
    if let Some(example) = &request.options.example {
        return quote! {
            match ::serde_json::json!(#example) {
                ::serde_json::Value::Object(example) => example,
                _ => ::serde_json::Map::new(),
            }
        };
    }
    let parts = request.fields.iter().filter_map(|field| {
        let Field { name, base, options, .. } = field;
        let base: &Type = base;
        match (&field.kind, &options.example) {
            (FieldKind::Flatten, _) => {
                Some(quote! { example.extend(<#base as ::muster_request::Request>::example()); })
            }
            (_, Some(value)) => {
                Some(quote! { example.insert(::std::string::String::from(#name), ::serde_json::json!(#value)); })
            }
            (_, None) => None,
        }
    });
    quote! {
        #[allow(unused_mut, reason = "a request may have no examples")]
        let mut example = ::serde_json::Map::new();
        #(#parts)*
        example
    }
}
