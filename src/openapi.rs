//! The OpenAPI description of the server, collected from the registered operations.

mod shared;

use std::collections::BTreeSet;

use muster_engines::Family;
use serde_json::Value;
use utoipa::openapi::path::{HttpMethod, PathItem};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::tag::TagBuilder;
use utoipa::{Modify, OpenApi};

use crate::error::{ErrorA, ErrorAgent, ErrorB, ErrorDisaster, ErrorMessages, FailedCheck};
use crate::examples::Examples;
use crate::http;
use crate::route::{Description, Operation};
use crate::schema::{Flattened, NamedData, records};

/// The description without its operations.
#[derive(OpenApi, Debug)]
#[openapi(
    info(
        title = "Muster",
        description = "A disaster network, an AI gateway and an agent platform in one server.\n\nEvery response has the \
            header `X-Request-Id`. A response to a request that is subject to rate limits has `X-RateLimit-Limit`, \
            `X-RateLimit-Remaining` and `X-RateLimit-Reset` (Unix time in seconds at which the most restrictive window \
            is full again); 429 and 503 have `Retry-After` in seconds."
    ),
    components(schemas(
        ErrorA,
        ErrorAgent,
        ErrorB,
        ErrorDisaster,
        ErrorMessages,
        FailedCheck,
        http::engines::EngineBody,
        http::engines::Explanation
    ))
)]
struct Base;

/// The tags, in the order in which readers list them.
const TAGS: [(&str, &str); 22] = [
    ("incidents", "Incidents: reports, state transitions, notes, resources and the timeline"),
    ("alerts", "Alerts by the Common Alerting Protocol (CAP 1.2): publication, confirmation, import and export"),
    ("devices", "Devices: registration, state, telemetry, commands and credentials"),
    ("device side", "Operations that a device calls: its commands, jobs and incident reports"),
    ("firmware", "Firmware: signing keys, signed images and staged rollouts"),
    ("geofences", "Geofences: areas that record the devices entering and leaving them"),
    ("realtime", "The live feed: WebSocket, server-sent events, channel history and presence"),
    ("auth", "Login, sessions, passwords and the keys that sign session tokens"),
    ("users", "User accounts, their roles and grants"),
    ("interface A", "Chat, models and translation in Muster's own format"),
    ("interface B", "Chat, responses, embeddings and models in OpenAI's format, messages in Anthropic's format"),
    ("chat", "Chat of the agent platform, with failover and budgets for each call"),
    ("agents", "Agents: the catalogue, runs and the live monitor"),
    ("tasks", "Tasks: state, events and control"),
    ("engines", "Engines: deterministic computations with typed input and output"),
    (
        "medical",
        "Clinical decision support by rules: triage, protocols, scores and referral criteria, each with its source",
    ),
    ("memory", "Semantic memory: entries with versions, searched by words and by meaning"),
    ("keys", "API keys and their usage"),
    ("admin", "Administration: backup and settings"),
    ("governance", "Governance: approvals, the audit log, policy, financials, compliance and deployments"),
    ("status", "State of the server and its metrics"),
    ("health", "Health checks for load balancers and orchestrators"),
];

/// The tag of the operations that return this description.
const DOCS: (&str, &str) = ("docs", "This description, and pages that display it");

/// Returns the description of every operation whose schemas are Rust types: all but those of single engines.
pub fn description() -> utoipa::openapi::OpenApi {
    let mut api = Base::openapi();
    api.servers = Some(vec![ServerBuilder::new().url("/").description(Some("This server")).build()]);
    let tags = TAGS.iter().chain([&DOCS]);
    api.tags = Some(tags.map(|(name, text)| TagBuilder::new().name(*name).description(Some(*text)).build()).collect());
    for operation in http::operations() {
        add(&mut api, operation);
    }
    Credentials.modify(&mut api);
    Flattened.modify(&mut api);
    NamedData.modify(&mut api);
    Examples.modify(&mut api);
    api
}

fn add(api: &mut utoipa::openapi::OpenApi, operation: &Operation) {
    let components = api.components.get_or_insert_default();
    components.schemas.extend(operation.components.iter().flat_map(|found| found.schemas.clone()));
    if let Description::One(path, described) = &operation.description {
        let method = match operation.method.as_str() {
            "PUT" => HttpMethod::Put,
            "POST" => HttpMethod::Post,
            "DELETE" => HttpMethod::Delete,
            "PATCH" => HttpMethod::Patch,
            _ => HttpMethod::Get,
        };
        let item = PathItem::new(method, (**described).clone());
        api.paths.paths.entry(path.clone()).or_default().merge_operations(item);
    }
}

/// Returns the description, its schemas completed by the types of the records.
pub fn described() -> Value {
    let mut document = serde_json::to_value(description()).unwrap_or_default();
    records::complete_all(&mut document);
    document
}

/// Returns the document: the description with the operations of each engine.
pub fn document() -> Value {
    let mut document = described();
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        for operation in http::operations() {
            if let Description::Many(describe) = &operation.description {
                paths.extend(describe());
            }
        }
    }
    document
}

/// Returns the document as it is served: what many operations have alike stands once.
pub fn served() -> Value {
    let mut document = document();
    shared::share_responses(&mut document);
    document
}

/// Returns the part of the document with the runs of a family's engines, and the components to which they refer.
pub fn slice(document: &Value, family: Family) -> Value {
    let mut slice = document.clone();
    let of_family = |path: &str| {
        let number = path.strip_prefix("/api/q").and_then(|rest| rest.split('/').next());
        let engine = number.and_then(|number| number.parse().ok()).and_then(muster_engines::by_number);
        engine.is_some_and(|engine| engine.family == family && path.ends_with("/run"))
    };
    if let Some(paths) = slice.get_mut("paths").and_then(Value::as_object_mut) {
        paths.retain(|path, _| of_family(path));
    }
    let paths = slice.get("paths").map(Value::to_string).unwrap_or_default();
    if let Some(schemas) = slice.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
        let mut kept: BTreeSet<String> = references(&paths);
        loop {
            let texts = schemas.iter().filter(|(name, _)| kept.contains(*name)).map(|(_, schema)| schema.to_string());
            let more: BTreeSet<String> = texts.flat_map(|text| references(&text)).collect();
            if more.is_subset(&kept) {
                break;
            }
            kept.extend(more);
        }
        schemas.retain(|name, _| kept.contains(name));
    }
    shared::share_responses(&mut slice);
    slice
}

/// Returns the names of the schemas to which a text of JSON refers.
fn references(text: &str) -> BTreeSet<String> {
    let mark = "\"#/components/schemas/";
    text.split(mark).skip(1).filter_map(|rest| rest.split('"').next().map(str::to_owned)).collect()
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
                "A session token (`POST /api/v1/auth/login`), valid for 15 minutes. A token bound to a key (`POST \
                 /api/v1/auth/cli/login`) is sent as `Authorization: DPoP <token>` with a proof in the header `DPoP`",
            ))
            .build();
        components.add_security_scheme("token", SecurityScheme::Http(token));
        let device = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some(
                "A JWT signed by the device with its registered Ed25519 key. Header: `typ` \
                 `dev+jwt`, `alg` `EdDSA`, `kid` the key's RFC 7638 thumbprint (`credentials.kid` of the device). \
                 Claims: `sub` the device's id, `aud` `muster-device`, `iat`, `exp` (at most 5 minutes after `iat`), \
                 `jti`",
            ))
            .build();
        components.add_security_scheme("device", SecurityScheme::Http(device));
        let header = ApiKeyValue::with_description("x-api-key", "An API key, as Anthropic's clients send it");
        components.add_security_scheme("x_api_key", SecurityScheme::ApiKey(ApiKey::Header(header)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_has_the_engines_of_its_family_and_every_schema_that_it_refers_to() {
        let document = document();
        let slice = slice(&document, Family::Data);
        let paths: BTreeSet<&String> = slice["paths"].as_object().unwrap().keys().collect();
        let of_family = muster_engines::all().filter(|engine| engine.family == Family::Data);
        let expected: BTreeSet<String> = of_family.map(|engine| format!("{}/run", engine.path())).collect();
        assert_eq!(paths, expected.iter().collect());
        let schemas = slice["components"]["schemas"].as_object().unwrap();
        for name in references(&slice.to_string()) {
            assert!(schemas.contains_key(&name), "{name}");
        }
        assert!(schemas.contains_key("ErrorAgent") && !schemas.contains_key("TaskBody"));
    }

    /// Returns the paths and methods of the document.
    fn described() -> BTreeSet<(String, String)> {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let methods = |item: &Value| item.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        paths.iter().flat_map(|(path, item)| methods(item).into_iter().map(|method| (path.clone(), method))).collect()
    }

    #[test]
    fn exactly_the_registered_operations_are_described() {
        let of = |operation: &Operation| {
            let method = operation.method.as_str().to_lowercase();
            operation.paths().into_iter().map(move |path| (path, method.clone())).collect::<Vec<_>>()
        };
        let all: Vec<_> = http::operations().iter().flat_map(of).collect();
        let registered: BTreeSet<_> = all.iter().cloned().collect();
        assert_eq!(registered.len(), all.len(), "an operation is registered twice");
        assert_eq!(described(), registered);
    }

    #[test]
    fn each_operation_is_described_by_the_path_that_it_is_matched_by() {
        for operation in http::operations() {
            let pattern = operation.pattern.replace(":.+}", "}");
            let engines = pattern.contains("{number}/");
            let expected: Vec<String> = if engines {
                muster_engines::all().map(|it| pattern.replace("{number}", &it.number.to_string())).collect()
            } else {
                vec![pattern]
            };
            assert_eq!(operation.paths(), expected);
        }
    }

    /// Schemas are collected by name: a second type of one name would take the place of the first.
    #[test]
    fn each_name_of_a_schema_is_of_one_type() {
        let mut known = std::collections::BTreeMap::new();
        for operation in http::operations() {
            let components = operation.components.iter().flat_map(|components| &components.schemas);
            for (name, schema) in components {
                let schema = serde_json::to_value(schema).unwrap();
                let (path, before) = known.entry(name).or_insert_with(|| (&operation.pattern, schema.clone()));
                assert_eq!(*before, schema, "{name}: {path} and {}", operation.pattern);
            }
        }
    }

    #[test]
    fn each_operation_has_a_short_summary_a_description_and_described_responses() {
        let document = document();
        for (path, method) in described() {
            let operation = &document["paths"][&path][&method];
            let summary = operation["summary"].as_str().unwrap();
            assert!((1..=60).contains(&summary.len()) && !summary.ends_with('.'), "{method} {path}: {summary}");
            assert!(operation["description"].as_str().is_some_and(|text| !text.is_empty()), "{method} {path}");
            assert!(operation["operationId"].is_string() && operation["security"].is_array(), "{method} {path}");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let text = response["description"].as_str().unwrap_or_default();
                assert!(!text.is_empty(), "{method} {path} {status}");
            }
            let tag = operation["tags"][0].as_str().unwrap();
            assert!(TAGS.iter().chain([&DOCS]).any(|(name, _)| *name == tag), "{method} {path}: {tag}");
        }
    }
}
