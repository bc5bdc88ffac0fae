//! Devices, as people see them.

use actix_web::web;
use utoipa::OpenApi;

/// The routes of this room.
pub fn routes(_config: &mut web::ServiceConfig) {}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi()]
pub struct Api;
