//! How semantic memory is set up.

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
