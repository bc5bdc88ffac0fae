//! Results of the rules.

use crate::mask::masked;
use crate::verdict::{Finding, Severity};

/// Maximum number of places reported per rule.
const MAX_PLACES: usize = 50;

/// A rule of a benchmark.
pub(super) struct Rule {
    /// Control id, such as `CIS-Docker-4.1`.
    pub id: &'static str,
    pub severity: Severity,
    pub problem: &'static str,
    /// Configuration that fixes it.
    pub fix: &'static str,
}

pub(super) const fn rule(id: &'static str, severity: Severity, problem: &'static str, fix: &'static str) -> Rule {
    Rule { id, severity, problem, fix }
}

/// Where and how a rule is violated.
pub(super) type Violation = (String, String);

pub(super) struct Audit {
    ignore: Vec<String>,
    findings: Vec<Finding>,
    passed: usize,
    failed: usize,
}

impl Audit {
    pub(super) fn new(ignore: Vec<String>) -> Self {
        Self { ignore, findings: Vec::new(), passed: 0, failed: 0 }
    }

    /// Records the result of a rule; no places means that it passed. Secrets in a place are hidden.
    pub(super) fn enter(&mut self, rule: &Rule, places: impl IntoIterator<Item = Violation>) {
        if self.ignore.iter().any(|ignored| ignored == rule.id) {
            return;
        }
        let before = self.findings.len();
        self.findings.extend(places.into_iter().take(MAX_PLACES).map(|(location, evidence)| Finding {
            rule: rule.id.to_owned(),
            severity: rule.severity,
            message: format!("{}; fix: {}", rule.problem, rule.fix),
            location: Some(masked(&location)),
            evidence: (!evidence.is_empty()).then(|| masked(&evidence).chars().take(200).collect()),
        }));
        if self.findings.len() == before { self.passed += 1 } else { self.failed += 1 }
    }

    /// Returns the findings, worst first, and the numbers of passed and failed rules.
    pub(super) fn into_parts(self) -> (Vec<Finding>, usize, usize) {
        let mut findings = self.findings;
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        (findings, self.passed, self.failed)
    }
}

/// Returns whether a setting's name indicates a secret.
pub(super) fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let words =
        ["password", "passwd", "secret", "token", "api_key", "apikey", "private_key", "access_key", "credential"];
    // Where a secret is stored and how long it lasts is not a secret.
    let about =
        ["_file", "_path", "_ttl", "_seconds", "_name", "_env", "_length", "_policy", "_url", "_expiry", "tokenizer"];
    words.iter().any(|word| name.contains(word)) && !about.iter().any(|word| name.contains(word))
}

/// Returns whether a value is a secret itself, not a reference to one.
pub(super) fn is_secret(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    let reference = ["${", "$", "{{", "<", "/run/secrets", "vault:", "env:", "file:", "secret://", "arn:"];
    value.len() >= 4
        && !reference.iter().any(|start| value.starts_with(start))
        && !matches!(value, "true" | "false" | "null" | "none")
}

/// Returns whether an address holds a password of its own, such as `postgres://app:pass@db`.
pub(super) fn holds_password(value: &str) -> bool {
    value.match_indices("://").any(|(at, sign)| {
        let rest = value.get(at + sign.len()..).unwrap_or_default();
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        user.split_once(':').is_some_and(|(_, password)| is_secret(password) || (1..4).contains(&password.len()))
    })
}
