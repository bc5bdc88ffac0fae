//! npm's versions and ranges, desugared as the node-semver documentation describes ("Advanced Range Syntax").

use semver::{BuildMetadata, Prerelease, Version};

use super::MAX_LENGTH;

/// `Number.MAX_SAFE_INTEGER`: npm rejects larger numbers.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;

/// Any of several sets of comparators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range(Vec<Vec<Comparator>>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparator {
    operator: Operator,
    version: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    AtMost,
    Equal,
    AtLeast,
    Greater,
}

/// A version with parts left open: `1.2`, `1.x`, `*`.
#[derive(Debug, Clone, Default)]
struct Partial {
    major: Option<u64>,
    minor: Option<u64>,
    patch: Option<u64>,
    pre: Prerelease,
}

/// Reads a version, with white space around it and a `v` before it.
///
/// # Errors
/// What is wrong, as a message for users.
pub fn version(text: &str) -> Result<Version, String> {
    let text = text.trim();
    let version =
        Version::parse(text.strip_prefix('v').unwrap_or(text)).map_err(|error: semver::Error| error.to_string())?;
    if version.major.max(version.minor).max(version.patch) > MAX_SAFE_INTEGER || text.len() > MAX_LENGTH {
        return Err(format!("a part of a version is at most {MAX_SAFE_INTEGER}"));
    }
    Ok(version)
}

impl Range {
    /// # Errors
    /// What is wrong, as a message for users.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.split("||").map(set).collect::<Result<_, _>>().map(Self)
    }

    /// A pre-release fits only where a comparator names a pre-release of the same major, minor and patch.
    pub fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|set| {
            let same = |named: &Version| {
                !named.pre.is_empty()
                    && (named.major, named.minor, named.patch) == (version.major, version.minor, version.patch)
            };
            set.iter().all(|comparator| comparator.holds(version))
                && (version.pre.is_empty() || set.iter().any(|comparator| same(&comparator.version)))
        })
    }
}

impl Comparator {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp_precedence(&self.version);
        match self.operator {
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::Equal => order.is_eq(),
            Operator::AtLeast => order.is_ge(),
            Operator::Greater => order.is_gt(),
        }
    }
}

/// The operators, the longer before those they begin with.
const SIGNS: [&str; 8] = ["~>", "<=", ">=", "<", ">", "=", "~", "^"];

fn set(text: &str) -> Result<Vec<Comparator>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    if let [from, "-", to] = words.as_slice() {
        return Ok(hyphen(&partial(from)?, &partial(to)?));
    }
    let (mut comparators, mut sign) = (Vec::new(), "");
    for word in words {
        let found = SIGNS.into_iter().find(|sign| word.starts_with(sign)).unwrap_or_default();
        let rest = word.strip_prefix(found).unwrap_or_default();
        match (sign, found, rest) {
            // White space may stand between an operator and its version.
            ("", found, "") => sign = found,
            (before, "", rest) => {
                comparators.extend(simple(before, &partial(rest)?));
                sign = "";
            }
            ("", found, rest) => comparators.extend(simple(found, &partial(rest)?)),
            (before, ..) => return Err(format!("there is no version after {before}")),
        }
    }
    if sign.is_empty() { Ok(comparators) } else { Err(format!("there is no version after {sign}")) }
}

fn partial(text: &str) -> Result<Partial, String> {
    let wrong = || format!("{text:?} is not a version: write one such as 1.2.3, 1.2, 1.x or *");
    let bare = text.trim_start_matches(['v', '=']);
    let bare = bare.split_once('+').map_or(bare, |(bare, _)| bare);
    let (core, pre) = bare.split_once('-').map_or((bare, ""), |(core, pre)| (core, pre));
    let mut parts = Vec::new();
    for part in core.split('.') {
        let open = matches!(part, "x" | "X" | "*");
        let number = || part.bytes().all(|byte| byte.is_ascii_digit()) && (part.len() == 1 || !part.starts_with('0'));
        parts.push(match part.parse::<u64>() {
            _ if open => None,
            Ok(value) if number() && value <= MAX_SAFE_INTEGER => Some(value),
            _ => return Err(wrong()),
        });
    }
    // What follows an open part is open.
    let part = |at: usize| parts.get(at).copied().flatten();
    let major = part(0);
    let minor = major.and_then(|_| part(1));
    let patch = minor.and_then(|_| part(2));
    if parts.len() > 3 || (parts.len() < 3 && !pre.is_empty()) {
        return Err(wrong());
    }
    let pre = Prerelease::new(pre).map_err(|_| wrong())?;
    Ok(Partial { major, minor, patch, pre })
}

fn at(major: u64, minor: u64, patch: u64) -> Version {
    Version::new(major, minor, patch)
}

/// `M.m.p-0`, the least version of all that are called so.
fn before(version: Version) -> Comparator {
    let pre = Prerelease::new("0").unwrap_or_default();
    Comparator { operator: Operator::Less, version: Version { pre, ..version } }
}

fn from(version: Version) -> Comparator {
    Comparator { operator: Operator::AtLeast, version }
}

impl Partial {
    fn least(&self) -> Version {
        let pre = if self.patch.is_some() { self.pre.clone() } else { Prerelease::EMPTY };
        let (major, minor, patch) = (self.major, self.minor, self.patch);
        let build = BuildMetadata::EMPTY;
        Version { pre, build, ..at(major.unwrap_or(0), minor.unwrap_or(0), patch.unwrap_or(0)) }
    }

    /// The first version after all that the open parts stand for.
    fn after(&self) -> Option<Version> {
        match (self.major, self.minor) {
            (None, _) => None,
            (Some(major), None) => Some(at(major.saturating_add(1), 0, 0)),
            (Some(major), Some(minor)) => Some(at(major, minor.saturating_add(1), 0)),
        }
    }
}

fn hyphen(low: &Partial, high: &Partial) -> Vec<Comparator> {
    let low = low.major.map(|_| from(low.least()));
    let high = match high.patch {
        Some(_) => Some(Comparator { operator: Operator::AtMost, version: high.least() }),
        None => high.after().map(before),
    };
    low.into_iter().chain(high).collect()
}

fn simple(sign: &str, partial: &Partial) -> Vec<Comparator> {
    let least = partial.least();
    let Some(after) = partial.after() else {
        // Nothing is above or below everything.
        return if matches!(sign, "<" | ">") { vec![before(at(0, 0, 0))] } else { Vec::new() };
    };
    let whole = partial.patch.is_some();
    let exact = |operator| vec![Comparator { operator, version: least.clone() }];
    match sign {
        "^" => vec![from(least), before(caret(partial))],
        "~" | "~>" => vec![from(least), before(after)],
        "<" if whole => exact(Operator::Less),
        "<" => vec![before(least)],
        ">" if whole => exact(Operator::Greater),
        ">" => vec![from(after)],
        "<=" if whole => exact(Operator::AtMost),
        "<=" => vec![before(after)],
        ">=" => vec![from(least)],
        _ if whole => exact(Operator::Equal),
        _ => vec![from(least), before(after)],
    }
}

/// The first version past what `^` allows: the leftmost part that is not zero stays.
fn caret(partial: &Partial) -> Version {
    match (partial.major.unwrap_or(0), partial.minor, partial.patch) {
        (0, Some(0), Some(patch)) => at(0, 0, patch.saturating_add(1)),
        (0, Some(minor), _) => at(0, minor.saturating_add(1), 0),
        (major, ..) => at(major.saturating_add(1), 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(range: &str, text: &str) -> bool {
        Range::parse(range).unwrap().contains(&version(text).unwrap())
    }

    /// node-semver 7, test/fixtures/range-include.js (without its options).
    #[test]
    fn ranges_that_node_semver_includes() {
        for (range, version) in [
            ("1.0.0 - 2.0.0", "1.2.3"),
            ("^1.2.3+build", "1.2.3"),
            ("^1.2.3+build", "1.3.0"),
            ("1.2.3-pre+asdf - 2.4.3-pre+asdf", "1.2.3-pre.2"),
            ("1.2.3-pre+asdf - 2.4.3-pre+asdf", "2.4.3-alpha"),
            ("1.2.3+asdf - 2.4.3+asdf", "1.2.3"),
            ("", "1.0.0"),
            ("*", "1.2.3"),
            (">=1.0.0", "1.1.0"),
            (">  1.0.0", "1.1.0"),
            ("<=   2.0.0", "0.2.9"),
            ("<    2.0.0", "0.2.9"),
            ("0.1.20 || 1.2.4", "1.2.4"),
            ("||", "1.3.4"),
            ("2.x.x", "2.1.3"),
            ("1.2.x || 2.x", "2.1.3"),
            ("2.*.*", "2.1.3"),
            ("~2.4", "2.4.5"),
            ("~>3.2.1", "3.2.2"),
            ("~> 1", "1.2.3"),
            ("~1.0.3", "1.0.12"),
            (">=1 <3", "2.9.9"),
            ("<1.2", "1.1.1"),
            ("~v0.5.4-pre", "0.5.5"),
            ("=0.7.x", "0.7.2"),
            ("<=0.7.x", "0.7.2"),
            ("~1.2.1 >=1.2.3", "1.2.3"),
            ("~1.2.1 1.2.3 >=1.2.3", "1.2.3"),
            (">=1.2.1 1.2.3", "1.2.3"),
            ("^1.2.3", "1.8.1"),
            ("^0.1.2", "0.1.2"),
            ("^1.2 ^1", "1.4.2"),
            ("^1.2.3-alpha", "1.2.3-pre"),
            ("^1.2.0-alpha", "1.2.0-pre"),
            ("^0.0.1-alpha", "0.0.1-beta"),
            ("^0.1.1-alpha", "0.1.1-beta"),
            ("^x", "1.2.3"),
            ("x - 1.0.0", "0.9.7"),
            ("1.0.0 - x", "1.9.7"),
            ("<=7.x", "7.9.9"),
        ] {
            assert!(fits(range, version), "{range} leaves out {version}");
        }
    }

    /// node-semver 7, test/fixtures/range-exclude.js (without its options).
    #[test]
    fn ranges_that_node_semver_excludes() {
        for (range, version) in [
            ("1.0.0 - 2.0.0", "2.2.3"),
            ("1.2.3+asdf - 2.4.3+asdf", "1.2.3-pre.2"),
            ("1.2.3+asdf - 2.4.3+asdf", "2.4.3-alpha"),
            ("^1.2.3+build", "2.0.0"),
            ("^1.2.3", "1.2.3-pre"),
            ("^1.2", "1.2.0-pre"),
            (">1.2", "1.3.0-beta"),
            ("<=1.2.3", "1.2.3-beta"),
            ("^1.2.3", "1.2.3-beta"),
            ("=0.7.x", "0.7.0-asdf"),
            (">=0.7.x", "0.7.0-asdf"),
            ("<=0.7.x", "0.7.0-asdf"),
            ("1.0.0", "1.0.1"),
            (">1.0.0", "0.0.1"),
            ("<2.0.0", "2.2.9"),
            ("0.1.20 || 1.2.4", "1.2.3"),
            ("2.x.x", "1.1.3"),
            ("1.2.x || 2.x", "1.1.3"),
            ("~2.4", "2.5.0"),
            ("~>3.2.1", "3.3.2"),
            ("~1", "0.2.3"),
            ("<1", "1.0.0"),
            (">=1.2", "1.1.1"),
            ("~v0.5.4-beta", "0.5.4-alpha"),
            ("=0.7.x", "0.8.2"),
            ("<0.7.x", "0.7.2"),
            ("<1.2.3", "1.2.3-beta"),
            ("=1.2.3", "1.2.3-beta"),
            (">1.2", "1.2.8"),
            ("^0.0.1", "0.0.2-alpha"),
            ("^0.0.1", "0.0.2"),
            ("^1.2.3", "2.0.0-alpha"),
            ("^1.2.3", "1.2.2"),
            ("^1.2", "1.1.9"),
            ("^1.0.0", "2.0.0-rc1"),
        ] {
            assert!(!fits(range, version), "{range} takes {version}");
        }
    }

    /// The documentation's "Hyphen Ranges": `1.2.3 - 2.3` is `>=1.2.3 <2.4.0-0`. Comparators beside each other all
    /// hold.
    #[test]
    fn adjacent_comparators_are_conjunctive() {
        assert!(fits("1.2.3 - 2.3", "2.3.9") && !fits("1.2.3 - 2.3", "2.4.0"));
        assert!(!fits(">2 <1", "3.0.0") && !fits(">2 <1", "0.5.0"));
        assert!(!fits("<7.x", "7.0.0") && !fits("1 - 2", "2.0.0-pre"));
    }

    /// node-semver 7, test/fixtures/range-parse.js: those that are `null`, or that are nothing.
    #[test]
    fn malformed_ranges_are_rejected() {
        for range in [">01.02.03", "~1.2.3beta", ">=09090", "blerg", "1.2.3.4", ">= "] {
            assert!(Range::parse(range).is_err(), "{range}");
        }
        assert!(!fits("< x", "0.0.0") && !fits("> *", "99.0.0") && fits("= x", "1.0.0"));
        assert!(version("9007199254740992.0.0").is_err());
    }
}
