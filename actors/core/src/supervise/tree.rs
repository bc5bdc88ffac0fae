//! The supervision tree: groups of actors, their status, and how failures escalate.

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use actix::{Actor, Context};
use actix_rt::ArbiterHandle;
use serde::Serialize;
use tokio::sync::{broadcast, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::child::{ChildSpec, supervise};
use super::control::Phase;
use super::handle::{Handle, Slot};
use super::policy::{RestartDecision, RestartIntensity, RestartPolicy};
use crate::clock::{Clock, Millis};

/// State of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorState {
    /// Being built by its factory.
    Starting,
    /// Processing messages.
    Running,
    /// Dead, and waiting to be restarted.
    BackingOff,
    /// Failed too often: its whole group is being restarted.
    Escalated,
    /// Stopped together with the tree or its group.
    Stopped,
}

/// The last failure of an actor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Time of the failure.
    pub at: Millis,
    /// What failed.
    pub why: String,
}

/// Status of an actor, for status and health reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActorStatus {
    /// Path of group and name, such as `limits/rate-0`.
    pub path: String,
    /// Type of the actor.
    pub kind: &'static str,
    /// Current state.
    pub state: ActorState,
    /// Number of calls in progress, control calls included.
    pub mailbox_depth: usize,
    /// Maximum number of calls in progress, without the places reserved for control calls.
    pub mailbox_capacity: usize,
    /// Calls rejected because the actor was overloaded, down or too slow.
    pub refused: u64,
    /// Number of restarts since the server started.
    pub restarts: u64,
    /// The last failure.
    pub last_failure: Option<Failure>,
}

/// An actor died and is being restarted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RestartEvent {
    /// Path of group and name, such as `limits/rate-0`.
    pub actor: String,
    /// Number of restarts so far.
    pub restarts: u64,
    /// What failed.
    pub why: String,
    /// Time of the failure.
    pub at: Millis,
}

/// Number of restart events buffered for receivers; further ones replace the oldest.
const RESTARTS: usize = 256;

/// A failure that escalated beyond its group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// Path of the actor that failed.
    pub path: String,
    /// What failed.
    pub why: String,
    /// Time of the escalation.
    pub at: Millis,
    /// Whether no group is left above: the server is unhealthy until the actor is running again.
    pub reached_root: bool,
}

/// Entry of an actor in the tree.
pub(super) struct Node {
    pub(super) path: String,
    kind: &'static str,
    node_state: Mutex<NodeState>,
    gauge: Box<dyn Fn() -> Gauge + Send + Sync>,
}

struct NodeState {
    state: ActorState,
    restarts: u64,
    last_failure: Option<Failure>,
    fault: Option<oneshot::Sender<()>>,
}

struct Gauge {
    depth: usize,
    capacity: usize,
    refused: u64,
}

impl Node {
    fn node_state(&self) -> MutexGuard<'_, NodeState> {
        self.node_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, state: ActorState) {
        self.node_state().state = state;
    }

    pub(super) fn died(&self, why: String, state: ActorState, at: Millis) {
        let mut node_state = self.node_state();
        node_state.state = state;
        node_state.restarts += 1;
        node_state.last_failure = Some(Failure { at, why });
        node_state.fault = None;
    }

    /// Stores the trigger that kills this incarnation, for fault-injection tests.
    pub(super) fn arm(&self, fault: oneshot::Sender<()>) {
        self.node_state().fault = Some(fault);
    }

    fn status(&self) -> ActorStatus {
        let gauge = (self.gauge)();
        let node_state = self.node_state();
        ActorStatus {
            path: self.path.clone(),
            kind: self.kind,
            state: node_state.state,
            mailbox_depth: gauge.depth,
            mailbox_capacity: gauge.capacity,
            refused: gauge.refused,
            restarts: node_state.restarts,
            last_failure: node_state.last_failure.clone(),
        }
    }
}

/// State shared by all groups.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) phase: watch::Sender<Phase>,
    /// Runs the supervisors, apart from the arbiters that serve requests.
    keeper: ArbiterHandle,
    keepers: TaskTracker,
    stop: CancellationToken,
    nodes: Mutex<Vec<Arc<Node>>>,
    escalations: watch::Sender<Option<Escalation>>,
    restarts: broadcast::Sender<RestartEvent>,
}

impl Shared {
    /// Notifies receivers that an actor died.
    pub(super) fn notify_restart(&self, node: &Node) {
        let node_state = node.node_state();
        if let Some(Failure { at, why }) = node_state.last_failure.clone() {
            // Fails only if there is no receiver.
            let _ =
                self.restarts.send(RestartEvent { actor: node.path.clone(), restarts: node_state.restarts, why, at });
        }
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Arc<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a retired actor from the tree.
    pub(super) fn remove(&self, node: &Arc<Node>) {
        self.nodes().retain(|known| !Arc::ptr_eq(known, node));
    }
}

/// The root of the supervision tree. Cheap to clone.
#[derive(Clone)]
pub struct Tree {
    root: Group,
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.snapshot()).finish()
    }
}

impl Tree {
    /// Creates a tree whose supervisors run on the arbiter `keeper`.
    pub fn new(keeper: ArbiterHandle, clock: Clock) -> Self {
        let stop = CancellationToken::new();
        let shared = Arc::new(Shared {
            clock,
            phase: watch::Sender::new(Phase::Run),
            keeper,
            keepers: TaskTracker::new(),
            stop: stop.clone(),
            nodes: Mutex::new(Vec::new()),
            escalations: watch::Sender::new(None),
            restarts: broadcast::Sender::new(RESTARTS),
        });
        Self { root: Group::new(String::new(), None, RestartPolicy::of_group(), &shared) }
    }

    /// Creates a group of actors that are restarted together when one of them fails too often.
    pub fn group(&self, name: &str) -> Group {
        self.root.group(name)
    }

    /// Returns the status of every actor, in the order of their start.
    pub fn snapshot(&self) -> Vec<ActorStatus> {
        self.root.0.shared.nodes().iter().map(|node| node.status()).collect()
    }

    /// Returns a receiver of the latest escalation.
    pub fn escalations(&self) -> watch::Receiver<Option<Escalation>> {
        self.root.0.shared.escalations.subscribe()
    }

    /// Returns a receiver of restarts from now on.
    pub fn restarts(&self) -> broadcast::Receiver<RestartEvent> {
        self.root.0.shared.restarts.subscribe()
    }

    /// Kills an actor by a panic inside its own task, for fault-injection tests. Returns whether it was running.
    pub fn inject_panic(&self, path: &str) -> bool {
        let node = self.root.0.shared.nodes().iter().find(|node| node.path == path).cloned();
        node.and_then(|node| node.node_state().fault.take()).is_some_and(|fault| fault.send(()).is_ok())
    }

    /// Requests every actor to finish its work in progress.
    pub fn drain(&self) {
        self.root.0.shared.phase.send_replace(Phase::Drain);
    }

    /// Stops every actor and waits until they have ended, each with a time limit.
    pub async fn stop(&self) {
        self.root.0.shared.stop.cancel();
        self.root.0.shared.keepers.close();
        self.root.0.shared.keepers.wait().await;
    }
}

/// A group of actors and groups.
#[derive(Clone)]
pub struct Group(Arc<GroupInner>);

struct GroupInner {
    path: String,
    parent: Option<Group>,
    policy: RestartPolicy,
    shared: Arc<Shared>,
    started: Instant,
    intensity: Mutex<RestartIntensity>,
    /// Groups that are restarted together with this one.
    children: Mutex<Vec<Weak<GroupInner>>>,
    /// The current incarnation; a new one is sent at each restart of the group.
    incarnations: watch::Sender<Incarnation>,
}

/// The children of a group from one start of the group to the next.
#[derive(Debug, Clone)]
pub(super) struct Incarnation {
    number: u64,
    pub(super) token: CancellationToken,
    tree: CancellationToken,
}

impl Incarnation {
    /// Returns whether the whole tree is stopping, not only this incarnation.
    pub(super) fn stopping(&self) -> bool {
        self.tree.is_cancelled()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Group").field(&self.0.path).finish()
    }
}

impl Group {
    fn new(path: String, parent: Option<Self>, policy: RestartPolicy, shared: &Arc<Shared>) -> Self {
        let first = Incarnation { number: 0, token: shared.stop.child_token(), tree: shared.stop.clone() };
        Self(Arc::new(GroupInner {
            path,
            parent,
            policy,
            shared: Arc::clone(shared),
            started: Instant::now(),
            intensity: Mutex::new(RestartIntensity::default()),
            children: Mutex::new(Vec::new()),
            incarnations: watch::Sender::new(first),
        }))
    }

    /// Creates a group inside this one.
    pub fn group(&self, name: &str) -> Self {
        let group = Self::new(self.path_of(name), Some(self.clone()), RestartPolicy::of_group(), &self.0.shared);
        self.children().push(Arc::downgrade(&group.0));
        group
    }

    /// Starts and supervises an actor. The handle is valid immediately; calls before the first start fail as `Down`.
    pub fn start<A>(&self, spec: ChildSpec<A>) -> Handle<A>
    where
        A: Actor<Context = Context<A>> + Send,
    {
        let path = self.path_of(&spec.name);
        let slot = Arc::new(Slot::new(Arc::from(path.as_str()), spec.capacity, spec.reserved));
        let gauged = Arc::clone(&slot);
        let node = Arc::new(Node {
            path,
            kind: short_name(std::any::type_name::<A>()),
            node_state: Mutex::new(NodeState {
                state: ActorState::Starting,
                restarts: 0,
                last_failure: None,
                fault: None,
            }),
            gauge: Box::new(move || Gauge {
                depth: gauged.depth.load(Ordering::Relaxed) + gauged.controls.load(Ordering::Relaxed),
                capacity: gauged.capacity,
                refused: gauged.refused.load(Ordering::Relaxed),
            }),
        });
        let shared = &self.0.shared;
        shared.nodes().push(Arc::clone(&node));
        let task = supervise(spec, Arc::clone(&slot), node, self.clone());
        shared.keeper.spawn(shared.keepers.track_future(task));
        Handle(slot)
    }

    fn path_of(&self, name: &str) -> String {
        if self.0.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.0.path) }
    }

    fn children(&self) -> MutexGuard<'_, Vec<Weak<GroupInner>>> {
        self.0.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tree(&self) -> &Shared {
        &self.0.shared
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.0.incarnations.borrow().clone()
    }

    /// Waits until the group is restarted after `present`, or the tree stops.
    pub(super) async fn next_incarnation(&self, present: &Incarnation) {
        let mut incarnations = self.0.incarnations.subscribe();
        tokio::select! {
            _ = incarnations.wait_for(|next| next.number > present.number) => {}
            () = self.0.shared.stop.cancelled() => {}
        }
    }

    /// Handles a child that failed too often: all children of this group are stopped and restarted after a back-off. A
    /// group for which this happens too often escalates to its parent.
    pub(super) fn escalate(&self, child: &str, why: String) {
        let shared = &self.0.shared;
        let now = self.0.started.elapsed();
        let verdict = self.0.intensity.lock().unwrap_or_else(PoisonError::into_inner).failed(&self.0.policy, now);
        let (wait, reached_root) = match (verdict, &self.0.parent) {
            (RestartDecision::RestartAfter(wait), _) => (wait, false),
            // The parent restarts this group together with its other children.
            (RestartDecision::Escalate, Some(parent)) => return parent.escalate(child, why),
            // The root restarts forever with its longest back-off, because an operator may fix the cause.
            (RestartDecision::Escalate, None) => (self.0.policy.max_backoff, true),
        };
        let at = shared.clock.now();
        let group = if self.0.path.is_empty() { "root" } else { &self.0.path };
        tracing::error!(group, child, why = %why, restart_in_ms = wait.as_millis(), "group restarts");
        shared.escalations.send_replace(Some(Escalation { path: child.to_owned(), why, at, reached_root }));
        self.restart_after(wait);
    }

    fn restart_after(&self, wait: Duration) {
        for group in self.children().iter().filter_map(Weak::upgrade) {
            Self(group).restart_after(wait);
        }
        let present = self.incarnation();
        present.token.cancel();
        let group = self.clone();
        self.0.shared.keeper.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                () = group.0.shared.stop.cancelled() => return,
            }
            let token = group.0.shared.stop.child_token();
            group.0.incarnations.send_modify(|incarnation| {
                incarnation.number += 1;
                incarnation.token = token;
            });
        });
    }
}

/// Returns the last segment of a type's path.
fn short_name(name: &'static str) -> &'static str {
    name.rsplit("::").next().unwrap_or(name)
}
