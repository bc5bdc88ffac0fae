//! The published state of governance, by which actors decide on guarded commands without asking.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::permit::{Cleared, Permit, not_needed};
use super::step::changed;
use super::{ApprovalStep, GuardedAction, Need, QuorumRole, Risk};
use crate::{Error, Kind, Millis};

/// How the policy in force guards an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardRule {
    /// Risk, at least that of the action.
    pub risk: Risk,
    /// Roles that must each be covered by another person.
    pub roles: Vec<QuorumRole>,
    /// Number above which the action is guarded, where it has one.
    pub over: Option<u64>,
}

/// A decider as guards see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeciderStanding {
    /// Roles for which the person was enrolled.
    pub roles: Vec<QuorumRole>,
}

/// The state of governance at a time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// Whether the approvals were read. Until then guarded commands are refused as unavailable.
    pub ready: bool,
    /// Whether each role of the quorum has had a decider of its own. Never false again.
    pub constituted: bool,
    /// Roles that an action takes for which there is no rule; every one if there are none.
    pub quorum: Vec<QuorumRole>,
    /// Rules of the policy in force. An action without one has the default rule.
    pub guards: BTreeMap<GuardedAction, GuardRule>,
    /// Deciders by user.
    pub deciders: BTreeMap<Arc<str>, DeciderStanding>,
}

/// Who executes a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requester<'a> {
    /// `usr_…`, `svc_…`, `key_…` or `system`.
    pub id: &'a str,
    /// Whether it has the role `super_admin`.
    pub is_super_admin: bool,
}

impl Standing {
    /// Returns the roles that an action takes for which there is no rule.
    pub fn quorum(&self) -> Vec<QuorumRole> {
        if self.quorum.is_empty() { QuorumRole::ALL.to_vec() } else { self.quorum.clone() }
    }

    /// Returns the rule of an action.
    pub fn rule(&self, action: GuardedAction) -> GuardRule {
        let default =
            || GuardRule { risk: action.default_risk(), roles: self.quorum(), over: action.default_threshold() };
        self.guards.get(&action).cloned().unwrap_or_else(default)
    }

    /// Returns the number above which an action is guarded.
    pub fn threshold(&self, action: GuardedAction) -> u64 {
        let own = self.guards.get(&action).map(|rule| rule.over);
        own.unwrap_or_else(|| action.default_threshold()).unwrap_or_default()
    }

    /// Decides on a command of the actor that owns the record. `need` is what the command needs, `None` if it is not
    /// guarded.
    ///
    /// Before there is a quorum, a `super_admin` executes guarded commands at once. A permit is used wherever it is given.
    ///
    /// # Errors
    /// `Forbidden` (`approval_required`) without a permit; `Conflict` (`approval_mismatch`) with one for something else;
    /// `Unavailable` until the approvals were read.
    pub fn clear(
        &self,
        need: Option<Need>,
        requester: Requester<'_>,
        permit: Option<Permit>,
        now: Millis,
    ) -> Result<Cleared, Error> {
        match (need, permit) {
            (None, None) => Ok(Cleared::free()),
            (None, Some(permit)) => Err(not_needed(&permit.approval)),
            (Some(need), Some(permit)) => {
                permit.check(&need, requester.id, now)?;
                Ok(Cleared::permitted(permit))
            }
            (Some(need), None) => {
                self.require_ready()?;
                if !self.constituted && requester.is_super_admin {
                    return Ok(Cleared::alone());
                }
                Err(self.required(need))
            }
        }
    }

    /// Decides on a command of the actor that owns the record, which makes something that waits in a state of its own.
    /// `need` is what it would wait for, `None` if it is not guarded. Returns the step that opens the approval; `None`
    /// before there is a quorum, when such things wait as their own state machine says.
    ///
    /// # Errors
    /// `Forbidden` (`approval_required`) without a step, which the caller then prepares; `Conflict` (`state_conflict`)
    /// with one for something else; `Unavailable` until the approvals were read.
    pub fn open(&self, need: Option<Need>, step: Option<ApprovalStep>) -> Result<Option<ApprovalStep>, Error> {
        let Some(need) = need else { return if step.is_some() { Err(changed()) } else { Ok(None) } };
        self.require_ready()?;
        match step {
            None if !self.constituted => Ok(None),
            None => Err(self.required(need)),
            Some(step) => step.check(&need).map(Some),
        }
    }

    fn require_ready(&self) -> Result<(), Error> {
        if self.ready {
            return Ok(());
        }
        let message = "approvals are being read: try again";
        Err(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1)))
    }

    /// Returns the refusal that names what is needed, at the risk and for the roles of the action's rule.
    pub fn required(&self, need: Need) -> Error {
        let rule = self.rule(need.action);
        need.at_least(rule.risk).required(&rule.roles)
    }
}

/// Publishes the standing.
#[derive(Debug, Clone)]
pub struct StandingPublisher(watch::Sender<Arc<Standing>>);

impl StandingPublisher {
    /// Creates a publisher of a standing that is not ready.
    pub fn new() -> Self {
        Self(watch::Sender::new(Arc::default()))
    }

    /// Replaces the published standing, but for the policy.
    pub fn publish(&self, standing: Standing) {
        self.0.send_modify(|present| {
            let (quorum, guards) = (present.quorum.clone(), present.guards.clone());
            *present = Arc::new(Standing { quorum, guards, ..standing });
        });
    }

    /// Replaces the policy: the quorum and the rules of all actions.
    pub fn publish_policy(&self, quorum: Vec<QuorumRole>, guards: BTreeMap<GuardedAction, GuardRule>) {
        self.0.send_modify(|present| *present = Arc::new(Standing { quorum, guards, ..Standing::clone(present) }));
    }

    /// Returns a reader.
    pub fn reader(&self) -> StandingReader {
        StandingReader(self.0.subscribe())
    }
}

impl Default for StandingPublisher {
    fn default() -> Self {
        Self::new()
    }
}

/// Reads the published standing.
#[derive(Debug, Clone)]
pub struct StandingReader(watch::Receiver<Arc<Standing>>);

impl StandingReader {
    /// Returns a reader of a server without deciders, for actors that run without governance: the command line on a
    /// stopped server, and tests.
    pub fn unconstituted() -> Self {
        let publisher = StandingPublisher::new();
        publisher.publish(Standing { ready: true, ..Standing::default() });
        // The last value stays readable without its publisher.
        publisher.reader()
    }

    /// Returns the present standing.
    pub fn get(&self) -> Arc<Standing> {
        Arc::clone(&self.0.borrow())
    }
}

#[cfg(test)]
mod tests {
    use muster_store::{Expect, Tree};

    use super::*;
    use crate::guard::StepOutcome;

    fn permit() -> Permit {
        Permit {
            approval: "apr_1".to_owned(),
            action: "key.grant".to_owned(),
            resource: "ci".to_owned(),
            requester: "usr_1".to_owned(),
            expect: (Tree::Keys, b"apr_1".to_vec(), Expect::Absent),
            ops: Vec::new(),
            valid_until: Millis(100),
        }
    }

    fn code(standing: &Standing, need: Option<Need>, who: (&str, bool), permit: Option<Permit>) -> &'static str {
        let requester = Requester { id: who.0, is_super_admin: who.1 };
        match standing.clear(need, requester, permit, Millis(50)) {
            Ok(cleared) if cleared.alone => "alone",
            Ok(cleared) if cleared.approval.is_some() => "permitted",
            Ok(_) => "free",
            Err(error) => error.code.unwrap_or("unavailable"),
        }
    }

    #[test]
    fn the_policy_and_the_deciders_are_published_apart() {
        let (publisher, action) = (StandingPublisher::new(), GuardedAction::FirmwareRollout);
        let reader = publisher.reader();
        let rule = GuardRule { risk: Risk::Critical, roles: vec![QuorumRole::Operations], over: Some(7) };
        publisher.publish_policy(vec![QuorumRole::Security], BTreeMap::from([(action, rule.clone())]));
        publisher.publish(Standing { ready: true, constituted: true, ..Standing::default() });
        let standing = reader.get();
        assert!(standing.ready && standing.constituted);
        assert_eq!((standing.rule(action), standing.threshold(action)), (rule, 7));
        assert_eq!(standing.rule(GuardedAction::TrustAdd).roles, [QuorumRole::Security]);
        publisher.publish_policy(Vec::new(), BTreeMap::new());
        assert!(reader.get().constituted);
        assert_eq!(reader.get().rule(GuardedAction::TrustAdd).roles, QuorumRole::ALL);
    }

    #[test]
    fn a_guarded_command_needs_a_permit_of_its_own() {
        let need = || Some(Need::new(GuardedAction::KeyGrant, "ci"));
        let before = Standing { ready: true, ..Standing::default() };
        let after = Standing { constituted: true, ..before.clone() };
        let (user, admin) = (("usr_1", false), ("usr_1", true));
        for (standing, need, who, permit, expected) in [
            (&Standing::default(), need(), admin, None, "unavailable"),
            (&before, None, user, None, "free"),
            (&before, need(), user, None, "approval_required"),
            (&before, need(), admin, None, "alone"),
            (&after, need(), admin, None, "approval_required"),
            (&after, need(), user, Some(permit()), "permitted"),
            (&after, None, user, Some(permit()), "approval_mismatch"),
            (&after, need(), ("usr_2", false), Some(permit()), "approval_mismatch"),
            (&after, Some(Need::new(GuardedAction::KeyGrant, "cd")), user, Some(permit()), "approval_mismatch"),
            (&after, Some(Need::new(GuardedAction::RoleGrant, "ci")), user, Some(permit()), "approval_mismatch"),
            (&after, need(), user, Some(Permit { valid_until: Millis(49), ..permit() }), "state_conflict"),
        ] {
            assert_eq!(code(standing, need.clone(), who, permit), expected, "{standing:?} {need:?} {who:?}");
        }
    }

    #[test]
    fn what_waits_opens_its_approval_once_there_is_a_quorum() {
        let need = |resource: &str| Some(Need::new(GuardedAction::FirmwareRollout, resource));
        let step = || {
            Some(ApprovalStep {
                approval: "apr_1".to_owned(),
                action: "firmware.rollout".to_owned(),
                resource: "job_1".to_owned(),
                people: 2,
                decided_by: Vec::new(),
                outcome: StepOutcome::Waits,
                expect: (Tree::Approvals, b"apr_1".to_vec(), Expect::Absent),
                ops: Vec::new(),
            })
        };
        let before = Standing { ready: true, ..Standing::default() };
        let after = Standing { constituted: true, ..before.clone() };
        let of = |standing: &Standing, need, step| match standing.open(need, step) {
            Ok(Some(_)) => "opens",
            Ok(None) => "free",
            Err(error) => error.code.unwrap_or("unavailable"),
        };
        assert_eq!(of(&Standing::default(), need("job_1"), None), "unavailable");
        assert_eq!(of(&before, need("job_1"), None), "free");
        assert_eq!(of(&after, None, None), "free");
        assert_eq!(of(&after, need("job_1"), None), "approval_required");
        assert_eq!(of(&after, need("job_1"), step()), "opens");
        assert_eq!(of(&after, need("job_2"), step()), "state_conflict");
        assert_eq!(of(&after, None, step()), "state_conflict");
        assert!(step().unwrap().decides("apr_1").is_ok());
        assert!(step().unwrap().decides("apr_2").is_err());
    }
}
