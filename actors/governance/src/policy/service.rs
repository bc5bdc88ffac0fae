//! Public face of the policy: storage, replacement, comparison with the file, and the veto.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::guard::{
    GuardedAction, Need, Permit, Requester, StandingPublisher, StandingReader, VetoFacts, VetoingRule,
};
use muster_core::{Clock, Error, Kind};
use muster_store::{Batch, Expect, Rec, Record, StoreError, StoreHandle, Tree};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::document::{PolicyDocument, PolicyFault};
use super::in_force::{InForce, PolicySource, judge};
use super::record::{KEY, PolicyRecord};
use crate::veto::Veto;

/// Resource of a `policy.change` and of its entries.
const RESOURCE: &str = "policy";

/// Channel of its events.
const CHANNEL: &str = "governance";

/// Who replaces the policy.
#[derive(Debug, Clone, Copy)]
pub struct PolicyWriter<'a> {
    /// Principal and role.
    pub requester: Requester<'a>,
    /// Version that the caller has read, if it states one.
    pub expected: Option<u64>,
}

/// The policy. Cheap to clone.
#[derive(Debug, Clone)]
pub struct PolicyService {
    shared: Arc<Shared>,
}

struct Shared {
    store: StoreHandle,
    clock: Clock,
    standing: StandingReader,
    guards: StandingPublisher,
    publisher: Option<Publisher>,
    /// Whether the settings veto every guarded action.
    frozen: AtomicBool,
    in_force: watch::Sender<Arc<InForce>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("in_force", &self.in_force.borrow().id).finish_non_exhaustive()
    }
}

impl PolicyService {
    /// Reads the stored policy. `file` is that of the settings, which is in force where none is stored; [`Self::take_file`]
    /// stores it once it is known whether there is a quorum. Blocking, but short.
    ///
    /// # Errors
    /// The store cannot be read, or a policy cannot be used.
    pub fn open(
        store: &StoreHandle,
        clock: &Clock,
        guards: StandingPublisher,
        publisher: Option<Publisher>,
        file: &PolicyDocument,
    ) -> Result<Self, Error> {
        let stored = store.get(Tree::Policy, KEY)?.as_ref().map(PolicyRecord::decode).transpose()?;
        let record = stored.unwrap_or_else(|| PolicyRecord { version: 0, ..of_file(file, 0, clock) });
        let in_force = InForce::of(record, &file.id()).map_err(|fault| unusable(&fault))?;
        guards.publish_policy(in_force.document.quorum.clone(), in_force.guards.clone());
        let standing = guards.reader();
        let (in_force, _) = watch::channel(Arc::new(in_force));
        let (store, clock) = (Arc::clone(store), clock.clone());
        Ok(Self {
            shared: Arc::new(Shared {
                store,
                clock,
                standing,
                guards,
                publisher,
                frozen: AtomicBool::default(),
                in_force,
            }),
        })
    }

    /// Returns whether the settings veto every guarded action.
    pub fn frozen(&self) -> bool {
        self.shared.frozen.load(Ordering::Acquire)
    }

    /// Sets whether every guarded action is vetoed, at a start and at each reload of the settings.
    pub fn freeze(&self, frozen: bool) {
        self.shared.frozen.store(frozen, Ordering::Release);
    }

    /// Returns the policy in force.
    pub fn now(&self) -> Arc<InForce> {
        Arc::clone(&self.shared.in_force.borrow())
    }

    /// Returns a watch of the policy in force, by which the guards are published.
    pub fn changes(&self) -> watch::Receiver<Arc<InForce>> {
        self.shared.in_force.subscribe()
    }

    /// Judges facts by other rules than those in force.
    ///
    /// # Errors
    /// The rules cannot be used.
    pub fn judge_by(document: &PolicyDocument, facts: &VetoFacts) -> Result<Vec<VetoingRule>, PolicyFault> {
        document.check().map(|rules| judge(&rules, facts))
    }

    /// Takes over the policy of the settings file, at a start and at each reload: it becomes the policy in force while
    /// there is no quorum and the file changed since it was last taken over. Otherwise it is compared only. Returns whether
    /// it is in force.
    ///
    /// # Errors
    /// The policy cannot be used, or the store does not accept writes.
    pub async fn take_file(&self, file: &PolicyDocument) -> Result<bool, Error> {
        file.check().map_err(|fault| invalid(&fault))?;
        let id = file.id();
        let (before, present) = self.read().await?;
        let constituted = self.shared.standing.get().constituted;
        let is_new = present.as_ref().is_none_or(|present| present.file != id);
        // The first start after an update has no stored policy, even where there is a quorum.
        if present.is_some() && (constituted || !is_new) {
            self.compare(&id);
            return Ok(self.now().like_file);
        }
        let version = present.as_ref().map_or(0, |present| present.version);
        let record = of_file(file, version, &self.shared.clock);
        let changed = present.is_none_or(|present| present.document.id() != id);
        let entry = self.entry("system", &record, json!({ "policy": id, "source": "file" }));
        let in_force = InForce::of(record.clone(), &id).map_err(|fault| unusable(&fault))?;
        let mut batch = Batch::put(Tree::Policy, KEY, record.encode()?).when(Tree::Policy, KEY, expect(before));
        let event = event(&record);
        if changed {
            batch.ops.extend([entry.op()?, event.op()?]);
        }
        self.shared.store.commit(batch).await?;
        self.publish(in_force);
        self.notify(event, changed);
        Ok(true)
    }

    /// Replaces the policy. It is in force when this returns.
    ///
    /// # Errors
    /// `Invalid` for a policy that cannot be used; what the guard says; `Conflict` if it changed meanwhile; `Unavailable`.
    pub async fn replace(
        &self,
        document: PolicyDocument,
        writer: PolicyWriter<'_>,
        permit: Option<Permit>,
    ) -> Result<Arc<InForce>, Error> {
        document.check().map_err(|fault| invalid(&fault))?;
        let (before, present) = self.read().await?;
        let version = present.as_ref().map_or(0, |present| present.version);
        if writer.expected.is_some_and(|expected| expected != version) {
            return Err(muster_core::precondition::IfMatch::Version(writer.expected.unwrap_or_default())
                .check(version)
                .err()
                .unwrap_or_else(changed));
        }
        let now = self.shared.clock.now();
        let need = Need::new(GuardedAction::PolicyChange, RESOURCE);
        let cleared = self.shared.standing.get().clear(Some(need), writer.requester, permit, now)?;
        let file = present.map_or_else(|| self.now().id.to_string(), |present| present.file);
        let record = PolicyRecord {
            version: version + 1,
            by: writer.requester.id.to_owned(),
            at: now,
            approval: cleared.approval().map(str::to_owned),
            from_file: document.id() == file,
            file: file.clone(),
            document,
        };
        let in_force = InForce::of(record.clone(), &file).map_err(|fault| invalid(&fault))?;
        let details = json!({ "policy": in_force.id, "previous": self.now().id, "version": record.version });
        let entry = self.entry(writer.requester.id, &record, cleared.annotate(details));
        let (expects, ops) = cleared.into_parts();
        let mut batch = Batch::put(Tree::Policy, KEY, record.encode()?).when(Tree::Policy, KEY, expect(before));
        batch.expect.extend(expects);
        batch.ops.extend(ops);
        let event = event(&record);
        batch.ops.extend([entry.op()?, event.op()?]);
        match self.shared.store.commit(batch).await {
            Ok(()) => {}
            Err(StoreError::Conflict) => return Err(changed()),
            Err(error) => return Err(error.into()),
        }
        self.publish(in_force);
        self.notify(event, true);
        Ok(self.now())
    }

    /// Reads the stored policy, with its bytes for a precondition.
    async fn read(&self) -> Result<(Option<Rec>, Option<PolicyRecord>), Error> {
        let store = Arc::clone(&self.shared.store);
        let read = tokio::task::spawn_blocking(move || store.get(Tree::Policy, KEY)).await;
        let rec = read.map_err(|_| Error::new(Kind::Internal, "the policy could not be read"))??;
        let record = rec.as_ref().map(PolicyRecord::decode).transpose()?;
        Ok((rec, record))
    }

    fn entry(&self, actor: &str, record: &PolicyRecord, details: Value) -> AuditEntry {
        let entry = AuditEntry::new(record.at, actor, GuardedAction::PolicyChange.name(), RESOURCE, details);
        let entry = entry.after(&allowed(&record.document));
        match &record.approval {
            Some(approval) => entry.approval(approval),
            None => entry,
        }
    }

    /// Publishes a policy. Two that are stored at the same time are published in the order of their versions.
    fn publish(&self, in_force: InForce) {
        self.shared.in_force.send_if_modified(|present| {
            let newer = in_force.version > present.version;
            if newer {
                // Within the same modification, so that guards and rules are those of one policy.
                self.shared.guards.publish_policy(in_force.document.quorum.clone(), in_force.guards.clone());
                *present = Arc::new(in_force);
            }
            newer
        });
    }

    /// Publishes an event that was stored.
    fn notify(&self, event: Event, stored: bool) {
        if let Some(publisher) = self.shared.publisher.as_ref().filter(|_| stored) {
            publisher.publish(vec![event]);
        }
    }

    /// Publishes whether the settings file agrees.
    fn compare(&self, file: &str) {
        self.shared.in_force.send_if_modified(|present| {
            let like = *present.id == *file;
            if like == present.like_file {
                return false;
            }
            *present = Arc::new(present.compared(like));
            true
        });
    }
}

impl Veto for PolicyService {
    fn judge(&self, facts: &VetoFacts) -> Vec<VetoingRule> {
        self.now().judge(facts)
    }

    fn policy(&self) -> Arc<str> {
        Arc::clone(&self.now().id)
    }
}

/// What a stored policy allows, as its newest entry of the audit log has it.
fn allowed(document: &PolicyDocument) -> Value {
    json!({ "policy": document.id() })
}

/// Returns the resource of the stored policy's entries and what it allows, for the comparison of records with the log.
///
/// # Errors
/// The policy cannot be read.
pub fn recorded(store: &StoreHandle) -> Result<Option<(&'static str, Value)>, StoreError> {
    let stored = store.get(Tree::Policy, KEY)?.as_ref().map(PolicyRecord::decode).transpose()?;
    Ok(stored.map(|stored| (RESOURCE, allowed(&stored.document))))
}

/// The policy of the settings file as a record that follows `version`.
fn of_file(file: &PolicyDocument, version: u64, clock: &Clock) -> PolicyRecord {
    PolicyRecord {
        version: version + 1,
        document: file.clone(),
        by: "system".to_owned(),
        at: clock.now(),
        approval: None,
        file: file.id(),
        from_file: true,
    }
}

/// The event of a change.
fn event(record: &PolicyRecord) -> Event {
    let source = if record.from_file { PolicySource::File } else { PolicySource::Store };
    let data = json!({
        "policy": record.document.id(), "version": record.version, "source": source.name(), "by": record.by,
        "approval": record.approval,
    });
    Event::new("policy.changed", record.at, vec![CHANNEL.to_owned()], &data)
}

fn expect(before: Option<Rec>) -> Expect {
    before.map_or(Expect::Absent, Expect::Is)
}

fn changed() -> Error {
    Error::new(Kind::Conflict, "the policy was changed meanwhile: read it again").coded("state_conflict")
}

fn invalid(fault: &PolicyFault) -> Error {
    let mut loc = vec!["body"];
    loc.extend(fault.member.splitn(2, '.'));
    Error::field(Kind::Invalid, &loc, fault.why.clone(), Value::Null)
}

/// A stored policy that this version cannot use stops the start: without its rules guarded actions would pass unjudged.
fn unusable(fault: &PolicyFault) -> Error {
    Error::new(Kind::Internal, format!("the stored governance policy cannot be used: {fault}"))
}
