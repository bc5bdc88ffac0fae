//! Findings, score and verdict shared by the sentinel engines.

use muster_engine::prelude::*;
pub use muster_engine::{Finding, Severity};

/// Probability that a single finding of this severity is a real danger.
const fn weight(severity: Severity) -> f64 {
    match severity {
        Severity::Info => 0.05,
        Severity::Low => 0.15,
        Severity::Medium => 0.4,
        Severity::High => 0.7,
        Severity::Critical => 0.95,
    }
}

/// Verdict of a sentinel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
pub enum Verdict {
    /// Nothing was found.
    Clear,
    /// Worth knowing.
    Notice,
    /// A person should look at it.
    Warn,
    /// Act at once.
    Critical,
}

/// Creates a finding without evidence.
pub fn finding(rule: &str, severity: Severity, message: impl Into<String>, location: Option<String>) -> Finding {
    Finding { rule: rule.to_owned(), severity, message: message.into(), location, evidence: None }
}

/// Keeps the first findings after sorting them by severity, worst first, and warns of the others. The score and verdict
/// are to be computed before.
pub fn listed(mut findings: Vec<Finding>, most: usize, cx: &Context) -> Vec<Finding> {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    if let Some(warning) = truncate(&mut findings, most) {
        cx.warn(warning);
    }
    findings
}

/// Keeps the first of sorted findings. Returns the warning about the others, if there are any.
pub fn truncate(findings: &mut Vec<Finding>, most: usize) -> Option<String> {
    let all = findings.len();
    findings.truncate(most);
    (all > most).then(|| format!("truncated: only the {most} worst of {all} findings are listed"))
}

/// The worst finding decides: critical; warn from medium; notice below.
pub fn verdict(findings: &[Finding]) -> Verdict {
    match findings.iter().map(|finding| finding.severity).max() {
        None => Verdict::Clear,
        Some(Severity::Info | Severity::Low) => Verdict::Notice,
        Some(Severity::Medium | Severity::High) => Verdict::Warn,
        Some(Severity::Critical) => Verdict::Critical,
    }
}

/// Combines independent signs (noisy-OR, Pearl 1988): 1 - Π (1 - weight), to four decimals.
pub fn score(findings: &[Finding]) -> f64 {
    let none: f64 = findings.iter().map(|finding| 1.0 - weight(finding.severity)).product();
    ((1.0 - none) * 1e4).round() / 1e4
}

/// `line:column` of a byte offset, from 1.
pub fn place(text: &str, at: usize) -> String {
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(severity: Severity) -> Finding {
        Finding { rule: "r".to_owned(), severity, message: String::new(), location: None, evidence: None }
    }

    #[test]
    fn the_worst_finding_decides_and_scores_add_up() {
        assert_eq!(verdict(&[]), Verdict::Clear);
        assert_eq!(verdict(&[found(Severity::Low), found(Severity::High)]), Verdict::Warn);
        assert_eq!(verdict(&[found(Severity::Critical)]), Verdict::Critical);
        // 1 - 0.6 * 0.3
        assert!((score(&[found(Severity::Medium), found(Severity::High)]) - 0.82).abs() < 1e-9);
        assert_eq!(score(&[]), 0.0);
    }

    #[test]
    fn a_location_counts_characters() {
        assert_eq!(place("ä\nbcd", 4), "2:2");
    }
}
