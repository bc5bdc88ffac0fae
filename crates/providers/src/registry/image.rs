//! Resolves an image model's name to the providers that draw with it.
//!
//! A named model is drawn by its own providers only; no other stands in. Without a model, and for the alias `image`, the
//! catalogue's image models are tried in order, as far as a provider is configured for them. An alias of the settings of
//! that name replaces them.

use super::{NamedBy, Provider, ProviderKind, Registry, ResolveError};
use crate::{Candidate, Catalogue, ImageEntry, ImagePrice, ImageQuality, ImageShapes};

/// Name that stands for the image models as far as they are configured.
pub(super) const ALIAS: &str = "image";

/// What is known of an image model.
#[derive(Debug, Clone, PartialEq)]
pub struct ImageProperties {
    /// Price; `None` if it is unknown, which does not mean free.
    pub price: Option<ImagePrice>,
    /// What it draws.
    pub shapes: ImageShapes,
    /// Qualities that it takes; `None` if that is unknown.
    pub qualities: Option<Vec<ImageQuality>>,
    /// Largest number of pictures of one call.
    pub per_call: u32,
    /// Whether base64 has to be requested with `response_format`.
    pub requests_base64: bool,
}

impl ImageProperties {
    /// Returns the quality to request of the model.
    pub fn quality(&self, requested: Option<ImageQuality>) -> Option<ImageQuality> {
        requested.filter(|quality| self.qualities.as_ref().is_none_or(|taken| taken.contains(quality)))
    }
}

/// An image model in a list of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedImage {
    /// Catalogue entry.
    pub entry: ImageEntry,
    /// Provider that would be called first, or the catalogue's if none is configured.
    pub provider: String,
    /// Whether a configured provider serves it.
    pub configured: bool,
    /// The missing setting, if it is not configured.
    pub setting: Option<String>,
}

impl Registry {
    /// Returns whether a requested image model leaves the choice to the server.
    pub fn is_any_image_model(requested: Option<&str>) -> bool {
        matches!(requested.map(str::trim), None | Some("" | "default" | ALIAS))
    }

    /// Returns the candidates for a requested image model, best first, never empty. `None`, `default` and `image` select
    /// every configured one.
    ///
    /// # Errors
    /// [`ResolveError`] when no usable provider has the model.
    pub fn resolve_image(&self, requested: Option<&str>) -> Result<Vec<Candidate>, ResolveError> {
        let name = requested.map(str::trim).unwrap_or_default();
        if !Self::is_any_image_model(requested) {
            return match self.routing.aliases.get(name) {
                Some(models) => self.of_image_models(models.iter().map(String::as_str), name),
                None => self.image_named(name),
            };
        }
        match self.routing.aliases.get(ALIAS) {
            Some(models) => self.of_image_models(models.iter().map(String::as_str), ALIAS),
            None => self.of_image_models(self.catalogue.image_models().iter().map(|m| m.id.as_str()), ALIAS),
        }
    }

    /// Returns the catalogue's image models in order.
    pub fn list_images(&self) -> Vec<ListedImage> {
        let listed = |entry: &ImageEntry| {
            let first = self.resolve_image(Some(&entry.id)).ok().and_then(|found| found.into_iter().next());
            let served = first.filter(|candidate| candidate.named_by == NamedBy::Settings);
            let setting = match (&served, self.explain_image(&entry.id)) {
                (None, ResolveError::Unconfigured { setting, .. }) => Some(setting),
                _ => None,
            };
            ListedImage {
                configured: served.is_some(),
                provider: served.map_or_else(|| entry.provider.clone(), |candidate| candidate.provider_id),
                entry: entry.clone(),
                setting,
            }
        };
        self.catalogue.image_models().iter().map(listed).collect()
    }

    /// The candidates of these models together, those that are not configured left out.
    fn of_image_models<'a>(
        &self,
        models: impl Iterator<Item = &'a str>,
        requested: &str,
    ) -> Result<Vec<Candidate>, ResolveError> {
        let (mut candidates, mut lacking) = (Vec::<Candidate>::new(), None);
        for name in models {
            match self.image_named(name) {
                Ok(found) => candidates.extend(found),
                Err(error) => drop(lacking.get_or_insert(error)),
            }
        }
        let mut seen = std::collections::HashSet::new();
        candidates.retain(|c| seen.insert((c.provider_id.clone(), c.upstream_model.clone())));
        match (candidates.is_empty(), lacking) {
            (false, _) => Ok(candidates),
            (true, Some(ResolveError::Unconfigured { provider, setting, .. })) => {
                Err(ResolveError::Unconfigured { model: requested.to_owned(), provider, setting })
            }
            (true, _) => Err(ResolveError::NotFound { model: requested.to_owned() }),
        }
    }

    fn image_named(&self, name: &str) -> Result<Vec<Candidate>, ResolveError> {
        let remote = |p: &&Provider| p.kind != ProviderKind::Embedded;
        let mut candidates: Vec<Candidate> =
            self.usable().filter(remote).filter_map(|p| self.image_at(p, name)).collect();
        if candidates.is_empty()
            && let Some((provider, rest)) = self.split(name)
            && provider.missing.is_none()
            && provider.kind != ProviderKind::Embedded
        {
            candidates.extend(self.image_at(provider, rest).or_else(|| self.image_by_wildcard(provider, rest)));
        }
        if candidates.is_empty() {
            candidates.extend(self.usable().filter(remote).filter_map(|p| self.image_by_wildcard(p, name)));
        }
        if candidates.is_empty() { Err(self.explain_image(name)) } else { Ok(candidates) }
    }

    /// The model at this provider, if its settings or the catalogue name it.
    fn image_at(&self, provider: &Provider, name: &str) -> Option<Candidate> {
        let own = self.catalogue.image_models().iter().find(|m| m.provider == provider.id && m.is_named(name));
        let upstream = match own {
            Some(m) => (provider.takes_any || provider.names_image(&m.id) || provider.names_image(&m.upstream))
                .then_some(m.upstream.as_str())?,
            None => (provider.names_image(name) && !self.is_no_image_model(name)).then_some(name)?,
        };
        Some(self.image_candidate(provider, upstream, own, NamedBy::Settings))
    }

    /// The name unchanged, at a provider that accepts any. The catalogue's models are at the providers that it names.
    fn image_by_wildcard(&self, provider: &Provider, name: &str) -> Option<Candidate> {
        let tried = provider.takes_any && !self.is_no_image_model(name) && self.catalogue.image_model(name).is_none();
        tried.then(|| self.image_candidate(provider, name, None, NamedBy::Client))
    }

    /// Whether the catalogue has a chat model, a family or an embedding model of this name.
    fn is_no_image_model(&self, name: &str) -> bool {
        let known = |m: &crate::ModelEntry| m.id == name || m.upstream.as_deref() == Some(name);
        self.catalogue.models().iter().any(known)
            || self.catalogue.family(name).is_some()
            || self.catalogue.embeddings().iter().any(|m| m.id == name || m.upstream == name)
    }

    fn image_candidate(
        &self,
        provider: &Provider,
        upstream: &str,
        own: Option<&ImageEntry>,
        named_by: NamedBy,
    ) -> Candidate {
        // A model outside this provider's catalogue has the properties of the one of the same name elsewhere.
        let known = own.or_else(|| self.catalogue.image_model(upstream));
        let configured = || {
            let max_image_tokens = known.map_or(0, |entry| entry.max_image_tokens);
            provider.price.map(|tokens| ImagePrice { tokens, per_image: 0.0, max_image_tokens })
        };
        let properties = ImageProperties {
            price: own.map(ImageEntry::price).or_else(configured),
            shapes: known.map_or(ImageShapes::Free, ImageEntry::shapes),
            qualities: known.map(|entry| entry.qualities.clone()),
            per_call: known.map_or(u32::MAX, |entry| entry.n),
            requests_base64: known.is_some_and(|entry| entry.response_format),
        };
        Candidate {
            provider_id: provider.id.clone(),
            upstream_model: upstream.to_owned(),
            model_id: own.map_or(upstream, |entry| &entry.id).to_owned(),
            entry: None,
            takes_sampling: false,
            reasons: false,
            max_output: None,
            price: None,
            named_by,
            stands_in: false,
            image: Some(Box::new(properties)),
        }
    }

    /// Explains why no usable provider has this model.
    fn explain_image(&self, name: &str) -> ResolveError {
        let models = self.catalogue.image_models().iter();
        let known = models.map(|m| (m.provider.as_str(), [Some(m.id.as_str()), Some(m.upstream.as_str())]));
        let names = |provider: &Provider, model: &str| self.image_at(provider, model).is_some();
        self.explain_among(name, known, names, self.is_no_image_model(name))
    }
}

impl Provider {
    /// Moves the catalogue's image models out of the provider's chat models.
    pub(super) fn separate_images(&mut self, catalogue: &Catalogue) {
        let is_image = |name: &mut String| catalogue.image_models().iter().any(|m| m.is_named(name));
        self.images = self.models.extract_if(.., is_image).collect();
    }

    fn names_image(&self, name: &str) -> bool {
        self.models.iter().chain(&self.images).any(|m| m == name)
    }
}
