//! q173: text diff and merge.

use std::collections::HashMap;

use similar::{Algorithm, DiffOp, DiffTag, DiffableStr, TextDiff, TextMerge, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

use muster_engine::prelude::*;

use crate::support::{MAX_BYTES, bounded};

/// Product of the units that differ: the algorithm takes as many steps at worst.
const MAX_CELLS: usize = 30_000_000;
/// Operations that are listed.
const MAX_OPS: usize = 20_000;

#[derive(Input)]
pub struct Input {
    before: String,
    after: String,
    base: Option<String>,
    granularity: Granularity,
    context: usize,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Granularity {
    Line,
    Word,
    Char,
}

#[derive(Output)]
pub struct Output {
    unified: String,
    ratio: f64,
    insertions: usize,
    deletions: usize,
    ops: Vec<Operation>,
    merged: Option<String>,
    conflicts: Option<usize>,
}

#[derive(Output)]
struct Operation {
    op: Op,
    before: [usize; 2],
    after: [usize; 2],
}

#[derive(Clone, Copy, Words)]
enum Op {
    Equal,
    Insert,
    Delete,
    Replace,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let texts = [Some(input.before.as_str()), Some(input.after.as_str()), input.base.as_deref()];
    bounded(texts.into_iter().flatten(), MAX_BYTES)?;
    feasible(&lines(&input.before), &lines(&input.after), "lines")?;
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_lines(&input.before, &input.after);
    let unified = diff.unified_diff().context_radius(input.context).header("before", "after").to_string();
    let before = units(&input.before, input.granularity);
    let after = units(&input.after, input.granularity);
    let ops = match input.granularity {
        Granularity::Line => diff.ops().to_vec(),
        _ => {
            feasible(&before, &after, "words or characters")?;
            let (before, after) = numbered(&before, &after);
            capture_diff_slices(Algorithm::Myers, &before, &after)
        }
    };
    let equal: usize = ops.iter().filter(|op| op.tag() == DiffTag::Equal).map(|op| op.old_range().len()).sum();
    let all = before.len() + after.len();
    if ops.len() > MAX_OPS {
        context.warn(format!("shortened: the first {MAX_OPS} of {} operations are listed", ops.len()));
    }
    let (merged, conflicts) = match &input.base {
        Some(base) => {
            feasible(&lines(base), &lines(&input.before), "lines")?;
            feasible(&lines(base), &lines(&input.after), "lines")?;
            let merge = TextMerge::from_lines(base.as_str(), input.before.as_str(), input.after.as_str());
            (Some(merge.to_string()), Some(merge.conflict_count()))
        }
        None => (None, None),
    };
    Ok(Output {
        unified,
        ratio: if all == 0 { 1.0 } else { 2.0 * equal as f64 / all as f64 },
        insertions: after.len() - equal,
        deletions: before.len() - equal,
        ops: ops.iter().take(MAX_OPS).map(operation).collect(),
        merged,
        conflicts,
    })
}

fn operation(op: &DiffOp) -> Operation {
    let (before, after) = (op.old_range(), op.new_range());
    let op = match op.tag() {
        DiffTag::Equal => Op::Equal,
        DiffTag::Delete => Op::Delete,
        DiffTag::Insert => Op::Insert,
        DiffTag::Replace => Op::Replace,
    };
    Operation { op, before: [before.start, before.end], after: [after.start, after.end] }
}

/// Lines with their ends, as the library splits them: at a line feed, a carriage return, or both together.
fn lines(text: &str) -> Vec<&str> {
    text.tokenize_lines()
}

/// Units whose numbers the operations name. A character is what a reader sees as one (an extended grapheme cluster).
fn units(text: &str, granularity: Granularity) -> Vec<&str> {
    match granularity {
        Granularity::Line => lines(text),
        Granularity::Word => text.split_word_bounds().collect(),
        Granularity::Char => text.graphemes(true).collect(),
    }
}

/// Refuses texts whose comparison would take too many steps. Common beginnings and ends cost nothing.
fn feasible(before: &[&str], after: &[&str], what: &str) -> Result<(), Failure> {
    let begin = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let most = before.len().min(after.len()) - begin;
    let end = before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (before, after) = (before.len() - begin - end, after.len() - begin - end);
    if before.saturating_mul(after) > MAX_CELLS {
        return Err(Failure::too_large(format!(
            "{before} by {after} {what} differ, their product may be {MAX_CELLS}: send the texts in parts or by line"
        )));
    }
    Ok(())
}

fn numbered(before: &[&str], after: &[&str]) -> (Vec<usize>, Vec<usize>) {
    let mut numbers = HashMap::new();
    let mut number = |unit: &&str| -> usize {
        let next = numbers.len();
        *numbers.entry((*unit).to_owned()).or_insert(next)
    };
    (before.iter().map(&mut number).collect(), after.iter().map(&mut number).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `difflib` of Python 3.11 on `str.splitlines(keepends=True)` has these operations and this ratio.
    #[test]
    fn a_carriage_return_alone_ends_a_line() {
        let input = json!({ "before": "a\rb\rc", "after": "a\rb\rd" });
        let output = crate::FAMILY.run(173, input, &Context::default()).unwrap();
        assert_eq!((&output["insertions"], &output["deletions"]), (&json!(1), &json!(1)));
        assert!((output["ratio"].as_f64().unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(output["ops"][1], json!({ "op": "replace", "before": [2, 3], "after": [2, 3] }));
    }
}
