//! The models that the platform knows: data, checked once when it is read.

mod price;

use std::collections::HashSet;

use muster_models::ModelInfo;
use serde::{Deserialize, Serialize};

pub use price::{Price, cost_nanos, cost_usd};

/// The id of the embedded model, which is also its only name.
pub const EMBEDDED_MODEL: &str = "muster-core";
/// The id of the embedded embedding model, which is also its only name.
pub const EMBEDDED_EMBEDDING: &str = "muster-embed";
/// The id of the provider of the embedded model.
pub const EMBEDDED_PROVIDER: &str = "embedded";

/// A provider as published: where it is and how it is spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEntry {
    pub id: String,
    pub name: String,
    pub base_url: Option<String>,
    /// The environment variable that holds the key; `None` where none is needed.
    pub key_env: Option<String>,
    /// The API that it speaks: `openai`, `anthropic`, `gemini`, `cohere`, `embedded`.
    pub wire: String,
    pub notes: Option<String>,
}

/// A chat model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    pub id: String,
    pub name: String,
    /// The id of its provider.
    pub provider: String,
    /// The provider's own name of it; `None` where the operator chooses it: the first of the provider's `models`.
    pub upstream: Option<String>,
    /// Of `chat`, `vision`, `code`, `analysis`, `tools`, `json`.
    pub capabilities: Vec<String>,
    /// Of `fast`, `reasoning`, `vision`, `code`.
    pub families: Vec<String>,
    /// Tokens of prompt and answer together; `None` until the embedded model's are known.
    #[serde(rename(deserialize = "context"))]
    pub context_window: Option<u32>,
    /// Tokens of the longest answer; `None` until the embedded model's are known.
    pub max_tokens: Option<u32>,
    /// USD per million prompt tokens.
    pub price_in: f64,
    /// USD per million tokens of the answer.
    pub price_out: f64,
    /// Where the prices are from.
    pub price_source: String,
    pub tools: bool,
    /// Whether the model takes temperature, top_p, penalties and seed.
    #[serde(rename(deserialize = "sampling_params"))]
    pub takes_sampling: bool,
    pub notes: Option<String>,
}

/// An embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingEntry {
    pub id: String,
    pub name: String,
    /// The id of its provider.
    pub provider: String,
    /// The provider's own name of it.
    pub upstream: String,
    /// Length of its vectors where none is asked for.
    pub dimensions: u32,
    /// Tokens of the longest text.
    pub max_tokens: u32,
    /// USD per million tokens.
    pub price_in: f64,
    /// Where the price is from.
    pub price_source: String,
}

/// A virtual model: the first available of `order`, then the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    pub id: String,
    /// Its name in a list of models, such as `muster-fast`.
    pub model_id: String,
    pub name: String,
    /// Ids of models, best first, the embedded one last.
    pub order: Vec<String>,
}

/// All that is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    providers: Vec<ProviderEntry>,
    models: Vec<ModelEntry>,
    families: Vec<Family>,
    embeddings: Vec<EmbeddingEntry>,
}

/// Why a text is no catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    #[error("the catalogue is no valid TOML: {0}")]
    Syntax(String),
    #[error("the catalogue names {kind} {id:?} twice; each id may be there once")]
    Duplicate { kind: &'static str, id: String },
    #[error("{place} names {id:?}, which the catalogue does not have; add it or correct the name")]
    Dangling { place: String, id: String },
    #[error("model {id:?}: a price is negative or finer than a millionth of a dollar per million tokens")]
    Price { id: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    provider: Vec<ProviderEntry>,
    model: Vec<ModelEntry>,
    family: Vec<Family>,
    #[serde(default)]
    embedding: Vec<EmbeddingEntry>,
}

impl Catalogue {
    /// The catalogue that is built in.
    pub fn embedded() -> Result<Self, CatalogueError> {
        Self::parse(include_str!("../../catalogue.toml"))
    }

    /// Reads and checks a catalogue.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let file: File = toml::from_str(text).map_err(|e| CatalogueError::Syntax(e.to_string()))?;
        let catalogue =
            Self { providers: file.provider, models: file.model, families: file.family, embeddings: file.embedding };
        catalogue.check()?;
        Ok(catalogue)
    }

    /// With the embedded model's real bounds, which depend on the model that is installed.
    #[must_use]
    pub fn with_embedded_model(mut self, info: &ModelInfo) -> Self {
        for model in &mut self.models {
            if model.id == EMBEDDED_MODEL {
                model.context_window = Some(info.context);
                model.max_tokens = Some(info.max_tokens);
            }
        }
        self
    }

    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    pub fn families(&self) -> &[Family] {
        &self.families
    }

    pub fn embeddings(&self) -> &[EmbeddingEntry] {
        &self.embeddings
    }

    pub fn provider(&self, id: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|p| p.id == id)
    }

    pub fn model(&self, id: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|m| m.id == id)
    }

    pub fn embedding(&self, id: &str) -> Option<&EmbeddingEntry> {
        self.embeddings.iter().find(|m| m.id == id)
    }

    /// The family of this id (`fast`) or virtual model (`muster-fast`).
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|f| f.id == name || f.model_id == name)
    }

    fn check(&self) -> Result<(), CatalogueError> {
        unique("provider", self.providers.iter().map(|p| &p.id))?;
        let virtual_models = self.families.iter().map(|f| &f.model_id);
        let embeddings = self.embeddings.iter().map(|m| &m.id);
        unique("model", self.models.iter().map(|m| &m.id).chain(virtual_models).chain(embeddings))?;
        unique("family", self.families.iter().map(|f| &f.id))?;
        for model in &self.models {
            self.check_model(model)?;
        }
        for model in &self.embeddings {
            self.check_entry(&model.id, &model.provider, Price::of_embedding(model))?;
        }
        for family in &self.families {
            let unknown = family.order.iter().find(|id| self.model(id).is_none());
            if let Some(id) = unknown {
                return Err(dangling(format!("the order of family {:?}", family.id), id));
            }
        }
        Ok(())
    }

    fn check_model(&self, model: &ModelEntry) -> Result<(), CatalogueError> {
        self.check_entry(&model.id, &model.provider, Price::of(model))?;
        let unknown = model.families.iter().find(|id| !self.families.iter().any(|f| f.id == **id));
        if let Some(id) = unknown {
            return Err(dangling(format!("model {:?}", model.id), id));
        }
        Ok(())
    }

    fn check_entry(&self, id: &str, provider: &str, price: Price) -> Result<(), CatalogueError> {
        if self.provider(provider).is_none() {
            return Err(dangling(format!("model {id:?}"), provider));
        }
        if !price.is_exact() {
            return Err(CatalogueError::Price { id: id.to_owned() });
        }
        Ok(())
    }
}

fn dangling(place: String, id: &str) -> CatalogueError {
    CatalogueError::Dangling { place, id: id.to_owned() }
}

fn unique<'a>(kind: &'static str, ids: impl Iterator<Item = &'a String>) -> Result<(), CatalogueError> {
    let mut seen = HashSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(CatalogueError::Duplicate { kind, id: id.clone() });
        }
    }
    Ok(())
}
