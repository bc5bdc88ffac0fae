//! q197: version comparison, selection and increments.

use pep440_rs::{Prerelease as PythonPre, PrereleaseKind};
use semver::Prerelease;

use muster_engine::prelude::*;
use muster_kernel_words::versions::{Range, Scheme, Version};

/// Maximum number of versions per call.
const MAX_VERSIONS: usize = 100_000;

#[derive(Input)]
pub struct Input {
    scheme: Syntax,
    versions: Vec<String>,
    range: Option<String>,
    bump: Bump,
}

/// Part of a version to increment, from the least significant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
pub(super) enum Bump {
    None,
    Prerelease,
    Patch,
    Minor,
    Major,
}

#[derive(Output)]
pub struct Output {
    /// Ascending; equal versions keep their order.
    sorted: Vec<String>,
    matching: Vec<String>,
    /// The highest matching version; without a range the highest release, or pre-release if there is no release.
    best: Option<String>,
    next: Option<String>,
    invalid: Vec<String>,
}

/// The catalogue's words for a scheme.
#[derive(Clone, Copy, Words)]
enum Syntax {
    Semver,
    Npm,
    Pep440,
}

impl Syntax {
    const fn scheme(self) -> Scheme {
        match self {
            Self::Semver => Scheme::Semver,
            Self::Npm => Scheme::Npm,
            Self::Pep440 => Scheme::Pep440,
        }
    }
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let scheme = input.scheme.scheme();
    if input.versions.len() > MAX_VERSIONS {
        return Err(Failure::too_large(format!("at most {MAX_VERSIONS} versions are compared in one call")));
    }
    let (mut known, mut invalid) = (Vec::new(), Vec::new());
    for text in input.versions {
        match Version::parse(scheme, &text) {
            Ok(version) => known.push((version, text)),
            Err(_) => invalid.push(text),
        }
    }
    known.sort_by(|(a, _), (b, _)| a.cmp(b));
    let (versions, sorted): (Vec<Version>, Vec<String>) = known.into_iter().unzip();
    let chosen = choose(scheme, input.range.as_deref(), &versions)?;
    let text = |at: usize| sorted.get(at).cloned();
    let next = match (input.bump, chosen.best.and_then(|at| versions.get(at))) {
        (Bump::None, _) => None,
        (bump, Some(version)) => raise(version, bump, context),
        (_, None) => {
            context.warn("no version matches, so none can be incremented");
            None
        }
    };
    let matching = chosen.matching.iter().filter_map(|&at| text(at)).collect();
    Ok(Output { matching, best: chosen.best.and_then(text), next, sorted, invalid })
}

/// Indices into the sorted versions.
struct Chosen {
    matching: Vec<usize>,
    best: Option<usize>,
}

fn choose(scheme: Scheme, range: Option<&str>, versions: &[Version]) -> Result<Chosen, Failure> {
    let Some(range) = range else {
        let release = versions.iter().rposition(|version| !version.is_prerelease());
        return Ok(Chosen { matching: (0..versions.len()).collect(), best: release.or(versions.len().checked_sub(1)) });
    };
    let range = Range::parse(scheme, range)
        .map_err(|error| Failure::invalid(&["range"], format!("is not a range of this scheme: {error}")))?;
    let matching = range.matching(versions);
    Ok(Chosen { best: matching.last().copied(), matching })
}

fn raise(version: &Version, bump: Bump, context: &Context) -> Option<String> {
    let raised = match version {
        Version::Semver(version) | Version::Npm(version) => raise_semver(version, bump).map(|next| next.to_string()),
        Version::Pep440(version) => raise_python(version, bump).map(|next| next.to_string()),
    };
    if raised.is_none() {
        context.warn(format!("{version} cannot be raised: its number is as large as there is"));
    }
    raised
}

/// As node-semver's `inc`: a pre-release is raised to its release if that is of the requested kind.
pub(super) fn raise_semver(version: &semver::Version, bump: Bump) -> Option<semver::Version> {
    let semver::Version { major, minor, patch, ref pre, .. } = *version;
    let new = semver::Version::new;
    let up = |number: u64| number.checked_add(1);
    let released = pre.is_empty();
    Some(match bump {
        Bump::None => version.clone(),
        Bump::Major if !released && (minor, patch) == (0, 0) => new(major, 0, 0),
        Bump::Major => new(up(major)?, 0, 0),
        Bump::Minor if !released && patch == 0 => new(major, minor, 0),
        Bump::Minor => new(major, up(minor)?, 0),
        Bump::Patch if !released => new(major, minor, patch),
        Bump::Patch => new(major, minor, up(patch)?),
        Bump::Prerelease => {
            let patch = if released { up(patch)? } else { patch };
            semver::Version { pre: raise_pre(pre)?, ..new(major, minor, patch) }
        }
    })
}

/// Increments the last number of a pre-release; appends `0` if there is none.
fn raise_pre(pre: &Prerelease) -> Option<Prerelease> {
    let mut parts: Vec<String> = pre.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    match parts.iter_mut().rev().find_map(|part| part.parse::<u64>().ok().map(|number| (part, number))) {
        Some((part, number)) => *part = number.checked_add(1)?.to_string(),
        None => parts.push("0".to_owned()),
    }
    Prerelease::new(&parts.join(".")).ok()
}

/// As Poetry's `version` command: the same rules, for releases with at least three numbers.
fn raise_python(version: &pep440_rs::Version, bump: Bump) -> Option<pep440_rs::Version> {
    let release = version.release();
    let part = |at: usize| release.get(at).copied().unwrap_or(0);
    let (major, minor, patch) = (part(0), part(1), part(2));
    let new = |major, minor, patch| pep440_rs::Version::new([major, minor, patch]).with_epoch(version.epoch());
    let up = |number: u64| number.checked_add(1).filter(|&number| number < u64::MAX);
    let released = !version.any_prerelease();
    Some(match bump {
        Bump::None => version.clone(),
        Bump::Major if !released && (minor, patch) == (0, 0) => new(major, 0, 0),
        Bump::Major => new(up(major)?, 0, 0),
        Bump::Minor if !released && patch == 0 => new(major, minor, 0),
        Bump::Minor => new(major, up(minor)?, 0),
        Bump::Patch if !released => new(major, minor, patch),
        Bump::Patch => new(major, minor, up(patch)?),
        Bump::Prerelease => {
            let first = PythonPre { kind: PrereleaseKind::Alpha, number: 0 };
            let (patch, pre) = match version.pre() {
                // `1.0a2.dev3` precedes `1.0a2`.
                Some(pre) if version.is_dev() => (patch, pre),
                Some(pre) => (patch, PythonPre { number: up(pre.number)?, ..pre }),
                None if version.is_dev() && !version.is_post() => (patch, first),
                None => (up(patch)?, first),
            };
            new(major, minor, patch).with_pre(Some(pre))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(input: Value) -> Value {
        crate::FAMILY.run(197, input, &Context::default()).unwrap()
    }

    fn next(scheme: &str, version: &str, bump: &str) -> Value {
        run(json!({ "scheme": scheme, "versions": [version], "bump": bump }))["next"].clone()
    }

    /// node-semver 7, test/fixtures/increments.js (without options and identifiers).
    #[test]
    fn the_increments_of_node_semver() {
        for (version, bump, expect) in [
            ("1.2.3", "major", "2.0.0"),
            ("1.2.3", "minor", "1.3.0"),
            ("1.2.3", "patch", "1.2.4"),
            ("1.2.3-tag", "major", "2.0.0"),
            ("1.2.0-0", "patch", "1.2.0"),
            ("1.2.3-4", "major", "2.0.0"),
            ("1.2.3-4", "minor", "1.3.0"),
            ("1.2.3-4", "patch", "1.2.3"),
            ("1.2.3-alpha.0.beta", "patch", "1.2.3"),
            ("1.2.4", "prerelease", "1.2.5-0"),
            ("1.2.3-0", "prerelease", "1.2.3-1"),
            ("1.2.3-alpha.0", "prerelease", "1.2.3-alpha.1"),
            ("1.2.3-alpha.0.beta", "prerelease", "1.2.3-alpha.1.beta"),
            ("1.2.3-alpha.10.0.beta", "prerelease", "1.2.3-alpha.10.1.beta"),
            ("1.2.3-alpha.9.beta", "prerelease", "1.2.3-alpha.10.beta"),
            ("1.2.0-1", "minor", "1.2.0"),
            ("1.0.0-1", "major", "1.0.0"),
        ] {
            assert_eq!(next("npm", version, bump), expect, "{bump} of {version}");
        }
    }

    /// Poetry's documentation, "version", the table of its rules.
    #[test]
    fn the_increments_of_poetry() {
        for (version, bump, expect) in [
            ("1.3.0", "major", "2.0.0"),
            ("2.1.4", "minor", "2.2.0"),
            ("4.1.1", "patch", "4.1.2"),
            ("1.0.2", "prerelease", "1.0.3a0"),
            ("1.0.3a0", "prerelease", "1.0.3a1"),
            ("1.0.3b0", "prerelease", "1.0.3b1"),
        ] {
            assert_eq!(next("pep440", version, bump), expect, "{bump} of {version}");
        }
    }

    /// PEP 440, "Compatible release": `~= 2.2` is `>= 2.2, == 2.*`; "Version matching": `1.1.post1` is `== 1.1.*`.
    #[test]
    fn python_ranges() {
        let output = run(json!({
            "scheme": "pep440", "range": "~= 2.2", "versions": ["2.10", "2.2.post3", "2.1", "3.0", "2.3rc1", "two"],
        }));
        assert_eq!(output["matching"], json!(["2.2.post3", "2.10"]));
        assert_eq!((&output["best"], &output["invalid"]), (&json!("2.10"), &json!(["two"])));
        let post = run(json!({ "scheme": "pep440", "range": "== 1.1.*", "versions": ["1.1.post1", "1.1a1"] }));
        assert_eq!(post["best"], "1.1.post1");
    }

    /// The Cargo Book, "Specifying Dependencies", "Caret requirements" and "Comparison requirements".
    #[test]
    fn cargo_ranges() {
        let of = |range: &str, version: &str| {
            let output = run(json!({ "versions": [version], "range": range }));
            output["matching"] == json!([version])
        };
        assert!(of("1.2.3", "1.9.0") && !of("1.2.3", "2.0.0") && !of("0.2.3", "0.3.0") && of("~1.2", "1.2.9"));
        assert!(of(">= 1.2, < 1.5", "1.4.9") && !of(">= 1.2, < 1.5", "1.5.0") && of("1.*", "1.7.0+build"));
        assert!(!of("^1.0.0", "1.1.0-alpha"));
        let wrong = crate::FAMILY.run(197, json!({ "versions": [], "range": ">=>" }), &Context::default());
        assert!(matches!(wrong, Err(Failure::Invalid { .. })));
    }

    #[test]
    fn the_best_match_is_a_release_if_there_is_one() {
        let output = run(json!({ "versions": ["2.0.0-rc.1", "1.0.0", "x"], "bump": "patch" }));
        assert_eq!((&output["best"], &output["next"]), (&json!("1.0.0"), &json!("1.0.1")));
        assert!(run(json!({ "versions": [] })).get("best").is_none());
    }
}
