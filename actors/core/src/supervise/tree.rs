//! The visible tree: groups of actors, what each is doing, and how failures climb.

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

use super::child::{ChildSpec, keep};
use super::control::Phase;
use super::handle::{Handle, Slot};
use super::policy::{Intensity, Policy, Verdict};
use crate::clock::{Clock, Millis};

/// What an actor is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorState {
    Starting,
    Running,
    /// Dead, and waiting to be started again.
    BackingOff,
    /// Dead too often: its whole group is being started again.
    Escalated,
    Stopped,
}

/// How an actor last died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    pub at: Millis,
    pub why: String,
}

/// One actor, for status and health.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActorStatus {
    /// Group and name, such as `limits/rate-0`.
    pub path: String,
    /// The actor's type.
    pub kind: &'static str,
    pub state: ActorState,
    pub mailbox_depth: usize,
    pub mailbox_capacity: usize,
    /// Calls refused because it was full, dead or too slow.
    pub refused: u64,
    pub restarts: u64,
    pub last_failure: Option<Failure>,
}

/// An actor died and is started again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Restarted {
    /// Group and name, such as `limits/rate-0`.
    pub actor: String,
    /// How often so far.
    pub restarts: u64,
    pub why: String,
    pub at: Millis,
}

/// Restarts that wait for somebody who follows them; more drop the oldest.
const RESTARTS: usize = 256;

/// A failure that went past its group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Escalation {
    /// The actor it began with.
    pub path: String,
    pub why: String,
    pub at: Millis,
    /// No group is left above it: the server is unhealthy until it holds again.
    pub reached_root: bool,
}

/// One actor's entry in the tree.
pub(super) struct Node {
    pub(super) path: String,
    kind: &'static str,
    facts: Mutex<Facts>,
    gauge: Box<dyn Fn() -> Gauge + Send + Sync>,
}

struct Facts {
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
    fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self, state: ActorState) {
        self.facts().state = state;
    }

    pub(super) fn died(&self, why: String, state: ActorState, at: Millis) {
        let mut facts = self.facts();
        facts.state = state;
        facts.restarts += 1;
        facts.last_failure = Some(Failure { at, why });
        facts.fault = None;
    }

    /// Keeps the way to kill this incarnation, for fault-injection tests.
    pub(super) fn arm(&self, fault: oneshot::Sender<()>) {
        self.facts().fault = Some(fault);
    }

    fn status(&self) -> ActorStatus {
        let gauge = (self.gauge)();
        let facts = self.facts();
        ActorStatus {
            path: self.path.clone(),
            kind: self.kind,
            state: facts.state,
            mailbox_depth: gauge.depth,
            mailbox_capacity: gauge.capacity,
            refused: gauge.refused,
            restarts: facts.restarts,
            last_failure: facts.last_failure.clone(),
        }
    }
}

/// What all groups share.
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) phase: watch::Sender<Phase>,
    /// Runs the keepers, away from the arbiters that serve requests.
    keeper: ArbiterHandle,
    keepers: TaskTracker,
    stop: CancellationToken,
    nodes: Mutex<Vec<Arc<Node>>>,
    escalations: watch::Sender<Option<Escalation>>,
    restarts: broadcast::Sender<Restarted>,
}

impl Shared {
    /// Tells whoever follows that an actor died.
    pub(super) fn tell_restart(&self, node: &Node) {
        let facts = node.facts();
        if let Some(Failure { at, why }) = facts.last_failure.clone() {
            // Fails only where nobody listens.
            let _ = self.restarts.send(Restarted { actor: node.path.clone(), restarts: facts.restarts, why, at });
        }
    }

    fn nodes(&self) -> MutexGuard<'_, Vec<Arc<Node>>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a retired actor out of the tree.
    pub(super) fn forget(&self, node: &Arc<Node>) {
        self.nodes().retain(|known| !Arc::ptr_eq(known, node));
    }
}

/// The root of supervision. Cheap to clone.
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
    /// A tree whose keepers run on `keeper`.
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
        Self { root: Group::new(String::new(), None, Policy::of_group(), &shared) }
    }

    /// A group of actors that are started again together when one of them dies too often.
    pub fn group(&self, name: &str) -> Group {
        self.root.group(name)
    }

    /// Every actor, in the order of their start.
    pub fn snapshot(&self) -> Vec<ActorStatus> {
        self.root.0.shared.nodes().iter().map(|node| node.status()).collect()
    }

    /// The latest escalation, and a way to await the next.
    pub fn escalations(&self) -> watch::Receiver<Option<Escalation>> {
        self.root.0.shared.escalations.subscribe()
    }

    /// Each actor that dies and is started again from now on.
    pub fn restarts(&self) -> broadcast::Receiver<Restarted> {
        self.root.0.shared.restarts.subscribe()
    }

    /// Kills an actor by a panic inside its own task. For fault-injection tests; true where it was running.
    pub fn inject_panic(&self, path: &str) -> bool {
        let node = self.root.0.shared.nodes().iter().find(|node| node.path == path).cloned();
        node.and_then(|node| node.facts().fault.take()).is_some_and(|fault| fault.send(()).is_ok())
    }

    /// Tells every actor to finish what it has in hand.
    pub fn drain(&self) {
        self.root.0.shared.phase.send_replace(Phase::Drain);
    }

    /// Stops every actor and waits for their ends, each bounded.
    pub async fn stop(&self) {
        self.root.0.shared.stop.cancel();
        self.root.0.shared.keepers.close();
        self.root.0.shared.keepers.wait().await;
    }
}

/// A node of the tree with actors or groups below it.
#[derive(Clone)]
pub struct Group(Arc<GroupInner>);

struct GroupInner {
    path: String,
    parent: Option<Group>,
    policy: Policy,
    shared: Arc<Shared>,
    started: Instant,
    intensity: Mutex<Intensity>,
    /// Started again together with this one.
    below: Mutex<Vec<Weak<GroupInner>>>,
    /// The present incarnation; a new one is sent at each restart of the group.
    incarnations: watch::Sender<Incarnation>,
}

/// The children of a group from one start of it to the next.
#[derive(Debug, Clone)]
pub(super) struct Incarnation {
    number: u64,
    pub(super) token: CancellationToken,
    tree: CancellationToken,
}

impl Incarnation {
    /// The whole tree ends, not only this incarnation.
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
    fn new(path: String, parent: Option<Self>, policy: Policy, shared: &Arc<Shared>) -> Self {
        let first = Incarnation { number: 0, token: shared.stop.child_token(), tree: shared.stop.clone() };
        Self(Arc::new(GroupInner {
            path,
            parent,
            policy,
            shared: Arc::clone(shared),
            started: Instant::now(),
            intensity: Mutex::new(Intensity::default()),
            below: Mutex::new(Vec::new()),
            incarnations: watch::Sender::new(first),
        }))
    }

    /// A group below this one.
    pub fn group(&self, name: &str) -> Self {
        let group = Self::new(self.path_of(name), Some(self.clone()), Policy::of_group(), &self.0.shared);
        self.below().push(Arc::downgrade(&group.0));
        group
    }

    /// Starts an actor and keeps it alive. The handle is good at once; calls before the first start are `Down`.
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
            facts: Mutex::new(Facts { state: ActorState::Starting, restarts: 0, last_failure: None, fault: None }),
            gauge: Box::new(move || Gauge {
                depth: gauged.depth.load(Ordering::Relaxed),
                capacity: gauged.capacity,
                refused: gauged.refused.load(Ordering::Relaxed),
            }),
        });
        let shared = &self.0.shared;
        shared.nodes().push(Arc::clone(&node));
        let life = keep(spec, Arc::clone(&slot), node, self.clone());
        shared.keeper.spawn(shared.keepers.track_future(life));
        Handle(slot)
    }

    fn path_of(&self, name: &str) -> String {
        if self.0.path.is_empty() { name.to_owned() } else { format!("{}/{name}", self.0.path) }
    }

    fn below(&self) -> MutexGuard<'_, Vec<Weak<GroupInner>>> {
        self.0.below.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tree(&self) -> &Shared {
        &self.0.shared
    }

    pub(super) fn incarnation(&self) -> Incarnation {
        self.0.incarnations.borrow().clone()
    }

    /// Waits until the group is started again after `present`, or the tree stops.
    pub(super) async fn next_incarnation(&self, present: &Incarnation) {
        let mut incarnations = self.0.incarnations.subscribe();
        tokio::select! {
            _ = incarnations.wait_for(|next| next.number > present.number) => {}
            () = self.0.shared.stop.cancelled() => {}
        }
    }

    /// A child died too often: this group's children are all stopped and, after a back-off, started again; a group for
    /// which that happens too often hands the failure to its parent.
    pub(super) fn escalate(&self, child: &str, why: String) {
        let shared = &self.0.shared;
        let now = self.0.started.elapsed();
        let verdict = self.0.intensity.lock().unwrap_or_else(PoisonError::into_inner).failed(&self.0.policy, now);
        let (wait, reached_root) = match (verdict, &self.0.parent) {
            (Verdict::RestartAfter(wait), _) => (wait, false),
            // The parent starts this group again with all its others.
            (Verdict::Escalate, Some(parent)) => return parent.escalate(child, why),
            // The root restarts for ever, at its longest back-off: an operator may mend what keeps it from holding.
            (Verdict::Escalate, None) => (self.0.policy.max_backoff, true),
        };
        let at = shared.clock.now();
        let group = if self.0.path.is_empty() { "root" } else { &self.0.path };
        tracing::error!(group, child, why = %why, restart_in_ms = wait.as_millis(), "group restarts");
        shared.escalations.send_replace(Some(Escalation { path: child.to_owned(), why, at, reached_root }));
        self.restart_after(wait);
    }

    fn restart_after(&self, wait: Duration) {
        for group in self.below().iter().filter_map(Weak::upgrade) {
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

/// The last segment of a type's path.
fn short_name(name: &'static str) -> &'static str {
    name.rsplit("::").next().unwrap_or(name)
}
