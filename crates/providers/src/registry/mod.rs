//! Which providers serve which model, in which order. Pure: settings in, candidates out.
//!
//! Rules, from the most to the least binding:
//! 1. A provider without its key serves nothing.
//! 2. A provider serves what its `models` name, by our id or by the provider's own name; `*` takes any other name as it
//!    is. The providers that name a model go before those that would only try it.
//! 3. After the providers of the asked model comes the rest of the chain, each with the first model that it names; a
//!    provider that only has `*` gets the asked name.
//! 4. The embedded model asked for by name goes nowhere else: who asks for it wants nothing paid and nothing sent out.
//! 5. A family is its own chain: its order, as far as configured, then the embedded model.

mod embedding;
mod list;
mod resolve;
mod settings;

use std::sync::Arc;

use crate::catalogue::{EMBEDDED_MODEL, EMBEDDED_PROVIDER};
use crate::{Catalogue, ModelEntry, Price};

pub use embedding::ListedEmbedding;
pub use list::ListedModel;
pub use resolve::{Candidate, NamedBy, ResolveError};
pub use settings::{ProviderKind, ProviderSettings, RegistryError};

/// Any name.
const WILDCARD: &str = "*";

/// The configured providers over the catalogue.
#[derive(Debug, Clone)]
pub struct Registry {
    catalogue: Arc<Catalogue>,
    /// The chain in its order, then the providers outside of it in file order.
    providers: Vec<Provider>,
    chain_len: usize,
}

/// A provider with its settings checked.
#[derive(Debug, Clone)]
struct Provider {
    id: String,
    kind: ProviderKind,
    /// Without `*`.
    models: Vec<String>,
    takes_any: bool,
    /// Those of its names that the catalogue has as embedding models; not among `models`.
    embeddings: Vec<String>,
    /// In place of the catalogue's.
    price: Option<Price>,
    /// The setting without which it serves nothing.
    missing: Option<String>,
}

impl Registry {
    /// Checks the settings. `chain_order`: ids of providers; by default all of them in file order, then the embedded
    /// model. The embedded provider need not be configured.
    pub fn new(
        catalogue: Arc<Catalogue>,
        settings: &[ProviderSettings],
        chain_order: Option<Vec<String>>,
    ) -> Result<Self, RegistryError> {
        let mut providers = settings::check(settings)?;
        providers.iter_mut().for_each(|provider| provider.set_embeddings_apart(&catalogue));
        if !providers.iter().any(|p| p.kind == ProviderKind::Embedded) {
            providers.push(Provider::embedded(EMBEDDED_PROVIDER));
        }
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
        Ok(Self { catalogue, providers: sorted, chain_len })
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The ids of the chain's providers in their order, whether they have their key or not.
    pub fn chain(&self) -> impl Iterator<Item = &str> {
        self.providers.iter().take(self.chain_len).map(|p| p.id.as_str())
    }

    fn usable_chain(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().take(self.chain_len).filter(|p| p.missing.is_none())
    }

    fn usable(&self) -> impl Iterator<Item = &Provider> {
        self.providers.iter().filter(|p| p.missing.is_none())
    }

    /// What the provider calls the model of this name, if it names it at all.
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
            // The operator's choice stands under its id for the first name that is not the id itself.
            Some(ModelEntry { id, .. }) => {
                provider.models.iter().map(String::as_str).find(|model| *model != id.as_str())
            }
            None => provider.names(name).then_some(name),
        }
    }

    /// The catalogue's entry of what this provider calls `upstream`.
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
        let takes_sampling = entry.as_ref().map_or_else(|| self.takes_sampling(upstream), |e| e.takes_sampling);
        Candidate {
            provider_id: provider.id.clone(),
            upstream_model: upstream.to_owned(),
            model_id,
            takes_sampling,
            price: provider.price.or_else(|| entry.as_ref().map(Price::of)),
            entry,
            named_by,
        }
    }

    /// For a model that is not this provider's in the catalogue: what the catalogue says of the same name elsewhere,
    /// else no for OpenAI's reasoning models (they refuse any temperature but their own) and yes for all others.
    fn takes_sampling(&self, name: &str) -> bool {
        self.catalogue
            .models()
            .iter()
            .find(|m| m.id == name || m.upstream.as_deref() == Some(name))
            .map_or_else(|| !crate::openai::is_openai_reasoning(name), |m| m.takes_sampling)
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
            price: None,
            missing: None,
        }
    }

    fn names(&self, model: &str) -> bool {
        self.models.iter().any(|m| m == model)
    }
}
