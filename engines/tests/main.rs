//! Tests every engine against its definition, the catalogue, and random inputs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod catalogue;
mod definitions;
mod random;
