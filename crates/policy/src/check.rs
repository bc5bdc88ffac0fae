//! Types of expressions: a rule that passes can only err by the overflow of an integer.

use crate::ast::{Condition, Entity, Expr, Rule, Scope, Variable};
use crate::facts::{Fact, fact_kind};

/// Types of entities.
const KINDS: [&str; 3] = ["Principal", "Action", "Resource"];

#[derive(Debug, Clone, PartialEq, Eq)]
enum Type {
    Bool,
    Long,
    Text,
    Entity(&'static str),
    /// `None` for the empty set, which fits every type.
    Set(Option<Box<Type>>),
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool => f.write_str("a Bool"),
            Self::Long => f.write_str("a Long"),
            Self::Text => f.write_str("a String"),
            Self::Entity(kind) => f.write_str(kind),
            Self::Set(_) => f.write_str("a Set"),
        }
    }
}

type Checked<T> = Result<T, String>;

/// Checks a rule against the schema.
pub(crate) fn rule(rule: &Rule) -> Checked<()> {
    for (scope, kind) in [(&rule.principal, "Principal"), (&rule.action, "Action"), (&rule.resource, "Resource")] {
        match scope {
            Scope::Any => {}
            Scope::OneOf(entities) => entities.iter().try_for_each(|one| of_kind(one, kind))?,
            Scope::Is(named, one) => {
                entity_kind(named)?;
                if let Some(one) = one {
                    of_kind(one, kind)?;
                }
            }
        }
    }
    for Condition { expression, .. } in &rule.conditions {
        expect(expression, &Type::Bool)?;
    }
    Ok(())
}

fn entity_kind(name: &str) -> Checked<&'static str> {
    let known = KINDS.into_iter().find(|kind| *kind == name);
    known.ok_or_else(|| format!("there is no type `{name}`: entities are of {}", KINDS.join(", ")))
}

fn of_kind(entity: &Entity, kind: &str) -> Checked<()> {
    let found = entity_kind(&entity.kind)?;
    named(entity)?;
    if found == kind { Ok(()) } else { Err(format!("{entity} is never a {kind}")) }
}

/// Actions have names; other identifiers are any text.
fn named(entity: &Entity) -> Checked<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | ':');
    let id = &entity.id;
    if entity.kind == "Action" && (!(1..=128).contains(&id.len()) || !id.chars().all(fits)) {
        return Err(format!("{entity} is no action: their names have the form `key.grant`"));
    }
    Ok(())
}

fn expect(expression: &Expr, wanted: &Type) -> Checked<()> {
    let found = type_of(expression)?;
    if found == *wanted { Ok(()) } else { Err(format!("expected {wanted}, found {found}")) }
}

fn same(left: &Expr, right: &Expr) -> Checked<Type> {
    let (left, right) = (type_of(left)?, type_of(right)?);
    unified(&left, &right).ok_or_else(|| format!("{left} is never equal to {right}"))
}

fn unified(left: &Type, right: &Type) -> Option<Type> {
    match (left, right) {
        (Type::Set(None), set @ Type::Set(_)) | (set @ Type::Set(_), Type::Set(None)) => Some(set.clone()),
        (Type::Set(Some(left)), Type::Set(Some(right))) => Some(Type::Set(Some(unified(left, right)?.into()))),
        _ => (left == right).then(|| left.clone()),
    }
}

fn items_of(set: &Expr) -> Checked<Option<Type>> {
    match type_of(set)? {
        Type::Set(items) => Ok(items.map(|items| *items)),
        other => Err(format!("expected a Set, found {other}")),
    }
}

fn type_of(expression: &Expr) -> Checked<Type> {
    Ok(match expression {
        Expr::Bool(_) | Expr::HasFact(_) => Type::Bool,
        Expr::Long(_) => Type::Long,
        Expr::Text(_) => Type::Text,
        Expr::Entity(entity) => {
            named(entity)?;
            Type::Entity(entity_kind(&entity.kind)?)
        }
        Expr::Variable(Variable::Principal) => Type::Entity("Principal"),
        Expr::Variable(Variable::Action) => Type::Entity("Action"),
        Expr::Variable(Variable::Resource) => Type::Entity("Resource"),
        Expr::Fact(name) => match fact_kind(name)? {
            Fact::Flag => Type::Bool,
            Fact::Count => Type::Long,
        },
        Expr::Not(inner) => {
            expect(inner, &Type::Bool)?;
            Type::Bool
        }
        Expr::Negate(inner) => {
            expect(inner, &Type::Long)?;
            Type::Long
        }
        Expr::All(items) | Expr::Any(items) => {
            items.iter().try_for_each(|item| expect(item, &Type::Bool))?;
            Type::Bool
        }
        Expr::Equal(left, right) | Expr::NotEqual(left, right) => {
            same(left, right)?;
            Type::Bool
        }
        Expr::Compare(_, left, right) => {
            expect(left, &Type::Long)?;
            expect(right, &Type::Long)?;
            Type::Bool
        }
        Expr::Compute(first, further) => {
            expect(first, &Type::Long)?;
            further.iter().try_for_each(|(_, item)| expect(item, &Type::Long))?;
            Type::Long
        }
        Expr::In(left, right) => {
            let left = type_of(left)?;
            let right = match type_of(right)? {
                Type::Set(items) => items.map_or_else(|| left.clone(), |items| *items),
                one => one,
            };
            match (&left, &right) {
                (Type::Entity(one), Type::Entity(other)) if one == other => Type::Bool,
                _ => return Err(format!("{left} is never in {right}")),
            }
        }
        Expr::Is(inner, kind) => {
            entity_kind(kind)?;
            match type_of(inner)? {
                Type::Entity(_) => Type::Bool,
                other => return Err(format!("expected an entity, found {other}")),
            }
        }
        Expr::If(condition, then, other) => {
            expect(condition, &Type::Bool)?;
            same(then, other)?
        }
        Expr::Set(items) => {
            let mut of = None;
            for item in items {
                let found = type_of(item)?;
                of = Some(match of {
                    None => found,
                    Some(of) => unified(&of, &found).ok_or_else(|| format!("a Set of {of} has {found}"))?,
                });
            }
            Type::Set(of.map(Box::new))
        }
        Expr::Contains(set, item) => {
            let (items, item) = (items_of(set)?, type_of(item)?);
            match items {
                Some(items) if unified(&items, &item).is_none() => {
                    return Err(format!("a Set of {items} never contains {item}"));
                }
                _ => Type::Bool,
            }
        }
        Expr::ContainsAll(left, right) | Expr::ContainsAny(left, right) => {
            if let (Some(left), Some(right)) = (items_of(left)?, items_of(right)?)
                && unified(&left, &right).is_none()
            {
                return Err(format!("a Set of {left} never contains {right}"));
            }
            Type::Bool
        }
        Expr::IsEmpty(set) => {
            items_of(set)?;
            Type::Bool
        }
    })
}
