//! JMESPath with a limit on created values: a short expression can double them many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jmespath::ast::{Ast, KeyValuePair};
use jmespath::{Context, ErrorReason, Expression, JmespathError, Rcvar, Runtime, Variable};
use serde_json::Value;

use super::{MAX_VALUES, Output, wrong};
use muster_engine::Failure;

/// Maximum size of all created values: nodes, plus one per 16 bytes of text.
const MAX_MADE: usize = 2_000_000;
/// Maximum nesting of a value.
const MAX_DEPTH: usize = 120;
/// Maximum nesting of brackets in an expression.
const MAX_NESTED: usize = 200;
/// The measuring function; expressions cannot contain its name.
const MEASURE: &str = "\u{0}measure";
const TOO_MUCH: &str = "makes more than 2000000 values, or nests them more than 120 deep: select fewer";

pub fn search(document: &Value, query: &str) -> Result<Output, Failure> {
    if query.matches(['[', '(', '{', '!', '&']).count() > MAX_NESTED {
        return Err(Failure::too_large(format!("the query has more than {MAX_NESTED} brackets")));
    }
    let bad = |error: JmespathError| match &error.reason {
        ErrorReason::Parse(reason) if reason == TOO_MUCH => Failure::too_large(format!("the query {TOO_MUCH}")),
        _ => wrong(format!("is no JMESPath that fits the document: {error}")),
    };
    let ast = jmespath::parse(query).map_err(bad)?;
    let several = selects_several(&ast);
    let runtime = runtime();
    let expression = Expression::new(query, measured(ast), &runtime);
    let data = Variable::from_serializable(document).map_err(bad)?;
    let found = expression.search(data).map_err(bad)?;
    let found = serde_json::to_value(&*found).map_err(Failure::internal)?;
    let mut values = match found {
        Value::Array(values) if several => values,
        Value::Null => Vec::new(),
        value => vec![value],
    };
    let count = values.len();
    values.truncate(MAX_VALUES);
    Ok(Output { values, locations: Vec::new(), count })
}

/// A projection selects several values; any other expression one, where null means absent.
fn selects_several(mut ast: &Ast) -> bool {
    while let Ast::Subexpr { rhs, .. } = ast {
        ast = rhs;
    }
    matches!(ast, Ast::Projection { .. })
}

fn runtime() -> Runtime {
    let mut runtime = Runtime::new();
    runtime.register_builtin_functions();
    let remaining = Arc::new(AtomicUsize::new(MAX_MADE));
    let of_join = Arc::clone(&remaining);
    let measure = move |args: &[Rcvar], _: &mut Context<'_>| {
        let value = args.first().cloned().unwrap_or_else(|| Rcvar::new(Variable::Null));
        take(&remaining, &value, 0).then_some(value).ok_or_else(too_much)
    };
    runtime.register_function(MEASURE, Box::new(measure));
    if let Some(join) = runtime.deregister_function("join") {
        let bounded = move |args: &[Rcvar], context: &mut Context<'_>| {
            let glue = args.first().and_then(|glue| glue.as_string()).map_or(0, String::len);
            let times = args.get(1).and_then(|list| list.as_array()).map_or(0, Vec::len);
            // The parts were already measured; the separator occurs between each two.
            if of_join.load(Ordering::Relaxed) < glue.saturating_mul(times) / 16 {
                return Err(too_much());
            }
            join.evaluate(args, context)
        };
        runtime.register_function("join", Box::new(bounded));
    }
    runtime
}

fn too_much() -> JmespathError {
    JmespathError::new("", 0, ErrorReason::Parse(TOO_MUCH.to_owned()))
}

/// Subtracts a value's size from the remaining budget; false if it is exceeded.
fn take(remaining: &AtomicUsize, value: &Variable, depth: usize) -> bool {
    let size = match value {
        Variable::String(text) => 1 + text.len() / 16,
        _ => 1,
    };
    let left = remaining.load(Ordering::Relaxed);
    if depth > MAX_DEPTH || left < size {
        return false;
    }
    remaining.store(left - size, Ordering::Relaxed);
    match value {
        Variable::Array(items) => items.iter().all(|item| take(remaining, item, depth + 1)),
        Variable::Object(object) => object.values().all(|item| take(remaining, item, depth + 1)),
        _ => true,
    }
}

/// Wraps everything that creates values in measuring calls, and limits numbers so that they cannot overflow.
fn measured(ast: Ast) -> Ast {
    let inner = |ast: Box<Ast>| Box::new(measured(*ast));
    match ast {
        Ast::Comparison { offset, comparator, lhs, rhs } => {
            Ast::Comparison { offset, comparator, lhs: inner(lhs), rhs: inner(rhs) }
        }
        Ast::Condition { offset, predicate, then } => {
            Ast::Condition { offset, predicate: inner(predicate), then: inner(then) }
        }
        Ast::Expref { offset, ast } => Ast::Expref { offset, ast: inner(ast) },
        Ast::Not { offset, node } => Ast::Not { offset, node: inner(node) },
        Ast::And { offset, lhs, rhs } => Ast::And { offset, lhs: inner(lhs), rhs: inner(rhs) },
        Ast::Or { offset, lhs, rhs } => Ast::Or { offset, lhs: inner(lhs), rhs: inner(rhs) },
        Ast::Subexpr { offset, lhs, rhs } => Ast::Subexpr { offset, lhs: inner(lhs), rhs: inner(rhs) },
        Ast::ObjectValues { offset, node } => Ast::ObjectValues { offset, node: inner(node) },
        Ast::Index { offset, idx } => Ast::Index { offset, idx: idx.max(-i32::MAX) },
        // Beyond any array, and far from the integer limit, to which the crate adds.
        Ast::Slice { offset, start, stop, step } => {
            let near = |number: i32| number.clamp(-1_000_000_000, 1_000_000_000);
            Ast::Slice { offset, start: start.map(near), stop: stop.map(near), step: near(step) }
        }
        Ast::Flatten { offset, node } => measure(offset, Ast::Flatten { offset, node: inner(node) }),
        Ast::Projection { offset, lhs, rhs } => {
            measure(offset, Ast::Projection { offset, lhs: inner(lhs), rhs: inner(rhs) })
        }
        Ast::Function { offset, name, args } => {
            measure(offset, Ast::Function { offset, name, args: args.into_iter().map(measured).collect() })
        }
        Ast::MultiList { offset, elements } => {
            measure(offset, Ast::MultiList { offset, elements: elements.into_iter().map(measured).collect() })
        }
        Ast::MultiHash { offset, elements } => {
            let pair = |pair: KeyValuePair| KeyValuePair { key: pair.key, value: measured(pair.value) };
            measure(offset, Ast::MultiHash { offset, elements: elements.into_iter().map(pair).collect() })
        }
        Ast::Identity { .. } | Ast::Field { .. } | Ast::Literal { .. } => ast,
    }
}

fn measure(offset: usize, ast: Ast) -> Ast {
    Ast::Function { offset, name: MEASURE.to_owned(), args: vec![ast] }
}
