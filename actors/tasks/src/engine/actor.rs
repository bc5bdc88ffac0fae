//! The pool actor, which assigns processes to calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use actix::fut::{ActorFutureExt, ready};
use actix::{Actor, AsyncContext, Context, Handler, Message, ResponseActFuture, WrapFuture};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::options::EngineOptions;
use super::process::{Process, ProcessUse};
use super::runner::EngineProgress;
use super::state::FairQueue;
use super::work::{Program, Work, outcome};
use muster_core::{Error, Kind};

/// A call, as sent to the pool.
pub(super) struct Run<W> {
    pub(super) call: W,
    /// Cancelled when the caller no longer waits for the answer.
    pub(super) cancelled: CancellationToken,
}

impl<W: Work> Message for Run<W> {
    type Result = Result<W::Answer, Error>;
}

/// Counters of the pool.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Calls that have not been answered.
    pub(super) pending: AtomicUsize,
    /// Calls that are running in a process.
    pub(super) running: AtomicUsize,
    pub(super) processes: AtomicUsize,
    pub(super) calls: AtomicU64,
    pub(super) timed_out: AtomicU64,
    pub(super) died: AtomicU64,
}

/// Owns the idle processes, and starts others when there are too few.
#[derive(Debug)]
pub(crate) struct PoolActor {
    options: Arc<EngineOptions>,
    counts: Arc<Counts>,
    /// Decides which call is served next.
    slots: Gate,
    /// Through which long calls go first: they take at most half of the slots.
    long: Gate,
    /// The most recently used process is last, and is used first.
    idle: Vec<Process>,
}

impl PoolActor {
    pub(super) fn new(options: Arc<EngineOptions>, counts: Arc<Counts>) -> Self {
        counts.processes.store(0, Ordering::Relaxed);
        counts.running.store(0, Ordering::Relaxed);
        let per_principal = options.running_per_principal();
        let slots = Gate::new(options.workers, per_principal, options.queue_per_key);
        let half = (options.workers / 2).max(1);
        let long = Gate::new(half, per_principal.min(half), options.queue_per_key);
        Self { options, counts, slots, long, idle: Vec::new() }
    }

    fn end_idle(&mut self, context: &mut Context<Self>) {
        let expired =
            |process: &mut Process| process.idle_since.elapsed() >= self.options.idle || !process.is_running();
        let expired: Vec<Process> = self.idle.extract_if(.., expired).collect();
        self.count();
        for process in expired {
            context.spawn(process.kill().into_actor(self));
        }
    }

    fn count(&self) {
        self.counts.processes.store(self.idle.len() + self.counts.running.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Takes the idle process of this use. If there is none, room is made for a new one.
    fn take_idle(&mut self, usage: &ProcessUse, context: &mut Context<Self>) -> Option<Process> {
        if let Some(found) = self.idle.iter().rposition(|process| process.usage == *usage) {
            return Some(self.idle.remove(found));
        }
        if !self.idle.is_empty()
            && self.idle.len() + self.counts.running.load(Ordering::Relaxed) >= self.options.workers
        {
            let oldest = self.idle.remove(0);
            context.spawn(oldest.kill().into_actor(self));
        }
        None
    }
}

/// Slots, and the calls that wait for one.
#[derive(Debug)]
struct Gate {
    queue: FairQueue,
    /// Wakes each waiting call, by its number in the queue.
    waiting: HashMap<u64, oneshot::Sender<()>>,
    /// Maximum number of waiting calls of one principal.
    most: usize,
}

impl Gate {
    fn new(slots: usize, per_principal: usize, most: usize) -> Self {
        Self { queue: FairQueue::new(slots, per_principal), waiting: HashMap::new(), most }
    }

    /// Adds a call to the queue; returns its number and what is notified when it may run.
    fn enqueue(&mut self, principal: &Arc<str>) -> Result<(u64, oneshot::Receiver<()>), Error> {
        let most = self.most;
        if self.queue.waiting_of(principal) >= most {
            let message = format!(
                "{most} engine calls of this caller are waiting already, which is the maximum of one caller: wait for \
                 their answers, then try again"
            );
            let error = Error::new(Kind::RateLimited, message).coded("engine_calls_queued");
            return Err(error.retry_in(Duration::from_secs(1)));
        }
        let number = self.queue.push(principal);
        let (wake, woken) = oneshot::channel();
        self.waiting.insert(number, wake);
        self.start_waiting();
        Ok((number, woken))
    }

    /// Wakes calls while there are slots.
    fn start_waiting(&mut self) {
        while let Some(number) = self.queue.start_next() {
            // The receiver lives in a future of this actor, which releases the slot.
            self.waiting.remove(&number).map(|wake| wake.send(()));
        }
    }

    /// Removes a call whose caller has left: from the queue, or from the slot that it has just been given.
    fn withdraw(&mut self, principal: &Arc<str>, number: u64) {
        self.waiting.remove(&number);
        if !self.queue.remove(number) {
            self.release(principal);
        }
    }

    fn release(&mut self, principal: &Arc<str>) {
        self.queue.finish(principal);
        self.start_waiting();
    }
}

impl Actor for PoolActor {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Context<Self>) {
        context.run_interval(self.options.idle / 4, Self::end_idle);
    }
}

impl<W: Work> Handler<Run<W>> for PoolActor {
    type Result = ResponseActFuture<Self, Result<W::Answer, Error>>;

    fn handle(&mut self, run: Run<W>, _: &mut Context<Self>) -> Self::Result {
        let program = run.call.program();
        let usage = ProcessUse { principal: Arc::from(run.call.principal()), nature: program.nature };
        if !program.long {
            return self.start(run, usage);
        }
        let principal = Arc::clone(&usage.principal);
        let (number, woken) = match self.long.enqueue(&principal) {
            Ok(queued) => queued,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let cancelled = run.cancelled.clone();
        let slot = async move { cancelled.run_until_cancelled(woken).await }.into_actor(self);
        Box::pin(slot.then(move |slot, pool, _| {
            if slot.is_none() {
                pool.long.withdraw(&principal, number);
                return Box::pin(ready(Err(cancellation()))) as Self::Result;
            }
            Box::pin(pool.start(run, usage).then(move |answer, pool: &mut Self, _| {
                pool.long.release(&principal);
                ready(answer)
            }))
        }))
    }
}

impl PoolActor {
    /// Waits for a slot, and serves the call there.
    fn start<W: Work>(&mut self, run: Run<W>, usage: ProcessUse) -> ResponseActFuture<Self, Result<W::Answer, Error>> {
        let (number, woken) = match self.slots.enqueue(&usage.principal) {
            Ok(queued) => queued,
            Err(error) => return Box::pin(ready(Err(error))),
        };
        let cancelled = run.cancelled.clone();
        // A caller that leaves the queue cancels its call.
        let slot = async move { cancelled.run_until_cancelled(woken).await }.into_actor(self);
        Box::pin(slot.then(move |slot, pool, context| {
            if slot.is_none() {
                pool.slots.withdraw(&usage.principal, number);
                return Box::pin(ready(Err(cancellation()))) as ResponseActFuture<Self, Result<W::Answer, Error>>;
            }
            let process = pool.take_idle(&usage, context);
            pool.counts.running.fetch_add(1, Ordering::Relaxed);
            pool.count();
            let principal = Arc::clone(&usage.principal);
            let served = serve(process, usage, Arc::clone(&pool.options), run).into_actor(pool);
            Box::pin(served.then(move |(process, answer), pool, _| {
                pool.idle.extend(process);
                pool.counts.running.fetch_sub(1, Ordering::Relaxed);
                pool.counts.calls.fetch_add(1, Ordering::Relaxed);
                let counted = match &answer {
                    Err(error) if error.kind == Kind::TimedOut => Some(&pool.counts.timed_out),
                    Err(error) if error.kind == Kind::Internal => Some(&pool.counts.died),
                    _ => None,
                };
                counted.into_iter().for_each(|count| {
                    count.fetch_add(1, Ordering::Relaxed);
                });
                pool.count();
                // The slot is released only now that the process is back.
                pool.slots.release(&principal);
                ready(answer)
            }))
        }))
    }
}

fn cancellation() -> Error {
    Error::new(Kind::Unavailable, "the caller no longer waits for this call")
}

/// Serves a call; returns the process if it can be reused.
async fn serve<W: Work>(
    process: Option<Process>,
    usage: ProcessUse,
    options: Arc<EngineOptions>,
    run: Run<W>,
) -> (Option<Process>, Result<W::Answer, Error>) {
    let program = run.call.program();
    let progress = run.call.progress();
    let encoded = run.call.options().and_then(|call_options| Ok((call_options, run.call.encode()?)));
    let (call_options, input) = match encoded {
        Ok(encoded) => encoded,
        Err(error) => return (process, Err(error)),
    };
    let call = PoolCall { program, call_options, input, usage, progress, cancelled: run.cancelled, options };
    match call.attempt::<W>(process).await {
        // Engines have no side effects: a call interrupted by a signal from outside can be repeated.
        (_, Err(CallFailure::FromOutside(_))) => {
            let (process, answer) = call.attempt::<W>(None).await;
            (process, answer.map_err(CallFailure::refusal))
        }
        (process, answer) => (process, answer.map_err(CallFailure::refusal)),
    }
}

struct PoolCall {
    program: Program,
    /// Options of the call, as the process reads them.
    call_options: Vec<u8>,
    input: Vec<u8>,
    usage: ProcessUse,
    progress: Option<Arc<watch::Sender<EngineProgress>>>,
    cancelled: CancellationToken,
    options: Arc<EngineOptions>,
}

enum CallFailure {
    FromOutside(Error),
    Otherwise(Error),
}

impl CallFailure {
    fn refusal(self) -> Error {
        match self {
            Self::FromOutside(error) | Self::Otherwise(error) => error,
        }
    }
}

impl PoolCall {
    async fn attempt<W: Work>(&self, process: Option<Process>) -> (Option<Process>, Result<W::Answer, CallFailure>) {
        let Program { number, id, time, long, .. } = self.program;
        let time = match time {
            // An operator may give all calls more time than that of long ones.
            Some(time) if long => time.max(self.options.time),
            Some(time) => time,
            None => self.options.time,
        };
        let on_progress = |progress| {
            if let Some(receiver) = &self.progress {
                receiver.send_replace(progress);
            }
        };
        let refused = |error: Error| (None, Err(CallFailure::Otherwise(error)));
        let mut process = match self.process(process).await {
            Ok(process) => process,
            Err(error) => return refused(error),
        };
        let result = tokio::select! {
            biased;
            () = self.cancelled.cancelled() => {
                process.kill().await;
                return refused(cancellation());
            }
            result = timeout(time, process.call(number, &self.call_options, &self.input, on_progress)) => result,
        };
        match result {
            Err(_) => {
                process.kill().await;
                let seconds = time.as_secs();
                let message = format!("{id} took longer than {seconds} s, the limit of one call: send less input");
                refused(Error::new(Kind::TimedOut, message))
            }
            Ok(Err(error)) => {
                tracing::debug!(engine = id, %error, "a process of an engine ended during a call");
                let exit = process.collect_exit().await;
                let refusal = exit.refusal(id, self.options.memory_mib);
                (
                    None,
                    Err(if exit.ended_from_outside() {
                        CallFailure::FromOutside(refusal)
                    } else {
                        CallFailure::Otherwise(refusal)
                    }),
                )
            }
            Ok(Ok((head, output))) => {
                let reusable = if head.retire {
                    process.kill().await;
                    None
                } else {
                    process.idle_since = Instant::now();
                    Some(process)
                };
                (reusable, outcome::<W>(self.program, head, output).map_err(CallFailure::Otherwise))
            }
        }
    }

    /// Returns `process` if it is running, otherwise a new one.
    async fn process(&self, process: Option<Process>) -> Result<Process, Error> {
        if let Some(process) = process.and_then(|mut process| process.is_running().then_some(process)) {
            return Ok(process);
        }
        let started = Process::start(&self.options.worker, self.usage.clone(), self.options.sandbox).await;
        started.map_err(|error| {
            let program = self.options.worker.program.display();
            tracing::error!(%error, %program, "could not start a process for an engine");
            let message = "no process could be started for this engine: try again";
            Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1))
        })
    }
}
