//! Derives the thread of an entry without one from its tags.

use super::names::MAX_NAME;

/// Tag prefixes that name a conversation, from the widest to the narrowest.
const PREFIXES: [&str; 4] = ["conversation:", "conv:", "thread:", "session:"];

/// Returns the thread named by tags such as `conv:26` and `session:1` together: clients that mark a session by a tag
/// get its neighbours without another field. `None` if no tag names one, or if two of one prefix differ.
pub(super) fn of_tags(tags: &[String]) -> Option<String> {
    let mut named = Vec::new();
    for prefix in PREFIXES {
        let mut of_prefix = tags.iter().filter(|tag| tag.len() > prefix.len() && tag.starts_with(prefix));
        named.extend(of_prefix.next());
        if of_prefix.next().is_some() {
            return None;
        }
    }
    let thread = named.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    Some(thread).filter(|thread| (1..=MAX_NAME).contains(&thread.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tags: &[&str]) -> Option<String> {
        of_tags(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn conversation_tags_name_the_thread() {
        assert_eq!(of(&["session:1", "conv:26", "speaker:Ann"]).as_deref(), Some("conv:26 session:1"));
        assert_eq!(of(&["conv:26", "session:1"]), of(&["session:1", "conv:26"]), "whatever their order");
        assert_eq!(of(&["thread:a"]).as_deref(), Some("thread:a"));
    }

    #[test]
    fn other_tags_name_no_thread() {
        for tags in [&[][..], &["red"], &["session"], &["session:"], &["speaker:Ann"], &["session:1", "session:2"]] {
            assert_eq!(of(tags), None, "{tags:?}");
        }
        let long = format!("session:{}", "x".repeat(121));
        assert_eq!(of(&[&long]), None, "a thread's name is bounded");
    }
}
