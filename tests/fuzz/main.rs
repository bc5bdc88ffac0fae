//! Fuzz tests of everything that reads bytes from outside: one test per reader.
//!
//! Each test replays its corpus (`tests/fuzz/corpus/<test>/`), then tries mutations of it. A run without settings is
//! short and always the same. `make fuzz SECONDS=60` runs each test for that long, from another seed every time; the
//! seed is printed with a finding. `README.md` beside this file says what to do with one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod campaign;
mod mutate;

mod backups;
mod documents;
mod engines;
mod frames;
mod json;
mod session;
mod snapshots;
mod sse;
