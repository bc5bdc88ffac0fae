//! What rules decide about.

use cedar_policy::{Context, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression};
use serde::{Deserialize, Serialize};

/// The request that rules judge, and what is known of it. `rules/schema.cedarschema` says the meaning of each member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "described in the schema")]
pub struct Facts {
    pub action: String,
    pub resource: String,
    pub requester: String,
    pub risk: u8,
    pub bound: bool,
    pub session_s: u64,
    pub critical_incident: bool,
    pub blast: u64,
    pub budget_pct: u64,
    pub rejected_1h: bool,
    pub vetoed_1h: u64,
    pub audit_ok: bool,
    pub frozen: bool,
}

/// Names of the entity types, parsed once.
#[derive(Debug, Clone)]
pub(crate) struct Types {
    pub(crate) principal: EntityTypeName,
    pub(crate) action: EntityTypeName,
    pub(crate) resource: EntityTypeName,
}

impl Types {
    pub(crate) fn new() -> Option<Self> {
        Some(Self {
            principal: "Principal".parse().ok()?,
            action: "Action".parse().ok()?,
            resource: "Resource".parse().ok()?,
        })
    }
}

impl Facts {
    /// Returns the request in Cedar's terms; `None` if Cedar refuses it.
    pub(crate) fn request(&self, types: &Types) -> Option<Request> {
        // A count beyond Cedar's integers is as large as can be.
        let long = |count: u64| RestrictedExpression::new_long(i64::try_from(count).unwrap_or(i64::MAX));
        let flag = RestrictedExpression::new_bool;
        let pairs = [
            ("frozen", flag(self.frozen)),
            ("risk", long(u64::from(self.risk))),
            ("bound", flag(self.bound)),
            ("session_s", long(self.session_s)),
            ("critical_incident", flag(self.critical_incident)),
            ("blast", long(self.blast)),
            ("budget_pct", long(self.budget_pct)),
            ("rejected_1h", flag(self.rejected_1h)),
            ("vetoed_1h", long(self.vetoed_1h)),
            ("audit_ok", flag(self.audit_ok)),
        ];
        let context = Context::from_pairs(pairs.map(|(name, value)| (name.to_owned(), value))).ok()?;
        let entity =
            |kind: &EntityTypeName, id: &str| EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id));
        Request::new(
            entity(&types.principal, &self.requester),
            entity(&types.action, &self.action),
            entity(&types.resource, &self.resource),
            context,
            None,
        )
        .ok()
    }
}
