//! The run of the sentinels on one subject.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use muster_core::{Error, Kind};
use muster_engines_security::Verdict;
use muster_engines_security::orchestrate::{
    Fused, MAX_LISTED, Mode, Planned, Run, SENTINELS, Status, ToValue, WAVES, Words as _, check_weights, fuse, plan,
    truncate,
};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::turns::Turns;
use crate::engine::{EngineAnswer, EngineCall, EngineCaller, EngineRunner, refusal};

/// Number of the engine whose input and output these are.
const ORCHESTRATOR: u16 = 155;
/// Orchestrations that wait for a first turn.
const MAX_WAITING: usize = 64;
/// When a client that found all places taken is to try again.
const RETRY: Duration = Duration::from_secs(1);

/// What is to be examined, and how.
#[derive(Debug)]
pub struct Orchestration {
    planned: Vec<Planned>,
    mode: Mode,
    weights: BTreeMap<String, f64>,
    deadline: Duration,
}

impl Orchestration {
    /// Reads the input of q155.
    ///
    /// # Errors
    /// `Invalid` with every failure; `NotFound` where this build has no sentinels.
    pub fn read(input: Value) -> Result<Self, Error> {
        let engine = muster_engines::by_number(ORCHESTRATOR)
            .ok_or_else(|| Error::new(Kind::NotFound, "this server has no sentinels"))?;
        let mut input = engine.accept(input).map_err(refusal)?;
        let mut taken = |name: &str| input.remove(name).unwrap_or_default();
        let subject = match taken("subject") {
            Value::Object(subject) => subject,
            _ => Map::new(),
        };
        let chosen: Vec<String> = serde_json::from_value(taken("sentinels")).unwrap_or_default();
        let weights: BTreeMap<String, f64> = serde_json::from_value(taken("weights")).unwrap_or_default();
        let mode = taken("mode").as_str().and_then(Mode::of).unwrap_or(Mode::Priority);
        let deadline = Duration::from_millis(taken("deadline_ms").as_u64().unwrap_or_default());
        check_weights(&weights).map_err(refusal)?;
        let planned = plan(&subject, &chosen).map_err(refusal)?;
        Ok(Self { planned, mode, weights, deadline })
    }

    /// Returns the sentinel at a place of [`SENTINELS`] on what it must find: the example of its engine. `None` if this
    /// build has none there.
    pub fn planted(at: usize, deadline: Duration) -> Option<Self> {
        let sentinel = SENTINELS.get(at)?;
        let example = muster_engines::by_number(sentinel.number)?.example();
        let planned = plan(example.as_object()?, &[sentinel.id.to_owned()]).ok()?;
        Some(Self { planned, mode: Mode::Parallel, weights: BTreeMap::new(), deadline })
    }

    /// Returns the sentinels of texts on one in which there is nothing to find. `None` if this build has no sentinels.
    pub fn clean(deadline: Duration) -> Option<Self> {
        let subject = Map::from_iter([("text".to_owned(), "The shelter at the school opens at nine.".into())]);
        let planned = plan(&subject, &[]).ok()?;
        Some(Self { planned, mode: Mode::Parallel, weights: BTreeMap::new(), deadline })
    }

    /// Ids of the sentinels that will run, in the order of their waves.
    pub fn applicable(&self) -> Vec<&'static str> {
        self.planned.iter().filter(|planned| planned.input.is_some()).map(|planned| planned.sentinel.id).collect()
    }
}

/// How one sentinel fared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// Id of the sentinel.
    pub sentinel: &'static str,
    /// Wave: 1 life safety and credentials, 2 active attack, 3 hygiene.
    pub priority: u8,
    /// `none` unless it ran.
    pub verdict: &'static str,
    /// 0 to 1.
    pub score: f64,
    /// Milliseconds from when it got a turn.
    pub ms: f64,
    /// `ran`, `skipped`, `timeout` or `error`.
    pub status: &'static str,
}

impl RunReport {
    fn of(run: &Run) -> Self {
        let verdict = run.verdict.map_or("none", |verdict| verdict.word());
        let Run { sentinel, score, ms, status, .. } = run;
        Self {
            sentinel: sentinel.id,
            priority: sentinel.wave,
            verdict,
            score: *score,
            ms: (ms * 1e3).round() / 1e3,
            status: status.word(),
        }
    }
}

/// The answer: the output of q155, with what is said beside it there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Orchestrated {
    /// `clear`, `notice`, `warn` or `critical`.
    pub verdict: &'static str,
    /// Noisy-OR of the weighted scores, 0 to 1.
    pub score: f64,
    /// The worst findings first, at most 1,000.
    pub findings: Vec<Value>,
    /// Every sentinel, in the order of the waves.
    pub runs: Vec<RunReport>,
    /// What to do first.
    pub actions: Vec<String>,
    /// Share of the sentinels that ran on whose side of `warn` the verdict is.
    pub agreement: f64,
    /// Whether every sentinel that applies gave its answer.
    pub complete: bool,
    /// Warnings of the sentinels, and why one failed.
    pub warnings: Vec<String>,
}

/// What happens while the sentinels run.
#[derive(Debug, Clone, PartialEq)]
pub enum SwarmEvent {
    /// A sentinel found something.
    Finding(Value),
    /// A sentinel ended, or will not run.
    Run(RunReport),
}

/// Runs sentinels in the processes of the pool. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sentinels {
    engines: Arc<dyn EngineRunner>,
    turns: Turns,
    places: Arc<Semaphore>,
}

/// A call that ended: its place in the plan, how, and how long it took.
type Ended = (usize, Result<EngineAnswer, Error>, Duration);

impl Sentinels {
    /// Creates the sentinels of a pool with that many processes, of which they leave one to others.
    pub fn new(engines: Arc<dyn EngineRunner>, workers: usize) -> Self {
        let slots = workers.saturating_sub(1).max(1);
        Self { engines, turns: Turns::new(slots), places: Arc::new(Semaphore::new(slots + MAX_WAITING)) }
    }

    /// Runs the sentinels and fuses their answers. `notify` is called as each ends. Dropping the future ends the calls.
    ///
    /// What has not ended by the deadline is `timeout`, what failed is `error`; neither makes the call fail.
    ///
    /// # Errors
    /// `Unavailable` with a delay if 64 orchestrations wait already.
    pub async fn orchestrate(
        &self,
        orchestration: Orchestration,
        caller: EngineCaller,
        mut notify: impl FnMut(SwarmEvent) + Send,
    ) -> Result<Orchestrated, Error> {
        let _place = self.places.try_acquire().map_err(|_| {
            let message = "too many subjects wait for the sentinels: try again in a second";
            Error::new(Kind::Unavailable, message).coded("sentinels_busy").retry_in(RETRY)
        })?;
        let Orchestration { planned, mode, weights, deadline } = orchestration;
        let principal: Arc<str> = caller.actor.as_str().into();
        let mut swarm =
            Swarm { runs: planned.iter().map(|_| None).collect(), warnings: Vec::new(), notify: &mut notify };
        let begun = Instant::now();
        let mut running = FuturesUnordered::new();
        for wave in 1..=WAVES {
            let over = mode == Mode::FirstCritical && swarm.is_critical();
            for (at, planned) in planned.iter().enumerate().filter(|(_, planned)| planned.sentinel.wave == wave) {
                match planned.input.clone().filter(|_| !over) {
                    Some(input) => running.push(self.call(at, planned.sentinel.number, input, &caller, &principal)),
                    None => swarm.end(at, Run::without(planned.sentinel, Status::Skipped)),
                }
            }
            // In parallel all waves are begun before the first answer is awaited.
            if mode == Mode::Parallel && wave < WAVES {
                continue;
            }
            let until = begun + deadline * mode.share(wave) / 100;
            while let Ok(Some(ended)) = tokio::time::timeout_at(until, running.next()).await {
                swarm.take(ended);
            }
        }
        // The calls that did not end are given up here.
        drop(running);
        let runs = swarm.finish();
        let warnings = std::mem::take(&mut swarm.warnings);
        Ok(answer(&runs, &weights, warnings))
    }

    fn call(
        &self,
        at: usize,
        number: u16,
        input: Value,
        caller: &EngineCaller,
        principal: &Arc<str>,
    ) -> impl Future<Output = Ended> + use<> {
        let (engines, turns, principal) = (Arc::clone(&self.engines), self.turns.clone(), Arc::clone(principal));
        // Sentinels need neither models nor tasks.
        let caller = EngineCaller { payer: None, watcher: None, reader: None, ..caller.clone() };
        async move {
            let _turn = turns.take(&principal).await;
            let begun = Instant::now();
            let answer = match muster_engines::by_number(number) {
                Some(engine) => engines.run(EngineCall::new(engine, input, caller)).await,
                None => Err(Error::new(Kind::NotFound, "this server does not have it")),
            };
            (at, answer, begun.elapsed())
        }
    }
}

/// The runs of one orchestration so far.
struct Swarm<'a> {
    /// In the order of [`SENTINELS`].
    runs: Vec<Option<Run>>,
    warnings: Vec<String>,
    notify: &'a mut (dyn FnMut(SwarmEvent) + Send),
}

impl Swarm<'_> {
    fn is_critical(&self) -> bool {
        self.runs.iter().flatten().any(|run| run.verdict == Some(Verdict::Critical))
    }

    fn take(&mut self, (at, answer, took): Ended) {
        let Some(sentinel) = SENTINELS.get(at) else { return };
        let ms = took.as_secs_f64() * 1_000.0;
        let run = match answer {
            Ok(answer) => {
                self.warnings.extend(answer.warnings.iter().map(|warning| format!("{}: {warning}", sentinel.id)));
                Run::of(sentinel, &answer.output, ms)
            }
            Err(error) => {
                self.warnings.push(format!("error: {}: {}", sentinel.id, error.message));
                Run { ms, ..Run::without(sentinel, Status::Error) }
            }
        };
        self.end(at, run);
    }

    fn end(&mut self, at: usize, run: Run) {
        for finding in run.named_findings() {
            (self.notify)(SwarmEvent::Finding(finding.to_value()));
        }
        (self.notify)(SwarmEvent::Run(RunReport::of(&run)));
        if let Some(place) = self.runs.get_mut(at) {
            *place = Some(run);
        }
    }

    /// Returns all runs; those without an answer as timed out.
    fn finish(&mut self) -> Vec<Run> {
        for (at, sentinel) in SENTINELS.iter().enumerate() {
            if self.runs.get(at).is_some_and(Option::is_none) {
                self.end(at, Run::without(sentinel, Status::Timeout));
            }
        }
        std::mem::take(&mut self.runs).into_iter().flatten().collect()
    }
}

fn answer(runs: &[Run], weights: &BTreeMap<String, f64>, mut warnings: Vec<String>) -> Orchestrated {
    let Fused { verdict, score, mut findings, actions, agreement, complete } = fuse(runs, weights);
    warnings.extend(truncate(&mut findings, MAX_LISTED));
    Orchestrated {
        verdict: verdict.word(),
        score,
        findings: findings.into_iter().map(ToValue::to_value).collect(),
        runs: runs.iter().map(RunReport::of).collect(),
        actions,
        agreement,
        complete,
        warnings,
    }
}
