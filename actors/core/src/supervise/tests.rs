//! Each way in which an actor can die, and its effect on callers, the tree and the actor's state.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::{Actor, ActorContext, Context, Handler, Message, ResponseFuture};
use actix_rt::Arbiter;

use super::*;
use crate::test_world;

/// A counter whose count is stored outside of it and restored by its factory.
struct Counter {
    count: u64,
    stored: Arc<AtomicU64>,
}

impl Actor for Counter {
    type Context = Context<Self>;
}

#[derive(Message)]
#[rtype(result = "u64")]
struct Add(u64);

#[derive(Message)]
#[rtype(result = "()")]
struct Boom;

#[derive(Message)]
#[rtype(result = "()")]
struct Stop;

/// A message that is never replied to.
#[derive(Message)]
#[rtype(result = "()")]
struct Hang;

impl Handler<Add> for Counter {
    type Result = u64;
    fn handle(&mut self, add: Add, _: &mut Context<Self>) -> u64 {
        self.count += add.0;
        self.stored.store(self.count, Ordering::SeqCst);
        self.count
    }
}

impl Handler<Boom> for Counter {
    type Result = ();
    fn handle(&mut self, _: Boom, _: &mut Context<Self>) {
        panic!("boom");
    }
}

impl Handler<Stop> for Counter {
    type Result = ();
    fn handle(&mut self, _: Stop, context: &mut Context<Self>) {
        context.stop();
    }
}

impl Handler<Hang> for Counter {
    type Result = ResponseFuture<()>;
    fn handle(&mut self, _: Hang, _: &mut Context<Self>) -> ResponseFuture<()> {
        Box::pin(std::future::pending())
    }
}

fn counter(stored: &Arc<AtomicU64>) -> ChildSpec<Counter> {
    let stored = Arc::clone(stored);
    ChildSpec::new("counter", Arbiter::current(), move |_| {
        let stored = Arc::clone(&stored);
        async move { Ok(Counter { count: stored.load(Ordering::SeqCst), stored }) }
    })
}

fn state(tree: &Tree, path: &str) -> ActorStatus {
    tree.snapshot().into_iter().find(|actor| actor.path == path).unwrap()
}

async fn running(tree: &Tree, path: &str) {
    test_world::until(|| state(tree, path).state == ActorState::Running).await;
}

#[test]
fn state_survives_a_panic_and_callers_get_an_error() {
    test_world::run(|tree| async move {
        let stored = Arc::new(AtomicU64::new(0));
        let counter = tree.group("test").start(counter(&stored));
        running(&tree, "test/counter").await;
        assert_eq!(counter.ask(Add(2)).await, Ok(2));

        let error = counter.ask(Boom).await.unwrap_err();
        assert_eq!(error.kind, CallErrorKind::Down);
        assert!(error.retry_after >= Duration::from_secs(1));

        test_world::until(|| state(&tree, "test/counter").restarts == 1).await;
        assert_eq!(counter.ask(Add(1)).await.unwrap_err().kind, CallErrorKind::Down, "no hang while it is down");
        running(&tree, "test/counter").await;
        assert_eq!(counter.ask(Add(3)).await, Ok(5), "the factory restored the state");
        let failure = state(&tree, "test/counter").last_failure.unwrap();
        assert_eq!(failure.why, "panicked: boom");
        assert!(failure.at >= test_world::START);
    });
}

#[test]
fn an_actor_that_stops_by_itself_is_restarted() {
    test_world::run(|tree| async move {
        let counter = tree.group("test").start(counter(&Arc::default()));
        running(&tree, "test/counter").await;
        let _ = counter.ask(Stop).await;
        test_world::until(|| state(&tree, "test/counter").restarts == 1).await;
        running(&tree, "test/counter").await;
        assert_eq!(counter.ask(Add(1)).await, Ok(1));
    });
}

#[test]
fn an_injected_fault_kills_any_actor() {
    test_world::run(|tree| async move {
        let counter = tree.group("test").start(counter(&Arc::default()));
        running(&tree, "test/counter").await;
        assert!(tree.inject_panic("test/counter"));
        test_world::until(|| state(&tree, "test/counter").restarts == 1).await;
        running(&tree, "test/counter").await;
        assert_eq!(counter.ask(Add(1)).await, Ok(1));
        assert!(!tree.inject_panic("test/missing"));
    });
}

#[test]
fn the_queue_is_bounded_and_a_silent_actor_times_out() {
    test_world::run(|tree| async move {
        let counter = tree.group("test").start(counter(&Arc::default()).capacity(2));
        running(&tree, "test/counter").await;
        let (one, two, three) = tokio::join!(counter.ask(Hang), counter.ask(Hang), async {
            test_world::until(|| state(&tree, "test/counter").mailbox_depth == 2).await;
            counter.ask(Add(1)).await
        });
        assert_eq!(three.unwrap_err().kind, CallErrorKind::Busy);
        assert_eq!(one.unwrap_err().kind, CallErrorKind::TimedOut);
        assert_eq!(two.unwrap_err().kind, CallErrorKind::TimedOut);
        assert_eq!(state(&tree, "test/counter").mailbox_depth, 0, "queue permits are released");
        assert_eq!(state(&tree, "test/counter").refused, 3);
    });
}

#[test]
fn a_failing_factory_escalates_and_restarts_its_siblings() {
    test_world::run(|tree| async move {
        let group = tree.group("test");
        let sibling = group.start(counter(&Arc::default()));
        running(&tree, "test/counter").await;
        assert_eq!(sibling.ask(Add(7)).await, Ok(7));
        let broken = Arc::new(AtomicU64::new(1));
        let switch = Arc::clone(&broken);
        group.start(ChildSpec::<Counter>::new("broken", Arbiter::current(), move |_| {
            let broken = switch.load(Ordering::SeqCst) == 1;
            async move { if broken { Err("no luck".into()) } else { Ok(Counter { count: 0, stored: Arc::default() }) } }
        }));
        let mut escalations = tree.escalations();
        let seen = escalations.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        assert_eq!((seen.path.as_str(), seen.reached_root), ("test/broken", false));
        assert!(seen.why.contains("no luck"));
        assert_eq!(state(&tree, "test/broken").restarts, 6);
        broken.store(0, Ordering::SeqCst);
        running(&tree, "test/broken").await;
        running(&tree, "test/counter").await;
        assert_eq!(
            state(&tree, "test/counter").restarts,
            0,
            "the restart of a group does not count as a failure of the sibling"
        );
    });
}

#[test]
fn a_permanent_failure_reaches_the_root_and_is_still_retried() {
    test_world::run(|tree| async move {
        let group = tree.group("outer").group("inner");
        group.start(ChildSpec::<Counter>::new("broken", Arbiter::current(), |_| async { Err("never".into()) }));
        let mut escalations = tree.escalations();
        let seen = escalations.wait_for(|seen| seen.as_ref().is_some_and(|seen| seen.reached_root)).await;
        assert_eq!(seen.unwrap().clone().unwrap().path, "outer/inner/broken");
        let tries = state(&tree, "outer/inner/broken").restarts;
        test_world::until(|| state(&tree, "outer/inner/broken").restarts > tries).await;
    });
}

#[test]
fn control_signals_bypass_the_mailbox() {
    test_world::run(|tree| async move {
        let (send, controls) = std::sync::mpsc::channel();
        tree.group("test").start(ChildSpec::new("counter", Arbiter::current(), move |control: Control| {
            send.send(control).unwrap();
            async { Ok(Counter { count: 0, stored: Arc::default() }) }
        }));
        running(&tree, "test/counter").await;
        let control = controls.recv().unwrap();
        tree.drain();
        assert_eq!(*control.phase().borrow(), Phase::Drain);
        tree.stop().await;
        assert!(control.stop_token().is_cancelled());
        assert_eq!(state(&tree, "test/counter").state, ActorState::Stopped);
    });
}

#[test]
fn control_reaches_an_actor_whose_queue_is_full() {
    test_world::run(|tree| async move {
        let counter = tree.group("test").start(counter(&Arc::default()).capacity(2).reserved(1));
        running(&tree, "test/counter").await;
        let patience = Duration::from_secs(5);
        let hanging = futures::future::join_all((0..2).map(|_| counter.ask_within(patience * 2, Hang)));
        let calling = async {
            tokio::task::yield_now().await;
            assert_eq!(counter.ask(Add(1)).await.unwrap_err().kind, CallErrorKind::Busy);
            assert_eq!(counter.control_within(patience, Add(1)).await, Ok(1));
            let stuck = counter.control_within(patience, Hang);
            let refused = async {
                tokio::task::yield_now().await;
                counter.control_within(patience, Add(1)).await.unwrap_err().kind
            };
            let (stuck, refused) = tokio::join!(stuck, refused);
            assert_eq!(
                (stuck.unwrap_err().kind, refused),
                (CallErrorKind::TimedOut, CallErrorKind::Busy),
                "bounded too"
            );
            assert_eq!(counter.control_within(patience, Add(1)).await, Ok(2), "the place is released");
        };
        tokio::join!(hanging, calling);
        assert_eq!(counter.ask(Add(1)).await, Ok(3));
    });
}
