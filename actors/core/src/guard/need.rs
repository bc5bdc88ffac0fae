//! What a command needs.

use serde_json::{Value, json};

use super::{GuardedAction, QuorumRole, Risk};
use crate::{Error, Kind};

/// The approval that a command needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The guarded action.
    pub action: GuardedAction,
    /// Identifier of what changes; of what is new its name, e-mail or key identifier.
    pub resource: String,
    /// Risk; at least that of the action.
    pub risk: Risk,
    /// Number of devices or tasks that the command affects.
    pub blast: u64,
    /// New budget as a percentage of the present one; 0 where the command raises none.
    pub budget_pct: u64,
    /// Whether a critical incident concerns something that the command affects.
    pub amid_critical_incident: bool,
    /// What a decider must know beside the request, such as the hash of an image; null for nothing.
    pub facts: Value,
}

impl Need {
    /// Creates the need of an action with its default risk.
    pub fn new(action: GuardedAction, resource: impl Into<String>) -> Self {
        Self {
            action,
            resource: resource.into(),
            risk: action.default_risk(),
            blast: 0,
            budget_pct: 0,
            amid_critical_incident: false,
            facts: Value::Null,
        }
    }

    /// Raises the risk; a lower one changes nothing.
    #[must_use]
    pub fn at_least(mut self, risk: Risk) -> Self {
        self.risk = self.risk.max(risk);
        self
    }

    /// Sets the number of devices or tasks that the command affects.
    #[must_use]
    pub fn affecting(mut self, blast: u64) -> Self {
        self.blast = blast;
        self
    }

    /// Sets the new budget as a percentage of the present one.
    #[must_use]
    pub fn raising_to(mut self, budget_pct: u64) -> Self {
        self.budget_pct = budget_pct;
        self
    }

    /// Sets whether a critical incident concerns something that the command affects.
    #[must_use]
    pub fn amid_critical_incident(mut self, amid: bool) -> Self {
        self.amid_critical_incident = amid;
        self
    }

    /// Adds what a decider must know beside the request.
    #[must_use]
    pub fn knowing(mut self, facts: Value) -> Self {
        self.facts = facts;
        self
    }

    /// Returns the error of a command that came without a permit. The edge adds the hash of the payload.
    pub fn required(&self, quorum: &[QuorumRole]) -> Error {
        let roles: Vec<_> = quorum.iter().map(|role| role.name()).collect();
        let message = format!(
            "`{}` on {} needs an approval by {}: repeat the request with the header Muster-Reason to open one",
            self.action.name(),
            self.resource,
            roles.join(" and ")
        );
        let details = json!({
            "action": self.action, "resource": self.resource, "risk": self.risk, "quorum": quorum,
            "blast": self.blast, "budget_pct": self.budget_pct, "facts": self.facts,
            "amid_critical_incident": self.amid_critical_incident,
        });
        Error::new(Kind::Forbidden, message).coded("approval_required").detailing(details)
    }

    /// Returns the need that an error of [`Self::required`] reports; `None` for other errors.
    pub fn of_error(error: &Error) -> Option<Self> {
        let details = error.details.as_deref().filter(|_| error.code == Some("approval_required"))?;
        let text = |name: &str| details.get(name).and_then(Value::as_str);
        let number = |name: &str| details.get(name).and_then(Value::as_u64).unwrap_or_default();
        Some(Self {
            action: GuardedAction::parse(text("action")?)?,
            resource: text("resource")?.to_owned(),
            risk: Risk::parse(text("risk")?)?,
            blast: number("blast"),
            budget_pct: number("budget_pct"),
            amid_critical_incident: details.get("amid_critical_incident").is_some_and(|amid| *amid == true),
            facts: details.get("facts").cloned().unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_need_is_read_back_from_its_error() {
        let need = Need::new(GuardedAction::RoleGrant, "usr_1").at_least(Risk::Critical).affecting(3).raising_to(250);
        let need = need.knowing(json!({ "image_sha256": "00" })).amid_critical_incident(true);
        let error = need.required(&QuorumRole::ALL);
        assert_eq!(error.details.as_ref().unwrap()["quorum"], json!(["security", "operations"]));
        assert_eq!(Need::of_error(&error), Some(need));
        assert_eq!(Need::of_error(&Error::new(Kind::Forbidden, "no")), None);
    }
}
