//! Every engine of this build against its own definition, the catalogue, and inputs that nobody wrote.

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
