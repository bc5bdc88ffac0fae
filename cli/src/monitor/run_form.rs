//! The form that begins a task: an agent's id, which Tab completes, a space and the task. Pure.

/// Ids that are shown while one is typed.
const SHOWN: usize = 8;

/// Splits what was typed into the id and the task; `None` while one of them is missing.
pub(super) fn split(typed: &str) -> Option<(&str, &str)> {
    let (id, task) = typed.trim().split_once(' ')?;
    Some((id, task.trim()))
}

/// Returns the ids that what was typed may mean, in their order: those that begin with it, else those that contain it.
/// None once the id ends with a space.
pub(super) fn candidates<'a>(typed: &str, ids: &'a [String]) -> Vec<&'a str> {
    if typed.contains(' ') {
        return Vec::new();
    }
    let of = |fits: fn(&str, &str) -> bool| -> Vec<&'a str> {
        ids.iter().map(String::as_str).filter(|id| fits(id, typed)).collect()
    };
    let begin = of(|id, typed| id.starts_with(typed));
    if begin.is_empty() { of(|id, typed| id.contains(typed)) } else { begin }
}

/// Completes the id as far as all candidates agree; the only candidate is followed by a space.
pub(super) fn completed(typed: &str, ids: &[String]) -> String {
    let candidates = candidates(typed, ids);
    match candidates.as_slice() {
        [] => typed.to_owned(),
        [only] => format!("{only} "),
        [first, others @ ..] => {
            let shared = |one: &str, other: &str| one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
            let common = others.iter().map(|other| shared(first, other)).min().unwrap_or(first.len());
            let common = first.get(..common).unwrap_or_default();
            // Candidates that only contain what was typed may begin with something shorter.
            if common.len() > typed.len() && common.contains(typed) { common.to_owned() } else { typed.to_owned() }
        }
    }
}

/// Lists the candidates for the user.
pub(super) fn hint(typed: &str, ids: &[String]) -> String {
    let candidates = candidates(typed, ids);
    let more = candidates.len().saturating_sub(SHOWN);
    let shown = candidates.into_iter().take(SHOWN).collect::<Vec<_>>().join(" ");
    if more > 0 { format!("{shown} … {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Vec<String> {
        ["code-explorer", "code-reviewer", "debugger", "fleet-router", "model-router"].map(str::to_owned).to_vec()
    }

    #[test]
    fn an_id_is_completed_as_far_as_it_is_certain() {
        let ids = ids();
        for (typed, expected) in [
            ("d", "debugger "),
            ("c", "code-"),
            ("code-r", "code-reviewer "),
            ("router", "router"),
            ("bug", "debugger "),
            ("nothing", "nothing"),
            ("debugger why", "debugger why"),
        ] {
            assert_eq!(completed(typed, &ids), expected, "{typed}");
        }
        assert_eq!(completed("é", &["é-a".to_owned(), "è-b".to_owned()]), "é-a ");
    }

    #[test]
    fn candidates_are_shown_until_the_id_is_complete() {
        let ids = ids();
        assert_eq!(hint("router", &ids), "fleet-router model-router");
        assert_eq!(hint("debugger ", &ids), "");
        let many: Vec<String> = (0..10).map(|n| format!("agent-{n}")).collect();
        assert!(hint("", &many).ends_with("agent-7 … 2 more"));
        assert_eq!(split("debugger  why does it fail "), Some(("debugger", "why does it fail")));
        assert_eq!((split("debugger "), split("")), (None, None));
    }
}
