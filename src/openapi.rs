//! The API's description, from the handlers' own types.

use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::examples::Examples;
use crate::http::{
    admin, agents, alerts, auth, chat_a, chat_agent, chat_b, device_jobs, device_side, devices, docs, embeddings,
    engines, firmware, geofences, health, incidents, keys, memory, messages, metrics, models_a, models_b, monitor,
    realtime, responses, status, tasks, usage, users,
};
use crate::schema::Flattened;

/// Every route of the server.
#[derive(OpenApi, Debug)]
#[openapi(
    info(
        title = "Muster",
        description = "A disaster network, an AI platform and an agent platform in one server. Every response carries \
            `X-Request-Id`; every limited one `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` \
            (Unix seconds at which the tightest window is full again); 429 and 503 carry `Retry-After` in seconds."
    ),
    paths(
        chat_a::chat, models_a::list,
        chat_b::complete, messages::create, messages::count_tokens, responses::create, models_b::list, models_b::get,
        chat_agent::chat, chat_agent::gateway, embeddings::create, usage::usage,
        health::report, health::live, health::ready, status::status,
        keys::list, keys::create, keys::get, keys::revoke, keys::rotate, admin::backup, admin::reload,
        docs::openapi, docs::swagger, docs::redoc, docs::asset, metrics::metrics,
    ),
    security(("key" = [])),
)]
struct Rest;

/// The description of every route of the server.
pub fn description() -> utoipa::openapi::OpenApi {
    let mut api = Rest::openapi();
    for room in [
        auth::Api::openapi(),
        users::Api::openapi(),
        devices::Api::openapi(),
        device_side::Api::openapi(),
        device_jobs::Api::openapi(),
        incidents::Api::openapi(),
        geofences::Api::openapi(),
        alerts::Api::openapi(),
        firmware::Api::openapi(),
        realtime::Api::openapi(),
        engines::Api::openapi(),
        monitor::Api::openapi(),
        agents::Api::openapi(),
        tasks::Api::openapi(),
        memory::Api::openapi(),
    ] {
        api.merge(room);
    }
    Credentials.modify(&mut api);
    Flattened.modify(&mut api);
    Examples.modify(&mut api);
    api
}

/// The whole document: the description, and the routes of each engine.
pub fn document() -> serde_json::Value {
    let mut document = serde_json::to_value(description()).unwrap_or_default();
    if let Some(paths) = document.get_mut("paths").and_then(serde_json::Value::as_object_mut) {
        paths.extend(engines::describe::paths());
    }
    document
}

struct Credentials;

impl Modify for Credentials {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("An API key: `mst_` + 12 characters + `_` + 43 characters"))
            .build();
        components.add_security_scheme("key", SecurityScheme::Http(bearer));
        let token = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "The token of a login (`POST /api/v1/auth/login`), good for 15 minutes; one that is bound to a device's \
                 key (`POST /api/v1/auth/cli/login`) is sent as `Authorization: DPoP <token>` with a proof in `DPoP`",
            ))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        let device = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "A JWT that the device signs itself, with the Ed25519 key that it was registered with. Header: `typ` \
                 `dev+jwt`, `alg` `EdDSA`, `kid` the key's RFC 7638 thumbprint (`credentials.kid` of the device). \
                 Claims: `sub` the device's id, `aud` `muster-device`, `iat`, `exp` (at most 5 minutes after `iat`), \
                 `jti`",
            ))
            .build();
        components.add_security_scheme("device", SecurityScheme::Http(device));
        let header = ApiKeyValue::with_description("x-api-key", "The same key, as Anthropic's clients send it");
        components.add_security_scheme("x_api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
    }
}
