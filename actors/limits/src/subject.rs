//! Subjects, to which buckets belong.

use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::rule::Category;

/// Maximum length of a name, in bytes; a longer one is replaced by its SHA-256.
const LONGEST: usize = 128;

/// The subject of limits. Cheap to clone, and of bounded size.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Subject {
    name: Arc<str>,
    kind: SubjectKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SubjectKind {
    Principal,
    Anonymous,
}

impl Subject {
    /// Creates the subject of an authenticated principal. Its counters survive restarts.
    pub fn principal(id: &str) -> Self {
        Self { name: bounded(id), kind: SubjectKind::Principal }
    }

    /// Creates the subject of an unauthenticated client: a client address, or address and e-mail of a login. Clients
    /// can create any number of these, so they are never written to the store (an unauthenticated client must not cause
    /// disk writes), their number is bounded in each category, and the least recently used one is evicted first.
    pub fn anonymous(name: &str) -> Self {
        Self { name: bounded(name), kind: SubjectKind::Anonymous }
    }

    pub(super) fn is_stored(&self) -> bool {
        self.kind == SubjectKind::Principal
    }

    /// Returns the name used in stored keys.
    pub fn as_str(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}({:?})", self.kind, self.name)
    }
}

/// A NUL would end the subject's part of a stored key early.
fn bounded(name: &str) -> Arc<str> {
    if name.len() <= LONGEST && !name.contains('\0') {
        return Arc::from(name);
    }
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(name.as_bytes()) {
        // Writing to a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    Arc::from(hex)
}

/// Identifies a bucket: subject and category.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BucketKey {
    /// The subject.
    pub subject: Subject,
    /// The category.
    pub category: Category,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_bounded_and_never_contains_a_nul() {
        assert_eq!(Subject::principal("key_1").as_str(), "key_1");
        // FIPS 180-2, appendix B.3: a million times "a".
        let million = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
        assert_eq!(Subject::anonymous(&"a".repeat(1_000_000)).as_str(), million);
        assert!(!Subject::principal("a\0b").as_str().contains('\0'));
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(Subject::anonymous(&long).as_str().len(), 64);
        assert_ne!(Subject::anonymous(&long), Subject::anonymous(&format!("{long}x")));
        assert_ne!(Subject::anonymous("a"), Subject::principal("a"));
    }
}
