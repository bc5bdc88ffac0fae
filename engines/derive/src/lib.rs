//! Derives of `muster-engine`: readers and writers over JSON values, and shapes that tests compare with the catalogue.
//!
//! A member's name on the wire is its Rust name without its unit: `wind_speed_km_h` is `wind_speed`. `r#type` is `type`.
//! Names that end like a unit in the catalogue itself, such as `max_tokens`, stay as they are. `units.rs` has both tables.
//!
//! Attributes of a member: `#[wire(name = "…")]` names it, `#[wire(skip)]` leaves it out of an output,
//! `#[wire(extra)]` writes it beside what the catalogue declares. Attributes of an
//! enum that derives `Words`: `#[wire(case = "snake" | "kebab" | "lower" | "upper" | "pascal")]`, `snake` if absent; of
//! its variant: `#[wire(name = "…")]`.

mod members;
mod record;
mod units;
mod words;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Derives `FromValue`: a reader of an object of the wire. `Option` members may be absent or `null`.
#[proc_macro_derive(Input, attributes(wire))]
pub fn input(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    record::input(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives `ToValue`: a writer of an object of the wire. `Option` members that are `None` are left out.
#[proc_macro_derive(Output, attributes(wire))]
pub fn output(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    record::output(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Derives `Words`, `FromValue` and `ToValue` for an enum of variants without data: a closed list of words.
#[proc_macro_derive(Words, attributes(wire))]
pub fn words(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as DeriveInput);
    words::derive(&item).unwrap_or_else(|error| error.to_compile_error()).into()
}
