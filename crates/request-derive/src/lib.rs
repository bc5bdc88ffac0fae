//! `#[derive(Request)]`: generates the reader, the OpenAPI schema or parameters and the example of a request from one
//! struct. The attributes are documented in `muster-request`.

#![warn(missing_docs)]

mod attributes;
mod description;
mod reader;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::attributes::RequestStruct;

/// Implements `muster_request::Request`, and `utoipa::ToSchema` for a body or `utoipa::IntoParams` for a query.
#[proc_macro_derive(Request, attributes(request, schema))]
pub fn derive_request(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    let expanded = RequestStruct::parse(input).map(|request| {
        let (reader, description) = (reader::expand(&request), description::expand(&request));
        quote::quote! { #reader #description }
    });
    expanded.unwrap_or_else(|error| error.to_compile_error()).into()
}
