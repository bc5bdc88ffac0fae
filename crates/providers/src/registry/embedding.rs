//! Resolves an embedding model's name to the providers that have exactly that model.
//!
//! Vectors of different models are not comparable, so there is no fallback chain, no family and no alias: a name
//! resolves to providers that name it, else unchanged to those that accept any name. Only a request without a model
//! gets the embedded one.

use super::{NamedBy, Provider, ProviderKind, Registry, ResolveError};
use crate::catalogue::EMBEDDED_EMBEDDING;
use crate::{Candidate, Catalogue, EmbeddingEntry, Price};

/// An embedding model in a list of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedEmbedding {
    /// Catalogue entry.
    pub entry: EmbeddingEntry,
    /// Provider that would be called first, or the catalogue's if none is configured.
    pub provider: String,
    /// Whether a configured provider serves it.
    pub configured: bool,
    /// The missing setting, if it is not configured.
    pub setting: Option<String>,
}

impl Registry {
    /// Returns the candidates for a requested embedding model, best first, never empty, all of the same model. `None`
    /// and `default` select the embedded one.
    ///
    /// # Errors
    /// [`ResolveError`] when no usable provider has the model.
    pub fn resolve_embedding(&self, requested: Option<&str>) -> Result<Vec<Candidate>, ResolveError> {
        let name = requested.map(str::trim).filter(|name| !name.is_empty() && *name != "default");
        let name = name.unwrap_or(EMBEDDED_EMBEDDING);
        let embedded = name == EMBEDDED_EMBEDDING;
        let of_kind = |p: &&Provider| (p.kind == ProviderKind::Embedded) == embedded;
        let mut candidates: Vec<Candidate> =
            self.usable().filter(of_kind).filter_map(|p| self.embedding_at(p, name)).collect();
        if candidates.is_empty()
            && let Some((provider, rest)) = self.split(name)
            && provider.missing.is_none()
        {
            let at = self.embedding_at(provider, rest).or_else(|| self.embedding_by_wildcard(provider, rest));
            candidates.extend(at);
        }
        if candidates.is_empty() {
            candidates.extend(self.usable().filter_map(|p| self.embedding_by_wildcard(p, name)));
        }
        if candidates.is_empty() {
            return Err(self.explain_embedding(name));
        }
        Ok(candidates)
    }

    /// Returns the catalogue's embedding models in order.
    pub fn list_embeddings(&self) -> Vec<ListedEmbedding> {
        let listed = |entry: &EmbeddingEntry| {
            let first = self.resolve_embedding(Some(&entry.id)).ok().and_then(|found| found.into_iter().next());
            let served = first.filter(|candidate| candidate.named_by == NamedBy::Settings);
            let setting = match (&served, self.explain_embedding(&entry.id)) {
                (None, ResolveError::Unconfigured { setting, .. }) => Some(setting),
                _ => None,
            };
            ListedEmbedding {
                configured: served.is_some(),
                provider: served.map_or_else(|| entry.provider.clone(), |candidate| candidate.provider_id),
                entry: entry.clone(),
                setting,
            }
        };
        self.catalogue.embeddings().iter().map(listed).collect()
    }

    /// The model at this provider, if its settings or the catalogue name it.
    fn embedding_at(&self, provider: &Provider, name: &str) -> Option<Candidate> {
        let own = self.catalogue.embeddings().iter().find(|m| self.has(provider, m) && is(m, name));
        let upstream = match own {
            Some(_) if provider.kind == ProviderKind::Embedded => EMBEDDED_EMBEDDING,
            Some(m) => {
                (provider.takes_any || provider.names_any([&m.id, &m.upstream])).then_some(m.upstream.as_str())?
            }
            None => (provider.names_any([name]) && !self.is_chat(name)).then_some(name)?,
        };
        Some(embedding_candidate(provider, upstream, own, NamedBy::Settings))
    }

    /// The name unchanged, at a provider that accepts any.
    fn embedding_by_wildcard(&self, provider: &Provider, name: &str) -> Option<Candidate> {
        let tried = provider.takes_any && name != EMBEDDED_EMBEDDING && !self.is_chat(name);
        tried.then(|| embedding_candidate(provider, name, None, NamedBy::Client))
    }

    fn has(&self, provider: &Provider, entry: &EmbeddingEntry) -> bool {
        match provider.kind {
            ProviderKind::Embedded => entry.id == EMBEDDED_EMBEDDING,
            _ => entry.provider == provider.id && entry.id != EMBEDDED_EMBEDDING,
        }
    }

    /// A chat model or an image model is never used for embeddings.
    fn is_chat(&self, name: &str) -> bool {
        let known = |m: &crate::ModelEntry| m.id == name || m.upstream.as_deref() == Some(name);
        self.catalogue.models().iter().any(known)
            || self.catalogue.family(name).is_some()
            || self.catalogue.image_model(name).is_some()
    }

    /// Explains why no usable provider has this model.
    fn explain_embedding(&self, name: &str) -> ResolveError {
        let models = self.catalogue.embeddings().iter();
        let known = models.map(|m| (m.provider.as_str(), [Some(m.id.as_str()), Some(m.upstream.as_str())]));
        let names = |provider: &Provider, model: &str| self.embedding_at(provider, model).is_some();
        self.explain_among(name, known, names, self.is_chat(name))
    }
}

impl Provider {
    /// Moves the catalogue's embedding models out of the provider's chat models.
    pub(super) fn separate_embeddings(&mut self, catalogue: &Catalogue) {
        let is_embedding = |name: &mut String| catalogue.embeddings().iter().any(|m| is(m, name));
        self.embeddings = self.models.extract_if(.., is_embedding).collect();
    }

    fn names_any<'a>(&self, names: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) -> bool {
        names.into_iter().any(|name| self.models.iter().chain(&self.embeddings).any(|m| m == name.as_ref()))
    }
}

fn is(entry: &EmbeddingEntry, name: &str) -> bool {
    entry.id == name || entry.upstream == name
}

fn embedding_candidate(
    provider: &Provider,
    upstream: &str,
    entry: Option<&EmbeddingEntry>,
    named_by: NamedBy,
) -> Candidate {
    Candidate {
        provider_id: provider.id.clone(),
        upstream_model: upstream.to_owned(),
        model_id: entry.map_or(upstream, |entry| &entry.id).to_owned(),
        entry: None,
        takes_sampling: false,
        reasons: false,
        max_output: None,
        price: entry.map(Price::of_embedding).or(provider.price),
        named_by,
        stands_in: false,
        image: None,
    }
}
