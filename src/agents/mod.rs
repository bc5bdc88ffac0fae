//! Agents' parts, started together: the catalogue, their work, their tasks; and what the feed is told and may command
//! of them.

mod commands;
mod models;
mod steps;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use actix_rt::ArbiterHandle;
use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::event::LatestValue;
use muster_core::supervise::Tree;
use muster_core::upkeep::PeriodicJob;
use muster_core::{Clock, Error};
use muster_feed::Feed;
use muster_limits::{Admit, BucketKey, Category, Decision, Estimate, RateLimiter, Subject};
use muster_store::StoreHandle;
use muster_tasks::agent::{AgentWork, Agents};
use muster_tasks::engine::Engines;
use muster_tasks::task::{Asker, Control, ControlReply, TaskOptions, Tasks};
use serde_json::json;
use serde_json::value::to_raw_value;

pub use commands::{AgentCommands, Controls};

use crate::app::{StartError, failed};
use crate::config::Config;
use crate::guard::refused;
use crate::live::Watched;
use crate::telemetry::Metrics;
use crate::ws::Counts;
use models::LiveModels;
use steps::Threads;

/// From one telling of the figures to the next.
const FIGURES_EVERY: Duration = Duration::from_secs(1);
/// A control costs no tokens: nothing is held for it longer.
const HOLD: Duration = Duration::from_secs(1);
/// From one look for ended tasks that are old enough to go to the next.
const SWEEP_EVERY: Duration = Duration::from_secs(300);

/// What handlers and sockets ask.
#[derive(Debug)]
pub struct Agency {
    pub agents: Agents,
    pub tasks: Tasks,
    /// Who has how many event streams of tasks open.
    pub(crate) streams: Arc<Counts>,
    /// Where steps run; gone once it was stopped.
    _threads: Threads,
}

/// What they stand on.
pub(crate) struct Ground<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) arbiter: ArbiterHandle,
    pub(crate) store: &'a StoreHandle,
    pub(crate) clock: &'a Clock,
    pub(crate) feed: &'a Feed,
    pub(crate) engines: &'a Engines,
    pub(crate) live: &'a Watched,
    pub(crate) metrics: &'a Metrics,
}

impl Agency {
    /// # Errors
    /// The catalogue is wrong, or no threads can be had.
    pub(crate) fn start(config: &Config, ground: &Ground<'_>) -> Result<Self, StartError> {
        let built: Vec<_> = muster_engines::all().collect();
        let own = own_agents(&config.agents.files)?;
        let agents = Agents::with_own(&own, &built).map_err(|error| failed("the catalogue of agents")(&error))?;
        let models = Arc::new(LiveModels::new(ground.live.clone()));
        let engines = Arc::new(ground.engines.clone());
        let work = AgentWork::new(agents.clone(), engines, models, config.agents.options());
        let threads = Threads::start(config.agents.threads).map_err(|error| failed("the threads of agents")(&error))?;
        let options = TaskOptions {
            store: Arc::clone(ground.store),
            clock: ground.clock.clone(),
            publisher: ground.feed.publisher(),
            work: Arc::new(work),
            settings: config.agents.tasks(),
            runtime: threads.handle(),
            kill_latency: ground.metrics.kill_latency(),
        };
        let tasks = Tasks::start(&ground.tree.group("tasks"), ground.arbiter.clone(), options);
        ground.feed.register_source("agents", Arc::new(tasks.clone()));
        ground.feed.register_source("tasks", Arc::new(tasks.clone()));
        // Whoever reads of tasks has said who it is.
        let streams = Counts::new(0, config.agents.streams_per_key);
        Ok(Self { agents, tasks, streams, _threads: threads })
    }

    /// What is done again and again: the figures for monitors, and what is left of old tasks.
    pub(crate) fn upkeep(&self, feed: &Feed, clock: &Clock, live: &Watched) -> [PeriodicJob; 2] {
        let (tasks, publisher, clock, live) = (self.tasks.clone(), feed.publisher(), clock.clone(), live.clone());
        let figures = PeriodicJob::new("agents' figures", FIGURES_EVERY, move || {
            let breakers = live.now().chain.status().into_iter().map(|it| (it.id, json!(it.breaker.state)));
            let mut figures = json!(tasks.stats());
            if let Some(figures) = figures.as_object_mut() {
                figures.insert("breakers".to_owned(), breakers.collect());
            }
            let (key, name) = ("metrics".to_owned(), "metrics".to_owned());
            let told = to_raw_value(&figures).map_err(|error| error.to_string()).map(|data| {
                publisher.publish_latest(LatestValue {
                    channel: "agents:metrics".to_owned(),
                    name,
                    at: clock.now(),
                    key,
                    data,
                });
            });
            std::future::ready(told)
        });
        let tasks = self.tasks.clone();
        let sweep = PeriodicJob::new("ended tasks", SWEEP_EVERY, move || {
            let tasks = tasks.clone();
            async move { tasks.sweep().await.map(drop).map_err(|error| error.to_string()) }
        });
        [figures, sweep]
    }
}

/// The operator's own agents, as they stand in their files.
fn own_agents(files: &[PathBuf]) -> Result<Vec<String>, StartError> {
    let read = |file: &PathBuf| {
        std::fs::read_to_string(file)
            .map_err(|error| StartError(format!("agents.files: {} cannot be read: {error}", file.display())))
    };
    files.iter().map(read).collect()
}

/// The tasks, as sockets control them: counted like controls over HTTP, in the same bucket of the caller.
#[derive(Debug)]
pub(crate) struct Controlled {
    pub(crate) tasks: Tasks,
    pub(crate) limiter: RateLimiter,
    pub(crate) live: Watched,
}

impl Controlled {
    async fn count(&self, asker: &Asker) -> Result<(), Error> {
        let rules = self.live.now().config.limits.agent.control.per_minute();
        if rules.is_empty() {
            return Ok(());
        }
        let key = BucketKey { subject: Subject::principal(asker.by.id()), category: Category::Control };
        let request = Admit { key, rules, estimate: Estimate::default(), hold_for: HOLD };
        match self.limiter.admit(request).await? {
            Decision::Admitted { .. } => Ok(()),
            Decision::Refused { which, retry_after, .. } => Err(refused(which, retry_after)),
        }
    }
}

impl Controls for Controlled {
    fn control(
        self: Arc<Self>,
        task: String,
        control: Control,
        asker: Asker,
    ) -> BoxFuture<'static, Result<ControlReply, Error>> {
        async move {
            self.count(&asker).await?;
            self.tasks.control(&task, control, &asker).await
        }
        .boxed()
    }
}
