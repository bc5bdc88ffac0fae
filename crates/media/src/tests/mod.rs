//! Pictures built by hand, byte by byte.

mod build;
mod decoding;
mod headers;
mod mutations;
mod upright;
