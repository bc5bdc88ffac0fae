//! Settings of semantic memory.

use super::record::{Owner, Space};
use muster_identity::By;

/// Namespace of entries that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Settings of semantic memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemorySettings {
    /// Namespaces whose entries are shared by all principals who may use memory.
    pub shared: Vec<String>,
    /// Maximum number of entries per owner. New entries beyond it are rejected; replacing remains possible.
    pub max_entries: u64,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self { shared: Vec::new(), max_entries: 1_000_000 }
    }
}

impl MemorySettings {
    /// Returns whether a namespace is shared.
    pub fn is_shared(&self, namespace: &str) -> bool {
        self.shared.iter().any(|shared| shared == namespace)
    }

    /// Returns the space that a caller's namespace refers to.
    pub(super) fn space(&self, by: &By, namespace: Option<&str>) -> Space {
        let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
        let owner = if self.is_shared(namespace) { Owner::shared() } else { Owner::new(by.id()) };
        Space::new(owner, namespace)
    }
}
