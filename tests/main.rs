//! Black-box tests of the whole server, one module per feature.
//!
//! One program for all of them: each test program links the whole server, and two dozen of those filled the disk and
//! took half of the test time. To run one module: `cargo nextest run -p muster -E 'test(/^ledger::/)'`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

mod support;

mod admission;
mod adversarial;
mod alert_rules;
mod alerts;
mod api_description;
mod architecture;
mod audit;
mod audit_log;
mod backup;
mod backup_records;
mod backup_signed;
mod cache;
mod chain_faults;
mod devices;
mod disaster_crash;
mod doctor;
mod embedded;
mod embeddings;
mod engine_needs;
mod engines;
mod fetch;
mod firmware;
mod gateway_engine;
mod geofences;
mod governance;
mod home;
mod identity;
mod images;
mod incidents;
mod key_edits;
mod keys;
mod keys_cli;
mod latency;
mod ledger;
mod limits;
mod medical;
mod medical_images;
mod memory;
mod memory_crash;
mod messages;
mod models_list;
mod money;
mod monitor;
mod operations;
mod otel;
mod oversight;
mod permissions;
mod prompt;
mod public_feed;
mod realtime;
mod realtime_tls;
mod refusals;
mod rejected_writes;
mod reload;
mod responses;
mod routing;
mod sandbox;
mod scenario;
mod sentinels;
mod simulate;
mod slow_providers;
mod strict_input;
mod supervision;
mod tasks;
mod tasks_crash;
mod teams;
mod tls;
mod tls_cli;
mod translate;
mod visibility;
mod vision;
