//! Permits: the execution of an approval in the batch of another actor.

use std::time::Duration;

use muster_core::guard::Permit;
use muster_core::journal::Journalled;
use muster_core::{Error, Kind};
use muster_store::{Expect, Tree};
use serde_json::json;

use crate::actor::{Change, GovernanceActor, LEASE, Lease};
use crate::acts::{encode, executed};
use crate::approval::{ApprovalEvent, ApprovalRecord, ApprovalState, Outcome, apply};
use crate::messages::Acquire;

/// Time for which a permit may be used.
const VALID: Duration = Duration::from_secs(30);

impl GovernanceActor {
    /// Returns the permit of an approved action to its requester. One at a time for an approval.
    pub(crate) fn acquire(&mut self, Acquire { caller, id, payload_sha256 }: Acquire) -> Result<Permit, Error> {
        self.admit()?;
        let unknown = |_| {
            let message = format!("Muster-Approval: no approval of yours has the id {id}");
            Error::new(Kind::Conflict, message).coded("approval_mismatch")
        };
        let record = self.visible(&caller, &id).map_err(unknown)?;
        if record.requester.id != caller.id() {
            let message = "an approval is executed by who requested it, with the same key or account";
            return Err(Error::new(Kind::Conflict, message).coded("approval_mismatch"));
        }
        self.check_lease(&id)?;
        if record.payload_sha256 != payload_sha256 && record.state != ApprovalState::Executed {
            let message = format!("{id} approves another request: send exactly that one");
            let details = json!({ "payload_sha256": record.payload_sha256, "sent_sha256": payload_sha256 });
            return Err(Error::new(Kind::Conflict, message).coded("approval_mismatch").detailing(details));
        }
        let (now, facts) = (self.now(), self.facts(Some(&record), caller.id()));
        let event = ApprovalEvent::Execute {
            by: caller.id().to_owned(),
            vetoes: self.vetoes(&record, caller.session.as_ref(), now),
            policy: self.options.veto.policy().to_string(),
            outcome: Outcome::Ok,
            note: None,
        };
        let next = apply(&record, event, &facts, now)?;
        let mut change = Change::default();
        self.approval_change(&mut change, Some(&record), &next)?;
        let details = json!({ "action": next.action, "resource": next.resource, "state": next.state });
        self.audit(&mut change, caller.id(), "approval_executed", &id, details)?;
        if next.state != ApprovalState::Executed {
            let next = self.remember(next);
            self.decide(change, None)?;
            executed(&next)?;
            return Err(Error::new(Kind::Conflict, format!("{id} was not executed")).coded("state_conflict"));
        }
        self.leases.insert(id.clone(), Lease { until: now.plus(LEASE), events: change.events });
        Ok(Permit {
            action: record.action.clone(),
            resource: record.resource.clone(),
            requester: record.requester.id.clone(),
            expect: (Tree::Approvals, id.clone().into_bytes(), Expect::Is(encode(&record)?)),
            ops: change.ops,
            valid_until: now.plus(VALID),
            approval: id,
        })
    }

    /// Reads an approval again that another actor's batch may have changed, and publishes what it became.
    pub(crate) fn settle(&mut self, id: &str) -> Result<(), Error> {
        let Some(lease) = self.leases.remove(id) else { return Ok(()) };
        let Some(stored) = self.options.store.record::<ApprovalRecord>(id.as_bytes())? else { return Ok(()) };
        let before = self.open.get(id).cloned();
        if before.as_ref().is_some_and(|before| before.version >= stored.version) {
            return Ok(());
        }
        if let Some(publisher) = self.options.publisher.as_ref().filter(|_| !lease.events.is_empty()) {
            publisher.publish(lease.events);
        }
        self.remember(stored);
        Ok(())
    }
}
