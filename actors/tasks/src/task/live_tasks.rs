//! Live tasks in memory, each with its placement, its job and its waiting callers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use muster_store::{PageRequest, StoreError, StoreHandle};
use tokio::sync::oneshot;

use super::estimate::RunTimes;
use super::executor::{NextAction, TaskView};
use super::jobs::Job;
use super::queue::Queue;
use super::record::{Status, TaskRecord};
use super::settings::TaskSettings;
use super::state::Task;
use super::stored;
use muster_core::Millis;

/// Placement of a task with regard to slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    Nowhere,
    Queue,
    Slot,
}

/// A live task, or an ended one whose end is not durable yet.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) task: Task,
    pub(super) owner: Arc<str>,
    pub(super) placement: Placement,
    pub(super) job: Option<Job>,
    /// The view from which it was last planned, while it has a slot.
    pub(super) view: Option<Arc<TaskView>>,
    /// The first step, if it is known already.
    pub(super) first: Option<Box<NextAction>>,
    pub(super) due: Option<Millis>,
    /// Number of the decision that its current state depends on.
    pub(super) decided: u64,
    pub(super) waiters: Vec<oneshot::Sender<Box<TaskRecord>>>,
    pub(super) args_apart: bool,
    /// Status under which this task is counted in the queue statistics.
    pub(super) counted: Option<Status>,
}

impl Entry {
    pub(super) fn new(task: Task, args_apart: bool) -> Self {
        Self {
            owner: Arc::from(task.record.owner.id.as_str()),
            task,
            placement: Placement::Nowhere,
            job: None,
            view: None,
            first: None,
            due: None,
            decided: 0,
            waiters: Vec::new(),
            args_apart,
            counted: None,
        }
    }

    /// Returns the record with elapsed times included.
    pub(super) fn record_at(&self, now: Millis) -> TaskRecord {
        let mut task = Task { record: self.task.record.clone(), inner: self.task.inner.clone() };
        if !task.record.status.ended() {
            task.progressed(None, now);
            if let Some(since) = task.inner.paused_at {
                task.record.paused_ms += u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX);
            }
        }
        task.record
    }

    /// Returns the task as [`TaskExecutor`](super::TaskExecutor) sees it, without the outputs of finished steps.
    pub(super) fn bare_view(&self) -> TaskView {
        let record = &self.task.record;
        TaskView {
            task_id: record.id.clone(),
            agent: record.agent.clone(),
            task: record.task.clone(),
            params: record.params.clone(),
            owner: record.owner.clone(),
            created_at: record.created_at,
            revision: record.revision,
            instructions: record.instructions.iter().filter(|each| each.joined_after.is_some()).cloned().collect(),
            done: Vec::new(),
        }
    }
}

/// All live tasks and their indexes.
#[derive(Debug)]
pub(super) struct LiveTasks {
    pub(super) entries: BTreeMap<Arc<str>, Entry>,
    /// Owner and identifier of each task.
    pub(super) owners: BTreeSet<(Arc<str>, Arc<str>)>,
    pub(super) queue: Queue,
    pub(super) due: BTreeSet<(Millis, Arc<str>)>,
    pub(super) times: HashMap<String, RunTimes>,
}

impl LiveTasks {
    /// Restores live tasks and run times. Blocking.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read.
    pub(super) fn read(store: &StoreHandle, settings: &TaskSettings) -> Result<Self, StoreError> {
        let mut live = Self {
            entries: BTreeMap::new(),
            owners: BTreeSet::new(),
            queue: Queue::new(settings.slots, settings.per_key),
            due: BTreeSet::new(),
            times: times(store)?,
        };
        for (task, args_apart) in stored::live(store)? {
            live.insert(Entry::new(task, args_apart));
        }
        Ok(live)
    }

    pub(super) fn insert(&mut self, entry: Entry) -> Arc<str> {
        let id: Arc<str> = Arc::from(entry.task.record.id.as_str());
        self.owners.insert((Arc::clone(&entry.owner), Arc::clone(&id)));
        self.entries.insert(Arc::clone(&id), entry);
        id
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Entry> {
        let (id, entry) = self.entries.remove_entry(id)?;
        self.owners.remove(&(Arc::clone(&entry.owner), Arc::clone(&id)));
        if let Some(due) = entry.due {
            self.due.remove(&(due, id));
        }
        Some(entry)
    }

    /// Returns when the task that is served next was queued.
    pub(super) fn oldest(&self) -> Option<Millis> {
        self.queue.oldest()
    }

    pub(super) fn id(&self, id: &str) -> Option<Arc<str>> {
        self.entries.get_key_value(id).map(|(id, _)| Arc::clone(id))
    }
}

fn times(store: &StoreHandle) -> Result<HashMap<String, RunTimes>, StoreError> {
    let all = store.records::<RunTimes>([], PageRequest::of(500));
    all.map(|found| found.map(|(agent, times)| (String::from_utf8_lossy(&agent).into_owned(), times))).collect()
}
