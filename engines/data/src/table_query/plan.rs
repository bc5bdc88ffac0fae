//! Renders a plan as lines: the last operation first, its inputs indented below.

use gluesql_core::plan::StatementPlan;
use serde_json::Value;

use muster_engine::Failure;

const MAX_LINES: usize = 200;

pub fn lines(plan: &StatementPlan) -> Result<Vec<String>, Failure> {
    let tree = serde_json::to_value(plan).map_err(Failure::internal)?;
    let mut lines = Vec::new();
    add_steps(&tree, 0, &mut lines);
    Ok(lines)
}

fn add_steps(node: &Value, depth: usize, lines: &mut Vec<String>) {
    match node {
        Value::Array(items) => items.iter().for_each(|item| add_steps(item, depth, lines)),
        Value::Object(object) => {
            for (key, child) in object {
                let step = step(key, child);
                if let Some(step) = &step
                    && lines.len() < MAX_LINES
                {
                    lines.push(format!("{}{step}", "  ".repeat(depth)));
                }
                add_steps(child, depth + usize::from(step.is_some()), lines);
            }
        }
        _ => {}
    }
}

fn step(key: &str, child: &Value) -> Option<String> {
    let plain = match key {
        "Project" => "project",
        "Filter" => "filter",
        "Aggregation" => "group and aggregate",
        "Having" => "having",
        "Distinct" => "distinct",
        "SelectOrderBy" | "ValuesOrderBy" => "sort",
        "Limit" => "limit",
        "Offset" => "offset",
        "InnerJoin" => "inner join",
        "LeftOuterJoin" => "left outer join",
        "Hash" => "by hash of equal columns",
        "NestedLoop" => "by nested loop",
        "Derived" => "subquery",
        "Table" => return Some(format!("scan {}", child.get("name")?.as_str()?)),
        _ => return None,
    };
    child.is_object().then(|| plain.to_owned())
}
