//! The journal in an actor: a counter whose value is stored.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix::{Handler, Message};
use actix_rt::Arbiter;
use futures::future::join_all;
use muster_store::{Expect, MemStore, Op, Rec, Store, Tree as Trees};

use super::*;
use crate::supervise::{ActorState, ChildSpec, Handle, Tree};
use crate::{Kind, test_world};

const KEY: &[u8] = b"count";

struct Counter {
    count: u64,
    /// Number of the last durable decision.
    published: Arc<AtomicU64>,
    journal: Journal<Reply<u64>>,
    store: StoreHandle,
}

impl Actor for Counter {
    type Context = Context<Self>;
}

impl Journalled for Counter {
    type Effects = Reply<u64>;

    fn journal(&mut self) -> &mut Journal<Reply<u64>> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.store
    }

    fn on_committed(&mut self, committed: Committed<Reply<u64>>, _: &mut Context<Self>) {
        self.published.fetch_max(committed.last, Ordering::SeqCst);
        committed.effects.into_iter().for_each(Reply::send);
    }

    fn on_conflict(&mut self, reply: Reply<u64>, _: &mut Context<Self>) {
        reply.fail(&StoreError::Conflict.into());
    }

    fn on_failed(&mut self, effects: Vec<Reply<u64>>, error: &Error) {
        effects.into_iter().for_each(|reply| reply.fail(error));
    }
}

/// Adds one; returns the count.
#[derive(Message)]
#[rtype(result = "Result<u64, Error>")]
struct Add;

/// Stores a record only if it is absent.
#[derive(Message)]
#[rtype(result = "Result<u64, Error>")]
struct Claim;

/// Returns the count, once it is durable.
#[derive(Message)]
#[rtype(result = "Result<u64, Error>")]
struct Count;

impl Handler<Add> for Counter {
    type Result = actix::ResponseFuture<Result<u64, Error>>;

    fn handle(&mut self, _: Add, context: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.admit() {
            return Box::pin(std::future::ready(Err(error)));
        }
        self.count += 1;
        let rec = Rec { schema: 1, bytes: self.count.to_be_bytes().to_vec() };
        let (reply, answer) = Reply::new(self.count);
        self.journal.push(vec![Op::Put { tree: Trees::Meta, key: KEY.to_vec(), rec }], reply);
        self.flush(context);
        Box::pin(answer)
    }
}

impl Handler<Claim> for Counter {
    type Result = actix::ResponseFuture<Result<u64, Error>>;

    fn handle(&mut self, _: Claim, context: &mut Context<Self>) -> Self::Result {
        let (tree, key, rec) = (Trees::Meta, b"claim".to_vec(), Rec { schema: 1, bytes: vec![1] });
        let (reply, answer) = Reply::new(self.count);
        self.journal.push_if(vec![(tree, key.clone(), Expect::Absent)], vec![Op::Put { tree, key, rec }], reply);
        self.flush(context);
        Box::pin(answer)
    }
}

impl Handler<Count> for Counter {
    type Result = actix::ResponseFuture<Result<u64, Error>>;

    fn handle(&mut self, _: Count, context: &mut Context<Self>) -> Self::Result {
        let (reply, answer) = Reply::new(self.count);
        self.journal.push(Vec::new(), reply);
        self.flush(context);
        Box::pin(answer)
    }
}

/// The counter over an in-memory store.
struct Fixture {
    counter: Handle<Counter>,
    store: Arc<MemStore>,
    published: Arc<AtomicU64>,
    tree: Tree,
}

impl Fixture {
    async fn start(tree: Tree) -> Self {
        let (store, published) = (Arc::new(MemStore::default()), Arc::<AtomicU64>::default());
        let (counter_store, counter_published) = (Arc::clone(&store), Arc::clone(&published));
        let spec = ChildSpec::new("counter", Arbiter::current(), move |_| {
            let (store, published): (StoreHandle, _) = (counter_store.clone(), Arc::clone(&counter_published));
            async move {
                let journal = Journal::open(&store).await?;
                let count = stored(&*store);
                Ok(Counter { count, published, journal, store })
            }
        });
        let counter = tree.group("test").start(spec);
        counter.up().await;
        Self { counter, store, published, tree }
    }

    async fn add(&self) -> Result<u64, Error> {
        self.counter.ask(Add).await?
    }

    async fn count(&self) -> Result<u64, Error> {
        self.counter.ask(Count).await?
    }

    fn restarts(&self) -> u64 {
        self.tree.snapshot()[0].restarts
    }

    async fn running(&self) {
        test_world::until(|| self.tree.snapshot()[0].state == ActorState::Running).await;
    }
}

fn stored(store: &dyn Store) -> u64 {
    let rec = store.get(Trees::Meta, KEY).unwrap();
    rec.map_or(0, |rec| u64::from_be_bytes(rec.bytes.try_into().unwrap()))
}

fn assert_unavailable(error: Error, seconds: u64) {
    let expected = "the store does not accept writes at the moment: try again later";
    assert_eq!((error.kind, error.message.as_str()), (Kind::Unavailable, expected));
    assert_eq!((error.code, error.retry_after), (None, Some(Duration::from_secs(seconds))));
}

#[test]
fn writers_share_commits_and_get_responses_in_order_once_durable() {
    test_world::run(|tree| async move {
        let fixture = Fixture::start(tree).await;
        let before = fixture.store.stats().commits;
        fixture.store.hold_commits();
        let adding = async {
            let answers = join_all((0..500).map(|_| fixture.add())).await;
            assert!(answers.into_iter().map(Result::unwrap).eq(1..=500));
        };
        let reading = async {
            assert_eq!(fixture.count().await, Ok(500), "after the writes it contains");
        };
        let releasing = async {
            fixture.store.held(2).await;
            assert_eq!((stored(&*fixture.store), fixture.published.load(Ordering::SeqCst)), (0, 0));
            fixture.store.release();
        };
        tokio::join!(adding, reading, releasing);
        assert_eq!(stored(&*fixture.store), 500);
        assert!(fixture.store.stats().commits - before <= 3, "{:?}", fixture.store.stats());
    });
}

#[test]
fn a_full_store_delays_writes_and_loses_none() {
    test_world::run(|tree| async move {
        let fixture = Fixture::start(tree).await;
        fixture.store.fail_commits(Some(StoreError::Busy));
        let adding = async {
            let answers = join_all((0..100).map(|_| fixture.add())).await;
            assert!(answers.into_iter().map(Result::unwrap).eq(1..=100));
        };
        let recovering = async {
            test_world::after(Duration::from_secs(1)).await;
            assert_eq!(fixture.published.load(Ordering::SeqCst), 0);
            fixture.store.fail_commits(None);
        };
        tokio::join!(adding, recovering);
        assert_eq!((stored(&*fixture.store), fixture.restarts()), (100, 0));
    });
}

#[test]
fn a_read_only_store_rejects_requests_before_a_decision_and_reads_succeed() {
    test_world::run(|tree| async move {
        let fixture = Fixture::start(tree).await;
        fixture.add().await.unwrap();
        fixture.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        for _ in 0..20 {
            assert_unavailable(fixture.add().await.unwrap_err(), 30);
        }
        assert_eq!((fixture.count().await, fixture.restarts()), (Ok(1), 0));
        fixture.store.fail_commits(None);
        assert_eq!(fixture.add().await, Ok(2));
    });
}

#[test]
fn a_failed_commit_fails_all_callers_with_one_error_and_the_actor_restarts_from_the_store() {
    test_world::run(|tree| async move {
        let fixture = Fixture::start(tree).await;
        fixture.add().await.unwrap();
        fixture.store.hold_commits();
        let adding = async { join_all((0..50).map(|_| fixture.add())).await };
        let breaking = async {
            fixture.store.held(2).await;
            fixture.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
            fixture.store.release();
        };
        let (answers, ()) = tokio::join!(adding, breaking);
        // In flight and waiting alike.
        answers.into_iter().for_each(|answer| assert_unavailable(answer.unwrap_err(), 30));
        fixture.running().await;
        assert_eq!((fixture.count().await, fixture.restarts()), (Ok(1), 1));
        test_world::after(Duration::from_secs(120)).await;
        assert_unavailable(fixture.add().await.unwrap_err(), 30);
        assert_eq!(fixture.restarts(), 1, "no loop while the store stays read-only");
        fixture.store.fail_commits(None);
        assert_eq!(fixture.add().await, Ok(2));
    });
}

#[test]
fn a_panic_loses_no_acknowledged_write_and_the_next_incarnation_reads_those_in_flight() {
    test_world::run(|tree| async move {
        let fixture = Fixture::start(tree).await;
        for round in 0..4 {
            let before = fixture.count().await.unwrap();
            fixture.store.hold_commits();
            let adding = async { join_all((0..20).map(|_| fixture.add())).await };
            let panicking = async {
                fixture.store.held(2).await;
                assert!(fixture.tree.inject_panic("test/counter"));
                test_world::until(|| fixture.restarts() == round + 1).await;
                fixture.store.release();
            };
            let (answers, ()) = tokio::join!(adding, panicking);
            assert!(answers.iter().all(|answer| answer.as_ref().is_err_and(|error| error.kind == Kind::Unavailable)));
            fixture.running().await;
            assert_eq!(fixture.count().await, Ok(before + 2), "one in each of two batches");
            assert_eq!(stored(&*fixture.store), before + 2);
        }
    });
}

#[test]
fn a_precondition_that_does_not_hold_fails_its_caller_only() {
    test_world::run(|tree| async move {
        let fixture = Fixture::start(tree).await;
        assert_eq!(fixture.counter.ask(Claim).await.unwrap(), Ok(0));
        assert_eq!(fixture.counter.ask(Claim).await.unwrap().unwrap_err().kind, Kind::Conflict);
        assert_eq!((fixture.add().await, fixture.restarts()), (Ok(1), 0));
    });
}
