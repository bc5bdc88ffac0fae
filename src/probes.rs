//! Health probes of all modules.

mod agents;
mod media;
mod medical;
mod memory;
mod network;
mod people;
mod sentinels;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_audit::LogProbe;
use muster_core::Clock;
use muster_core::health::{Probe, ProbeResult};
use muster_core::supervise::{ActorState, Tree};
use muster_feed::Feed;
use muster_gateway::{BreakerState, Chain, ProviderStatus};
use muster_governance::Governance;
use muster_governance::policy::PolicyService;
use muster_identity::Identity;
use muster_identity::keys::{KeyRejection, Keys, Token};
use muster_limits::ledger::Ledger;
use muster_limits::{AdmissionPart, Admit, BucketKey, Category, Decision, Estimate, Quota, RateLimiter, Subject};
use muster_memory::Memory;
use muster_models::{ChatModel, EmbedModel, ModelStatus};
use muster_providers::EMBEDDED_PROVIDER;
use muster_store::{Batch, Rec, StoreHandle, Tree as StoreTree};
use muster_tasks::agent::Agents;
use muster_tasks::engine::Engines;
use muster_tasks::sentinel::Sentinels;
use muster_tasks::task::Tasks;

use crate::disaster::Disaster;
use crate::images::Images;
use crate::live::LiveReader;
use crate::media::MediaParts;
use crate::media::translate::Translators;
use crate::medical::Medical;
use crate::memory::SearchIndex;
use crate::telemetry::Metrics;
use crate::ws::Sockets;

/// What the probes check.
pub struct ProbeTargets {
    /// The data folder.
    pub data: PathBuf,
    pub live: LiveReader,
    pub clock: Clock,
    pub tree: Tree,
    pub store: StoreHandle,
    pub audit_log: Arc<LogProbe>,
    pub keys: Keys,
    pub limiter: RateLimiter,
    pub ledger: Ledger,
    pub model: Arc<dyn ChatModel>,
    pub vectors: Arc<dyn EmbedModel>,
    pub metrics: Metrics,
    pub engines: Engines,
    pub agents: Agents,
    pub tasks: Tasks,
    pub sentinels: Sentinels,
    pub memory: Memory,
    pub search_index: SearchIndex,
    pub medical: Medical,
    pub media: MediaParts,
    pub translators: Translators,
    pub images: Images,
    pub identity: Identity,
    pub governance: Governance,
    pub policy: PolicyService,
    pub feed: Feed,
    pub sockets: Arc<Sockets>,
    pub(crate) network: Disaster,
}

impl std::fmt::Debug for ProbeTargets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProbeTargets").field("data", &self.data).finish_non_exhaustive()
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Returns one probe for each module. Names, weights and intervals are those of the catalogue.
pub fn all(parts: ProbeTargets) -> Vec<Probe> {
    // Each part has a file of probes in `probes/`, included here.
    let rooms = [
        media::all(&parts),
        people::all(&parts),
        network::all(&parts),
        agents::all(&parts),
        sentinels::all(&parts),
        memory::all(&parts.memory, &parts.search_index, &parts.clock),
        medical::all(&parts.medical, &parts.clock),
    ];
    let ProbeTargets {
        data, live, clock, tree, store, audit_log, keys, limiter, ledger, model, vectors, metrics, ..
    } = parts;
    let (probed, chains) = (clock.clone(), live.clone());
    let own = vec![
        http(metrics),
        runtime(tree),
        wall_clock(clock.clone()),
        disk(data),
        storage(store, clock),
        Probe::new("audit-log", 5, 60 * SECOND, move || {
            let log = Arc::clone(&audit_log);
            async move { log.check().await }
        })
        .critical(),
        api_keys(keys),
        Probe::new("rate-limiter", 3, 15 * SECOND, move || {
            rate_limiter(limiter.clone(), format!("health-probe-{}", probed.now().0))
        })
        .critical(),
        gateway(live.clone(), model),
        Probe::new("providers", 3, 30 * SECOND, move || std::future::ready(providers(&chains.now().chain))),
        budget(ledger),
        embedder(vectors),
        settings(live),
    ];
    own.into_iter().chain(rooms.into_iter().flatten()).collect()
}

/// Checks the share of server errors among the responses since the last probe.
fn http(metrics: Metrics) -> Probe {
    let last = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    Probe::new("http", 5, 10 * SECOND, move || {
        let (all, broken) = metrics.totals();
        let all = all - last.0.swap(all, Ordering::Relaxed).min(all);
        let broken = broken - last.1.swap(broken, Ordering::Relaxed).min(broken);
        std::future::ready(match broken * 100 {
            share if share > all * 10 => ProbeResult::Unhealthy(format!("{broken} of {all} answers were 500")),
            share if share > all => ProbeResult::Degraded(format!("{broken} of {all} answers were 500")),
            _ => ProbeResult::Healthy,
        })
    })
    .critical()
}

/// Checks how late timers fire, how many files are open, and whether every actor is running.
fn runtime(tree: Tree) -> Probe {
    Probe::new("runtime", 5, 10 * SECOND, move || {
        let tree = tree.clone();
        async move {
            let begun = Instant::now();
            tokio::time::sleep(Duration::from_millis(100)).await;
            let late = begun.elapsed().saturating_sub(Duration::from_millis(100));
            let (open, most) = open_files();
            let actors = tree.snapshot();
            let count = |state| actors.iter().filter(|actor| actor.state == state).count();
            let (down, escalated) = (count(ActorState::BackingOff), count(ActorState::Escalated));
            if escalated > 0 {
                return ProbeResult::Unhealthy(format!(
                    "{escalated} actors die again and again: see GET /api/v1/status"
                ));
            }
            if late > Duration::from_millis(500) || open * 100 > most * 95 {
                return ProbeResult::Unhealthy(format!(
                    "timers {} ms late, {open} of {most} files open",
                    late.as_millis()
                ));
            }
            if down > 0 {
                return ProbeResult::Degraded(format!("{down} actors are restarting"));
            }
            if late > Duration::from_millis(50) || open * 100 > most * 70 {
                return ProbeResult::Degraded(format!(
                    "timers {} ms late, {open} of {most} files open",
                    late.as_millis()
                ));
            }
            ProbeResult::Healthy
        }
    })
    .critical()
}

/// Returns open file descriptors and their limit; (0, 1) if the system does not report them.
fn open_files() -> (usize, usize) {
    let open = std::fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or(0);
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let most =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next()?.parse().ok());
    (open, most.unwrap_or(usize::MAX / 100))
}

/// Checks for jumps of the wall clock against the monotonic clock.
fn wall_clock(clock: Clock) -> Probe {
    let last = Arc::new(Mutex::new((Instant::now(), clock.now())));
    Probe::new("clock", 3, 30 * SECOND, move || {
        let (steady, wall) = (Instant::now(), clock.now());
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let (steady_was, wall_was) = std::mem::replace(&mut *last, (steady, wall));
        let expected = wall_was.plus(steady - steady_was);
        let jump = Duration::from_millis(wall.0.abs_diff(expected.0));
        std::future::ready(match jump {
            jump if jump > 60 * SECOND => {
                ProbeResult::Unhealthy(format!("the wall clock jumped by {} s", jump.as_secs()))
            }
            jump if jump > 2 * SECOND => {
                ProbeResult::Degraded(format!("the wall clock jumped by {} s", jump.as_secs()))
            }
            _ => ProbeResult::Healthy,
        })
    })
    .critical()
}

/// Checks whether the data folder can be written, and how much of its disk is free.
fn disk(data: PathBuf) -> Probe {
    Probe::new("disk", 4, 30 * SECOND, move || {
        let data = data.clone();
        async move {
            let wrote = tokio::task::spawn_blocking(move || free_percent(&data)).await;
            match wrote {
                Ok(Ok(free)) if free < 3 => ProbeResult::Unhealthy(format!("{free} % of the disk are free")),
                Ok(Ok(free)) if free < 15 => ProbeResult::Degraded(format!("{free} % of the disk are free")),
                Ok(Ok(_)) => ProbeResult::Healthy,
                Ok(Err(error)) => ProbeResult::Unhealthy(format!("the data folder takes no file: {error}")),
                Err(error) => ProbeResult::Unhealthy(error.to_string()),
            }
        }
    })
    .critical()
}

/// Checks whether every line of the ledger reached its journal, and whether its actor answers.
fn budget(ledger: Ledger) -> Probe {
    Probe::new("budget", 2, 60 * SECOND, move || {
        let ledger = ledger.clone();
        async move {
            let journal = ledger.journal();
            match ledger.status().await {
                _ if journal.lost > 0 => {
                    ProbeResult::Unhealthy(format!("{} lines of the ledger were lost", journal.lost))
                }
                Err(error) => ProbeResult::Unhealthy(error.to_string()),
                Ok(_) if journal.waiting > 0 => {
                    ProbeResult::Degraded(format!("{} lines of the ledger wait for the disk", journal.waiting))
                }
                Ok(_) => ProbeResult::Healthy,
            }
        }
    })
}

/// Checks that a fixed sentence has a vector of length 1, the same each time.
fn embedder(vectors: Arc<dyn EmbedModel>) -> Probe {
    let first: Arc<Mutex<Option<Vec<f32>>>> = Arc::default();
    Probe::new("embedder", 3, 60 * SECOND, move || {
        let (vectors, first) = (Arc::clone(&vectors), Arc::clone(&first));
        async move {
            match vectors.status() {
                ModelStatus::Absent { mend } => return ProbeResult::Degraded(format!("no embedding model: {mend}")),
                ModelStatus::Loading { percent } => return ProbeResult::Degraded(format!("loading ({percent} %)")),
                ModelStatus::Failed { why, mend } => return ProbeResult::Unhealthy(format!("{why}: {mend}")),
                ModelStatus::Ready => {}
            }
            let begun = Instant::now();
            let vector = match vectors.embed(vec!["the quick brown fox".to_owned()]).await {
                Ok(embedded) => embedded.vectors.into_iter().next().unwrap_or_default(),
                Err(error) => return ProbeResult::Unhealthy(error.to_string()),
            };
            let norm = vector.iter().map(|number| f64::from(*number).powi(2)).sum::<f64>().sqrt();
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            match first.get_or_insert_with(|| vector.clone()) {
                // NaN is outside of every range.
                _ if !(0.999..1.001).contains(&norm) => ProbeResult::Unhealthy(format!("a vector of length {norm}")),
                earlier if *earlier != vector => {
                    ProbeResult::Unhealthy("the same text has another vector now".to_owned())
                }
                _ if begun.elapsed() > Duration::from_millis(100) => {
                    ProbeResult::Degraded("over 100 ms a text".to_owned())
                }
                _ => ProbeResult::Healthy,
            }
        }
    })
    .critical()
}

/// Writes and removes a small file, then returns the free share of the disk.
fn free_percent(data: &Path) -> std::io::Result<u64> {
    let canary = data.join(".disk-probe");
    std::fs::write(&canary, b"probe")?;
    std::fs::remove_file(&canary)?;
    let disk = rustix::fs::statvfs(data)?;
    // Both in fragments. Blocks reserved for root are not free.
    Ok(disk.f_bavail * 100 / disk.f_blocks.max(1))
}

/// Checks that a record can be written, synced, read and deleted.
fn storage(store: StoreHandle, clock: Clock) -> Probe {
    Probe::new("storage", 6, 15 * SECOND, move || {
        let (store, nonce) = (Arc::clone(&store), clock.now().0.to_be_bytes().to_vec());
        async move {
            let begun = Instant::now();
            let stats = store.stats();
            if let Some(why) = stats.poisoned {
                return ProbeResult::Unhealthy(format!("the store only reads: {why}"));
            }
            let rec = Rec { schema: 1, bytes: nonce };
            if let Err(error) = store.commit(Batch::put(StoreTree::Meta, CANARY, rec.clone())).await {
                return ProbeResult::Unhealthy(error.to_string());
            }
            match store.get(StoreTree::Meta, CANARY) {
                Ok(Some(read)) if read == rec => {}
                other => return ProbeResult::Unhealthy(format!("a record was read back as {other:?}")),
            }
            if let Err(error) = store.commit(Batch::delete(StoreTree::Meta, CANARY)).await {
                return ProbeResult::Unhealthy(error.to_string());
            }
            if let Some(what) = stats.quarantined {
                return ProbeResult::Degraded(format!("data was corrupt and was set aside: {what}"));
            }
            let took = begun.elapsed();
            if took > SECOND {
                ProbeResult::Degraded(format!("two writes took {} ms", took.as_millis()))
            } else {
                ProbeResult::Healthy
            }
        }
    })
    .critical()
}

const CANARY: &[u8] = b"health/canary";

/// Checks that an invented key is unknown, and that the key actor answers.
fn api_keys(keys: Keys) -> Probe {
    Probe::new("api-keys", 3, 30 * SECOND, move || {
        let keys = keys.clone();
        async move {
            let begun = Instant::now();
            let Ok(made_up) = Token::generate() else { return ProbeResult::Unhealthy("no random numbers".to_owned()) };
            if keys.authenticate(&made_up.reveal()) != Err(KeyRejection::Unknown) {
                return ProbeResult::Unhealthy("an invented key was accepted".to_owned());
            }
            match keys.list(1, None).await {
                Err(error) => ProbeResult::Unhealthy(error.to_string()),
                Ok(_) if begun.elapsed() > Duration::from_millis(100) => {
                    ProbeResult::Degraded("look-up over 100 ms".to_owned())
                }
                Ok(_) => ProbeResult::Healthy,
            }
        }
    })
    .critical()
}

/// Checks whether a provider of the chain can answer.
fn gateway(live: LiveReader, model: Arc<dyn ChatModel>) -> Probe {
    Probe::new("llm-gateway", 5, 5 * SECOND, move || {
        let remote = |provider: &ProviderStatus| provider.id != EMBEDDED_PROVIDER && provider.order.is_some();
        let open: Vec<bool> =
            live.now().chain.status().iter().filter(|provider| remote(provider)).map(is_open).collect();
        let verdict = match model.status() {
            _ if open.contains(&false) => ProbeResult::Healthy,
            ModelStatus::Ready if open.is_empty() => ProbeResult::Healthy,
            ModelStatus::Ready => {
                ProbeResult::Degraded("every provider is failing: only the embedded model answers".to_owned())
            }
            ModelStatus::Loading { percent } => {
                ProbeResult::Degraded(format!("the embedded model is loading ({percent} %)"))
            }
            ModelStatus::Absent { mend } => {
                ProbeResult::Unhealthy(format!("nothing can answer; embedded model not installed: {mend}"))
            }
            ModelStatus::Failed { why, mend } => {
                ProbeResult::Unhealthy(format!("nothing can answer; embedded model: {why}: {mend}"))
            }
        };
        std::future::ready(verdict)
    })
    .critical()
}

fn is_open(provider: &ProviderStatus) -> bool {
    provider.breaker.state == BreakerState::Open
}

fn providers(chain: &Chain) -> ProbeResult {
    let statuses = chain.status();
    let open: Vec<_> =
        statuses.iter().filter(|provider| is_open(provider)).map(|provider| provider.id.as_str()).collect();
    let keyless: Vec<String> = chain
        .registry()
        .missing_keys()
        .map(|(provider, variable)| format!("{provider} has no key: set the environment variable {variable}"))
        .collect();
    match open.len() {
        0 if keyless.is_empty() => ProbeResult::Healthy,
        0 => ProbeResult::Degraded(keyless.join("; ")),
        all if all == statuses.len() => {
            ProbeResult::Unhealthy(format!("all providers are failing: {}", open.join(", ")))
        }
        _ => {
            let failing = format!("failing: {}", open.join(", "));
            ProbeResult::Degraded(std::iter::once(failing).chain(keyless).collect::<Vec<_>>().join("; "))
        }
    }
}

/// Checks whether the settings file still matches the running settings.
fn settings(live: LiveReader) -> Probe {
    Probe::new("config", 3, 60 * SECOND, move || {
        std::future::ready(match live.now().source.changed() {
            Ok(None) => ProbeResult::Healthy,
            Ok(Some(what)) => ProbeResult::Degraded(what),
            Err(error) => ProbeResult::Degraded(format!("the settings file would stop the next start: {error}")),
        })
    })
    .critical()
}

/// Checks that a fresh bucket of two admits two requests and rejects the third.
async fn rate_limiter(limiter: RateLimiter, name: String) -> ProbeResult {
    let key = BucketKey { subject: Subject::anonymous(&name), category: Category::Health };
    let mut admitted = Vec::new();
    for _ in 0..3 {
        let rules = Quota::Limited(2).per_minute();
        let request = Admit {
            key: key.clone(),
            rules,
            part: AdmissionPart::Whole,
            estimate: Estimate::default(),
            hold_for: SECOND,
        };
        match limiter.admit(request).await {
            Ok(decision) => admitted.push(matches!(decision, Decision::Admitted { .. })),
            Err(error) => return ProbeResult::Unhealthy(error.to_string()),
        }
    }
    match admitted.as_slice() {
        [true, true, false] => ProbeResult::Healthy,
        other => ProbeResult::Unhealthy(format!("a bucket of two decided {other:?}")),
    }
}
