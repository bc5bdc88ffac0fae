//! q150: software supply chain.

mod advisory;
mod cvss;
mod order;
mod squat;
#[cfg(test)]
mod tests;

use serde_json::Value;

use self::advisory::Advisories;
use super::verdict::{Finding, Severity, Verdict, score, verdict};
use muster_engine::prelude::*;

/// Maximum number of dependencies and of advisories per call.
const MAX_ITEMS: usize = 20_000;

/// Maximum length of a name that resembles many others.
const SHORT: usize = 5;

#[derive(Input)]
pub struct Input {
    dependencies: Vec<Dependency>,
    advisories: Vec<Value>,
    protected_names: Vec<String>,
}

#[derive(Input)]
struct Dependency {
    name: String,
    version: String,
    ecosystem: Ecosystem,
    source: Option<String>,
    install_script: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Words)]
#[wire(case = "pascal")]
enum Ecosystem {
    #[wire(name = "cargo")]
    Cargo,
    #[wire(name = "npm")]
    Npm,
    PyPI,
    Go,
    Maven,
    Debian,
}

impl Ecosystem {
    /// OSV's name, without a distribution's release after a colon; `cargo` means its registry.
    fn parse(name: &str) -> Option<Self> {
        match name.split(':').next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "crates.io" | "cargo" => Some(Self::Cargo),
            "npm" => Some(Self::Npm),
            "pypi" => Some(Self::PyPI),
            "go" => Some(Self::Go),
            "maven" => Some(Self::Maven),
            "debian" => Some(Self::Debian),
            _ => None,
        }
    }
}

#[derive(Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    /// Absent if there was no advisory to compare with: what was not assessed is not free of vulnerabilities.
    vulnerable: Option<Vec<Vulnerable>>,
    suspicious: Vec<Suspicious>,
}

#[derive(Output)]
struct Vulnerable {
    name: String,
    version: String,
    advisory: String,
    /// Empty if no fix is known.
    fixed: String,
    severity: String,
}

#[derive(Output)]
struct Suspicious {
    name: String,
    reason: String,
    /// Empty if its name is not suspicious.
    similar_to: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.dependencies.len().max(input.advisories.len()) > MAX_ITEMS {
        return Err(Failure::too_large(format!("at most {MAX_ITEMS} dependencies and advisories at a time")));
    }
    let advisories = Advisories::read(&input.advisories, context);
    let (mut findings, mut vulnerable, mut suspicious) = (Vec::new(), Vec::new(), Vec::new());
    for dependency in &input.dependencies {
        for hit in advisories.of(dependency, context) {
            findings.push(finding(
                dependency,
                "known-vulnerability",
                hit.severity,
                format!("{}: {}", hit.id, hit.advice()),
            ));
            vulnerable.push(Vulnerable {
                name: dependency.name.clone(),
                version: dependency.version.clone(),
                advisory: hit.id,
                fixed: hit.fixed.unwrap_or_default(),
                severity: hit.rated,
            });
        }
        for (rule, severity, reason, similar_to) in signs(dependency, &input.protected_names) {
            findings.push(finding(dependency, rule, severity, reason.clone()));
            suspicious.push(Suspicious { name: dependency.name.clone(), reason, similar_to });
        }
    }
    let assessed = !input.advisories.is_empty() || input.dependencies.is_empty();
    findings.extend(not_assessed(&input, &advisories, context));
    let vulnerable = assessed.then_some(vulnerable);
    Ok(Output { verdict: verdict(&findings), score: score(&findings), findings, vulnerable, suspicious })
}

/// What could not be checked for want of data: a finding if that is all vulnerabilities, so that the verdict is not
/// `clear`, and a warning for each part.
fn not_assessed(input: &Input, advisories: &Advisories, context: &Context) -> Option<Finding> {
    let mut ecosystems: Vec<Ecosystem> = Vec::new();
    for ecosystem in input.dependencies.iter().map(|dependency| dependency.ecosystem) {
        if !ecosystems.contains(&ecosystem) {
            ecosystems.push(ecosystem);
        }
    }
    for ecosystem in &ecosystems {
        if !squat::has_names(*ecosystem) && input.protected_names.is_empty() {
            context.warn(format!("not_assessed: look-alike names of {}: no list of names is known", ecosystem.word()));
        }
    }
    if input.advisories.is_empty() {
        if ecosystems.is_empty() {
            return None;
        }
        let message = "known vulnerabilities were not assessed: no advisories were given. Give those of osv.dev for \
                       these dependencies in `advisories`";
        context.warn(format!("not_assessed: {message}"));
        let (rule, severity) = ("not-assessed".to_owned(), Severity::Info);
        return Some(Finding { rule, severity, message: message.to_owned(), location: None, evidence: None });
    }
    for ecosystem in ecosystems.into_iter().filter(|ecosystem| !advisories.has(*ecosystem)) {
        context.warn(format!(
            "not_assessed: no advisory is for {}: its packages were not compared, unless its database was searched and \
             has none",
            ecosystem.word()
        ));
    }
    None
}

fn finding(dependency: &Dependency, rule: &str, severity: Severity, message: String) -> Finding {
    let location = Some(format!("{}@{}", dependency.name, dependency.version));
    Finding { rule: rule.to_owned(), severity, message, location, evidence: None }
}

type Signal = (&'static str, Severity, String, String);

/// Risk signs that need no advisory.
fn signs(dependency: &Dependency, protected: &[String]) -> Vec<Signal> {
    let mut signs: Vec<Signal> = Vec::new();
    let squat = squat::find(&dependency.name, dependency.ecosystem, protected);
    let scripted = dependency.install_script == Some(true);
    if let Some((how, known)) = squat {
        // Many short words are one letter apart.
        let severity = match (scripted, known.chars().count() <= SHORT) {
            (true, _) => Severity::Critical,
            (false, true) => Severity::Medium,
            (false, false) => Severity::High,
        };
        let reason = format!("its name is that of `{known}` {how}: is it the one that is meant?");
        signs.push(("typosquat", severity, reason, known));
    }
    if scripted {
        let reason = "runs a script when it is installed: read it, or install without scripts".to_owned();
        signs.push(("install-script", Severity::Low, reason, String::new()));
    }
    if let Some((rule, severity, reason)) = dependency.source.as_deref().and_then(source) {
        signs.push((rule, severity, reason, String::new()));
    }
    if unpinned(&dependency.version) {
        let reason = format!(
            "`{}` is not a single version: pin it, so that builds are reproducible (SLSA v1.0)",
            dependency.version
        );
        signs.push(("unpinned-version", Severity::Low, reason, String::new()));
    }
    signs
}

fn source(source: &str) -> Option<(&'static str, Severity, String)> {
    let lower = source.to_ascii_lowercase();
    let pinned = source
        .rsplit(['#', '@', '='])
        .next()
        .is_some_and(|tail| (7..=64).contains(&tail.len()) && tail.bytes().all(|byte| byte.is_ascii_hexdigit()));
    if lower.starts_with("http://") || lower.starts_with("git://") || lower.starts_with("git+http://") {
        return Some(("insecure-source", Severity::High, format!("comes from {source} without encryption")));
    }
    if lower.starts_with("git") || lower.contains(".git") || lower.starts_with("ssh:") {
        return match pinned {
            true => Some(("git-source", Severity::Info, format!("comes from {source}, not from the registry"))),
            false => Some(("git-source", Severity::Medium, format!("comes from {source} and no commit is pinned"))),
        };
    }
    (lower.starts_with("file:") || lower.starts_with("link:"))
        .then(|| ("local-source", Severity::Info, format!("comes from {source}, which is not available to others")))
}

fn unpinned(version: &str) -> bool {
    let version = version.trim();
    matches!(version, "" | "*" | "x" | "latest" | "next")
        || version.starts_with(['^', '~', '>', '<'])
        || version.contains("||")
        || version.contains(" - ")
        || version.contains(".*")
        || version.ends_with(".x")
}
