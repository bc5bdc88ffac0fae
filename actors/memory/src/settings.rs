//! How semantic memory is set up.

use super::record::{Owner, Space};
use muster_identity::By;

/// The namespace of entries that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Settings of semantic memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// Namespaces whose entries everybody shares who may use memory.
    pub shared: Vec<String>,
    /// Most entries of one owner. One more is refused; replacing goes on.
    pub max_entries: u64,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { shared: Vec::new(), max_entries: 1_000_000 }
    }
}

impl MemorySettings {
    pub fn is_shared(&self, namespace: &str) -> bool {
        self.shared.iter().any(|shared| shared == namespace)
    }

    /// The space that a caller means by a namespace.
    pub(super) fn space(&self, by: &By, namespace: Option<&str>) -> Space {
        let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
        let owner = if self.is_shared(namespace) { Owner::shared() } else { Owner::new(by.id()) };
        Space::new(owner, namespace)
    }
}
