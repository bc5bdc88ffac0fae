//! Values of expressions.

use std::collections::BTreeSet;

use crate::ast::{Arithmetic, Comparison, Condition, Entity, Expr, Rule, Scope, Variable};
use crate::facts::{FactValue, Facts};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Bool(bool),
    Long(i64),
    Text(String),
    Entity(Entity),
    Set(BTreeSet<Value>),
}

type Evaluated<T> = Result<T, String>;

/// A request, as rules see it.
pub(crate) struct Request<'f> {
    facts: &'f Facts,
    principal: Entity,
    action: Entity,
    resource: Entity,
}

fn entity(kind: &str, id: &str) -> Entity {
    Entity { kind: kind.to_owned(), id: id.to_owned() }
}

impl<'f> Request<'f> {
    pub(crate) fn new(facts: &'f Facts) -> Self {
        Self {
            principal: entity("Principal", &facts.requester),
            action: entity("Action", &facts.action),
            resource: entity("Resource", &facts.resource),
            facts,
        }
    }

    /// Returns whether a rule applies. A later condition is not looked at where an earlier one does not hold.
    ///
    /// # Errors
    /// Why an expression has no value.
    pub(crate) fn satisfies(&self, rule: &Rule) -> Evaluated<bool> {
        let scopes =
            [(&rule.principal, &self.principal), (&rule.action, &self.action), (&rule.resource, &self.resource)];
        for (scope, is) in scopes {
            let covered = match scope {
                Scope::Any => true,
                Scope::OneOf(entities) => entities.contains(is),
                Scope::Is(kind, one) => *kind == is.kind && one.as_ref().is_none_or(|one| one == is),
            };
            if !covered {
                return Ok(false);
            }
        }
        for Condition { wanted, expression } in &rule.conditions {
            if self.bool(expression)? != *wanted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn bool(&self, expression: &Expr) -> Evaluated<bool> {
        match self.value(expression)? {
            Value::Bool(value) => Ok(value),
            _ => Err("expected a Bool".to_owned()),
        }
    }

    fn long(&self, expression: &Expr) -> Evaluated<i64> {
        match self.value(expression)? {
            Value::Long(value) => Ok(value),
            _ => Err("expected a Long".to_owned()),
        }
    }

    fn set(&self, expression: &Expr) -> Evaluated<BTreeSet<Value>> {
        match self.value(expression)? {
            Value::Set(items) => Ok(items),
            _ => Err("expected a Set".to_owned()),
        }
    }

    fn value(&self, expression: &Expr) -> Evaluated<Value> {
        Ok(match expression {
            Expr::Bool(value) => Value::Bool(*value),
            Expr::Long(value) => Value::Long(*value),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Entity(entity) => Value::Entity(entity.clone()),
            Expr::Variable(Variable::Principal) => Value::Entity(self.principal.clone()),
            Expr::Variable(Variable::Action) => Value::Entity(self.action.clone()),
            Expr::Variable(Variable::Resource) => Value::Entity(self.resource.clone()),
            Expr::Fact(name) => match self.facts.fact(name) {
                Some(FactValue::Flag(value)) => Value::Bool(value),
                // A count beyond Cedar's integers is as large as can be.
                Some(FactValue::Count(count)) => Value::Long(i64::try_from(count).unwrap_or(i64::MAX)),
                None => return Err(format!("the context has no `{name}`")),
            },
            Expr::HasFact(name) => Value::Bool(self.facts.fact(name).is_some()),
            Expr::Not(inner) => Value::Bool(!self.bool(inner)?),
            Expr::Negate(inner) => {
                let value = self.long(inner)?;
                Value::Long(value.checked_neg().ok_or_else(|| format!("integer overflow in -({value})"))?)
            }
            Expr::All(items) => {
                for item in items {
                    if !self.bool(item)? {
                        return Ok(Value::Bool(false));
                    }
                }
                Value::Bool(true)
            }
            Expr::Any(items) => {
                for item in items {
                    if self.bool(item)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Value::Bool(false)
            }
            Expr::Equal(left, right) => Value::Bool(self.value(left)? == self.value(right)?),
            Expr::NotEqual(left, right) => Value::Bool(self.value(left)? != self.value(right)?),
            Expr::Compare(comparison, left, right) => {
                let (left, right) = (self.long(left)?, self.long(right)?);
                Value::Bool(match comparison {
                    Comparison::Less => left < right,
                    Comparison::LessOrEqual => left <= right,
                    Comparison::Greater => left > right,
                    Comparison::GreaterOrEqual => left >= right,
                })
            }
            Expr::Compute(first, further) => {
                let mut result = self.long(first)?;
                for (operation, item) in further {
                    let item = self.long(item)?;
                    let (computed, sign) = match operation {
                        Arithmetic::Add => (result.checked_add(item), '+'),
                        Arithmetic::Subtract => (result.checked_sub(item), '-'),
                        Arithmetic::Multiply => (result.checked_mul(item), '*'),
                    };
                    result = computed.ok_or_else(|| format!("integer overflow in {result} {sign} {item}"))?;
                }
                Value::Long(result)
            }
            Expr::In(left, right) => {
                let left = self.value(left)?;
                Value::Bool(match self.value(right)? {
                    Value::Set(items) => items.contains(&left),
                    one => one == left,
                })
            }
            Expr::Is(inner, kind) => {
                Value::Bool(matches!(self.value(inner)?, Value::Entity(entity) if entity.kind == *kind))
            }
            Expr::If(condition, then, other) => self.value(if self.bool(condition)? { then } else { other })?,
            Expr::Set(items) => Value::Set(items.iter().map(|item| self.value(item)).collect::<Evaluated<_>>()?),
            Expr::Contains(set, item) => {
                let set = self.set(set)?;
                Value::Bool(set.contains(&self.value(item)?))
            }
            Expr::ContainsAll(left, right) => {
                let left = self.set(left)?;
                Value::Bool(self.set(right)?.is_subset(&left))
            }
            Expr::ContainsAny(left, right) => {
                let left = self.set(left)?;
                Value::Bool(!self.set(right)?.is_disjoint(&left))
            }
            Expr::IsEmpty(set) => Value::Bool(self.set(set)?.is_empty()),
        })
    }
}
