//! Plans and categories with their limits. The defaults are those of the product's documents; each can be configured.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rule::{Rule, Window};

/// A limit, or none. Written as a number, or as `"unlimited"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// At most this amount.
    Limited(u64),
    /// No limit.
    Unlimited,
}

impl Serialize for Quota {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Limited(limit) => to.serialize_u64(*limit),
            Self::Unlimited => to.serialize_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for Quota {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a whole number, or \"unlimited\"")]
        enum Form {
            Number(u64),
            Word(String),
        }
        match Form::deserialize(from)? {
            Form::Number(limit) => Ok(Self::Limited(limit)),
            Form::Word(word) if word == "unlimited" => Ok(Self::Unlimited),
            Form::Word(word) => Err(D::Error::custom(format!("`{word}`: a whole number, or \"unlimited\""))),
        }
    }
}

/// Limits of a plan, or of an individual key. A missing field inherits from the level below (a key's plan, a plan's
/// default); if no level defines it, there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlanLimits {
    /// Requests in any minute.
    pub requests_per_minute: Option<Quota>,
    /// Requests in any hour.
    pub requests_per_hour: Option<Quota>,
    /// A day is the last 24 hours, rolling.
    pub requests_per_day: Option<Quota>,
    /// Tokens in any minute.
    pub tokens_per_minute: Option<Quota>,
    /// Tokens in any hour.
    pub tokens_per_hour: Option<Quota>,
    /// Tokens in any 24 hours.
    pub tokens_per_day: Option<Quota>,
}

impl PlanLimits {
    /// Returns these limits, with missing fields taken from `below`.
    #[must_use]
    pub fn over(&self, below: &Self) -> Self {
        Self {
            requests_per_minute: self.requests_per_minute.or(below.requests_per_minute),
            requests_per_hour: self.requests_per_hour.or(below.requests_per_hour),
            requests_per_day: self.requests_per_day.or(below.requests_per_day),
            tokens_per_minute: self.tokens_per_minute.or(below.tokens_per_minute),
            tokens_per_hour: self.tokens_per_hour.or(below.tokens_per_hour),
            tokens_per_day: self.tokens_per_day.or(below.tokens_per_day),
        }
    }

    /// Returns the limits as rules; empty if everything is unlimited.
    pub fn rules(&self) -> Arc<[Rule]> {
        let requests = [
            (self.requests_per_minute, Window::Minute),
            (self.requests_per_hour, Window::Hour),
            (self.requests_per_day, Window::Day),
        ];
        let tokens = [
            (self.tokens_per_minute, Window::Minute),
            (self.tokens_per_hour, Window::Hour),
            (self.tokens_per_day, Window::Day),
        ];
        let limited = |quota: Option<Quota>| match quota {
            Some(Quota::Limited(limit)) => Some(limit),
            Some(Quota::Unlimited) | None => None,
        };
        let requests = requests.into_iter().filter_map(|(quota, per)| Some(Rule::requests(limited(quota)?, per)));
        let tokens = tokens.into_iter().filter_map(|(quota, per)| Some(Rule::tokens(limited(quota)?, per)));
        requests.chain(tokens).collect()
    }
}

/// Plans of interface A: requests per minute and day, tokens per day. `enterprise` is unlimited except for limits of
/// the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, from = "SetPlansA")]
pub struct PlansA {
    /// Limits of the plan `free`.
    pub free: PlanLimits,
    /// Limits of the plan `starter`.
    pub starter: PlanLimits,
    /// Limits of the plan `pro`.
    pub pro: PlanLimits,
    /// Limits of the plan `enterprise`.
    pub enterprise: PlanLimits,
}

/// Plans of interface B: requests per minute and hour, tokens per minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, from = "SetPlansB")]
pub struct PlansB {
    /// Limits of the plan `free`.
    pub free: PlanLimits,
    /// Limits of the plan `pro`.
    pub pro: PlanLimits,
    /// Limits of the plan `enterprise`.
    pub enterprise: PlanLimits,
}

/// Settings of interface A's plans, as in a settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SetPlansA {
    free: PlanLimits,
    starter: PlanLimits,
    pro: PlanLimits,
    enterprise: PlanLimits,
}

/// Settings of interface B's plans, as in a settings file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SetPlansB {
    free: PlanLimits,
    pro: PlanLimits,
    enterprise: PlanLimits,
}

impl From<SetPlansA> for PlansA {
    fn from(set: SetPlansA) -> Self {
        let default = Self::default();
        Self {
            free: set.free.over(&default.free),
            starter: set.starter.over(&default.starter),
            pro: set.pro.over(&default.pro),
            enterprise: set.enterprise.over(&default.enterprise),
        }
    }
}

impl From<SetPlansB> for PlansB {
    fn from(set: SetPlansB) -> Self {
        let default = Self::default();
        Self {
            free: set.free.over(&default.free),
            pro: set.pro.over(&default.pro),
            enterprise: set.enterprise.over(&default.enterprise),
        }
    }
}

impl Default for PlansA {
    fn default() -> Self {
        let plan = |minute, day, tokens| PlanLimits {
            requests_per_minute: Some(Quota::Limited(minute)),
            requests_per_day: Some(Quota::Limited(day)),
            tokens_per_day: Some(Quota::Limited(tokens)),
            ..PlanLimits::default()
        };
        Self {
            free: plan(10, 100, 10_000),
            starter: plan(60, 10_000, 100_000),
            pro: plan(300, 100_000, 1_000_000),
            enterprise: PlanLimits::default(),
        }
    }
}

impl Default for PlansB {
    fn default() -> Self {
        let plan = |minute, hour, tokens| PlanLimits {
            requests_per_minute: Some(Quota::Limited(minute)),
            requests_per_hour: Some(Quota::Limited(hour)),
            tokens_per_minute: Some(Quota::Limited(tokens)),
            ..PlanLimits::default()
        };
        Self { free: plan(3, 100, 50_000), pro: plan(60, 3_000, 500_000), enterprise: PlanLimits::default() }
    }
}

/// Requests per minute of each category of the agent platform, per key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentLimits {
    /// Health and status; reads of agents, tasks, keys and governance; WebSocket handshakes.
    pub health: Quota,
    /// Chat completions.
    pub chat: Quota,
    /// Runs and controls of agents' tasks.
    pub agents: Quota,
    /// Semantic memory.
    pub memory: Quota,
    /// Direct calls of engines.
    pub engines: Quota,
    /// Control of tasks (pause, resume, redirect, kill, one or many), over HTTP and sockets: a category of its own, so
    /// that a kill is not rejected because of the number of runs.
    pub control: Quota,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            health: Quota::Limited(600),
            chat: Quota::Limited(120),
            agents: Quota::Limited(60),
            memory: Quota::Limited(300),
            engines: Quota::Limited(240),
            control: Quota::Limited(600),
        }
    }
}

/// All configurable limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitTable {
    /// Plans of interface A.
    pub plan_a: PlansA,
    /// Plans of interface B.
    pub plan_b: PlansB,
    /// Limits of the agent platform.
    pub agent: AgentLimits,
    /// Requests per minute of the medical interface, per key.
    pub medical: Quota,
    /// Requests per minute of a user of the disaster network.
    pub person: Quota,
    /// Requests per minute of a device.
    pub device: Quota,
    /// Login attempts per minute of each address and e-mail.
    pub login: Quota,
    /// Requests per minute of a client address without a key.
    pub unauthenticated: Quota,
}

impl Default for LimitTable {
    fn default() -> Self {
        Self {
            plan_a: PlansA::default(),
            plan_b: PlansB::default(),
            agent: AgentLimits::default(),
            medical: Quota::Limited(60),
            person: Quota::Limited(6_000),
            device: Quota::Limited(600),
            login: Quota::Limited(10),
            unauthenticated: Quota::Limited(600),
        }
    }
}

impl Quota {
    /// Returns a rule for requests per minute; empty if unlimited.
    pub fn per_minute(self) -> Arc<[Rule]> {
        PlanLimits { requests_per_minute: Some(self), ..PlanLimits::default() }.rules()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables of the seed documents.
    #[test]
    fn the_defaults_are_those_of_the_documents() {
        let table = LimitTable::default();
        let a = |minute, day, tokens| {
            vec![
                Rule::requests(minute, Window::Minute),
                Rule::requests(day, Window::Day),
                Rule::tokens(tokens, Window::Day),
            ]
        };
        assert_eq!(table.plan_a.free.rules().to_vec(), a(10, 100, 10_000));
        assert_eq!(table.plan_a.starter.rules().to_vec(), a(60, 10_000, 100_000));
        assert_eq!(table.plan_a.pro.rules().to_vec(), a(300, 100_000, 1_000_000));
        assert!(table.plan_a.enterprise.rules().is_empty());
        let b = |minute, hour, tokens| {
            vec![
                Rule::requests(minute, Window::Minute),
                Rule::requests(hour, Window::Hour),
                Rule::tokens(tokens, Window::Minute),
            ]
        };
        assert_eq!(table.plan_b.free.rules().to_vec(), b(3, 100, 50_000));
        assert_eq!(table.plan_b.pro.rules().to_vec(), b(60, 3_000, 500_000));
        assert!(table.plan_b.enterprise.rules().is_empty());
    }

    #[test]
    fn a_setting_changes_only_what_it_names() {
        let table: LimitTable = serde_json::from_str(
            r#"{"plan_a": {"free": {"requests_per_minute": 20}, "pro": {"tokens_per_day": "unlimited"}},
                "agent": {"chat": 7}}"#,
        )
        .unwrap();
        let mut expected = LimitTable::default();
        expected.plan_a.free.requests_per_minute = Some(Quota::Limited(20));
        expected.plan_a.pro.tokens_per_day = Some(Quota::Unlimited);
        expected.agent.chat = Quota::Limited(7);
        assert_eq!(table, expected);
        assert!(serde_json::from_str::<LimitTable>(r#"{"plan_a": {"fre": {}}}"#).is_err());
        let error = serde_json::from_str::<LimitTable>(r#"{"medical": "many"}"#).unwrap_err().to_string();
        assert!(error.contains("`many`: a whole number, or \"unlimited\""), "{error}");
    }

    #[test]
    fn a_keys_own_limits_override_its_plan() {
        let own = PlanLimits { requests_per_minute: Some(Quota::Limited(1_000)), ..PlanLimits::default() };
        let table = LimitTable::default();
        assert_eq!(own.over(&table.plan_b.enterprise).rules().to_vec(), [Rule::requests(1_000, Window::Minute)]);
        let pro = own.over(&table.plan_b.pro).rules();
        assert_eq!(pro.first(), Some(&Rule::requests(1_000, Window::Minute)));
        assert_eq!(pro.len(), 3);
    }
}
