//! What rules decide about.

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

/// Type of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    Flag,
    Count,
}

/// A fact's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactValue {
    Flag(bool),
    Count(u64),
}

/// Names and types of the context.
const FACTS: [(&str, Fact); 10] = [
    ("frozen", Fact::Flag),
    ("risk", Fact::Count),
    ("bound", Fact::Flag),
    ("session_s", Fact::Count),
    ("critical_incident", Fact::Flag),
    ("blast", Fact::Count),
    ("budget_pct", Fact::Count),
    ("rejected_1h", Fact::Flag),
    ("vetoed_1h", Fact::Count),
    ("audit_ok", Fact::Flag),
];

/// Returns the type of a fact.
pub(crate) fn fact_kind(name: &str) -> Result<Fact, String> {
    if name.is_empty() {
        return Err("`context` alone cannot be used: name one of its members".to_owned());
    }
    let found = FACTS.into_iter().find(|(known, _)| *known == name).map(|(_, kind)| kind);
    found.ok_or_else(|| {
        let known: Vec<_> = FACTS.iter().map(|(known, _)| *known).collect();
        format!("the context has no `{name}`, but {}", known.join(", "))
    })
}

impl Facts {
    /// Returns a member of the context.
    pub(crate) fn fact(&self, name: &str) -> Option<FactValue> {
        Some(match name {
            "frozen" => FactValue::Flag(self.frozen),
            "risk" => FactValue::Count(self.risk.into()),
            "bound" => FactValue::Flag(self.bound),
            "session_s" => FactValue::Count(self.session_s),
            "critical_incident" => FactValue::Flag(self.critical_incident),
            "blast" => FactValue::Count(self.blast),
            "budget_pct" => FactValue::Count(self.budget_pct),
            "rejected_1h" => FactValue::Flag(self.rejected_1h),
            "vetoed_1h" => FactValue::Count(self.vetoed_1h),
            "audit_ok" => FactValue::Flag(self.audit_ok),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The schema is what other programs check rules against.
    #[test]
    fn the_schema_has_these_facts() {
        let described = crate::SCHEMA.lines().filter_map(|line| {
            let (name, kind) = line.trim().strip_suffix(',')?.split_once(": ")?;
            let kind = match kind {
                "Bool" => Fact::Flag,
                "Long" => Fact::Count,
                _ => return None,
            };
            Some((name, kind))
        });
        assert!(described.eq(FACTS));
        for (name, kind) in FACTS {
            assert_eq!(fact_kind(name), Ok(kind));
        }
    }
}
