//! Shared by all providers over HTTP: client, limits, failures and event streams.
//!
//! A wire protocol (`openai`, `anthropic`, `gemini`) provides the request body, the parser of a complete answer and an
//! [`Events`] implementation for streams; everything else is here.

mod body;
mod client;
mod errors;
mod origin;
mod peek;
mod pump;
mod send;
mod stream;

pub use client::{ConfigError, HttpConfig, install_tls};

pub(crate) use body::{read_body, read_picture_body};
pub(crate) use errors::{ErrorBody, classify};
pub(crate) use origin::{Origin, Reporter, RequestText};
pub(crate) use peek::{BodyKind, Peeked, peek};
pub(crate) use send::{Mode, Post, post};
pub(crate) use stream::{Broken, Events, Flow, follow};

/// Maximum text of one streamed answer, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;
