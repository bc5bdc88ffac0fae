//! Muster: one server for a disaster network, an AI platform and an agent platform.
//!
//! Data flows one way: edge, typed request, actor, pure state machine, store, event. ARCHITECTURE.md has the map.

pub mod agents;
mod alert_texts;
mod alias;
pub mod app;
pub mod asyncapi;
mod backup;
mod body;
mod chat;
pub mod commands;
pub mod config;
mod connections;
mod disaster;
mod envelope;
mod error;
mod examples;
mod gauges;
mod guard;
mod http;
mod limit_headers;
pub mod live;
mod log_writer;
mod medical;
pub mod memory;
mod models_list;
mod month_budget;
mod no_core_dumps;
pub mod openapi;
pub mod otel;
mod parameters;
mod permissions;
mod pictures;
mod private_files;
pub mod probes;
mod provider_setup;
mod report;
mod respond;
mod route;
mod schema;
pub mod server;
mod sse;
mod system_events;
pub mod telemetry;
pub mod tls;
mod tokens;
pub mod ws;
