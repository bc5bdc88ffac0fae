//! q199: a changelog and the next version, from Conventional Commits.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use git_conventional::{Commit, Type};

use super::version_resolve::{Bump, raise_semver};
use muster_engine::prelude::*;

/// Maximum number of commits in one call.
const MAX_COMMITS: usize = 10_000;
/// The sections of Keep a Changelog 1.1.0, in its order.
const SECTIONS: [&str; 6] = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"];
/// Section of commits that are invisible to users; it is not in the changelog.
const OTHER: &str = "Other";
/// Length of an abbreviated commit id, as git prints it.
const SHORT: usize = 7;

#[derive(Input)]
pub struct Input {
    commits: Vec<CommitInput>,
    current_version: String,
    date: Option<String>,
    repository_url: Option<String>,
}

#[derive(Input)]
struct CommitInput {
    id: String,
    message: String,
    #[allow(dead_code, reason = "a member of the catalogue that the changelog does not show")]
    author: Option<String>,
    #[allow(dead_code, reason = "a member of the catalogue that the changelog does not show")]
    date: Option<Date>,
}

#[derive(Output)]
pub struct Output {
    markdown: String,
    next_version: String,
    groups: BTreeMap<&'static str, Vec<String>>,
    breaking: Vec<String>,
    violations: Vec<Violation>,
}

#[derive(Output)]
struct Violation {
    id: String,
    message: String,
}

/// One entry of the changelog.
struct Entry {
    section: &'static str,
    text: String,
    id: String,
    breaking: Option<String>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.commits.len() > MAX_COMMITS {
        return Err(Failure::too_large(format!("at most {MAX_COMMITS} commits make one changelog")));
    }
    let current = input.current_version.trim();
    let current = semver::Version::parse(current.strip_prefix('v').unwrap_or(current)).map_err(|error| {
        Failure::invalid(&["current_version"], format!("is not a version: {error}. Write one such as 1.2.3"))
    })?;
    let (mut entries, mut violations, mut bump, mut merges) = (Vec::new(), Vec::new(), Bump::None, 0);
    for commit_input in input.commits {
        if commit_input.message.starts_with("Merge ") {
            merges += 1;
            continue;
        }
        match Commit::parse(commit_input.message.trim()) {
            Ok(_) if unspaced(&commit_input.message) => {
                let message = "the colon has no space behind it, expected `type: description`".to_owned();
                violations.push(Violation { id: commit_input.id, message });
            }
            Ok(commit) => {
                bump = bump.max(effect(&commit));
                if let Some(message) = miswritten_break(&commit) {
                    violations.push(Violation { id: commit_input.id.clone(), message });
                }
                entries.push(entry(&commit, commit_input.id));
            }
            Err(error) => violations.push(Violation { id: commit_input.id, message: error.to_string() }),
        }
    }
    if merges > 0 {
        context.warn(format!("{merges} merge commits are omitted"));
    }
    let next = next(&current, bump, context)?;
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in &entries {
        groups.entry(entry.section).or_default().push(entry.text.clone());
    }
    Ok(Output {
        markdown: markdown(&entries, &current, &next, input.date.as_deref(), input.repository_url.as_deref()),
        next_version: next.to_string(),
        groups,
        breaking: entries.into_iter().filter_map(|entry| entry.breaking).collect(),
        violations,
    })
}

/// Conventional Commits 1.0.0, "Summary": a breaking change is a major bump, `feat` a minor, `fix` a patch; other types
/// do not bump.
fn effect(commit: &Commit<'_>) -> Bump {
    let kind = commit.type_();
    if commit.breaking() {
        Bump::Major
    } else if kind == Type::FEAT {
        Bump::Minor
    } else if kind == Type::FIX {
        Bump::Patch
    } else {
        Bump::None
    }
}

/// SemVer 2.0.0, section 4: before 1.0.0 anything may change, so a breaking change is a minor bump.
fn next(current: &semver::Version, bump: Bump, context: &Context) -> Result<semver::Version, Failure> {
    let bump = if current.major == 0 { bump.min(Bump::Minor) } else { bump };
    if bump == Bump::None {
        context.warn("no commit is a feat, a fix or a breaking change: the version stays the same");
    }
    raise_semver(current, bump).ok_or_else(|| {
        Failure::invalid(&["current_version"], "is too large to be incremented: one of its numbers is at its maximum")
    })
}

/// Whether the description follows the colon at once: rules 1 and 5 require a space between them, the parser does not.
fn unspaced(message: &str) -> bool {
    let head = message.trim().lines().next().unwrap_or_default();
    let after_scope = match (head.find('('), head.find(':')) {
        (Some(open), Some(colon)) if open < colon => head.find(')').and_then(|close| head.get(close..)),
        _ => Some(head),
    };
    after_scope.and_then(|rest| rest.split_once(':')).is_some_and(|(_, rest)| !rest.starts_with(' '))
}

/// Detects a breaking change announced in a form that tools ignore: rule 15 requires the token in capitals.
fn miswritten_break(commit: &Commit<'_>) -> Option<String> {
    let announced = |line: &&str| {
        let start: String = line.chars().take("breaking change:".len()).collect();
        start.eq_ignore_ascii_case("breaking change:") && !start.starts_with("BREAKING CHANGE")
    };
    let line = commit.body()?.lines().find(announced)?;
    Some(format!("`{line}` does not announce a breaking change: write BREAKING CHANGE in capitals"))
}

fn entry(commit: &Commit<'_>, id: String) -> Entry {
    let scope = commit.scope().map(|scope| format!("**{scope}:** ")).unwrap_or_default();
    let breaking = commit.breaking_description().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let why = match &breaking {
        Some(why) if why != commit.description() => format!(" (**breaking:** {why})"),
        Some(_) => " (**breaking**)".to_owned(),
        None => String::new(),
    };
    Entry { section: section(commit), text: format!("{scope}{}{why}", commit.description()), id, breaking }
}

fn section(commit: &Commit<'_>) -> &'static str {
    let kind = commit.type_().as_str().to_lowercase();
    let about_security = commit.scope().is_some_and(|scope| scope.as_str().eq_ignore_ascii_case("security"));
    match kind.as_str() {
        "security" | "sec" => "Security",
        "fix" if about_security => "Security",
        "fix" | "bugfix" | "hotfix" => "Fixed",
        "feat" | "add" => "Added",
        "perf" | "change" => "Changed",
        "deprecate" => "Deprecated",
        "remove" | "revert" => "Removed",
        _ if commit.breaking() => "Changed",
        _ => OTHER,
    }
}

fn markdown(
    entries: &[Entry],
    current: &semver::Version,
    next: &semver::Version,
    date: Option<&str>,
    url: Option<&str>,
) -> String {
    let url = url.map(|url| url.trim_end_matches('/').trim_end_matches(".git"));
    let date = date.map(|date| format!(" - {date}")).unwrap_or_default();
    let mut text = if next == current { format!("## [Unreleased]{date}\n") } else { format!("## [{next}]{date}\n") };
    for section in SECTIONS {
        let mut of: Vec<&Entry> = entries.iter().filter(|entry| entry.section == section).collect();
        // Breaking changes come first.
        of.sort_by_key(|entry| entry.breaking.is_none());
        if !of.is_empty() {
            let _ = write!(text, "\n### {section}\n\n");
        }
        for entry in of {
            let short: String = entry.id.chars().take(SHORT).collect();
            let id = url.map_or(short.clone(), |url| format!("[{short}]({url}/commit/{})", entry.id));
            let _ = writeln!(text, "- {} ({id})", entry.text);
        }
    }
    if let Some(url) = url {
        let _ = if next == current {
            write!(text, "\n[Unreleased]: {url}/compare/v{current}...HEAD\n")
        } else {
            write!(text, "\n[{next}]: {url}/compare/v{current}...v{next}\n")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(messages: &[&str], current: &str) -> Value {
        let commits: Vec<Value> = messages
            .iter()
            .enumerate()
            .map(|(id, message)| json!({ "id": id.to_string(), "message": message }))
            .collect();
        crate::FAMILY.run(199, json!({ "commits": commits, "current_version": current }), &Context::default()).unwrap()
    }

    /// Conventional Commits 1.0.0, "Examples", the first: a description and a breaking change footer.
    #[test]
    fn a_breaking_change_footer() {
        let message = "feat: allow provided config object to extend other configs\n\n\
                       BREAKING CHANGE: `extends` key in config file is now used for extending other config files";
        let output = run(&[message], "1.4.0");
        assert_eq!(output["next_version"], "2.0.0");
        assert_eq!(
            output["breaking"],
            json!(["`extends` key in config file is now used for extending other config files"])
        );
    }

    /// Conventional Commits 1.0.0, "Examples", the rest, and "Summary" on what each means for a version.
    #[test]
    fn the_examples_of_the_specification() {
        let multi = "fix: prevent racing of requests\n\nIntroduce a request id and a reference to latest request. \
                     Dismiss\nincoming responses other than from latest request.\n\nRemove timeouts which were used \
                     to mitigate the racing issue but are\nobsolete now.\n\nReviewed-by: Z\nRefs: #123";
        for (message, next, section, text) in [
            ("docs: correct spelling of CHANGELOG", "1.4.2", "Other", "correct spelling of CHANGELOG"),
            ("feat(lang): add Polish language", "1.5.0", "Added", "**lang:** add Polish language"),
            (multi, "1.4.3", "Fixed", "prevent racing of requests"),
            (
                "feat(api)!: send an email to the customer when a product is shipped",
                "2.0.0",
                "Added",
                "**api:** send an email to the customer when a product is shipped (**breaking**)",
            ),
            (
                "chore!: drop support for Node 6\n\nBREAKING CHANGE: use JavaScript features not available in Node 6.",
                "2.0.0",
                "Changed",
                "drop support for Node 6 (**breaking:** use JavaScript features not available in Node 6.)",
            ),
        ] {
            let output = run(&[message], "1.4.2");
            assert_eq!(output["next_version"], next, "{message}");
            assert_eq!(output["groups"][section], json!([text]), "{message}");
            assert_eq!(output["violations"], json!([]), "{message}");
        }
    }

    /// SemVer 2.0.0, section 4 (0.y.z is for initial development) and section 8 (lower parts are reset).
    #[test]
    fn before_1_0_a_breaking_change_is_a_minor_release() {
        assert_eq!(run(&["feat!: a"], "0.3.7")["next_version"], "0.4.0");
        assert_eq!(run(&["fix: a"], "0.3.7")["next_version"], "0.3.8");
        assert_eq!(run(&["fix: a"], "v2.0.0-rc.1")["next_version"], "2.0.0");
    }

    #[test]
    fn unconventional_commits_are_reported() {
        let output = run(&["Fixed stuff", "Merge branch 'x'", "fix: a\n\nbreaking change: b"], "1.0.0");
        let ids: Vec<&Value> = output["violations"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, ["0", "2"]);
        assert_eq!(output["next_version"], "1.0.1");
    }

    /// Rules 1 and 5 of the specification; conventional-pre-commit 4.4 refuses the same.
    #[test]
    fn a_colon_without_a_space_is_a_violation() {
        let output = run(&["feat:no space", "fix(a: b):no space", "fix(a): with one"], "1.0.0");
        let ids: Vec<&Value> = output["violations"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
        assert_eq!(ids, ["0", "1"]);
        assert_eq!(output["next_version"], "1.0.1");
    }

    /// Keep a Changelog 1.1.0: its heads, their order, the date as ISO 8601, links at the end.
    #[test]
    fn the_changelog_follows_keep_a_changelog() {
        let input = crate::FAMILY.by_number(199).unwrap().example();
        let output = crate::FAMILY.run(199, input, &Context::default()).unwrap();
        let expect = "## [2.0.0] - 2026-11-21\n\n### Added\n\n\
            - drop v0 (**breaking**) ([3c4d5e6](https://example.org/muster/commit/3c4d5e6f7a8b))\n\
            - **api:** add q1 ([1f2e3d4](https://example.org/muster/commit/1f2e3d4c5b6a))\n\n### Fixed\n\n\
            - typo ([2a3b4c5](https://example.org/muster/commit/2a3b4c5d6e7f))\n\n\
            [2.0.0]: https://example.org/muster/compare/v1.2.3...v2.0.0\n";
        assert_eq!(output["markdown"], expect);
    }
}
