//! Errors of the HTTP interface: one type, one table from kind to status, and six dialects.
//!
//! A handler returns `Err(HttpError)`; no handler builds an error body. [`render`] writes it in the dialect of the
//! route.

mod dialect;
mod render;
pub mod sets;
mod table;

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError};
use muster_core::{Error, Kind};

pub use dialect::Dialect;
pub use render::{Credential, ErrorA, ErrorAgent, ErrorB, ErrorDisaster, ErrorMessages, FailedCheck, body, render};
pub use table::{code, status};

/// An error response. It is rendered by the middleware, which knows the route.
#[derive(Debug, Clone)]
pub struct HttpError(pub Error);

impl HttpError {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self(Error::new(kind, message))
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Into<Error>> From<E> for HttpError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl ResponseError for HttpError {
    fn status_code(&self) -> StatusCode {
        status(self.0.kind, Dialect::Agent)
    }

    /// A placeholder: the middleware replaces it.
    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.status_code())
    }
}
