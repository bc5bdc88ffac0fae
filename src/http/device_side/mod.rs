//! Routes that devices call with tokens that they sign themselves.

mod commands;
mod incidents;

use std::sync::Arc;

use actix_web::HttpRequest;
use muster_core::Kind;
use muster_identity::By;

use crate::error::HttpError;
use crate::guard::by_of;
use crate::route::operations;

operations! {
    commands::next,
    commands::ack,
    incidents::report,
}

/// Returns the identifier of the calling device.
fn device(http: &HttpRequest) -> Result<Arc<str>, HttpError> {
    match by_of(http)? {
        By::Device(id) => Ok(id),
        By::Person(_) | By::Key(_) | By::System => {
            Err(HttpError::new(Kind::Internal, "a route for devices admitted another caller"))
        }
    }
}
