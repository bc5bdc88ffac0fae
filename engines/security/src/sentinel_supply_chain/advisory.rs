//! OSV advisories (schema 1.7), and matching of dependencies against them.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::order::Ordered;
use super::{Dependency, Ecosystem, cvss};
use crate::verdict::Severity;
use muster_engine::Context;
use muster_kernel_words::versions::{Event, affected};

#[derive(Deserialize)]
struct Advisory {
    id: String,
    #[serde(default)]
    withdrawn: Option<String>,
    #[serde(default)]
    affected: Vec<Affected>,
    #[serde(default)]
    severity: Vec<Rated>,
    #[serde(default)]
    database_specific: Value,
}

#[derive(Deserialize)]
struct Affected {
    package: Option<Package>,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    ecosystem: String,
}

#[derive(Deserialize)]
struct Range {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    events: Vec<HashMap<String, String>>,
}

#[derive(Deserialize)]
struct Rated {
    #[serde(default)]
    score: String,
}

/// By package.
pub(super) struct Advisories(HashMap<(Ecosystem, String), Vec<Entry>>);

struct Entry {
    id: String,
    severity: Severity,
    rated: String,
    ranges: Vec<Range>,
    versions: Vec<String>,
}

/// An advisory that affects a dependency.
pub(super) struct Hit {
    pub id: String,
    pub severity: Severity,
    /// Rating of the advisory, or `unknown`.
    pub rated: String,
    pub fixed: Option<String>,
}

impl Hit {
    pub(super) fn advice(&self) -> String {
        match &self.fixed {
            Some(fixed) => format!("update to {fixed}"),
            None => "no fixed version is known: replace it, or keep it from what is untrusted".to_owned(),
        }
    }
}

impl Advisories {
    /// Reads advisories. Unreadable ones are skipped with a warning; withdrawn ones are skipped.
    pub(super) fn read(values: &[Value], context: &Context) -> Self {
        let mut advisories: HashMap<_, Vec<Entry>> = HashMap::new();
        for (at, value) in values.iter().enumerate() {
            match Advisory::deserialize(value) {
                Ok(advisory) if advisory.withdrawn.is_some() => {}
                Ok(advisory) => {
                    let (severity, rated) = rating(&advisory);
                    for part in advisory.affected {
                        let Some(package) = part.package else { continue };
                        let Some(ecosystem) = Ecosystem::parse(&package.ecosystem) else { continue };
                        let entry = Entry {
                            id: advisory.id.clone(),
                            severity,
                            rated: rated.clone(),
                            ranges: part.ranges,
                            versions: part.versions,
                        };
                        advisories.entry((ecosystem, normal(ecosystem, &package.name))).or_default().push(entry);
                    }
                }
                Err(error) => context.warn(format!("not_assessed: advisories[{at}] is not of the OSV schema: {error}")),
            }
        }
        Self(advisories)
    }

    /// Whether any advisory is for this ecosystem.
    pub(super) fn has(&self, ecosystem: Ecosystem) -> bool {
        self.0.keys().any(|(of, _)| *of == ecosystem)
    }

    pub(super) fn of(&self, dependency: &Dependency, context: &Context) -> Vec<Hit> {
        let key = (dependency.ecosystem, normal(dependency.ecosystem, &dependency.name));
        let Some(entries) = self.0.get(&key) else { return Vec::new() };
        let version = match Ordered::parse(dependency.ecosystem, &dependency.version) {
            Ok(version) => Some(version),
            Err(why) => {
                context.warn(format!(
                    "not_assessed: {}@{}: {why}; only listed versions are compared",
                    dependency.name, dependency.version
                ));
                None
            }
        };
        let mut hits: Vec<Hit> = Vec::new();
        for entry in entries {
            let listed = entry.versions.contains(&dependency.version);
            let within = version.as_ref().and_then(|version| entry.within(dependency.ecosystem, version));
            if (listed || within.is_some()) && !hits.iter().any(|hit| hit.id == entry.id) {
                hits.push(Hit {
                    id: entry.id.clone(),
                    severity: entry.severity,
                    rated: entry.rated.clone(),
                    fixed: within.flatten(),
                });
            }
        }
        hits
    }
}

impl Entry {
    /// Returns the first fixed version, if a range affects this version.
    fn within(&self, ecosystem: Ecosystem, version: &Ordered) -> Option<Option<String>> {
        self.ranges.iter().filter(|range| range.kind != "GIT").find_map(|range| {
            let events: Vec<Event<Ordered>> =
                range.events.iter().flatten().filter_map(|(k, v)| event(ecosystem, k, v)).collect();
            if !affected(version, &events) {
                return None;
            }
            let fixes = range.events.iter().flatten().filter(|(kind, _)| *kind == "fixed");
            let mut later: Vec<(Ordered, &String)> = fixes
                .filter_map(|(_, text)| Some((Ordered::parse(ecosystem, text).ok()?, text)))
                .filter(|(fixed, _)| fixed > version)
                .collect();
            later.sort();
            Some(later.into_iter().next().map(|(_, text)| text.clone()))
        })
    }
}

fn event(ecosystem: Ecosystem, kind: &str, text: &str) -> Option<Event<Ordered>> {
    let version = || Ordered::parse(ecosystem, text).ok();
    match kind {
        "introduced" if text == "0" => Some(Event::Introduced(None)),
        "introduced" => version().map(|version| Event::Introduced(Some(version))),
        "fixed" => version().map(Event::Fixed),
        "last_affected" => version().map(Event::LastAffected),
        "limit" if text == "*" => Some(Event::Limit(None)),
        "limit" => version().map(|version| Event::Limit(Some(version))),
        _ => None,
    }
}

/// The database's own rating, else that of the CVSS base score (FIRST, "Qualitative Severity Rating Scale").
fn rating(advisory: &Advisory) -> (Severity, String) {
    let word = advisory.database_specific.get("severity").and_then(Value::as_str).map(str::to_lowercase);
    let scored = || advisory.severity.iter().find_map(|rated| cvss::base_score(&rated.score));
    let word = word.or_else(|| {
        scored().map(|score| {
            match score {
                9.0.. => "critical",
                7.0.. => "high",
                4.0.. => "medium",
                0.1.. => "low",
                _ => "none",
            }
            .to_owned()
        })
    });
    let severity = match word.as_deref() {
        Some("critical") => Severity::Critical,
        Some("medium" | "moderate") => Severity::Medium,
        Some("low") => Severity::Low,
        Some("none") => Severity::Info,
        // Unrated advisories are treated as high.
        _ => Severity::High,
    };
    (severity, word.unwrap_or_else(|| "unknown".to_owned()))
}

/// Normalises names that a registry treats as equal: PEP 503 for PyPI.
fn normal(ecosystem: Ecosystem, name: &str) -> String {
    match ecosystem {
        Ecosystem::PyPI => {
            let parts: Vec<&str> = name.split(['-', '_', '.']).filter(|part| !part.is_empty()).collect();
            parts.join("-").to_lowercase()
        }
        _ => name.to_owned(),
    }
}
