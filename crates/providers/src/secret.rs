//! A value that must never be printed.

use std::fmt;

/// An API key. Shows itself only through [`Secret::expose`]; `Debug` prints a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Shortest shared beginning by which a masked copy of the key (`sk-ab***yz`) is recognised.
const MASK_PREFIX: usize = 4;

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without this key: providers like to quote it, whole or masked, when they refuse it.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let text = text.replace(&self.0, "[key]");
        let Some(prefix) = self.0.get(..MASK_PREFIX) else {
            return text;
        };
        text.split(' ').map(|word| if word.contains(prefix) { "[key]" } else { word }).collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret([hidden])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_it() {
        assert!(!format!("{:?}", Secret::new("sk-very-secret")).contains("very"));
    }

    #[test]
    fn whole_and_masked_copies_are_removed() {
        let key = Secret::new("sk-proj-abcdef");
        assert_eq!(key.scrub("wrong key sk-proj-abcdef."), "wrong key [key].");
        assert_eq!(key.scrub("wrong key sk-p****def. Look"), "wrong key [key] Look");
        assert_eq!(Secret::new("").scrub("as it was"), "as it was");
    }
}
