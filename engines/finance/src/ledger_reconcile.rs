//! q128: ledger reconciliation.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use rust_decimal::Decimal;

use crate::assignment::assign;

const MAX_ENTRIES: usize = 2_000;
/// Most entries on one side that are assigned together; larger groups are matched greedily.
const MAX_ASSIGNED: usize = 250;
/// Most steps of the search for groups.
const MAX_STEPS: usize = 2_000_000;
/// Points of a score of 1.
const POINTS: f64 = 1e6;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    left: Vec<Entry>,
    right: Vec<Entry>,
    days_d: i64,
    tolerance: String,
    group_limit: i64,
}

#[derive(Input)]
struct Entry {
    id: String,
    date: Date,
    amount: String,
    text: Option<String>,
}

/// How entries match.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum MatchKind {
    /// The same amount.
    Exact,
    /// Amounts within the tolerance.
    Tolerance,
    /// Several entries sum to one.
    Grouped,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    matched: Vec<Match>,
    unmatched_left: Vec<String>,
    unmatched_right: Vec<String>,
    balance: Balance,
}

#[derive(Output)]
struct Match {
    left: Vec<String>,
    right: Vec<String>,
    kind: MatchKind,
    score: f64,
}

#[derive(Output)]
struct Balance {
    left: String,
    right: String,
    difference: String,
}

/// An entry with its numbers.
struct Item {
    id: String,
    day: i64,
    amount: Decimal,
    text: String,
    matched: bool,
}

/// Matches the two lists.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.left.len() > MAX_ENTRIES || input.right.len() > MAX_ENTRIES {
        return Err(Failure::too_large(format!("left and right: at most {MAX_ENTRIES} entries each")));
    }
    let tolerance = amount(&input.tolerance, &["tolerance"])?;
    if tolerance.is_sign_negative() && !tolerance.is_zero() {
        return Err(Failure::invalid(&["tolerance"], "must not be negative"));
    }
    let days = input.days_d.clamp(0, 60);
    let mut left = items(input.left, "left")?;
    let mut right = items(input.right, "right")?;
    let balance = balance(&left, &right);
    let mut matched = Vec::new();
    // Exact amounts come first, so that no near one takes their place.
    pairs(&mut left, &mut right, Decimal::ZERO, days, MatchKind::Exact, &mut matched, cx);
    if tolerance > Decimal::ZERO {
        pairs(&mut left, &mut right, tolerance, days, MatchKind::Tolerance, &mut matched, cx);
    }
    let limit = input.group_limit.clamp(1, 6) as usize;
    if limit > 1 {
        let mut steps = MAX_STEPS;
        groups(&mut left, &mut right, tolerance, days, limit, &mut steps, &mut matched, false);
        groups(&mut right, &mut left, tolerance, days, limit, &mut steps, &mut matched, true);
        if steps == 0 {
            cx.warn("groups: the search ended at its limit; a lower group_limit or fewer days search further");
        }
    }
    let rest = |items: &[Item]| items.iter().filter(|i| !i.matched).map(|i| i.id.clone()).collect();
    Ok(Output { matched, unmatched_left: rest(&left), unmatched_right: rest(&right), balance })
}

fn amount(text: &str, path: &[&str]) -> Result<Decimal, Failure> {
    let limit = Decimal::from(10_i64.pow(18));
    let number = Decimal::from_str_exact(text).ok().filter(|d| d.abs() <= limit && d.scale() <= 6);
    number.ok_or_else(|| {
        Failure::invalid(path, "must be a decimal number such as \"-12.50\", within ±1e18, of at most 6 decimals")
    })
}

fn items(entries: Vec<Entry>, side: &str) -> Result<Vec<Item>, Failure> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut out = Vec::with_capacity(entries.len());
    for (at, entry) in entries.into_iter().enumerate() {
        let here = at.to_string();
        if known.insert(entry.id.clone(), at).is_some() {
            return Err(Failure::invalid(&[side, &here, "id"], "another entry has this id"));
        }
        let start = Date::constant(1970, 1, 1);
        let day = start.until(entry.date).map(|span| i64::from(span.get_days())).map_err(Failure::internal)?;
        let text = entry.text.unwrap_or_default().to_lowercase();
        let amount = amount(&entry.amount, &[side, &here, "amount"])?;
        out.push(Item { id: entry.id, day, amount, text: text.chars().take(200).collect(), matched: false });
    }
    Ok(out)
}

fn balance(left: &[Item], right: &[Item]) -> Balance {
    let total = |items: &[Item]| items.iter().map(|item| item.amount).sum::<Decimal>();
    let (l, r) = (total(left), total(right));
    Balance { left: l.to_string(), right: r.to_string(), difference: (l - r).to_string() }
}

/// How well two entries fit, 0 to 1: half by the days between them, half by their texts (Jaro-Winkler). Without a text
/// on both sides the days count alone.
fn score(a: &Item, b: &Item, days: i64) -> f64 {
    let near = 1.0 - (a.day - b.day).abs() as f64 / (days + 1) as f64;
    if a.text.is_empty() || b.text.is_empty() {
        return near;
    }
    0.5 * near + 0.5 * strsim::jaro_winkler(&a.text, &b.text)
}

/// Matches one to one: the largest number of pairs, and among these the best scores, in each set of entries that are
/// connected by possible pairs.
fn pairs(
    left: &mut [Item],
    right: &mut [Item],
    tolerance: Decimal,
    days: i64,
    kind: MatchKind,
    matched: &mut Vec<Match>,
    cx: &Context,
) {
    let mut by_amount: Vec<usize> = (0..right.len()).filter(|j| right.get(*j).is_some_and(|r| !r.matched)).collect();
    by_amount.sort_by_key(|j| right.get(*j).map(|r| r.amount));
    let mut possible: Vec<(usize, usize, f64)> = Vec::new();
    for (i, a) in left.iter().enumerate().filter(|(_, a)| !a.matched) {
        let first = by_amount.partition_point(|j| right.get(*j).is_some_and(|r| r.amount < a.amount - tolerance));
        for j in by_amount.iter().skip(first) {
            let Some(b) = right.get(*j) else { continue };
            if b.amount > a.amount + tolerance {
                break;
            }
            if (a.day - b.day).abs() <= days {
                possible.push((i, *j, score(a, b, days)));
            }
        }
    }
    for component in components(&possible, left.len(), right.len()) {
        let mut rows: Vec<usize> = component.iter().map(|(i, _, _)| *i).collect();
        let mut columns: Vec<usize> = component.iter().map(|(_, j, _)| *j).collect();
        rows.sort_unstable();
        rows.dedup();
        columns.sort_unstable();
        columns.dedup();
        let chosen = if rows.len().max(columns.len()) <= MAX_ASSIGNED {
            best(&component, &rows, &columns)
        } else {
            cx.warn(format!(
                "greedy: {} entries could match one another, so the best pairs were taken in turn",
                rows.len()
            ));
            greedy(component)
        };
        for (i, j, score) in chosen {
            if let (Some(a), Some(b)) = (left.get_mut(i), right.get_mut(j)) {
                (a.matched, b.matched) = (true, true);
                matched.push(Match { left: vec![a.id.clone()], right: vec![b.id.clone()], kind, score });
            }
        }
    }
}

type Pair = (usize, usize, f64);

/// Sets of pairs that share no entry, in the order of their first left entry.
fn components(pairs: &[Pair], left: usize, right: usize) -> Vec<Vec<Pair>> {
    let mut parents: Vec<usize> = (0..left + right).collect();
    fn root(parents: &mut [usize], at: usize) -> usize {
        let mut at = at;
        while let Some(parent) = parents.get(at).copied()
            && parent != at
        {
            let above = parents.get(parent).copied().unwrap_or(parent);
            if let Some(to) = parents.get_mut(at) {
                *to = above;
            }
            at = parent;
        }
        at
    }
    for (i, j, _) in pairs {
        let (a, b) = (root(&mut parents, *i), root(&mut parents, left + j));
        if let Some(parent) = parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
    let mut sets: BTreeMap<usize, Vec<Pair>> = BTreeMap::new();
    for pair in pairs {
        sets.entry(root(&mut parents, pair.0)).or_default().push(*pair);
    }
    sets.into_values().collect()
}

fn best(pairs: &[Pair], rows: &[usize], columns: &[usize]) -> Vec<Pair> {
    // A pair that is not possible costs more than all possible ones together.
    let impossible = (POINTS as i64 + 1) * (rows.len() as i64 + 1);
    let turned = rows.len() > columns.len();
    let (short, long) = if turned { (columns, rows) } else { (rows, columns) };
    let mut costs = vec![vec![impossible; long.len()]; short.len()];
    let mut scores: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (i, j, score) in pairs {
        let (a, b) = if turned { (*j, *i) } else { (*i, *j) };
        if let (Ok(row), Ok(column)) = (short.binary_search(&a), long.binary_search(&b))
            && let Some(cost) = costs.get_mut(row).and_then(|r| r.get_mut(column))
        {
            *cost = ((1.0 - score) * POINTS).round() as i64;
            scores.insert((a, b), *score);
        }
    }
    let mut out = Vec::new();
    for (row, column) in assign(&costs).into_iter().enumerate() {
        if let (Some(a), Some(b)) = (short.get(row), long.get(column))
            && let Some(score) = scores.get(&(*a, *b))
        {
            out.push(if turned { (*b, *a, *score) } else { (*a, *b, *score) });
        }
    }
    out.sort_by_key(|pair| pair.0);
    out
}

fn greedy(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
    let (mut left, mut right) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    pairs.retain(|(i, j, _)| !left.contains(i) && !right.contains(j) && left.insert(*i) && right.insert(*j));
    pairs
}

/// Matches one entry to two or more of the other side that sum to it: the fewest, and of as many the first in order of
/// date.
#[allow(clippy::too_many_arguments, reason = "both directions of one step")]
fn groups(
    ones: &mut [Item],
    many: &mut [Item],
    tolerance: Decimal,
    days: i64,
    limit: usize,
    steps: &mut usize,
    matched: &mut Vec<Match>,
    turned: bool,
) {
    for one in ones.iter_mut().filter(|one| !one.matched) {
        let mut near: Vec<usize> = (0..many.len())
            .filter(|j| many.get(*j).is_some_and(|m| !m.matched && (m.day - one.day).abs() <= days))
            .collect();
        near.sort_by_key(|j| many.get(*j).map(|m| m.day));
        let amounts: Vec<Decimal> = near.iter().filter_map(|j| many.get(*j)).map(|m| m.amount).collect();
        let found = (2..=limit.min(near.len())).find_map(|size| subset(&amounts, one.amount, tolerance, size, steps));
        let Some(found) = found else { continue };
        one.matched = true;
        let mut ids = Vec::new();
        let mut score_sum = 0.0;
        for at in &found {
            if let Some(item) = near.get(*at).and_then(|j| many.get_mut(*j)) {
                item.matched = true;
                score_sum += score(one, item, days);
                ids.push(item.id.clone());
            }
        }
        let score = score_sum / found.len() as f64;
        let single = vec![one.id.clone()];
        let (left, right) = if turned { (ids, single) } else { (single, ids) };
        matched.push(Match { left, right, kind: MatchKind::Grouped, score });
    }
}

/// Indices of `size` amounts that sum to the target, found in order; each step is counted.
fn subset(
    amounts: &[Decimal],
    target: Decimal,
    tolerance: Decimal,
    size: usize,
    steps: &mut usize,
) -> Option<Vec<usize>> {
    fn search(
        amounts: &[Decimal],
        from: usize,
        rest: Decimal,
        tolerance: Decimal,
        size: usize,
        steps: &mut usize,
        chosen: &mut Vec<usize>,
    ) -> bool {
        if size == 0 {
            return rest.abs() <= tolerance;
        }
        for (at, amount) in amounts.iter().enumerate().skip(from) {
            if *steps == 0 || amounts.len() - at < size {
                return false;
            }
            *steps -= 1;
            chosen.push(at);
            if search(amounts, at + 1, rest - amount, tolerance, size - 1, steps, chosen) {
                return true;
            }
            chosen.pop();
        }
        false
    }
    let mut chosen = Vec::new();
    search(amounts, 0, target, tolerance, size, steps, &mut chosen).then_some(chosen)
}
