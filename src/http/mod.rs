//! The routes. A handler parses the request, sends it to an actor and maps the result; it decides nothing.

pub mod admin;
pub mod agent_platform;
pub mod agents;
pub mod alerts;
pub mod anthropic;
pub mod audit;
pub mod auth;
pub mod device_jobs;
pub mod device_side;
pub mod devices;
pub mod docs;
pub mod engines;
pub mod firmware;
pub mod geofences;
pub mod governance;
pub mod health;
pub mod home;
pub mod incidents;
pub mod interface_a;
pub mod keys;
pub mod media;
pub mod medical;
pub mod memory;
pub mod metrics;
pub mod monitor;
pub mod openai;
pub mod owners;
pub mod realtime;
pub mod roles;
pub mod service_accounts;
pub mod status;
pub mod tasks;
pub mod teams;
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
        admin, agent_platform, anthropic, audit, docs, health, home, interface_a, keys, metrics, openai, owners, roles,
        status, teams, usage,
    };

    crate::route::operations! {
        interface_a::chat::chat,
        interface_a::models::list,
        openai::chat_completions::complete,
        anthropic::messages::create,
        anthropic::messages::count_tokens,
        openai::responses::create,
        openai::embeddings::create,
        agent_platform::gateway,
        usage::usage,
        openai::models::list,
        openai::models::get at "/v1/models/{id:.+}",
        agent_platform::chat,
        health::report,
        health::live,
        health::ready,
        status::status,
        roles::list,
        keys::list,
        keys::create,
        keys::get,
        keys::edit,
        keys::revoke,
        keys::rotate,
        teams::list,
        teams::create,
        teams::get,
        teams::edit,
        teams::delete,
        owners::list,
        owners::set at "/api/v1/owners/{owner:.+}",
        audit::list,
        admin::backup,
        admin::reload,
        home::home,
        home::manual,
        docs::openapi,
        docs::engines,
        docs::swagger,
        docs::redoc,
        docs::permissions,
        docs::asset,
        metrics::metrics,
    }
}

/// Returns every operation of the server.
pub fn operations() -> &'static [Operation] {
    static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
        let features = [
            auth::operations,
            users::operations,
            service_accounts::operations,
            devices::operations,
            device_side::operations,
            device_jobs::operations,
            incidents::operations,
            geofences::operations,
            governance::operations,
            alerts::operations,
            firmware::operations,
            realtime::operations,
            engines::operations,
            monitor::operations,
            agents::operations,
            tasks::operations,
            medical::operations,
            media::operations,
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
