//! Rules for keys, tags, threads, owners and namespaces, shared by all callers.

/// Maximum length of a key, in bytes.
pub const MAX_KEY: usize = 512;
/// Maximum length of a tag, thread, owner or namespace, in bytes.
pub const MAX_NAME: usize = 128;
/// Description of valid namespace names, for error messages.
pub const NAMESPACE: &str = "1 to 128 of A-Z a-z 0-9 . _ : / -";

/// Why a text is not a valid name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidName {
    /// Empty, or too long.
    Length,
    /// It has control characters.
    Control,
}

/// Returns why a text is not a valid key, tag, thread or owner of at most `max` bytes; `None` if it is valid.
pub fn invalid_name(text: &str, max: usize) -> Option<InvalidName> {
    if text.is_empty() || text.len() > max {
        return Some(InvalidName::Length);
    }
    text.chars().any(char::is_control).then_some(InvalidName::Control)
}

/// Returns whether this is a valid namespace name.
pub fn is_namespace(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_bounded_in_bytes_without_control_characters() {
        assert_eq!([invalid_name("a b, c/d", 8), invalid_name("éé", 4)], [None; 2]);
        assert_eq!(["", "ééé"].map(|text| invalid_name(text, 5)), [Some(InvalidName::Length); 2]);
        assert_eq!(["\0", "a\n", "\u{85}"].map(|text| invalid_name(text, 5)), [Some(InvalidName::Control); 3]);
    }

    #[test]
    fn namespaces_follow_the_description_in_error_messages() {
        for good in ["a", "Z9", "._:/-", "team/a:b", &"n".repeat(MAX_NAME)] {
            assert!(is_namespace(good), "{good}");
        }
        for bad in ["", "a b", "a,b", "é", "a\0", "*", &"n".repeat(MAX_NAME + 1)] {
            assert!(!is_namespace(bad), "{bad:?}");
        }
        assert!(NAMESPACE.starts_with(&format!("1 to {MAX_NAME} of ")), "{NAMESPACE}");
    }
}
