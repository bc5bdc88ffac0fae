//! From an embedding model's name to the providers that are asked, in order.

use super::{Candidate, NamedBy, Provider, ProviderKind, Registry, ResolveError};
use crate::EMBEDDED_MODEL;

impl Registry {
    /// The candidates for an embedding model, best first, never empty; `None` and `default` mean the embedded one. All
    /// are asked for the same model: vectors of different models do not compare.
    pub fn resolve_embedding(&self, requested: Option<&str>) -> Result<Vec<Candidate>, ResolveError> {
        let name = requested.map(str::trim).filter(|name| !name.is_empty() && *name != "default");
        let candidates: Vec<Candidate> = match name {
            None => self
                .usable()
                .filter(|p| p.kind == ProviderKind::Embedded)
                .map(|p| self.candidate(p, EMBEDDED_MODEL, NamedBy::Settings))
                .collect(),
            Some(name) => self.usable().filter_map(|p| self.embedding_at(p, name)).collect(),
        };
        if candidates.is_empty() { Err(self.explain(name.unwrap_or(EMBEDDED_MODEL))) } else { Ok(candidates) }
    }

    fn embedding_at(&self, provider: &Provider, name: &str) -> Option<Candidate> {
        match self.upstream_of(provider, name) {
            Some(upstream) => Some(self.candidate(provider, upstream, NamedBy::Settings)),
            None => provider.takes_any.then(|| self.candidate(provider, name, NamedBy::Client)),
        }
    }
}
