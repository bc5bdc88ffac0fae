//! Patterns of files and of paths in code.

/// Whether a path is what a pattern names, or is inside it. `*::A::B` names any path that ends in `A::B`;
/// `{a,b}` stands for either.
pub(crate) fn names(pattern: &str, path: &[String]) -> bool {
    let wanted: Vec<&str> = pattern.split("::").collect();
    let same = |(wanted, found): (&&str, &String)| one_of(wanted, found);
    match wanted.as_slice() {
        ["*", end @ ..] => path.len() >= end.len() && end.iter().zip(&path[path.len() - end.len()..]).all(same),
        whole => path.len() >= whole.len() && whole.iter().zip(path).all(same),
    }
}

fn one_of(wanted: &str, found: &str) -> bool {
    match wanted.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        Some(choices) => choices.split(',').any(|choice| choice == found),
        None => wanted == found,
    }
}

pub(crate) fn in_scope(globs: &[&str], path: &str) -> bool {
    let (out, into): (Vec<&str>, Vec<&str>) = globs.iter().partition(|glob| glob.starts_with('!'));
    into.iter().any(|pattern| glob(pattern, path)) && !out.iter().any(|pattern| glob(&pattern[1..], path))
}

/// `**` is any number of folders, `{a,b}` in a segment is either.
fn glob(pattern: &str, path: &str) -> bool {
    fn rest(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            ([], []) => true,
            (["**", after @ ..], _) => (0..=path.len()).any(|skip| rest(after, &path[skip..])),
            ([first, after @ ..], [found, below @ ..]) => segment(first, found) && rest(after, below),
            _ => false,
        }
    }
    fn segment(pattern: &str, found: &str) -> bool {
        match pattern.split_once('{').zip(pattern.split_once('}')) {
            Some(((before, _), (middle, after))) => found
                .strip_prefix(before)
                .and_then(|found| found.strip_suffix(after))
                .is_some_and(|found| middle[before.len() + 1..].split(',').any(|choice| choice == found)),
            None => pattern == found,
        }
    }
    rest(&pattern.split('/').collect::<Vec<_>>(), &path.split('/').collect::<Vec<_>>())
}
