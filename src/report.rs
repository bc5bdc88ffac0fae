//! Health and status reports, assembled from all parts of the server.

use std::collections::BTreeMap;

use muster_core::health::ModuleHealth;
use muster_core::supervise::{ActorStatus, Escalation};
use muster_core::{Error, Kind};
use muster_gateway::{BreakerState, ProviderStatus};
use muster_memory::IndexStats;
use muster_models::{ModelInfo, ModelStats, ModelStatus};
use muster_providers::EMBEDDED_PROVIDER;
use muster_store::StoreStats;
use muster_tasks::engine::{EngineStats, SandboxStatus};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// The health report.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthReport {
    /// `operational`, `degraded` (no critical module is unhealthy, but the score is below 90) or `outage`.
    pub status: &'static str,
    /// 0 to 100: the weighted share of healthy modules; a degraded one counts half.
    pub score: u32,
    pub uptime_seconds: u64,
    pub version: &'static str,
    /// Number of probed modules.
    pub modules: usize,
    pub agents_available: usize,
    pub engines_active: usize,
    /// Duration of the slowest of the latest probes, in milliseconds.
    pub latency_ms: u64,
    pub providers: BTreeMap<String, ProviderHealth>,
    /// `healthy`, `degraded`, `unhealthy`, or `starting` before the first probe.
    pub module_statuses: BTreeMap<&'static str, &'static str>,
    /// Messages of the modules that are not healthy.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub problems: BTreeMap<&'static str, String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ProviderHealth {
    /// State of the breaker, `closed`, `open` or `half_open`; `unconfigured` without its key; for the embedded model its
    /// own state if it is not ready.
    pub status: String,
    pub model: String,
}

/// Whether requests can be answered.
#[derive(Debug, Serialize, ToSchema)]
pub struct Ready {
    pub ready: bool,
    /// State of the embedded model, which may still be loading.
    #[schema(value_type = Object)]
    pub model: ModelStatus,
}

/// The complete status of the server.
#[derive(Debug, Serialize, ToSchema)]
pub struct StatusReport {
    pub version: &'static str,
    /// RFC 3339, UTC.
    pub started_at: String,
    #[schema(value_type = Object)]
    pub modules: BTreeMap<&'static str, ModuleHealth>,
    /// Providers in the order of the chain, with breaker state, failure rate and latency.
    #[schema(value_type = Vec<Object>)]
    pub providers: Vec<ProviderStatus>,
    /// Every supervised actor with its mailbox, restarts and last failure. The actors of sessions are left out without the
    /// scope `admin`.
    #[schema(value_type = Vec<Object>)]
    pub supervisors: Vec<ActorStatus>,
    /// The last failure that exceeded the restart limit of a group.
    #[schema(value_type = Option<Object>)]
    pub last_escalation: Option<Escalation>,
    #[schema(value_type = Object)]
    pub store: StoreStats,
    pub embedded_model: EmbeddedModel,
    /// Tasks of agents.
    pub queue: QueueStatus,
    pub engines: EngineStatus,
    /// Number of agents.
    pub agents: usize,
    pub memory: MemoryStatus,
    pub sockets: SocketStatus,
}

/// Semantic memory, over all owners.
#[derive(Debug, Serialize, ToSchema)]
pub struct MemoryStatus {
    /// Number of durable changes that the index lacks.
    pub lag: u64,
    /// Statistics of each index shard, and of the embedding model.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub index: IndexStats,
}

/// Statistics of the tasks of agents.
#[derive(Debug, Serialize, ToSchema)]
pub struct QueueStatus {
    /// Tasks that wait for their first step, in admission or queued.
    pub pending: usize,
    pub running: usize,
    pub paused: usize,
    /// Tasks that wait for an approval or input.
    pub waiting: usize,
    pub retrying: usize,
    /// Waiting time of the oldest queued task.
    pub oldest_seconds: u64,
    /// Tasks ended per second, over the last 10 s.
    pub per_second: f64,
    /// Run time of recently ended tasks.
    pub p50_ms: u64,
    pub p99_ms: u64,
}

/// The catalogue of engines, and the pool that runs them.
#[derive(Debug, Serialize, ToSchema)]
pub struct EngineStatus {
    pub count: usize,
    pub by_family: BTreeMap<&'static str, usize>,
    #[schema(value_type = Object)]
    pub pool: EngineStats,
    /// The restrictions of the pool's processes by the kernel, and those that are missing.
    #[schema(value_type = Object)]
    pub sandbox: SandboxStatus,
}

/// Live connections.
#[derive(Debug, Serialize, ToSchema)]
pub struct SocketStatus {
    pub connections: usize,
    /// Slow readers disconnected since the start.
    pub evicted: u64,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EmbeddedModel {
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub status: ModelStatus,
    #[schema(value_type = Object)]
    pub info: ModelInfo,
    #[schema(value_type = Object)]
    pub stats: ModelStats,
}

/// Returns the health of every module, by the last result of its probe.
pub fn health(app: &App) -> HealthReport {
    let report = app.health.report();
    let providers = app.live().chain.status();
    HealthReport {
        status: report.status.name(),
        score: report.score,
        uptime_seconds: app.clock.now().since(app.started_at).as_secs(),
        version: env!("CARGO_PKG_VERSION"),
        modules: report.modules.len(),
        agents_available: app.agency.agents.list().len(),
        engines_active: muster_engines::all().count(),
        latency_ms: report.modules.values().map(|module| module.took_ms).max().unwrap_or(0),
        providers: providers.into_iter().map(|provider| provider_health(app, provider)).collect(),
        module_statuses: report.modules.iter().map(|(&name, module)| (name, module.status.name())).collect(),
        problems: report.modules.iter().filter_map(|(&name, module)| Some((name, module.why.clone()?))).collect(),
    }
}

fn provider_health(app: &App, provider: ProviderStatus) -> (String, ProviderHealth) {
    let mut status = state_name(provider.breaker.state).to_owned();
    let mut model = provider.models.first().cloned().unwrap_or_default();
    if provider.missing_key.is_some() {
        status = "unconfigured".to_owned();
    }
    if provider.id == EMBEDDED_PROVIDER {
        model = app.model.info().id;
        status = match app.model.status() {
            ModelStatus::Ready => status,
            ModelStatus::Absent { .. } => "absent".to_owned(),
            ModelStatus::Loading { .. } => "loading".to_owned(),
            ModelStatus::Failed { .. } => "failed".to_owned(),
        };
    }
    (provider.id, ProviderHealth { status, model })
}

/// Returns whether requests can be answered: a provider is configured, or the embedded model is loaded.
pub fn ready(app: &App) -> Result<Ready, Error> {
    let model = app.model.status();
    if app.draining() {
        return Err(Error::new(Kind::Unavailable, "the server is shutting down"));
    }
    let why = match &model {
        ModelStatus::Ready => return Ok(Ready { ready: true, model }),
        _ if app.live().remote_providers() > 0 => return Ok(Ready { ready: true, model }),
        ModelStatus::Loading { percent } => format!("the embedded model is loading ({percent} %)"),
        ModelStatus::Absent { mend } => {
            format!("no provider is configured and the embedded model is not installed: {mend}")
        }
        ModelStatus::Failed { why, mend } => format!("the embedded model failed: {why}: {mend}"),
    };
    Err(Error::new(Kind::Unavailable, why))
}

/// Group of the actors of sessions, whose names are identifiers of sessions.
const SESSIONS: &str = "identity/sessions";

/// Returns the path of an actor without the identifier of a session.
pub fn public_path(path: &str) -> &str {
    if path.starts_with(SESSIONS) { SESSIONS } else { path }
}

/// Whether a status contains the identifiers of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionDetail {
    Shown,
    Hidden,
}

/// Returns the complete status of the server.
pub async fn status(app: &App, sessions: SessionDetail) -> StatusReport {
    let mut supervisors = app.tree.snapshot();
    let mut last_escalation = app.tree.escalations().borrow().clone();
    if sessions == SessionDetail::Hidden {
        supervisors.retain(|actor| public_path(&actor.path) == actor.path);
        if let Some(escalation) = &mut last_escalation {
            escalation.path = public_path(&escalation.path).to_owned();
        }
    }

    let (index, lag) = app.memory.stats().await;
    StatusReport {
        version: env!("CARGO_PKG_VERSION"),
        started_at: app.started_at.rfc3339(),
        modules: app.health.report().modules,
        providers: app.live().chain.status(),
        supervisors,
        last_escalation,
        store: app.store.stats(),
        queue: queue(app),
        engines: EngineStatus {
            count: muster_engines::all().count(),
            by_family: muster_engines::registry::counts().map(|(family, count)| (family.name(), count)).collect(),
            pool: app.engines.stats(),
            sandbox: app.engines.sandbox().clone(),
        },
        agents: app.agency.agents.list().len(),
        memory: MemoryStatus { lag, index },
        sockets: SocketStatus { connections: app.sockets.counts.total(), evicted: app.sockets.evicted() },
        embedded_model: EmbeddedModel { status: app.model.status(), info: app.model.info(), stats: app.model.stats() },
    }
}

fn queue(app: &App) -> QueueStatus {
    let stats = app.agency.tasks.stats();
    QueueStatus {
        pending: stats.pending + stats.queued,
        running: stats.running,
        paused: stats.paused,
        waiting: stats.waiting,
        retrying: stats.retrying,
        oldest_seconds: stats.oldest_seconds,
        per_second: stats.per_second,
        p50_ms: stats.p50_ms,
        p99_ms: stats.p99_ms,
    }
}

/// Formats the state of a breaker.
fn state_name(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half_open",
    }
}
