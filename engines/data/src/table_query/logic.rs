//! Three-valued logic (ISO/IEC 9075-2, "boolean value expression"): in GlueSQL NULL AND FALSE and NULL OR TRUE are NULL, and
//! LIKE of NULL is an error. Conditions are rewritten to CASE, whose branches see NULL as false.

use gluesql_core::ast::Query;
use serde_json::{Value, json};

use muster_engine::Failure;

/// Maximum number of nodes that are copied: a logical operator in a value holds its operands twice.
const MAX_DOUBLED: usize = 20_000;
/// Maximum number of nodes of the operands of a LIKE, which are copied.
const MAX_COPIED: usize = 50;

/// Rewrites the conditions of a query.
pub fn three_valued(query: &Query) -> Result<Query, Failure> {
    let mut tree = serde_json::to_value(query).map_err(Failure::internal)?;
    Rewrite { left: MAX_DOUBLED }.inside(&mut tree)?;
    serde_json::from_value(tree).map_err(Failure::internal)
}

/// An expression of truths.
enum Logic {
    And(Value, Value),
    Or(Value, Value),
    Not(Value),
}

/// Reads an operator of logic; brackets around it do not matter.
fn logic(node: &Value) -> Option<Logic> {
    if let Some(inner) = node.get("Nested") {
        return logic(inner);
    }
    let of = |parts: &Value, name| parts.get(name).cloned().unwrap_or_default();
    match (node.get("BinaryOp"), node.get("UnaryOp")) {
        (Some(parts), _) => match parts.get("op").and_then(Value::as_str) {
            Some("And") => Some(Logic::And(of(parts, "left"), of(parts, "right"))),
            Some("Or") => Some(Logic::Or(of(parts, "left"), of(parts, "right"))),
            _ => None,
        },
        (None, Some(parts)) if parts.get("op").is_some_and(|op| op == "Not") => Some(Logic::Not(of(parts, "expr"))),
        _ => None,
    }
}

fn truth(truth: bool) -> Value {
    json!({ "Value": { "Bool": truth } })
}

fn null() -> Value {
    json!({ "Value": "Null" })
}

fn and(left: Value, right: Value) -> Value {
    json!({ "BinaryOp": { "left": left, "op": "And", "right": right } })
}

fn case(branches: [(Value, Value); 2], otherwise: Value) -> Value {
    json!({ "Case": { "operand": null, "when_then": branches, "else_result": otherwise } })
}

struct Rewrite {
    left: usize,
}

impl Rewrite {
    fn double(&mut self, node: &Value) -> Result<Value, Failure> {
        self.left = self.left.checked_sub(nodes(node)).ok_or_else(|| {
            Failure::too_large("the conditions within values nest too deeply: compute them in a subquery")
        })?;
        Ok(node.clone())
    }

    /// An expression that is true where `node` is, and false or NULL elsewhere.
    fn holds(&mut self, mut node: Value) -> Result<Value, Failure> {
        Ok(match logic(&node) {
            Some(Logic::And(left, right)) => and(self.holds(left)?, self.holds(right)?),
            Some(Logic::Or(left, right)) => {
                case([(self.holds(left)?, truth(true)), (self.holds(right)?, truth(true))], truth(false))
            }
            Some(Logic::Not(inner)) => self.fails(inner)?,
            None => {
                self.inside(&mut node)?;
                node
            }
        })
    }

    /// An expression that is true where `node` is false, and false or NULL elsewhere.
    fn fails(&mut self, mut node: Value) -> Result<Value, Failure> {
        Ok(match logic(&node) {
            Some(Logic::And(left, right)) => {
                case([(self.fails(left)?, truth(true)), (self.fails(right)?, truth(true))], truth(false))
            }
            Some(Logic::Or(left, right)) => and(self.fails(left)?, self.fails(right)?),
            Some(Logic::Not(inner)) => self.holds(inner)?,
            None => {
                self.inside(&mut node)?;
                json!({ "UnaryOp": { "op": "Not", "expr": { "Nested": node } } })
            }
        })
    }

    /// Rewrites what may be a value, or hold one.
    fn value(&mut self, node: &mut Value) -> Result<(), Failure> {
        if matches!(logic(node), Some(Logic::And(..) | Logic::Or(..) | Logic::Not(_))) {
            let (yes, no) = (self.double(node)?, node.take());
            let (yes, no) = (self.holds(yes)?, self.fails(no)?);
            *node = case([(yes, truth(true)), (no, truth(false))], null());
            return Ok(());
        }
        self.inside(node)
    }

    fn inside(&mut self, node: &mut Value) -> Result<(), Failure> {
        match node {
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.value(item))?,
            Value::Object(object) => {
                for (key, child) in object.iter_mut() {
                    match key.as_str() {
                        "selection" | "having" | "On" if !child.is_null() => *child = self.holds(child.take())?,
                        "when_then" => self.branches(child)?,
                        _ => self.value(child)?,
                    }
                }
            }
            _ => {}
        }
        if ["Like", "ILike"].iter().any(|name| node.get(name).is_some()) {
            guarded(node);
        }
        Ok(())
    }

    /// Pairs of a condition and its result.
    fn branches(&mut self, pairs: &mut Value) -> Result<(), Failure> {
        for pair in pairs.as_array_mut().into_iter().flatten() {
            if let Some([condition, result]) = pair.as_array_mut().map(Vec::as_mut_slice) {
                *condition = self.holds(condition.take())?;
                self.value(result)?;
            }
        }
        Ok(())
    }
}

/// LIKE is NULL if an operand is. Operands that are long or have a query stay as they are.
fn guarded(node: &mut Value) {
    let Some(parts) = node.get("Like").or_else(|| node.get("ILike")) else { return };
    let operands = [parts.get("expr"), parts.get("pattern")].map(Option::unwrap_or_default);
    if operands.iter().any(|operand| size(operand).is_none_or(|size| size > MAX_COPIED)) {
        return;
    }
    let [text, pattern] = operands.map(|operand| json!({ "IsNull": { "Nested": operand } }));
    *node = case([(text, null()), (pattern, null())], node.take());
}

/// Number of nodes; `None` with a query or another LIKE among them.
fn size(node: &Value) -> Option<usize> {
    let below = match node {
        Value::Array(items) => items.iter().map(size).sum::<Option<usize>>()?,
        Value::Object(object) if ["Like", "ILike", "body"].iter().any(|name| object.contains_key(*name)) => {
            return None;
        }
        Value::Object(object) => object.values().map(size).sum::<Option<usize>>()?,
        _ => 0,
    };
    Some(below + 1)
}

fn nodes(node: &Value) -> usize {
    1 + match node {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(object) => object.values().map(nodes).sum::<usize>(),
        _ => 0,
    }
}
