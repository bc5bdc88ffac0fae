//! q202: test results and coverage from many tools' reports.

mod cargo;
mod coverage;
mod junit;
mod pytest;
mod tap;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::xml;
use muster_engine::prelude::*;

/// Maximum number of reported failures.
const MAX_FAILURES: usize = 1_000;
/// Number of slowest tests reported.
const SLOWEST: usize = 10;
/// Maximum characters of a failure message.
const MAX_MESSAGE: usize = 2_000;

#[derive(Input)]
pub struct Input {
    reports: Vec<ReportInput>,
    /// Line numbers by path; a path may be a suffix of the coverage report's.
    changed_lines: BTreeMap<String, Vec<f64>>,
    minimum_coverage: Option<f64>,
}

#[derive(Input)]
struct ReportInput {
    name: String,
    content: String,
    format: Option<Format>,
}

#[derive(Debug, Clone, Copy, PartialEq, Words)]
enum Format {
    Junit,
    Tap,
    Cargo,
    Pytest,
    Lcov,
    Cobertura,
}

#[derive(Output)]
pub struct Output {
    /// Absent, as the two below, if no report has tests: none is known to pass.
    passed: Option<u64>,
    failed: Option<u64>,
    skipped: Option<u64>,
    duration: Option<f64>,
    failures: Vec<Failed>,
    flaky: BTreeSet<String>,
    slowest: Vec<Slow>,
    coverage: Option<coverage::Percent>,
    gate: bool,
}

#[derive(Output)]
struct Failed {
    suite: String,
    test: String,
    message: String,
}

#[derive(Output)]
struct Slow {
    test: String,
    seconds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// One test, run once.
#[derive(Debug)]
struct Case {
    suite: String,
    test: String,
    outcome: Outcome,
    seconds: Option<f64>,
    message: String,
    /// It failed and then passed within this run.
    retried: bool,
}

impl Case {
    fn new(suite: &str, test: &str, outcome: Outcome) -> Self {
        let (suite, test) = (suite.to_owned(), test.to_owned());
        Self { suite, test, outcome, seconds: None, message: String::new(), retried: false }
    }

    fn id(&self) -> String {
        if self.suite.is_empty() { self.test.clone() } else { format!("{}::{}", self.suite, self.test) }
    }
}

/// One report's tests.
#[derive(Debug, Default)]
struct Run {
    cases: Vec<Case>,
    /// Passed, failed and skipped, if the report has totals.
    totals: Option<[u64; 3]>,
    seconds: Option<f64>,
}

impl Run {
    fn totals(&self) -> [u64; 3] {
        let count = |outcome| self.cases.iter().filter(|case| case.outcome == outcome).count() as u64;
        self.totals.unwrap_or_else(|| [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(count))
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or_else(|| self.cases.iter().filter_map(|case| case.seconds).sum())
    }
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let (mut runs, mut covered) = (Vec::new(), coverage::Covered::default());
    for (at, report) in input.reports.iter().enumerate() {
        let place = at.to_string();
        let wrong =
            |message: String| Failure::invalid(&["reports", &place, "content"], format!("{} {message}", report.name));
        let format = report.format.or_else(|| sniff(&report.content)).ok_or_else(|| {
            wrong("has no known format: set its format, one of junit, tap, cargo, pytest, lcov, cobertura".into())
        })?;
        match format {
            Format::Junit => runs.push(junit::read(&xml::read(&report.content).map_err(wrong)?)),
            Format::Tap => runs.push(tap::read(&report.name, &report.content)),
            Format::Cargo => runs.push(some(cargo::read(&report.name, &report.content)).map_err(wrong)?),
            Format::Pytest => runs.push(some(pytest::read(&report.content)).map_err(wrong)?),
            Format::Lcov => covered.add_lcov(&report.content),
            Format::Cobertura => covered.add_cobertura(&xml::read(&report.content).map_err(wrong)?),
        }
    }
    let tested = !runs.is_empty();
    if !tested {
        context.warn("not_assessed: no report contains tests");
    }
    let [passed, failed, skipped] = runs
        .iter()
        .map(Run::totals)
        .fold([0_u64; 3], |[a, b, c], [x, y, z]| [a.saturating_add(x), b.saturating_add(y), c.saturating_add(z)]);
    let cases: Vec<&Case> = runs.iter().flat_map(|run| &run.cases).collect();
    let coverage = (!covered.is_empty()).then(|| covered.percent(&input.changed_lines, context));
    // The sum of no times is -0.
    let duration: f64 = runs.iter().map(Run::seconds).sum();
    Ok(Output {
        gate: failed == 0 && gate(&input, coverage.as_ref(), context),
        passed: tested.then_some(passed),
        failed: tested.then_some(failed),
        skipped: tested.then_some(skipped),
        duration: (tested && duration.is_finite()).then_some(duration + 0.0),
        failures: failures(&cases, context),
        flaky: flaky(&cases),
        slowest: slowest(&cases),
        coverage,
    })
}

/// A report that holds no outcome is none: it may have been cut, or be of another program.
fn some(run: Run) -> Result<Run, String> {
    if run.cases.is_empty() && run.totals.is_none() {
        return Err("has no outcome of a test: give the whole output of the run".to_owned());
    }
    Ok(run)
}

/// Applies the coverage gate: changed lines if any is measured, else all lines unless only others changed.
fn gate(input: &Input, coverage: Option<&coverage::Percent>, context: &Context) -> bool {
    let Some(minimum) = input.minimum_coverage else { return true };
    let Some(coverage) = coverage.filter(|coverage| coverage.lines >= 0.0) else {
        context.warn("not_assessed: a minimum coverage is required, but no report contains coverage: the gate fails");
        return false;
    };
    match input.changed_lines.is_empty() {
        true => minimum <= coverage.lines,
        // Nothing that can be covered was changed.
        false if coverage.changed < 0.0 => true,
        false => minimum <= coverage.changed,
    }
}

fn failures(cases: &[&Case], context: &Context) -> Vec<Failed> {
    let failed: Vec<&&Case> = cases.iter().filter(|case| case.outcome == Outcome::Failed).collect();
    if failed.len() > MAX_FAILURES {
        context.warn(format!("only the first {MAX_FAILURES} of {} failures are reported", failed.len()));
    }
    let failed_case = |case: &&&Case| Failed {
        suite: case.suite.clone(),
        test: case.test.clone(),
        message: case.message.chars().take(MAX_MESSAGE).collect(),
    };
    failed.iter().take(MAX_FAILURES).map(failed_case).collect()
}

fn flaky(cases: &[&Case]) -> BTreeSet<String> {
    let with = |outcome| -> BTreeSet<String> {
        cases.iter().filter(|case| case.outcome == outcome).map(|case| case.id()).collect()
    };
    let mut both: BTreeSet<String> = with(Outcome::Passed).intersection(&with(Outcome::Failed)).cloned().collect();
    both.extend(cases.iter().filter(|case| case.retried).map(|case| case.id()));
    both
}

fn slowest(cases: &[&Case]) -> Vec<Slow> {
    let mut timed: Vec<Slow> = cases
        .iter()
        .filter_map(|case| Some(Slow { test: case.id(), seconds: case.seconds.filter(|seconds| *seconds > 0.0)? }))
        .collect();
    timed.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.test.cmp(&b.test)));
    timed.truncate(SLOWEST);
    timed
}

fn sniff(content: &str) -> Option<Format> {
    let any = |test: &dyn Fn(&str) -> bool| content.lines().any(test);
    let starts = |start: &str| any(&|line| line.starts_with(start));
    if content.trim_start_matches('\u{feff}').trim_start().starts_with('<') {
        return if content.contains("<testsuite") {
            Some(Format::Junit)
        } else {
            content.contains("<coverage").then_some(Format::Cobertura)
        };
    }
    if starts("SF:") {
        Some(Format::Lcov)
    } else if starts("TAP version") || starts("ok ") || starts("not ok") || starts("1..") {
        Some(Format::Tap)
    } else if starts("test result:") || starts("running ") || any(&cargo::is_nextest) {
        Some(Format::Cargo)
    } else if any(&|line| pytest::summary(line).is_some()) {
        Some(Format::Pytest)
    } else {
        None
    }
}

/// Parses a time in seconds; some JUnit writers use commas as thousands separators.
fn seconds(text: &str) -> Option<f64> {
    text.trim().replace(',', "").parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
}
