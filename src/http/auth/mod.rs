//! Login, sessions, the current user.

mod body;
mod keys;
mod login;
mod sessions;

pub use keys::KeyChange;

use actix_web::web;
use utoipa::OpenApi;

use crate::route::resource;

/// The routes of this room.
pub fn routes(config: &mut web::ServiceConfig) {
    config
        .service(resource!("/api/v1/auth/login", post => login::login))
        .service(resource!("/api/v1/auth/cli/login", post => login::cli_login))
        .service(resource!("/api/v1/auth/refresh", post => login::refresh))
        .service(resource!("/api/v1/auth/logout", post => sessions::logout))
        .service(resource!("/api/v1/auth/logout-all", post => sessions::logout_all))
        .service(resource!("/api/v1/auth/password", post => sessions::password))
        .service(resource!("/api/v1/auth/me", get => sessions::me))
        .service(resource!("/api/v1/auth/sessions", get => sessions::list))
        .service(resource!("/api/v1/auth/sessions/{sid}", delete => sessions::end))
        .service(resource!("/api/v1/auth/keys/rotate", post => keys::rotate))
        .service(resource!("/.well-known/jwks.json", get => keys::jwks));
}

/// Their description.
#[derive(OpenApi, Debug)]
#[openapi(paths(
    login::login,
    login::cli_login,
    login::refresh,
    sessions::logout,
    sessions::logout_all,
    sessions::password,
    sessions::me,
    sessions::list,
    sessions::end,
    keys::rotate,
    keys::jwks,
))]
pub struct Api;
