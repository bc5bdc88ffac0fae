//! Generates the OpenAPI schema of a body or the parameters of a query.
//!
//! utoipa's own derive describes a struct of the same names, types and documentation; bounds and defaults, which may be
//! constants, are put into its result.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Type};

use crate::attributes::{Field, FieldKind, Presence, RequestStruct, bounds, inner};

/// The implementation of `ToSchema` or `IntoParams`, or of both.
pub fn expand(request: &RequestStruct) -> TokenStream {
    let parameters = request.options.query.then(|| parameters(request));
    let schema = (request.options.body || !request.options.query).then(|| schema(request));
    quote! { #parameters #schema }
}

/// The fields that are described here, and the types of those that are flattened.
fn fields(request: &RequestStruct) -> (Vec<&Field>, Vec<&Type>) {
    let (flattened, own): (Vec<&Field>, Vec<&Field>) = request
        .fields
        .iter()
        .filter(|field| !field.options.hidden)
        .partition(|field| matches!(field.kind, FieldKind::Flatten));
    (own, flattened.iter().map(|field| &field.base).collect())
}

fn parameters(request: &RequestStruct) -> TokenStream {
    let (ident, (own, flattened)) = (&request.ident, fields(request));
    let members = own.iter().map(|field| member(field, true));
    let bounds = own.iter().filter_map(|field| bounded(field));
    let (types, names): (Vec<_>, Vec<_>) = own.iter().filter_map(|field| traced(field)).unzip();
    quote! {
        const _: () = {
            #[derive(::utoipa::IntoParams)]
            #[into_params(parameter_in = Query)]
            #[allow(dead_code, reason = "only described")]
            struct Description { #(#members),* }

            impl ::utoipa::IntoParams for #ident {
                fn into_params(
                    place: impl ::core::ops::Fn() -> ::core::option::Option<::utoipa::openapi::path::ParameterIn>,
                ) -> ::std::vec::Vec<::utoipa::openapi::path::Parameter> {
                    let mut parameters = <Description as ::utoipa::IntoParams>::into_params(&place);
                    #(::muster_request::describe::traced_parameter::<#types>(&mut parameters, #names);)*
                    #(::muster_request::describe::parameter(&mut parameters, #bounds);)*
                    #(parameters.extend(<#flattened as ::utoipa::IntoParams>::into_params(&place));)*
                    parameters
                }
            }
        };
    }
}

fn schema(request: &RequestStruct) -> TokenStream {
    let RequestStruct { ident, docs, options, .. } = request;
    let (own, flattened) = fields(request);
    let members = own.iter().map(|field| member(field, false));
    let bounds = own.iter().filter_map(|field| bounded(field));
    let (types, names): (Vec<_>, Vec<_>) = own.iter().filter_map(|field| traced(field)).unzip();
    let name = options.schema.as_ref().unwrap_or(ident);
    let required = options.required.iter().map(ToString::to_string);
    let close = (!options.open).then(|| quote! { ::muster_request::describe::close(&mut schema); });
    quote! {
        const _: () = {
            #(#docs)*
            #[derive(::utoipa::ToSchema)]
            #[schema(as = #name)]
            #[allow(dead_code, reason = "only described")]
            struct Description { #(#members),* }

            impl ::utoipa::PartialSchema for #ident {
                fn schema() -> ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema> {
                    let mut schema = <Description as ::utoipa::PartialSchema>::schema();
                    #(::muster_request::describe::traced::<#types>(&mut schema, #names);)*
                    #(::muster_request::describe::property(&mut schema, #bounds);)*
                    #(::muster_request::describe::flatten(
                        &mut schema,
                        <#flattened as ::utoipa::PartialSchema>::schema(),
                    );)*
                    ::muster_request::describe::require(&mut schema, &[#(#required),*]);
                    #close
                    ::muster_request::describe::example(&mut schema, <#ident as ::muster_request::Request>::example());
                    schema
                }
            }

            impl ::utoipa::ToSchema for #ident {
                fn name() -> ::std::borrow::Cow<'static, str> {
                    <Description as ::utoipa::ToSchema>::name()
                }

                fn schemas(
                    schemas: &mut ::std::vec::Vec<(
                        ::std::string::String,
                        ::utoipa::openapi::RefOr<::utoipa::openapi::schema::Schema>,
                    )>,
                ) {
                    <Description as ::utoipa::ToSchema>::schemas(schemas);
                    #(<#flattened as ::utoipa::ToSchema>::schemas(schemas);)*
                }
            }
        };
    }
}

/// A member of the described struct.
fn member(field: &Field, query: bool) -> TokenStream {
    let Field { ident, name, docs, base, options, .. } = field;
    let utoipa = &options.utoipa;
    let shown = options.schema.as_ref().unwrap_or(base);
    let shown = match field.presence {
        Presence::Required => quote! { #shown },
        Presence::Optional | Presence::Nullable | Presence::Defaulted(_) => quote! { ::core::option::Option<#shown> },
    };
    // utoipa knows some types by their bare names only.
    let value_type = options.schema.as_ref().map(|schema| match field.presence {
        Presence::Required => quote! { value_type = #schema, },
        _ => quote! { value_type = Option<#schema>, },
    });
    let renamed = (ident != name).then(|| quote! { rename = #name, });
    let attribute = if query {
        quote! { param }
    } else {
        quote! { schema }
    };
    let ty = if options.schema.is_some() {
        quote! { () }
    } else {
        shown
    };
    quote! { #(#docs)* #[#attribute(#value_type #renamed #utoipa)] #ident: #ty }
}

/// The type and the name of a field whose schema follows from what its type reads.
fn traced(field: &Field) -> Option<(&Type, &str)> {
    let by_serde = matches!(field.kind, FieldKind::Serde) || field.options.traced;
    by_serde.then_some((&field.base, field.name.as_str()))
}

/// The name of a field and the bounds of its schema, where it has any.
fn bounded(field: &Field) -> Option<TokenStream> {
    let (name, options) = (&field.name, &field.options);
    let numbers = options.range.as_ref().map(|range| {
        let (least, most) = bounds(range);
        let float = matches!(field.kind, FieldKind::Float);
        let number = |bound: Option<&Expr>, name: &str| {
            let name = quote::format_ident!("{name}");
            bound.map(|bound| match float {
                true => quote! { #name: ::core::option::Option::Some((#bound) as f64), },
                false => quote! { #name: ::core::option::Option::Some((#bound) as i128 as f64), },
            })
        };
        let (least, most) = (number(least, "minimum"), number(most, "maximum"));
        quote! { #least #most }
    });
    let sizes = |range: &Option<syn::ExprRange>, least: &str, most: &str| {
        range.as_ref().map(|range| {
            let (least_name, most_name) = (quote::format_ident!("{least}"), quote::format_ident!("{most}"));
            let (least, most) = bounds(range);
            let least = least.map(|least| quote! { #least_name: ::core::option::Option::Some(#least), });
            let most = most.map(|most| quote! { #most_name: ::core::option::Option::Some(#most), });
            quote! { #least #most }
        })
    };
    let (chars, items) =
        (sizes(&options.chars, "min_length", "max_length"), sizes(&options.items, "min_items", "max_items"));
    let default = default_value(field);
    if numbers.is_none() && chars.is_none() && items.is_none() && default.is_none() {
        return None;
    }
    Some(quote! {
        #name,
        ::muster_request::describe::Bounds {
            #numbers #chars #items #default
            ..::core::default::Default::default()
        }
    })
}

/// The default as JSON, where it is a literal or a constant of a plain type.
fn default_value(field: &Field) -> Option<TokenStream> {
    let Presence::Defaulted(default) = &field.presence else { return None };
    let plain = matches!(field.kind, FieldKind::Text | FieldKind::Bool | FieldKind::Integer | FieldKind::Float);
    let constant = matches!(&**default, Expr::Lit(_) | Expr::Path(_) | Expr::MethodCall(_));
    let list = inner(&field.base, "Vec").is_some();
    (plain && constant && !list)
        .then(|| quote! { default: ::core::option::Option::Some(::serde_json::json!(#default)), })
}
