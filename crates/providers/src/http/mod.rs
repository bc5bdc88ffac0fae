//! What every provider over HTTP has in common: its client, its bounds, its failures, its event stream.
//!
//! A wire (`openai`, `anthropic`, `gemini`) brings the request's body, the reading of a whole answer and an [`Events`]
//! that adds up a stream; everything between is here once.

mod body;
mod client;
mod errors;
mod origin;
mod pump;
mod send;
mod stream;

pub use client::{ConfigError, HttpConfig, install_tls};

pub(crate) use body::read_body;
pub(crate) use errors::{ErrorBody, classify};
pub(crate) use origin::{Asked, Origin, Reporter};
pub(crate) use send::{Mode, Post, post};
pub(crate) use stream::{Broken, Events, Flow, follow};

/// The most text of one streamed answer, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;
