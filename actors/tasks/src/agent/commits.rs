//! Commits as `git log` and `git log --oneline` print them.

use muster_engines::grammar::{Prim, Type};
use serde_json::{Value, json};

/// Whether a type is a list of commits: records of which `id` and `message` are required.
pub(super) fn are_wanted(kind: &Type) -> bool {
    let Type::Array(item) = kind else { return false };
    let Type::Record(members) = &**item else { return false };
    let required = members.iter().filter(|member| !member.optional);
    let text = |member: &&muster_engines::grammar::Member| member.kind == Type::Prim(Prim::String);
    required.filter(text).map(|member| member.name.as_str()).eq(["id", "message"])
}

/// Reads the commits of a text, with the bytes where they begin and end.
pub(super) fn read(text: &str) -> Option<(Value, std::ops::Range<usize>)> {
    let mut found: Vec<Value> = Vec::new();
    let mut span: Option<std::ops::Range<usize>> = None;
    let (mut at, mut is_long) = (0, false);
    for line in text.split_inclusive('\n') {
        let place = at..at + line.len();
        at = place.end;
        let line = line.trim_end();
        if let Some(id) = line.strip_prefix("commit ").map(first_word).filter(|id| is_id(id) && id.len() >= 7) {
            found.push(json!({ "id": id.get(..12).unwrap_or(id), "message": "" }));
            is_long = true;
        } else if is_long {
            let Some(commit) = found.last_mut() else { continue };
            if let Some(author) = line.strip_prefix("Author:") {
                let name = author.split('<').next().unwrap_or_default().trim();
                commit["author"] = name.into();
            } else if let Some(body) = line.strip_prefix("    ") {
                let message = commit["message"].as_str().unwrap_or_default();
                let separator = if message.is_empty() { "" } else { "\n" };
                commit["message"] = format!("{message}{separator}{body}").into();
            } else if line.is_empty() {
                // Before a message, within it (where spaces are cut off), and after it.
                let message = commit["message"].as_str().filter(|message| !message.is_empty());
                if let Some(message) = message {
                    commit["message"] = format!("{message}\n").into();
                }
                continue;
            } else if !["Date:", "Merge:", "AuthorDate:", "Commit:", "CommitDate:"]
                .iter()
                .any(|name| line.starts_with(name))
            {
                is_long = false;
                continue;
            }
        } else {
            let bare = line.trim_start().trim_start_matches(['-', '*', '|', '/', '\\', ' ']);
            let id = first_word(bare);
            let message = bare.get(id.len()..).unwrap_or_default().trim();
            if !(is_id(id) && (7..=40).contains(&id.len())) || message.is_empty() {
                continue;
            }
            // "(HEAD -> main, tag: v1.2)"
            let message = match message.strip_prefix('(').and_then(|rest| rest.split_once(") ")) {
                Some((names, rest))
                    if names.contains("HEAD") || names.contains("tag:") || names.contains("origin/") =>
                {
                    rest
                }
                _ => message,
            };
            found.push(json!({ "id": id, "message": message }));
        }
        span = Some(span.map_or(place.start, |span| span.start)..place.end);
    }
    for commit in &mut found {
        commit["message"] = commit["message"].as_str().unwrap_or_default().trim_end().into();
    }
    found.retain(|commit| commit["message"] != "");
    (!found.is_empty()).then_some((found.into(), span?))
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Whether a word can be an abbreviated hash: hexadecimal, with a digit, as "feedface" is a word, too.
fn is_id(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) && word.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_logs_are_read() {
        let short = "What is the next version?\n\n3f2a9c1 (HEAD -> main, tag: v2.0.0) feat: add export\n- a1b2c3d fix(api)!: drop v1\nThanks";
        let (commits, span) = read(short).unwrap();
        assert_eq!(
            commits,
            json!([{ "id": "3f2a9c1", "message": "feat: add export" }, { "id": "a1b2c3d", "message": "fix(api)!: drop v1" }])
        );
        assert!(short[span].starts_with("3f2a9c1"));
        // As git 2.39 prints it.
        let long = "commit 8f3a1c0d9e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c\nMerge: 1a2b3c4 5d6e7f8\nAuthor: Ada L <ada@example.org>\nDate:   Mon Nov 23 10:00:00 2026 +0100\n\n    feat: places\n    \n    BREAKING CHANGE: ids are texts\n\ncommit 1111111d9e8b7a6c5d4e3f2a1b0c9d8e7f6a5b4c\nAuthor: G <g@example.org>\nDate:   Sun Nov 22 10:00:00 2026 +0100\n\n    fix: typo\n";
        let (commits, _) = read(long).unwrap();
        assert_eq!(commits.as_array().unwrap().len(), 2);
        assert_eq!(commits[0]["author"], "Ada L");
        assert_eq!(commits[0]["message"], "feat: places\n\nBREAKING CHANGE: ids are texts");
        assert_eq!(commits[1]["message"], "fix: typo");
        assert_eq!(read("The accused faced 1234567 questions."), None);
    }
}
