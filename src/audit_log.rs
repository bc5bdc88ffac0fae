//! The audit log of the server: opened at the start, witnesses over HTTP, the states of records, counted requests.

mod counted;
mod entry_query;

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use muster_audit::{Audit, AuditOptions, LogRefusal, OpenedLog, RecordState, Witness, WitnessError, request_body};
use muster_core::audit::AuditEntry;
use muster_core::{Clock, Millis};
use muster_identity::UserRecord;
use muster_identity::keys::KeyRecord;
use muster_network::firmware::SigningKey;
use muster_store::{StoreError, StoreHandle};
use muster_tlog::{Hash, VerifierKey};
use serde_json::Value;

pub(crate) use counted::CountedRequests;
pub use entry_query::EntryQuery;

use crate::config::Config;

/// Time from the first entry that is not signed to its checkpoint.
const DELAY: Duration = Duration::from_secs(1);
/// Time within which a witness answers.
const PATIENCE: Duration = Duration::from_secs(20);
/// Longest answer of a witness, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// Opens the log of a store before the actors start.
///
/// # Errors
/// The log was altered or rolled back, or its keys cannot be used.
pub(crate) async fn open(
    config: &Config,
    store: &StoreHandle,
    clock: &Clock,
    accept_rollback: Option<String>,
) -> Result<OpenedLog, LogRefusal> {
    let options = AuditOptions {
        data: config.store.path.clone(),
        name: config.governance.log_name(),
        accept_rollback,
        delay: DELAY,
        copy: config.governance.copy(),
        witnesses: witnesses(config),
    };
    OpenedLog::open(store, clock, options, || record_states(store)).await
}

/// Returns what each person, key, trust anchor and decider in a store allows, whether there is a constitution, and which
/// policy is in force.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn record_states(store: &StoreHandle) -> Result<Vec<RecordState>, StoreError> {
    let all = [
        KeyRecord::all_that_is_allowed(store)?,
        UserRecord::all_that_is_allowed(store)?,
        SigningKey::all_that_is_allowed(store)?,
        muster_governance::all_that_is_allowed(store)?,
    ];
    let policy = muster_governance::policy::recorded(store)?.map(|(resource, allows)| (resource.to_owned(), allows));
    Ok(all.into_iter().flatten().chain(policy).map(|(resource, allows)| RecordState { resource, allows }).collect())
}

/// Appends an entry about something that writes nothing else. What cannot be logged is refused by the caller.
///
/// # Errors
/// The store does not accept it.
pub(crate) async fn log(
    audit: &Audit,
    now: Millis,
    actor: &str,
    action: &str,
    resource: &str,
    details: Value,
) -> Result<(), muster_core::Error> {
    audit.append(&AuditEntry::new(now, actor, action, resource, details)).await
}

fn witnesses(config: &Config) -> Vec<Arc<dyn Witness>> {
    if config.governance.witnesses.is_empty() {
        return Vec::new();
    }
    muster_providers::install_tls();
    let client = reqwest::Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none()).build();
    let client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "no client for witnesses: no checkpoint is cosigned");
            return Vec::new();
        }
    };
    let settings = config.governance.witnesses.iter();
    // The keys were checked with the settings.
    let witnesses = settings.filter_map(|setting| {
        let url = format!("{}/add-checkpoint", setting.url.trim_end_matches('/'));
        Some(Arc::new(HttpWitness { url, key: setting.vkey.parse().ok()?, client: client.clone() }) as Arc<dyn Witness>)
    });
    witnesses.collect()
}

/// A witness that is called over HTTP.
#[derive(Debug)]
struct HttpWitness {
    url: String,
    key: VerifierKey,
    client: reqwest::Client,
}

impl Witness for HttpWitness {
    fn key(&self) -> &VerifierKey {
        &self.key
    }

    fn add_checkpoint(
        &self,
        old: u64,
        proof: Vec<Hash>,
        note: String,
    ) -> BoxFuture<'static, Result<String, WitnessError>> {
        let request = self.client.post(&self.url).body(request_body(old, &proof, &note));
        Box::pin(async move {
            let refused = |error: reqwest::Error| WitnessError::Refused(error.without_url().to_string());
            let mut response = request.send().await.map_err(refused)?;
            let status = response.status();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(refused)? {
                if body.len() + chunk.len() > MAX_ANSWER {
                    return Err(WitnessError::Refused("its answer is too long".to_owned()));
                }
                body.extend_from_slice(&chunk);
            }
            let text = String::from_utf8_lossy(&body).into_owned();
            match status.as_u16() {
                200 => Ok(text),
                409 => match text.trim().parse() {
                    Ok(size) => Err(WitnessError::Size(size)),
                    Err(_) => Err(WitnessError::Refused("it has another size and does not say which".to_owned())),
                },
                other => {
                    let said: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
                    Err(WitnessError::Refused(format!("status {other}: {said}")))
                }
            }
        })
    }
}
