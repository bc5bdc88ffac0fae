//! `muster audit` on the data folder of a stopped server.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use muster_audit::{LogKeys, OfflineLog, Verdict, VerifyOptions};
use muster_core::Clock;
use muster_store::StoreHandle;
use serde_json::{Value, json};

use crate::app;
use crate::audit_log::record_states;
use crate::config::Config;

/// Verifies the log against its checkpoints and the records against their entries.
pub(super) fn verify(config: &Config, options: VerifyOptions) -> Result<Verdict, String> {
    let hint = "is the server running? Then verify an export of it, or watch it";
    let store = app::open_store(config).map_err(|error| format!("{error}; {hint}"))?;
    let handle: StoreHandle = Arc::clone(&store) as _;
    let verdict = OfflineLog::open(&handle, &config.store.path).and_then(|log| {
        let records = record_states(&handle).map_err(|error| error.to_string())?;
        log.verify(options, &records).map_err(|error| error.to_string())
    });
    drop(handle);
    store.close();
    verdict
}

/// Announces a further key of the log.
pub(super) fn rotate_key(config: &Config) -> Result<Value, String> {
    let keys = LogKeys::read(&config.store.path.join("signing")).map_err(|error| error.to_string())?;
    let keys = keys.ok_or("this data folder has no keys of an audit log yet: start the server once")?;
    let public = keys.rotate(Clock::system().now()).map_err(|error| error.to_string())?;
    Ok(json!({ "public_key": STANDARD.encode(public) }))
}
