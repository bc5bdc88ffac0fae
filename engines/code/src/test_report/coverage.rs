//! Line and branch coverage from LCOV tracefiles and Cobertura XML, merged.

use std::collections::BTreeMap;

use super::xml::Element;
use muster_engine::prelude::*;

/// Stands for no percentage: a share that was not measured is neither 0 nor 100.
pub(super) const NOT_MEASURED: f64 = -1.0;

/// Percentages; [`NOT_MEASURED`] for what no report measures, as the record's members are numbers.
#[derive(Debug, Output)]
pub(super) struct Percent {
    pub lines: f64,
    pub branches: f64,
    pub changed: f64,
}

#[derive(Default)]
pub(super) struct Covered {
    files: BTreeMap<String, File>,
}

#[derive(Default)]
struct File {
    /// Execution counts by line.
    lines: BTreeMap<u64, u64>,
    /// Execution counts by line, block and branch.
    branches: BTreeMap<(u64, String, String), u64>,
    /// Found and hit, if a report has only these totals.
    summed: [(u64, u64); 2],
}

impl Covered {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// geninfo(1), "FILES": `SF`, `DA:<line>,<count>[,<checksum>]`, `BRDA:<line>,<block>,<branch>,<taken>`.
    pub(super) fn add_lcov(&mut self, text: &str) {
        let mut file = None;
        for line in text.lines() {
            let Some((key, value)) = line.trim().split_once(':') else { continue };
            if key == "SF" {
                file = Some(self.files.entry(value.replace('\\', "/")).or_default());
                continue;
            }
            let Some(file) = file.as_mut() else { continue };
            let parts: Vec<&str> = value.split(',').collect();
            let sum = |slot: &mut u64| *slot = slot.saturating_add(value.parse().unwrap_or(0));
            match (key, parts.as_slice()) {
                ("DA", [line, count, ..]) => file.line(line.parse().unwrap_or(0), count.parse().unwrap_or(0)),
                // `-`: the expression was never reached. `e` before the block: an exception branch.
                ("BRDA", [line, block, branch @ .., taken]) => {
                    let place = (line.parse().unwrap_or(0), (*block).to_owned(), branch.join(","));
                    let count = file.branches.entry(place).or_default();
                    *count = count.saturating_add(taken.parse().unwrap_or(0));
                }
                ("LF", _) => sum(&mut file.summed[0].0),
                ("LH", _) => sum(&mut file.summed[0].1),
                ("BRF", _) => sum(&mut file.summed[1].0),
                ("BRH", _) => sum(&mut file.summed[1].1),
                _ => {}
            }
        }
    }

    /// `class/lines/line` with `number`, `hits` and, for branches, `condition-coverage="50% (1/2)"`.
    pub(super) fn add_cobertura(&mut self, root: &Element) {
        let mut classes = Vec::new();
        root.visit_all(&mut |element| {
            if element.name == "class" {
                classes.push(element);
            }
        });
        for class in classes {
            let file = self.files.entry(class.attribute("filename").replace('\\', "/")).or_default();
            // Lines of methods are repeated here.
            for line in class.child("lines").iter().flat_map(|lines| &lines.children) {
                let number = line.attribute("number").parse().unwrap_or(0);
                file.line(number, line.attribute("hits").parse().unwrap_or(0));
                let Some((taken, all)) = conditions(line.attribute("condition-coverage")) else { continue };
                for branch in 0..all.min(1_000) {
                    let count = file.branches.entry((number, String::new(), branch.to_string())).or_default();
                    *count = count.saturating_add(u64::from(branch < taken));
                }
            }
        }
    }

    pub(super) fn percent(&self, changed: &BTreeMap<String, Vec<f64>>, context: &Context) -> Percent {
        let sum = |of: fn(&File) -> (u64, u64)| {
            self.files
                .values()
                .map(of)
                .fold((0_u64, 0_u64), |(a, b), (x, y)| (a.saturating_add(x), b.saturating_add(y)))
        };
        let (lines, branches) = (sum(File::line_sums), sum(File::branch_sums));
        if lines.0 == 0 {
            context.warn("not_assessed: no report contains lines of code: coverage.lines is -1");
        }
        if branches.0 == 0 {
            context.warn("not_assessed: no report contains branches: coverage.branches is -1");
        }
        Percent { lines: share(lines), branches: share(branches), changed: share(self.changed(changed, context)) }
    }

    /// Returns executable changed lines, and those that were executed.
    fn changed(&self, changed: &BTreeMap<String, Vec<f64>>, context: &Context) -> (u64, u64) {
        if changed.is_empty() {
            context.warn("not_assessed: changed_lines is empty: coverage.changed is -1");
        }
        let (mut found, mut hit) = (0, 0);
        for (path, lines) in changed {
            let files: Vec<&File> =
                self.files.iter().filter(|(name, _)| same_file(name, path)).map(|(_, file)| file).collect();
            if files.is_empty() {
                context.warn(format!("not_assessed: no report covers {path}: its changed lines are left out"));
            }
            let mut lines: Vec<u64> = lines.iter().map(|line| *line as u64).collect();
            lines.sort_unstable();
            lines.dedup();
            for count in lines.iter().filter_map(|line| files.iter().find_map(|file| file.lines.get(line))) {
                found += 1;
                hit += u64::from(*count > 0);
            }
        }
        if found == 0 && !changed.is_empty() {
            context.warn("not_assessed: no changed line is one that a report measures: coverage.changed is -1");
        }
        (found, hit)
    }
}

impl File {
    fn line(&mut self, number: u64, count: u64) {
        let known = self.lines.entry(number).or_default();
        *known = known.saturating_add(count);
    }

    fn line_sums(&self) -> (u64, u64) {
        sums(self.lines.values(), self.summed[0])
    }

    fn branch_sums(&self) -> (u64, u64) {
        sums(self.branches.values(), self.summed[1])
    }
}

/// Found and hit: from counts if there are any, else the writer's totals.
fn sums<'c>(counts: impl ExactSizeIterator<Item = &'c u64>, summed: (u64, u64)) -> (u64, u64) {
    if counts.len() == 0 {
        return (summed.0, summed.1.min(summed.0));
    }
    (counts.len() as u64, counts.filter(|count| **count > 0).count() as u64)
}

fn share((found, hit): (u64, u64)) -> f64 {
    if found == 0 { NOT_MEASURED } else { 100.0 * hit as f64 / found as f64 }
}

/// `50% (1/2)`: taken and all.
fn conditions(text: &str) -> Option<(u64, u64)> {
    let (taken, all) = text.split_once('(')?.1.strip_suffix(')')?.split_once('/')?;
    Some((taken.parse().ok()?, all.parse().ok()?))
}

/// One path may be a suffix of the other.
fn same_file(a: &str, b: &str) -> bool {
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let (a, b) = (a.trim_start_matches("./"), b.trim_start_matches("./"));
    !a.is_empty() && !b.is_empty() && (ends(a, b) || ends(b, a))
}
