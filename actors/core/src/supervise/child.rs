//! Lifecycle of a supervised actor: built, started, monitored, restarted.

use std::any::Any;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::fut::{ActorFutureExt, WrapFuture};
use actix::{Actor, Addr, AsyncContext, Context};
use actix_rt::ArbiterHandle;
use futures::future::BoxFuture;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::control::Control;
use super::handle::Slot;
use super::policy::{RestartDecision, RestartIntensity, RestartPolicy};
use super::tree::{ActorState, Group, Node};

/// Reason for which a factory could not build its actor.
pub type BuildError = Box<dyn std::error::Error + Send + Sync>;

type Factory<A> = Box<dyn Fn(Control) -> BoxFuture<'static, Result<A, BuildError>> + Send + Sync>;

/// Time limit for a factory to restore an actor's state.
const BUILD_LIMIT: Duration = Duration::from_secs(30);
/// Time limit for an actor to stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);

/// Specification of a supervised actor: name, factory, arbiter, queue capacity and restart policy.
pub struct ChildSpec<A: Actor> {
    pub(super) name: String,
    pub(super) arbiter: ArbiterHandle,
    pub(super) capacity: usize,
    pub(super) reserved: usize,
    pub(super) policy: RestartPolicy,
    factory: Factory<A>,
}

impl<A: Actor> std::fmt::Debug for ChildSpec<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChildSpec").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<A: Actor<Context = Context<A>> + Send> ChildSpec<A> {
    /// Creates a specification. `factory` builds the actor with its state restored from storage; it is called for every
    /// start, outside of the actor's arbiter. Blocking reads must use `spawn_blocking`.
    pub fn new<F, Fut>(name: impl Into<String>, arbiter: ArbiterHandle, factory: F) -> Self
    where
        F: Fn(Control) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, BuildError>> + Send + 'static,
    {
        Self {
            name: name.into(),
            arbiter,
            capacity: 1024,
            reserved: 0,
            policy: RestartPolicy::default(),
            factory: Box::new(move |control| Box::pin(factory(control))),
        }
    }

    /// Sets the maximum number of concurrent calls (default 1,024).
    #[must_use]
    pub fn capacity(mut self, calls: usize) -> Self {
        self.capacity = calls.max(1);
        self
    }

    /// Sets the queue places reserved for control calls (default 0).
    #[must_use]
    pub fn reserved(mut self, calls: usize) -> Self {
        self.reserved = calls;
        self
    }

    /// Sets the restart policy.
    #[must_use]
    pub fn policy(mut self, policy: RestartPolicy) -> Self {
        self.policy = policy;
        self
    }
}

/// How an incarnation ended.
enum Exit {
    /// Requested by the tree or by the restart of its group.
    Stopped,
    Died(String),
}

/// The running incarnation, as seen by its supervisor.
struct Running<A: Actor> {
    addr: Addr<A>,
    ended: oneshot::Receiver<Result<(), String>>,
}

/// Supervises an actor until the tree stops.
pub(super) async fn supervise<A>(spec: ChildSpec<A>, slot: Arc<Slot<A>>, node: Arc<Node>, group: Group)
where
    A: Actor<Context = Context<A>> + Send,
{
    let origin = Instant::now();
    let mut intensity = RestartIntensity::default();
    loop {
        let incarnation = group.incarnation();
        if incarnation.stopping() || slot.retired.is_cancelled() {
            break;
        }
        node.enter(ActorState::Starting);
        let exit = run_incarnation(&spec, &slot, &node, &incarnation.token, &group).await;
        slot.publish(None);
        match exit {
            Exit::Stopped => {
                node.enter(ActorState::Stopped);
                slot.retired.run_until_cancelled(group.next_incarnation(&incarnation)).await;
            }
            Exit::Died(why) => match intensity.failed(&spec.policy, origin.elapsed()) {
                RestartDecision::RestartAfter(wait) => {
                    slot.back_in_ms.store(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
                    tracing::warn!(actor = %node.path, why = %why, restart_in_ms = wait.as_millis(), "actor died");
                    node.died(why, ActorState::BackingOff, group.tree().clock.now());
                    group.tree().notify_restart(&node);
                    tokio::select! {
                        () = tokio::time::sleep(wait) => {}
                        () = incarnation.token.cancelled() => {}
                        () = slot.retired.cancelled() => {}
                    }
                }
                RestartDecision::Escalate => {
                    tracing::error!(actor = %node.path, why = %why, "actor failed too often: escalating");
                    node.died(why.clone(), ActorState::Escalated, group.tree().clock.now());
                    group.tree().notify_restart(&node);
                    group.escalate(&node.path, why);
                    slot.retired.run_until_cancelled(group.next_incarnation(&incarnation)).await;
                }
            },
        }
    }
    node.enter(ActorState::Stopped);
    if slot.retired.is_cancelled() {
        group.tree().remove(&node);
    }
}

/// Runs one incarnation, from its factory to its end.
async fn run_incarnation<A>(
    spec: &ChildSpec<A>,
    slot: &Arc<Slot<A>>,
    node: &Node,
    incarnation: &CancellationToken,
    group: &Group,
) -> Exit
where
    A: Actor<Context = Context<A>> + Send,
{
    let stop = incarnation.child_token();
    let control = Control { stop: stop.clone(), phase: group.tree().phase.subscribe() };
    let built = tokio::select! {
        built = tokio::time::timeout(BUILD_LIMIT, (spec.factory)(control)) => built,
        () = stop.cancelled() => return Exit::Stopped,
        () = slot.retired.cancelled() => return Exit::Stopped,
    };
    let actor = match built {
        Ok(Ok(actor)) => actor,
        Ok(Err(error)) => return Exit::Died(format!("could not be built: {error}")),
        Err(_) => return Exit::Died(format!("was not built within {} s", BUILD_LIMIT.as_secs())),
    };
    let (fault, injected) = oneshot::channel();
    let Some(mut running) = start(spec, actor, stop.clone(), injected).await else {
        return Exit::Died("its arbiter has stopped".to_owned());
    };
    node.arm(fault);
    slot.publish(Some(running.addr.clone()));
    node.enter(ActorState::Running);
    tokio::select! {
        ended = &mut running.ended => match ended {
            Ok(Ok(())) if stop.is_cancelled() => Exit::Stopped,
            Ok(Ok(())) => Exit::Died("stopped by itself".to_owned()),
            Ok(Err(panic)) => Exit::Died(panic),
            Err(_) => Exit::Died("its arbiter has stopped".to_owned()),
        },
        () = stop_requested(incarnation, slot) => {
            stop.cancel();
            // A stuck actor must not delay the shutdown of the others.
            if tokio::time::timeout(STOP_LIMIT, &mut running.ended).await.is_err() {
                tracing::error!(actor = %node.path, "actor did not stop in time: abandoned");
            }
            Exit::Stopped
        }
    }
}

/// Resolves when the group or the owner requests a stop.
async fn stop_requested<A: Actor>(incarnation: &CancellationToken, slot: &Slot<A>) {
    tokio::select! {
        () = incarnation.cancelled() => {}
        () = slot.retired.cancelled() => {}
    }
}

/// Starts an actor on its arbiter. Its task is joined, so that a panic is detected with its message.
async fn start<A>(
    spec: &ChildSpec<A>,
    actor: A,
    stop: CancellationToken,
    injected: oneshot::Receiver<()>,
) -> Option<Running<A>>
where
    A: Actor<Context = Context<A>> + Send,
{
    let (addr_to, addr_from) = oneshot::channel();
    let (ended_to, ended) = oneshot::channel();
    let capacity = spec.capacity + spec.reserved;
    spec.arbiter.spawn_fn(move || {
        let mut context = Context::new();
        context.set_mailbox_capacity(capacity);
        let address = context.address();
        context.spawn(stop.cancelled_owned().into_actor(&actor).map(|(), _, context: &mut Context<A>| {
            actix::ActorContext::stop(context);
        }));
        context.spawn(injected_panic(injected).into_actor(&actor));
        let task = actix_rt::spawn(context.into_future(actor));
        // Sending fails if the supervisor is gone because the tree is being dropped.
        let _ = addr_to.send(address);
        actix_rt::spawn(async move {
            let _ = ended_to.send(task.await.map_err(|error| {
                error.try_into_panic().map_or_else(|error| error.to_string(), |payload| panic_message(payload.as_ref()))
            }));
        });
    });
    addr_from.await.ok().map(|addr| Running { addr, ended })
}

/// Panics inside the actor's own task, as a panicking handler does, when a fault-injection test requests it.
#[allow(clippy::panic)]
async fn injected_panic(injected: oneshot::Receiver<()>) {
    match injected.await {
        Ok(()) => panic!("injected fault"),
        Err(_) => std::future::pending().await,
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let words =
        payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", words.unwrap_or("no message"))
}
