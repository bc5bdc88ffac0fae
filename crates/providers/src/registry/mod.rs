//! Decides which providers serve which model, in which order. Pure: settings in, candidates out.
//!
//! Rules, from the most to the least binding:
//! 1. A provider without its key serves nothing.
//! 2. A provider serves the models in its `models`, by our id or by its own name; `*` accepts any other name unchanged.
//!    Providers that name a model precede those that accept it by `*`.
//! 3. A named model is answered by no other one, except by those that the operator allowed: the models equivalent to it,
//!    its fallbacks, and the rest of a chain whose order is configured, each provider with the first model that it names
//!    (one that only has `*` gets the requested name). Without a configured order a named model has its own providers only.
//! 4. `provider/model` is that model at that provider and nothing else.
//! 5. The embedded model requested by name has no chain behind it: such a caller wants no cost and no data leaving the
//!    server.
//! 6. A request without a model, or for `default`, has the whole chain. A family is its own chain: its order, as far as
//!    configured, then the embedded model.
//! 7. An alias stands for its models: for one as if that was requested, for several as a list of the request's own.

mod embedding;
mod image;
mod list;
mod resolve;
mod routing;
mod rules;
mod settings;

use std::sync::Arc;

use crate::catalogue::{EMBEDDED_MODEL, EMBEDDED_PROVIDER};
use crate::{Catalogue, ModelEntry, Price};

pub use embedding::ListedEmbedding;
pub use image::{ImageProperties, ListedImage};
pub use list::ListedModel;
pub use resolve::{Candidate, NamedBy, ResolveError};
pub use routing::RoutingSettings;
pub use rules::ModelRules;
pub use settings::{ProviderKind, ProviderSettings, RegistryError};

/// Accepts any name.
const WILDCARD: &str = "*";

/// The configured providers over the catalogue.
#[derive(Debug, Clone)]
pub struct Registry {
    catalogue: Arc<Catalogue>,
    /// The chain in order, then providers outside it in configuration order.
    providers: Vec<Provider>,
    chain_len: usize,
    /// Whether the order of the chain is configured: only then it also stands behind a named model.
    chain_is_configured: bool,
    routing: RoutingSettings,
}

/// A provider with validated settings.
#[derive(Debug, Clone)]
struct Provider {
    id: String,
    kind: ProviderKind,
    /// Without `*`.
    models: Vec<String>,
    takes_any: bool,
    /// Names that the catalogue has as embedding models; not in `models`.
    embeddings: Vec<String>,
    /// Names that the catalogue has as image models; not in `models`.
    images: Vec<String>,
    /// Overrides the catalogue's price.
    price: Option<Price>,
    /// The missing setting without which it serves nothing.
    missing: Option<String>,
}

impl Registry {
    /// Validates the settings. `chain_order` lists provider ids; by default all of them in configuration order, then
    /// the embedded model. The embedded provider need not be configured.
    ///
    /// # Errors
    /// [`RegistryError`] for the first invalid setting.
    pub fn new(
        catalogue: Arc<Catalogue>,
        settings: &[ProviderSettings],
        chain_order: Option<Vec<String>>,
    ) -> Result<Self, RegistryError> {
        let mut providers = settings::check(settings)?;
        providers.iter_mut().for_each(|provider| {
            provider.separate_embeddings(&catalogue);
            provider.separate_images(&catalogue);
        });
        if !providers.iter().any(|p| p.kind == ProviderKind::Embedded) {
            providers.push(Provider::embedded(EMBEDDED_PROVIDER));
        }
        let chain_is_configured = chain_order.is_some();
        let order = match chain_order {
            Some(order) => order,
            None => settings::default_order(&providers),
        };
        if order.is_empty() {
            return Err(RegistryError::EmptyOrder);
        }
        let mut sorted = Vec::with_capacity(providers.len());
        for id in &order {
            let Some(at) = providers.iter().position(|p| p.id == *id) else {
                return Err(settings::not_in_reserve(id, &sorted, &providers));
            };
            sorted.push(providers.remove(at));
        }
        let chain_len = sorted.len();
        sorted.append(&mut providers);
        Ok(Self { catalogue, providers: sorted, chain_len, chain_is_configured, routing: RoutingSettings::default() })
    }

    /// Returns the catalogue.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Returns whether the catalogue or the settings have a model, embedding model or family of this name, as opposed to a
    /// name that a client invented.
    pub fn names_model(&self, name: &str) -> bool {
        let catalogue = &self.catalogue;
        let upstream = |model: &ModelEntry| model.upstream.as_deref() == Some(name);
        let of_provider = |provider: &Provider| {
            provider.names(name) || provider.embeddings.iter().chain(&provider.images).any(|model| model == name)
        };
        matches!(name, "default" | image::ALIAS)
            || self.routing.aliases.contains_key(name)
            || catalogue.model(name).is_some()
            || catalogue.embedding(name).is_some()
            || catalogue.image_model(name).is_some()
            || catalogue.family(name).is_some()
            || catalogue.models().iter().any(upstream)
            || self.providers.iter().any(of_provider)
    }

    /// Returns the provider ids of the chain in order, including those without their key.
    pub fn chain(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().take(self.chain_len).map(|p| p.id.as_str())
    }

    /// Returns the environment variable of the key that this provider lacks, if it lacks one.
    pub fn missing_key(&self, provider: &str) -> Option<&str> {
        self.missing_keys().find(|(id, _)| *id == provider).map(|(_, variable)| variable)
    }

    /// Returns the providers that lack their key, each with the environment variable that should hold it.
    pub fn missing_keys(&self) -> impl Iterator<Item = (&str, &str)> {
        self.providers.iter().filter_map(|p| Some((p.id.as_str(), p.missing.as_deref()?)))
    }

    fn usable_chain(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().take(self.chain_len).filter(|p| p.missing.is_none())
    }

    fn usable(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().filter(|p| p.missing.is_none())
    }

    /// Returns the provider's name of this model, if the provider names it.
    fn upstream_of<'a>(&'a self, provider: &'a Provider, name: &'a str) -> Option<&'a str> {
        if provider.kind == ProviderKind::Embedded {
            return (name == EMBEDDED_MODEL).then_some(EMBEDDED_MODEL);
        }
        let own = self
            .catalogue
            .models()
            .iter()
            .find(|m| m.provider == provider.id && (m.id == name || m.upstream.as_deref() == Some(name)));
        match own {
            Some(ModelEntry { upstream: Some(upstream), id, .. }) => {
                (provider.takes_any || provider.names(id) || provider.names(upstream)).then_some(upstream)
            }
            // The operator's choice is listed under its id for the first name that is not the id itself.
            Some(ModelEntry { id, .. }) => {
                provider.models.iter().map(String::as_str).find(|model| *model != id.as_str())
            }
            None => provider.names(name).then_some(name),
        }
    }

    /// Returns the catalogue entry of the model that this provider calls `upstream`.
    fn entry_of(&self, provider: &Provider, upstream: &str) -> Option<&ModelEntry> {
        let own = || {
            self.catalogue.models().iter().filter(|m| match provider.kind {
                ProviderKind::Embedded => m.provider == EMBEDDED_PROVIDER,
                _ => m.provider == provider.id,
            })
        };
        own().find(|m| m.upstream.as_deref() == Some(upstream)).or_else(|| own().find(|m| m.upstream.is_none()))
    }

    fn candidate(&self, provider: &Provider, upstream: &str, named_by: NamedBy) -> Candidate {
        let entry = self.entry_of(provider, upstream).cloned();
        let model_id = match &entry {
            Some(entry) if entry.upstream.is_some() => entry.id.clone(),
            _ => upstream.to_owned(),
        };
        // A model outside this provider's catalogue has the properties of the one of the same name elsewhere.
        let known = entry.as_ref().or_else(|| self.model_named(upstream));
        let openai_reasoning = || crate::openai::is_openai_reasoning(upstream);
        // OpenAI's reasoning models reject any temperature but the default.
        let takes_sampling = known.map_or_else(|| !openai_reasoning(), |model| model.takes_sampling);
        let reasons = known.map_or_else(openai_reasoning, |model| model.reasons);
        let max_output = known.and_then(|model| model.max_tokens);
        Candidate {
            provider_id: provider.id.clone(),
            upstream_model: upstream.to_owned(),
            model_id,
            takes_sampling,
            reasons,
            max_output,
            price: provider.price.or_else(|| entry.as_ref().map(Price::of)),
            entry,
            named_by,
            stands_in: false,
            image: None,
        }
    }

    /// Returns the catalogue's model that has this name, whatever its provider.
    fn model_named(&self, name: &str) -> Option<&ModelEntry> {
        self.catalogue.models().iter().find(|m| m.id == name || m.upstream.as_deref() == Some(name))
    }
}

impl Provider {
    fn embedded(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            kind: ProviderKind::Embedded,
            models: vec![EMBEDDED_MODEL.to_owned()],
            takes_any: false,
            embeddings: Vec::new(),
            images: Vec::new(),
            price: None,
            missing: None,
        }
    }

    fn names(&self, model: &str) -> bool {
        self.models.iter().any(|m| m == model)
    }
}
