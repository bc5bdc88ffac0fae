//! Values that must never be printed.

use std::fmt;

/// An API key. `Debug` prints a placeholder; the value is only available through [`Secret::expose`].
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Shortest prefix by which a masked copy of the key (`sk-ab***yz`) is recognised.
const MASK_PREFIX: usize = 4;

impl Secret {
    /// Wraps a secret value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the value, for the wire only.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Removes this key from a text: providers often quote it, in full or masked, when they reject it.
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
    fn debug_output_hides_the_secret() {
        assert!(!format!("{:?}", Secret::new("sk-very-secret")).contains("very"));
    }

    #[test]
    fn complete_and_masked_copies_are_removed() {
        let key = Secret::new("sk-proj-abcdef");
        assert_eq!(key.scrub("wrong key sk-proj-abcdef."), "wrong key [key].");
        assert_eq!(key.scrub("wrong key sk-p****def. Look"), "wrong key [key] Look");
        assert_eq!(Secret::new("").scrub("as it was"), "as it was");
    }
}
