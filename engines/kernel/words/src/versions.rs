//! Version schemes: order, ranges, and ranges of advisories. Shared by engines.

pub mod npm;

use std::cmp::Ordering;
use std::str::FromStr;

use semver::BuildMetadata;

/// Maximum length of a version or range, in bytes (npm's own limit for a version).
pub const MAX_LENGTH: usize = 256;

/// Version scheme: syntax and order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scheme {
    /// SemVer 2.0.0; ranges as in Cargo.
    Semver,
    /// SemVer 2.0.0 with an optional leading `v`; ranges as in npm. Also used for Go modules.
    Npm,
    /// Python's (PEP 440).
    Pep440,
}

/// A version, ordered by precedence: versions that differ only in build metadata are equal.
#[derive(Debug, Clone)]
pub enum Version {
    /// A SemVer version.
    Semver(semver::Version),
    /// An npm version.
    Npm(semver::Version),
    /// A PEP 440 version.
    Pep440(pep440_rs::Version),
}

impl Version {
    /// Parses a version.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn parse(scheme: Scheme, text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("a version has at most {MAX_LENGTH} bytes"));
        }
        match scheme {
            Scheme::Semver => semver::Version::parse(text).map(Self::Semver).map_err(|error| error.to_string()),
            Scheme::Npm => npm::version(text).map(Self::Npm),
            Scheme::Pep440 => pep440_rs::Version::from_str(text).map(Self::Pep440).map_err(|error| error.to_string()),
        }
    }

    /// In PEP 440 a development release is also a pre-release.
    pub fn is_prerelease(&self) -> bool {
        match self {
            Self::Semver(version) | Self::Npm(version) => !version.pre.is_empty(),
            Self::Pep440(version) => version.any_prerelease(),
        }
    }

    fn scheme(&self) -> Scheme {
        match self {
            Self::Semver(_) => Scheme::Semver,
            Self::Npm(_) => Scheme::Npm,
            Self::Pep440(_) => Scheme::Pep440,
        }
    }
}

/// Writes the scheme's normal form.
impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Semver(version) | Self::Npm(version) => version.fmt(f),
            Self::Pep440(version) => version.fmt(f),
        }
    }
}

/// SemVer 2.0.0, section 11; PEP 440, "Summary of permitted suffixes and relative ordering". Schemes are not mixed.
impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Semver(a), Self::Semver(b)) | (Self::Npm(a), Self::Npm(b)) => a.cmp_precedence(b),
            (Self::Pep440(a), Self::Pep440(b)) => a.cmp(b),
            _ => self.scheme().cmp(&other.scheme()),
        }
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

/// A version range.
#[derive(Debug, Clone)]
pub enum Range {
    /// A Cargo requirement.
    Semver(semver::VersionReq),
    /// An npm range.
    Npm(npm::Range),
    /// PEP 440 specifiers.
    Pep440(pep440_rs::VersionSpecifiers),
}

impl Range {
    /// Parses a range.
    ///
    /// # Errors
    /// A description of the problem.
    pub fn parse(scheme: Scheme, text: &str) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("a range has at most {MAX_LENGTH} bytes"));
        }
        match scheme {
            Scheme::Semver => semver::VersionReq::parse(text).map(Self::Semver).map_err(|error| error.to_string()),
            Scheme::Npm => npm::Range::parse(text).map(Self::Npm),
            Scheme::Pep440 => pep440_rs::VersionSpecifiers::from_str(text)
                .map(Self::Pep440)
                .map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned()),
        }
    }

    /// Returns whether a version is in the range. SemVer's pre-release rule is included; PEP 440's depends on all
    /// candidates ([`Self::matching`]).
    pub fn contains(&self, version: &Version) -> bool {
        match (self, version) {
            // Cargo ignores build metadata too.
            (Self::Semver(range), Version::Semver(version)) => {
                range.matches(&semver::Version { build: BuildMetadata::EMPTY, ..version.clone() })
            }
            (Self::Npm(range), Version::Npm(version)) => range.contains(version),
            (Self::Pep440(range), Version::Pep440(version)) => range.contains(version),
            _ => false,
        }
    }

    /// Returns the indices of `versions` that an installer would accept. PEP 440, "Handling of pre-releases": they
    /// count only if the range names one, or nothing else matches.
    pub fn matching(&self, versions: &[Version]) -> Vec<usize> {
        let within = |released: bool| {
            let taken = move |version: &Version| self.contains(version) && !(released && version.is_prerelease());
            versions.iter().enumerate().filter(move |(_, version)| taken(version)).map(|(at, _)| at).collect()
        };
        let named = match self {
            Self::Semver(_) | Self::Npm(_) => true,
            Self::Pep440(range) => {
                range.iter().any(|one| *one.operator() != pep440_rs::Operator::NotEqual && one.any_prerelease())
            }
        };
        let taken: Vec<usize> = within(!named);
        if taken.is_empty() { within(false) } else { taken }
    }
}

/// An event of an advisory's range (OSV schema 1.7, `affected[].ranges[].events[]`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event<V> {
    /// `None` is `"0"`, which precedes every version.
    Introduced(Option<V>),
    /// First fixed version.
    Fixed(V),
    /// Last affected version.
    LastAffected(V),
    /// `None` is `"*"`, which follows every version.
    Limit(Option<V>),
}

/// Returns whether a version is affected by a range: the OSV schema's pseudocode ("Evaluation"), for any order of
/// versions.
pub fn affected<V: Ord>(version: &V, events: &[Event<V>]) -> bool {
    let mut limits = events.iter().filter_map(|event| match event {
        Event::Limit(limit) => Some(limit),
        _ => None,
    });
    let limited = events.iter().any(|event| matches!(event, Event::Limit(_)));
    if limited && !limits.any(|limit| limit.as_ref().is_none_or(|limit| version < limit)) {
        return false;
    }
    let mut sorted: Vec<&Event<V>> = events.iter().collect();
    // At one version the end of a range comes before the beginning of the next.
    sorted.sort_by(|a, b| place(a).cmp(&place(b)));
    sorted.iter().fold(false, |vulnerable, event| match event {
        Event::Introduced(from) if from.as_ref().is_none_or(|from| version >= from) => true,
        Event::Fixed(fixed) if version >= fixed => false,
        Event::LastAffected(last) if version > last => false,
        _ => vulnerable,
    })
}

fn place<V>(event: &Event<V>) -> (Option<&V>, u8) {
    match event {
        Event::Introduced(version) => (version.as_ref(), 1),
        Event::Fixed(version) => (Some(version), 0),
        Event::LastAffected(version) => (Some(version), 2),
        Event::Limit(version) => (version.as_ref(), 3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(scheme: Scheme, texts: &[&str]) -> Vec<Version> {
        texts.iter().map(|text| Version::parse(scheme, text).unwrap()).collect()
    }

    fn ascends(scheme: Scheme, texts: &[&str]) {
        for pair in versions(scheme, texts).windows(2) {
            assert!(pair[0] < pair[1], "{} is not before {}", pair[0], pair[1]);
        }
    }

    /// SemVer 2.0.0, sections 11.2 to 11.4.
    #[test]
    fn semver_order() {
        for scheme in [Scheme::Semver, Scheme::Npm] {
            ascends(scheme, &["1.0.0", "2.0.0", "2.1.0", "2.1.1"]);
            ascends(scheme, &["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"]);
            ascends(scheme, &["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0"]);
        }
    }

    /// PEP 440, "Summary of permitted suffixes and relative ordering", the example of a release with everything.
    #[test]
    fn pep_440_order() {
        let pre = ["1.dev0", "1.0.dev456", "1.0a1", "1.0a2.dev456", "1.0a12.dev456", "1.0a12", "1.0b1.dev456", "1.0b2"];
        ascends(Scheme::Pep440, &pre);
        let post =
            ["1.0b2.post345.dev456", "1.0b2.post345", "1.0rc1.dev456", "1.0rc1", "1.0", "1.0+abc.5", "1.0+abc.7"];
        ascends(Scheme::Pep440, &post);
        ascends(Scheme::Pep440, &["1.0+5", "1.0.post456.dev34", "1.0.post456", "1.0.15", "1.1.dev1"]);
    }

    #[test]
    fn build_metadata_does_not_count() {
        let equal = versions(Scheme::Semver, &["1.0.0+a", "1.0.0+b"]);
        assert_eq!(equal[0], equal[1]);
    }

    /// PEP 440, "Handling of pre-releases", as `packaging` does it.
    #[test]
    fn python_matches_a_prerelease_if_nothing_else_matches() {
        let both = versions(Scheme::Pep440, &["1.5a1", "1.4"]);
        let range = Range::parse(Scheme::Pep440, ">=1.0").unwrap();
        assert_eq!(range.matching(&both), [1]);
        assert_eq!(range.matching(&both[..1]), [0]);
        assert_eq!(Range::parse(Scheme::Pep440, ">=1.0a1").unwrap().matching(&both).len(), 2);
    }

    /// The cases of the OSV schema, "Requirements": several ranges in one, and a fix upstream only.
    #[test]
    fn advisory_events_are_ranges() {
        let version = |text: &str| Version::parse(Scheme::Semver, text).unwrap();
        let events = [
            Event::Introduced(None),
            Event::Fixed(version("1.2.4")),
            Event::Introduced(Some(version("2.0.0"))),
            Event::LastAffected(version("2.1.0")),
        ];
        let hit = |text| affected(&version(text), &events);
        assert!(hit("0.0.1") && hit("1.2.3") && hit("2.0.0") && hit("2.1.0"));
        assert!(!hit("1.2.4") && !hit("1.9.0") && !hit("2.1.1"));
        let limited = [Event::Introduced(None), Event::Limit(Some(version("1.0.0")))];
        assert!(affected(&version("0.9.0"), &limited) && !affected(&version("1.0.0"), &limited));
    }
}
