//! The routes. A handler parses, asks an actor, maps the answer; it decides nothing.

pub mod admin;
pub mod agents;
pub mod alerts;
pub mod auth;
pub mod chat_a;
pub mod chat_agent;
pub mod chat_b;
pub mod device_jobs;
pub mod device_side;
pub mod devices;
pub mod docs;
pub mod embeddings;
pub mod engines;
pub mod firmware;
pub mod geofences;
pub mod health;
pub mod incidents;
pub mod keys;
pub mod memory;
pub mod messages;
pub mod metrics;
pub mod models_a;
pub mod models_b;
pub mod monitor;
pub mod realtime;
pub mod responses;
pub mod roles;
pub mod status;
pub mod tasks;
pub mod usage;
pub mod users;

use std::sync::LazyLock;

use actix_web::{HttpResponse, web};
use muster_core::Kind;

use crate::error::HttpError;
use crate::route::{self, Operation};

mod platform {
    //! The operations of features that are one file.

    use super::{
        admin, chat_a, chat_agent, chat_b, docs, embeddings, health, keys, messages, metrics, models_a, models_b,
        responses, roles, status, usage,
    };

    crate::route::operations! {
        chat_a::chat,
        models_a::list,
        chat_b::complete,
        messages::create,
        messages::count_tokens,
        responses::create,
        embeddings::create,
        chat_agent::gateway,
        usage::usage,
        models_b::list,
        models_b::get at "/v1/models/{id:.+}",
        chat_agent::chat,
        health::report,
        health::live,
        health::ready,
        status::status,
        roles::list,
        keys::list,
        keys::create,
        keys::get,
        keys::revoke,
        keys::rotate,
        admin::backup,
        admin::reload,
        docs::openapi,
        docs::swagger,
        docs::redoc,
        docs::asset,
        metrics::metrics,
    }
}

/// Every operation of the server.
pub fn operations() -> &'static [Operation] {
    static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        let features = [
            auth::operations,
            users::operations,
            devices::operations,
            device_side::operations,
            device_jobs::operations,
            incidents::operations,
            geofences::operations,
            alerts::operations,
            firmware::operations,
            realtime::operations,
            engines::operations,
            monitor::operations,
            agents::operations,
            tasks::operations,
            memory::operations,
            platform::operations,
        ];
        features.iter().flat_map(|operations| operations()).collect()
    });
    &OPERATIONS
}

/// Serves every operation; any other path is 404.
pub fn routes(config: &mut web::ServiceConfig) {
    route::serve(operations(), config);
    config.default_service(web::to(|request: actix_web::HttpRequest| std::future::ready(not_found(request.path()))));
}

fn not_found(path: &str) -> Result<HttpResponse, HttpError> {
    let path: String = path.chars().take(200).collect();
    Err(HttpError::new(Kind::NotFound, format!("there is nothing at {path}: /openapi.json lists every route")))
}
