//! Compiled rules and their judgement.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::ast::{Effect, Expr, Rule, Scope};
use crate::bounds::{self, MAX_RULES};
use crate::error::PolicyError;
use crate::evaluate::Request;
use crate::facts::Facts;
use crate::{SCHEMA, check, parser};

/// Name of the veto where the text has `permit` rules and none of them covers the request.
pub const NO_PERMIT: &str = "no-permit";

/// A rule that forbids a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Veto {
    /// `@id` of the rule, else `policy` and its number in the text, from 0.
    pub rule: String,
    /// Whether the rule is marked `@hard`: break-glass does not pass it.
    pub hard: bool,
    /// Why the rule could not be evaluated, if that is why it vetoes.
    pub error: Option<String>,
}

/// Rules that are ready to judge. Cheap to clone, immutable.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: Arc<[NamedRule]>,
    warnings: Arc<[String]>,
}

#[derive(Debug)]
struct NamedRule {
    id: String,
    hard: bool,
    rule: Rule,
}

/// Compiles a text of rules.
///
/// A text without a `permit` permits everything that it does not forbid, so that its `forbid` rules alone say what is vetoed.
///
/// # Errors
/// The text is out of bounds, is not Cedar, or does not fit the schema.
pub fn compile(text: &str) -> Result<Rules, PolicyError> {
    bounds::check(text)?;
    let parsed = parser::rules(text)?;
    if parsed.len() > MAX_RULES {
        return Err(PolicyError::TooManyRules(parsed.len()));
    }
    let (mut rules, mut seen, mut warnings) = (Vec::new(), BTreeSet::new(), Vec::new());
    for (number, rule) in parsed.into_iter().enumerate() {
        let id = id_of(&rule, number)?;
        if !seen.insert(id.clone()) {
            return Err(PolicyError::DuplicateId(id));
        }
        check::rule(&rule).map_err(|why| PolicyError::Invalid { rule: id.clone(), line: rule.line, why })?;
        for action in unguarded(&rule) {
            warnings.push(format!("rule {id}: `{action}` is no action that this server guards"));
        }
        let hard = rule.annotations.iter().any(|(name, _)| name == "hard");
        rules.push(NamedRule { id, hard, rule });
    }
    Ok(Rules { rules: rules.into(), warnings: warnings.into() })
}

fn id_of(rule: &Rule, number: usize) -> Result<String, PolicyError> {
    let Some((_, id)) = rule.annotations.iter().find(|(name, _)| name == "id") else {
        return Ok(format!("policy{number}"));
    };
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=64).contains(&id.len()) && id.chars().all(fits) {
        Ok(id.clone())
    } else {
        Err(PolicyError::Id(id.chars().take(64).collect()))
    }
}

/// Returns the actions that a rule names and the schema does not list: approvals may be of any action.
fn unguarded(rule: &Rule) -> BTreeSet<String> {
    let known: BTreeSet<&str> = SCHEMA.split('"').skip(1).step_by(2).collect();
    let mut named = BTreeSet::new();
    if let Scope::OneOf(actions) = &rule.action {
        named.extend(actions.iter().map(|action| action.id.clone()));
    }
    let mut pending: Vec<&Expr> = rule.conditions.iter().map(|condition| &condition.expression).collect();
    while let Some(expression) = pending.pop() {
        match expression {
            Expr::Entity(entity) if entity.kind == "Action" => drop(named.insert(entity.id.clone())),
            Expr::All(items) | Expr::Any(items) | Expr::Set(items) => pending.extend(items),
            Expr::Not(one) | Expr::Negate(one) | Expr::Is(one, _) | Expr::IsEmpty(one) => pending.push(one),
            Expr::Equal(left, right)
            | Expr::NotEqual(left, right)
            | Expr::Compare(_, left, right)
            | Expr::In(left, right)
            | Expr::Contains(left, right)
            | Expr::ContainsAll(left, right)
            | Expr::ContainsAny(left, right) => pending.extend([&**left, &**right]),
            Expr::If(condition, then, other) => pending.extend([&**condition, &**then, &**other]),
            Expr::Compute(first, further) => {
                pending.push(first);
                pending.extend(further.iter().map(|(_, item)| item));
            }
            _ => {}
        }
    }
    named.retain(|action| !known.contains(action.as_str()));
    named
}

impl Rules {
    /// Returns the rules that forbid a request, by name; none if it may proceed. A rule whose evaluation fails is one of
    /// them.
    pub fn judge(&self, facts: &Facts) -> Vec<Veto> {
        let request = Request::new(facts);
        let (mut vetoes, mut permits, mut permitted) = (Vec::new(), 0_usize, false);
        for NamedRule { id, hard, rule } in self.rules.iter() {
            let veto = |error| Veto { rule: id.clone(), hard: *hard, error };
            permits += usize::from(rule.effect == Effect::Permit);
            match (request.satisfies(rule), rule.effect) {
                (Ok(true), Effect::Permit) => permitted = true,
                (Ok(true), Effect::Forbid) => vetoes.push(veto(None)),
                (Ok(false), _) => {}
                (Err(error), _) => vetoes.push(veto(Some(error))),
            }
        }
        if permits > 0 && !permitted && vetoes.is_empty() {
            vetoes.push(Veto { rule: NO_PERMIT.to_owned(), hard: false, error: None });
        }
        vetoes.sort();
        vetoes
    }

    /// Returns what is doubtful about the rules, such as an action that nothing does.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the names of all rules with `@hard`, in order.
    pub fn hard(&self) -> Vec<&str> {
        let mut hard: Vec<_> = self.rules.iter().filter(|rule| rule.hard).map(|rule| rule.id.as_str()).collect();
        hard.sort_unstable();
        hard
    }

    /// Returns the number of rules in the text.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns whether the text has no rule at all, so that nothing is vetoed.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}
