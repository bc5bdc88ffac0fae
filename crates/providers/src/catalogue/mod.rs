//! Catalogue of the models known to the platform: data that is validated when it is read.

mod image;
mod price;

use std::collections::HashSet;

use muster_models::ModelInfo;
use serde::{Deserialize, Serialize};

pub use image::ImageEntry;
pub use price::{Price, cost_nanos, cost_usd};

/// Id and only name of the embedded model.
pub const EMBEDDED_MODEL: &str = "muster-core";
/// Id and only name of the embedded embedding model.
pub const EMBEDDED_EMBEDDING: &str = "muster-embed";
/// Id of the provider of the embedded models.
pub const EMBEDDED_PROVIDER: &str = "embedded";

/// A provider, as published: its address and its protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderEntry {
    /// Provider id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Default base URL; `None` if the operator must set it.
    pub base_url: Option<String>,
    /// Environment variable that holds the API key; `None` if none is needed.
    pub key_env: Option<String>,
    /// Wire protocol: a name of `ProviderKind`.
    pub wire: String,
    /// Remarks for operators.
    pub notes: Option<String>,
}

/// A chat model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// Model id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Id of its provider.
    pub provider: String,
    /// Name of the model at its provider; `None` if the operator chooses it: the first of the provider's `models`.
    pub upstream: Option<String>,
    /// Capabilities, from `chat`, `vision`, `code`, `analysis`, `tools`, `json`.
    pub capabilities: Vec<String>,
    /// Families it belongs to, from `fast`, `reasoning`, `vision`, `code`.
    pub families: Vec<String>,
    /// Maximum number of prompt and answer tokens; `None` until the embedded model's is known.
    #[serde(rename(deserialize = "context"))]
    pub context_window: Option<u32>,
    /// Maximum number of answer tokens; `None` until the embedded model's is known.
    pub max_tokens: Option<u32>,
    /// US dollars per million prompt tokens.
    pub price_in: f64,
    /// US dollars per million answer tokens.
    pub price_out: f64,
    /// Source of the prices.
    pub price_source: String,
    /// Whether the model supports tools.
    pub tools: bool,
    /// Whether the model accepts temperature, top_p, penalties and seed.
    #[serde(rename(deserialize = "sampling_params"))]
    pub takes_sampling: bool,
    /// Whether the model thinks in tokens before it answers; these count as answer tokens.
    #[serde(default, rename(deserialize = "reasoning"))]
    pub reasons: bool,
    /// Remarks for operators.
    pub notes: Option<String>,
}

/// An embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingEntry {
    /// Model id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Id of its provider.
    pub provider: String,
    /// Name of the model at its provider.
    pub upstream: String,
    /// Default length of its vectors.
    pub dimensions: u32,
    /// Maximum number of tokens in a text.
    pub max_tokens: u32,
    /// US dollars per million tokens.
    pub price_in: f64,
    /// Source of the price.
    pub price_source: String,
}

/// A virtual model: the first available model of `order`, then the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Family {
    /// Family id, such as `fast`.
    pub id: String,
    /// Its name in a list of models, such as `muster-fast`.
    pub model_id: String,
    /// Display name.
    pub name: String,
    /// Model ids, best first, the embedded one last.
    pub order: Vec<String>,
}

/// All known providers, models and families.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalogue {
    providers: Vec<ProviderEntry>,
    models: Vec<ModelEntry>,
    families: Vec<Family>,
    embeddings: Vec<EmbeddingEntry>,
    image_models: Vec<ImageEntry>,
}

/// Why a catalogue is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// The text is not valid TOML of the expected form.
    #[error("the catalogue is not valid TOML: {0}")]
    Syntax(String),
    /// An id occurs twice.
    #[error("the catalogue lists {kind} {id:?} twice; remove one of the entries")]
    Duplicate {
        /// Kind of entry, such as `model`.
        kind: &'static str,
        /// The id.
        id: String,
    },
    /// An entry refers to an id that does not exist.
    #[error("{place} names {id:?}, which the catalogue does not have; add it or correct the name")]
    Dangling {
        /// Where the reference is.
        place: String,
        /// The missing id.
        id: String,
    },
    /// A price is negative or too precise.
    #[error("model {id:?}: a price is negative or finer than a millionth of a dollar per million tokens")]
    Price {
        /// Id of the model.
        id: String,
    },
    /// An image model cannot be used.
    #[error("image model {id:?} {why}")]
    ImageModel {
        /// Id of the model.
        id: String,
        /// What is wrong.
        why: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    provider: Vec<ProviderEntry>,
    model: Vec<ModelEntry>,
    family: Vec<Family>,
    #[serde(default)]
    embedding: Vec<EmbeddingEntry>,
    #[serde(default)]
    image_model: Vec<ImageEntry>,
}

impl Catalogue {
    /// Returns the built-in catalogue.
    ///
    /// # Errors
    /// [`CatalogueError`] if the embedded text is invalid.
    pub fn embedded() -> Result<Self, CatalogueError> {
        Self::parse(include_str!("../../catalogue.toml"))
    }

    /// Parses and validates a catalogue.
    ///
    /// # Errors
    /// [`CatalogueError`] with the reason.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let file: File = toml::from_str(text).map_err(|e| CatalogueError::Syntax(e.to_string()))?;
        let catalogue = Self {
            providers: file.provider,
            models: file.model,
            families: file.family,
            embeddings: file.embedding,
            image_models: file.image_model,
        };
        catalogue.check()?;
        Ok(catalogue)
    }

    /// Sets the limits of the embedded model, which depend on the installed model.
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

    /// Returns all providers.
    pub fn providers(&self) -> &[ProviderEntry] {
        &self.providers
    }

    /// Returns all chat models.
    pub fn models(&self) -> &[ModelEntry] {
        &self.models
    }

    /// Returns all families.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// Returns all embedding models.
    pub fn embeddings(&self) -> &[EmbeddingEntry] {
        &self.embeddings
    }

    /// Returns all image models, best first.
    pub fn image_models(&self) -> &[ImageEntry] {
        &self.image_models
    }

    /// Returns the image model with this id or name at its provider.
    pub fn image_model(&self, name: &str) -> Option<&ImageEntry> {
        self.image_models.iter().find(|m| m.id == name).or_else(|| self.image_models.iter().find(|m| m.is_named(name)))
    }

    /// Returns the provider with this id.
    pub fn provider(&self, id: &str) -> Option<&ProviderEntry> {
        self.providers.iter().find(|p| p.id == id)
    }

    /// Returns the chat model with this id.
    pub fn model(&self, id: &str) -> Option<&ModelEntry> {
        self.models.iter().find(|m| m.id == id)
    }

    /// Returns the embedding model with this id.
    pub fn embedding(&self, id: &str) -> Option<&EmbeddingEntry> {
        self.embeddings.iter().find(|m| m.id == id)
    }

    /// Returns the family with this id (`fast`) or virtual model name (`muster-fast`).
    pub fn family(&self, name: &str) -> Option<&Family> {
        self.families.iter().find(|f| f.id == name || f.model_id == name)
    }

    fn check(&self) -> Result<(), CatalogueError> {
        unique("provider", self.providers.iter().map(|p| &p.id))?;
        let virtual_models = self.families.iter().map(|f| &f.model_id);
        let embeddings = self.embeddings.iter().map(|m| &m.id);
        let images = self.image_models.iter().map(|m| &m.id);
        unique("model", self.models.iter().map(|m| &m.id).chain(virtual_models).chain(embeddings).chain(images))?;
        unique("family", self.families.iter().map(|f| &f.id))?;
        for model in &self.models {
            self.check_model(model)?;
        }
        for model in &self.embeddings {
            self.check_entry(&model.id, &model.provider, Price::of_embedding(model))?;
        }
        for model in &self.image_models {
            self.check_entry(&model.id, &model.provider, model.price().tokens)?;
            if let Some(why) = model.defect() {
                return Err(CatalogueError::ImageModel { id: model.id.clone(), why });
            }
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
