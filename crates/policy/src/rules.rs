//! Compiled rules and their judgement.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{
    AuthorizationError, Authorizer, Decision, Entities, ParseErrors, Policy, PolicyId, PolicySet, ValidationMode,
    Validator,
};
use miette::Diagnostic;

use crate::bounds::{self, MAX_RULES};
use crate::error::PolicyError;
use crate::facts::{Facts, Types};
use crate::schema;

/// Name of the veto where the text has `permit` rules and none of them covers the request.
pub const NO_PERMIT: &str = "no-permit";
/// Name of the veto where the facts cannot be judged at all.
const UNJUDGED: &str = "unjudged";
/// Stands in front of a text that permits nothing itself.
const PERMIT_ALL: &str = "permit (principal, action, resource);";

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

/// Rules that are ready to judge. Cheap to share, immutable.
#[derive(Clone)]
pub struct Rules {
    set: PolicySet,
    names: BTreeMap<PolicyId, RuleName>,
    types: Types,
    warnings: Vec<String>,
}

#[derive(Debug, Clone)]
struct RuleName {
    id: String,
    hard: bool,
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("names", &self.names).finish_non_exhaustive()
    }
}

/// Compiles a text of rules.
///
/// A text without a `permit` begins with one for everything, so that its `forbid` rules alone say what is vetoed.
///
/// # Errors
/// The text is out of bounds, is not Cedar, or does not fit the schema.
pub fn compile(text: &str) -> Result<Rules, PolicyError> {
    bounds::check(text)?;
    let mut set: PolicySet = text.parse().map_err(|errors| syntax(text, &errors))?;
    if let Some(template) = set.templates().next() {
        return Err(PolicyError::Template(template.id().to_string()));
    }
    let count = set.num_of_policies();
    if count > MAX_RULES {
        return Err(PolicyError::TooManyRules(count));
    }
    let names = names(&set)?;
    if !set.policies().any(|policy| policy.effect() == cedar_policy::Effect::Permit) {
        let permit = Policy::parse(Some(PolicyId::new("permit-all")), PERMIT_ALL);
        let permit = permit.map_err(|errors| syntax(PERMIT_ALL, &errors))?;
        set.add(permit).map_err(|error| PolicyError::DuplicateId(error.to_string()))?;
    }
    let warnings = validate(&set, &names)?;
    let types = Types::new().ok_or_else(|| PolicyError::Syntax { line: 1, why: "has no types".to_owned() })?;
    Ok(Rules { set, names, types, warnings })
}

/// Returns the names of all rules by Cedar's own.
fn names(set: &PolicySet) -> Result<BTreeMap<PolicyId, RuleName>, PolicyError> {
    let (mut names, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for policy in set.policies() {
        let id = match policy.annotation("id") {
            Some(id) => {
                let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
                if !(1..=64).contains(&id.len()) || !id.chars().all(fits) {
                    return Err(PolicyError::Id(id.chars().take(64).collect()));
                }
                id.to_owned()
            }
            None => policy.id().to_string(),
        };
        if !seen.insert(id.clone()) {
            return Err(PolicyError::DuplicateId(id));
        }
        let hard = policy.annotation("hard").is_some();
        names.insert(policy.id().clone(), RuleName { id, hard });
    }
    Ok(names)
}

/// Checks the rules against the schema and returns what is doubtful about them.
fn validate(set: &PolicySet, names: &BTreeMap<PolicyId, RuleName>) -> Result<Vec<String>, PolicyError> {
    let name = |id: &PolicyId| names.get(id).map_or_else(|| id.to_string(), |name| name.id.clone());
    let schema =
        schema::for_rules(set).map_err(|why| PolicyError::Invalid { rule: "of the schema".to_owned(), why })?;
    let result = Validator::new(schema).validate(set, ValidationMode::Strict);
    // The validator returns findings in no fixed order.
    let mut errors: Vec<_> =
        result.validation_errors().map(|error| (name(error.policy_id()), error.to_string())).collect();
    errors.sort();
    if let Some((rule, why)) = errors.into_iter().next() {
        return Err(PolicyError::Invalid { rule, why });
    }
    let mut warnings: Vec<String> =
        result.validation_warnings().map(|warning| format!("rule {}: {warning}", name(warning.policy_id()))).collect();
    warnings.sort();
    Ok(warnings)
}

/// Returns the first error with its line.
fn syntax(text: &str, errors: &ParseErrors) -> PolicyError {
    let offset = errors.labels().and_then(|mut labels| labels.next()).map_or(0, |label| label.offset());
    PolicyError::Syntax { line: bounds::line_of(text, offset), why: errors.to_string() }
}

impl Rules {
    /// Returns the rules that forbid a request, by name; none if it may proceed. A rule whose evaluation fails is one of
    /// them.
    pub fn judge(&self, facts: &Facts) -> Vec<Veto> {
        let Some(request) = facts.request(&self.types) else {
            return vec![Veto {
                rule: UNJUDGED.to_owned(),
                hard: true,
                error: Some("the facts are refused".to_owned()),
            }];
        };
        let response = Authorizer::new().is_authorized(&request, &self.set, &Entities::empty());
        let diagnostics = response.diagnostics();
        let mut vetoes: Vec<Veto> = diagnostics
            .errors()
            .map(|AuthorizationError::PolicyEvaluationError(error)| {
                self.veto(error.policy_id(), Some(error.inner().to_string()))
            })
            .collect();
        if response.decision() == Decision::Deny {
            vetoes.extend(diagnostics.reason().map(|id| self.veto(id, None)));
            if vetoes.is_empty() {
                vetoes.push(Veto { rule: NO_PERMIT.to_owned(), hard: false, error: None });
            }
        }
        vetoes.sort();
        vetoes
    }

    fn veto(&self, id: &PolicyId, error: Option<String>) -> Veto {
        match self.names.get(id) {
            Some(RuleName { id, hard }) => Veto { rule: id.clone(), hard: *hard, error },
            None => Veto { rule: id.to_string(), hard: false, error },
        }
    }

    /// Returns what is doubtful about the rules, such as one that can never hit.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the names of all rules with `@hard`, in order.
    pub fn hard(&self) -> Vec<&str> {
        let mut hard: Vec<_> = self.names.values().filter(|name| name.hard).map(|name| name.id.as_str()).collect();
        hard.sort_unstable();
        hard
    }

    /// Returns the number of rules in the text.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether the text has no rule at all, so that nothing is vetoed.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
