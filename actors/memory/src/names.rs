//! Rules for keys, tags, threads, owners and namespaces, shared by all callers.

/// Longest key, in bytes.
pub const MAX_KEY: usize = 512;
/// Longest tag, thread, owner or namespace, in bytes.
pub const MAX_NAME: usize = 128;
/// Description of valid namespace names, for error messages.
pub const NAMESPACE: &str = "1 to 128 of A-Z a-z 0-9 . _ : / -";

/// Why a text is not a valid name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unfit {
    /// Empty, or too long.
    Length,
    /// It has control characters.
    Control,
}

/// Returns why a text is not a valid key, tag, thread or owner of at most `most` bytes; `None` if it is.
pub fn unfit(text: &str, most: usize) -> Option<Unfit> {
    if text.is_empty() || text.len() > most {
        return Some(Unfit::Length);
    }
    text.chars().any(char::is_control).then_some(Unfit::Control)
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
    fn a_name_is_bounded_in_bytes_and_has_no_control_characters() {
        assert_eq!([unfit("a b, c/d", 8), unfit("éé", 4)], [None; 2]);
        assert_eq!(["", "ééé"].map(|text| unfit(text, 5)), [Some(Unfit::Length); 2]);
        assert_eq!(["\0", "a\n", "\u{85}"].map(|text| unfit(text, 5)), [Some(Unfit::Control); 3]);
    }

    #[test]
    fn a_namespace_is_as_refusals_say() {
        for good in ["a", "Z9", "._:/-", "team/a:b", &"n".repeat(MAX_NAME)] {
            assert!(is_namespace(good), "{good}");
        }
        for bad in ["", "a b", "a,b", "é", "a\0", "*", &"n".repeat(MAX_NAME + 1)] {
            assert!(!is_namespace(bad), "{bad:?}");
        }
        assert!(NAMESPACE.starts_with(&format!("1 to {MAX_NAME} of ")), "{NAMESPACE}");
    }
}
