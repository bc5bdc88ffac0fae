//! Tests of tasks: the actor on virtual time, with scripted work.

mod controls;
mod crashes;
mod lists;
mod runs;
mod script;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use muster_store::{MemStore, StoreHandle};
use serde_json::{Value, json};

use self::script::Script;
use super::tasks::CALLS;
use super::*;
use muster_core::event::RecordingPublisher;
use muster_core::supervise::Tree;
use muster_core::{Clock, test_world};
use muster_identity::By;
use muster_identity::keys::KeyRecord;

/// Test environment.
struct TaskFixture {
    tree: Tree,
    tasks: Tasks,
    executor: Arc<Script>,
    feed: Arc<RecordingPublisher>,
    store: Arc<MemStore>,
    clock: Clock,
    settings: TaskSettings,
    owner: Requester,
    /// Latency of each kill that dropped a step.
    kills: Arc<Mutex<Vec<Duration>>>,
}

fn key(id: &str) -> Requester {
    Requester::of(By::Key(Arc::new(KeyRecord::without_secret(id, "a test's"))))
}

impl TaskFixture {
    async fn new(tree: &Tree, settings: TaskSettings) -> Self {
        Self::on(tree, Arc::default(), Clock::tokio(test_world::START), settings).await
    }

    /// Ends the server without a shutdown, and starts another one on the stored state.
    async fn restart(self) -> Self {
        self.tree.stop().await;
        let tree = Tree::new(Arbiter::current(), self.clock.clone());
        Self::on(&tree, self.store, self.clock, self.settings).await
    }

    /// Starts on a store with existing records.
    async fn on(tree: &Tree, store: Arc<MemStore>, clock: Clock, settings: TaskSettings) -> Self {
        let (executor, feed) = (Arc::new(Script::default()), Arc::new(RecordingPublisher::default()));
        let kills: Arc<Mutex<Vec<Duration>>> = Arc::default();
        let noted = Arc::clone(&kills);
        let handle: StoreHandle = Arc::<MemStore>::clone(&store);
        let options = TaskOptions {
            store: handle,
            clock: clock.clone(),
            publisher: Arc::<RecordingPublisher>::clone(&feed),
            executor: Arc::<Script>::clone(&executor),
            settings: settings.clone(),
            runtime: None,
            kill_latency: KillLatency::new(move |took| noted.lock().unwrap().push(took)),
            standing: muster_core::guard::StandingReader::unconstituted(),
        };
        let tasks = Tasks::start(&tree.group("agents"), Arbiter::current(), options);
        tasks.up().await;
        Self { tree: tree.clone(), tasks, executor, feed, store, clock, settings, owner: key("key_me"), kills }
    }

    /// Accepts a task with these steps.
    async fn run(&self, steps: Value) -> String {
        self.try_run(steps).await.unwrap().id
    }

    async fn try_run(&self, steps: Value) -> Result<TaskRecord, muster_core::Error> {
        self.tasks.run(new(steps), &self.owner, None).await
    }

    async fn get(&self, id: &str) -> TaskRecord {
        self.tasks.get(id, &self.owner).await.unwrap()
    }

    /// Returns the task once the condition holds, advancing virtual time.
    async fn until(&self, id: &str, holds: impl Fn(&TaskRecord) -> bool) -> TaskRecord {
        let mut record = self.get(id).await;
        for _ in 0..10_000 {
            if holds(&record) {
                return record;
            }
            record = self.tasks.wait(id, &self.owner, Some(record.seq), Duration::from_secs(60)).await.unwrap();
        }
        panic!("timed out waiting for the condition: {record:?}");
    }

    async fn reaches(&self, id: &str, status: Status) -> TaskRecord {
        self.until(id, |record| record.status == status).await
    }

    async fn control(&self, id: &str, verb: Verb) -> Result<ControlReply, muster_core::Error> {
        let request_id = muster_core::ids::new_id(muster_core::ids::IdKind::Request);
        self.tasks.control(id, Control { verb, request_id, if_seq: None, reason: None }, &self.owner).await
    }
}

fn new(steps: Value) -> NewTask {
    NewTask {
        agent: "script".to_owned(),
        task: "do it".to_owned(),
        params: json!({ "steps": steps }),
        timeout_seconds: 600,
        priority: Priority::Normal,
        start: Start::AtOnce,
    }
}
