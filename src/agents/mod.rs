//! The agent platform: starts the catalogue, the agents and their tasks, and connects them to the live feed.

mod commands;
pub(crate) mod control;
mod models;
mod sentinels;
mod steps;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::event::LatestValue;
use muster_core::guard::StandingReader;
use muster_core::supervise::Tree;
use muster_core::upkeep::PeriodicJob;
use muster_core::{Clock, Error};
use muster_feed::Feed;
use muster_identity::keys::Keys;
use muster_limits::ledger::Ledger;
use muster_limits::{Category, RateLimiter};
use muster_memory::Memory;
use muster_store::StoreHandle;
use muster_tasks::agent::{AgentExecutor, Agents, CatalogueErrors, CatalogueFile};
use muster_tasks::engine::Engines;
use muster_tasks::sentinel::Sentinels;
use muster_tasks::task::{Control, ControlReply, Requester, TaskOptions, Tasks};
use serde_json::json;
use serde_json::value::to_raw_value;

pub use commands::{AgentCommands, Controls};
pub use sentinels::WatchedSentinels;

use crate::app::{StartError, failed};
use crate::config::Config;
use crate::engine_effects::{EffectParts, ServerEffects};
use crate::guard::count;
use crate::live::LiveReader;
use crate::media::translate::Translators;
use crate::telemetry::Metrics;
use crate::ws::Counts;
use models::LiveModels;
use steps::StepThreads;

/// Time between two publications of the metrics.
const FIGURES_EVERY: Duration = Duration::from_secs(1);
/// Time between two searches for ended tasks that are due for deletion.
const SWEEP_EVERY: Duration = Duration::from_secs(300);

/// Returns the built-in agents. They are read once: nothing of them changes while the program runs.
///
/// # Errors
/// The catalogue is invalid.
pub(crate) fn built_in() -> Result<Agents, CatalogueErrors> {
    static AGENTS: LazyLock<Result<Agents, CatalogueErrors>> =
        LazyLock::new(|| Agents::built_in(&muster_engines::all().collect::<Vec<_>>()));
    AGENTS.clone()
}

/// Returns the built-in agents and the operator's.
///
/// # Errors
/// The catalogue or a file is invalid.
pub(crate) fn with_own(files: &[CatalogueFile]) -> Result<Agents, CatalogueErrors> {
    match files {
        [] => built_in(),
        own => Agents::with_own(own, &muster_engines::all().collect::<Vec<_>>()),
    }
}

/// The agent platform as handlers and sockets use it.
#[derive(Debug)]
pub struct AgentPlatform {
    pub agents: Agents,
    pub tasks: Tasks,
    pub sentinels: WatchedSentinels,
    /// Number of open event streams of tasks, by key or user.
    pub(crate) streams: Arc<Counts>,
    /// The operator's files, as they were read at the start.
    files: Vec<CatalogueFile>,
    /// Threads that run steps; `None` after the stop.
    _threads: StepThreads,
    /// What needs of engines are performed with.
    _effects: Arc<EffectParts>,
}

/// What the agent platform needs from the server.
pub(crate) struct Dependencies<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) arbiter: ArbiterHandle,
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) feed: &'a Feed,
    pub(crate) engines: &'a Engines,
    pub(crate) live: &'a LiveReader,
    pub(crate) keys: &'a Keys,
    pub(crate) metrics: &'a Metrics,
    pub(crate) ledger: &'a Ledger,
    pub(crate) limiter: &'a RateLimiter,
    pub(crate) standing: StandingReader,
    /// What engines need of models and tasks.
    pub(crate) effects: &'a ServerEffects,
    pub(crate) translators: &'a Translators,
    pub(crate) memory: &'a Memory,
}

impl AgentPlatform {
    /// # Errors
    /// The catalogue is invalid, or no threads can be started.
    pub(crate) fn start(config: &Config, dependencies: &Dependencies<'_>) -> Result<Self, StartError> {
        let files = config.agents.read_files().map_err(|error| StartError(error.to_string()))?;
        let agents = with_own(&files).map_err(|error| StartError(format!("agents.files: {error}")))?;
        // A property of the build, which no setting changes: /api/health has the details.
        for note in agents.warnings() {
            tracing::debug!(note, "an agent is not complete in this build");
        }
        let models = Arc::new(LiveModels::new(dependencies.live.clone(), dependencies.keys.clone()));
        let engines = Arc::new(dependencies.engines.clone());
        let sentinels = WatchedSentinels::new(
            Sentinels::new(Arc::clone(&engines) as _, engines.workers()),
            Arc::clone(dependencies.store),
            dependencies.feed.publisher(),
            dependencies.clock.clone(),
        );
        let executor = AgentExecutor::new(agents.clone(), engines, models, config.agents.options());
        let threads =
            StepThreads::start(config.agents.threads).map_err(|error| failed("the threads of agents")(&error))?;
        let options = TaskOptions {
            store: Arc::clone(dependencies.store),
            clock: dependencies.clock.clone(),
            publisher: dependencies.feed.publisher(),
            executor: Arc::new(executor),
            settings: config.agents.tasks(),
            runtime: threads.handle(),
            kill_latency: dependencies.metrics.kill_latency(),
            standing: dependencies.standing.clone(),
        };
        let tasks = Tasks::start(&dependencies.tree.group("tasks"), dependencies.arbiter.clone(), options);
        dependencies.feed.register_source("agents", Arc::new(tasks.clone()));
        dependencies.feed.register_source("tasks", Arc::new(tasks.clone()));
        // Every subscriber of task channels is authenticated.
        let streams = Counts::new(0, config.agents.streams_per_key);
        let effects = dependencies.effects.provide(EffectParts {
            live: dependencies.live.clone(),
            keys: dependencies.keys.clone(),
            tasks: tasks.clone(),
            ledger: dependencies.ledger.clone(),
            limiter: dependencies.limiter.clone(),
            translators: dependencies.translators.clone(),
            memory: dependencies.memory.clone(),
            metrics: dependencies.metrics.clone(),
            clock: dependencies.clock.clone(),
        });
        Ok(Self { agents, tasks, sentinels, streams, files, _threads: threads, _effects: effects })
    }

    /// Returns the names of the operator's files whose content differs from that at the start, which needs a restart.
    pub(crate) fn changed_files(&self) -> Vec<String> {
        let changed = |file: &&CatalogueFile| std::fs::read_to_string(&file.name).ok().as_ref() != Some(&file.text);
        self.files.iter().filter(changed).map(|file| format!("agents.files ({})", file.name)).collect()
    }

    /// Returns the periodic jobs: publishing metrics and deleting old tasks.
    pub(crate) fn upkeep(&self, feed: &Feed, clock: &Clock, live: &LiveReader) -> [PeriodicJob; 2] {
        let (tasks, publisher, clock, live) = (self.tasks.clone(), feed.publisher(), clock.clone(), live.clone());
        let figures = PeriodicJob::new("agents' figures", FIGURES_EVERY, move || {
            let breakers = live.now().chain.status().into_iter().map(|it| (it.id, json!(it.breaker.state)));
            let mut figures = json!(tasks.stats());
            if let Some(figures) = figures.as_object_mut() {
                figures.insert("breakers".to_owned(), breakers.collect());
            }
            let (key, name) = ("metrics".to_owned(), "metrics".to_owned());
            let event = to_raw_value(&figures).map_err(|error| error.to_string()).map(|data| {
                publisher.publish_latest(LatestValue {
                    channel: "agents:metrics".to_owned(),
                    name,
                    at: clock.now(),
                    key,
                    data,
                });
            });
            std::future::ready(event)
        });
        let tasks = self.tasks.clone();
        let sweep = PeriodicJob::new("ended tasks", SWEEP_EVERY, move || {
            let tasks = tasks.clone();
            async move { tasks.sweep().await.map(drop).map_err(|error| error.to_string()) }
        });
        [figures, sweep]
    }
}

/// Controls tasks for sockets. Controls are counted like those over HTTP, in the same bucket of the caller.
#[derive(Debug)]
pub(crate) struct ControlledTasks {
    pub(crate) tasks: Tasks,
    pub(crate) limiter: RateLimiter,
    pub(crate) live: LiveReader,
}

impl ControlledTasks {
    async fn count(&self, requester: &Requester) -> Result<(), Error> {
        let rules = self.live.now().config.limits.agent.control.per_minute();
        count(&self.limiter, requester.by.id(), Category::Control, rules).await
    }
}

impl Controls for ControlledTasks {
    fn control(
        self: Arc<Self>,
        task: String,
        control: Control,
        requester: Requester,
    ) -> BoxFuture<'static, Result<ControlReply, Error>> {
        async move {
            self.count(&requester).await?;
            self.tasks.control(&task, control, &requester).await
        }
        .boxed()
    }
}
