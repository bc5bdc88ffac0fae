//! The settings of providers, and what is wrong with them.

use std::fmt;

use super::{Provider, WILDCARD};
use crate::{Catalogue, Price};

/// One `[[provider]]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSettings {
    pub id: String,
    /// `openai`, `anthropic`, `gemini` or `embedded`.
    pub kind: String,
    pub base_url: Option<String>,
    /// The environment variable that holds the key; `None` or empty: no key is needed.
    pub api_key_env: Option<String>,
    /// That variable is set.
    pub has_key: bool,
    /// Names of models; `*` takes any name.
    pub models: Vec<String>,
    /// What this provider asks for each of its models, in place of what the catalogue knows.
    pub price: Option<Price>,
}

impl ProviderSettings {
    /// What is left out, as the catalogue has it for this id. To be called before `api_key_env` is looked up.
    #[must_use]
    pub fn with_defaults(mut self, catalogue: &Catalogue) -> Self {
        if let Some(known) = catalogue.provider(&self.id) {
            if self.kind.is_empty() {
                self.kind.clone_from(&known.wire);
            }
            self.base_url = self.base_url.or_else(|| known.base_url.clone());
            self.api_key_env = self.api_key_env.or_else(|| known.key_env.clone());
        }
        self
    }
}

/// The API that a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    OpenAi,
    Anthropic,
    Gemini,
    Embedded,
}

impl ProviderKind {
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Embedded];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Embedded => "embedded",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A setting that no registry can be made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    #[error("a [[provider]] has no id; give it one, such as id = \"openai\"")]
    NoId,
    #[error("[[provider]] id = {id:?} is there twice; give each its own id")]
    DuplicateProvider { id: String },
    #[error(
        "[[provider]] id = {id:?}: kind {kind:?} is unknown; accepted: openai (any server that speaks its API), \
         anthropic, gemini, embedded"
    )]
    UnknownKind { id: String, kind: String },
    #[error("[[provider]] id = {id:?} names no models; set models = [\"name\"], or [\"*\"] for any name")]
    NoModels { id: String },
    #[error("[[provider]] id = {id:?} has no base_url; set it, such as \"https://host/v1\"")]
    NoBaseUrl { id: String },
    #[error(
        "[[provider]] id = {id:?}: the embedded model is there once, and [[provider]] id = {first:?} is it already"
    )]
    SecondEmbedded { id: String, first: String },
    #[error("[[provider]] id = \"embedded\" has kind {kind}; that id is the embedded model's: choose another")]
    ReservedId { kind: ProviderKind },
    #[error("[chain] order names {id:?}, which is no [[provider]]; accepted: {}", known.join(", "))]
    UnknownInOrder { id: String, known: Vec<String> },
    #[error("[chain] order names {id:?} twice; name each provider once")]
    DuplicateInOrder { id: String },
    #[error("[chain] order is empty; name at least \"embedded\", or leave the setting out")]
    EmptyOrder,
}

pub(super) fn check(settings: &[ProviderSettings]) -> Result<Vec<Provider>, RegistryError> {
    let mut providers: Vec<Provider> = Vec::with_capacity(settings.len() + 1);
    for one in settings {
        let provider = provider(one)?;
        if providers.iter().any(|p| p.id == provider.id) {
            return Err(RegistryError::DuplicateProvider { id: provider.id });
        }
        let embedded = |p: &&Provider| p.kind == ProviderKind::Embedded;
        if let (ProviderKind::Embedded, Some(first)) = (provider.kind, providers.iter().find(embedded)) {
            return Err(RegistryError::SecondEmbedded { id: provider.id, first: first.id.clone() });
        }
        providers.push(provider);
    }
    Ok(providers)
}

fn provider(settings: &ProviderSettings) -> Result<Provider, RegistryError> {
    let id = settings.id.clone();
    if id.trim().is_empty() {
        return Err(RegistryError::NoId);
    }
    let Some(kind) = ProviderKind::parse(&settings.kind) else {
        let kind = settings.kind.clone();
        return Err(RegistryError::UnknownKind { id, kind });
    };
    if kind == ProviderKind::Embedded {
        return Ok(Provider::embedded(&id));
    }
    if id == crate::EMBEDDED_PROVIDER {
        return Err(RegistryError::ReservedId { kind });
    }
    if settings.base_url.as_deref().is_none_or(str::is_empty) {
        return Err(RegistryError::NoBaseUrl { id });
    }
    let mut models = settings.models.clone();
    models.retain(|m| !m.trim().is_empty());
    if models.is_empty() {
        return Err(RegistryError::NoModels { id });
    }
    let takes_any = models.iter().any(|m| m == WILDCARD);
    models.retain(|m| m != WILDCARD);
    let key = settings.api_key_env.as_ref().filter(|env| !env.is_empty());
    Ok(Provider {
        id,
        kind,
        models,
        takes_any,
        embeddings: Vec::new(),
        price: settings.price,
        missing: key.filter(|_| !settings.has_key).cloned(),
    })
}

/// File order, the embedded model last wherever it stands.
pub(super) fn default_order(providers: &[Provider]) -> Vec<String> {
    let ids =
        |embedded: fn(&ProviderKind) -> bool| providers.iter().filter(move |p| embedded(&p.kind)).map(|p| p.id.clone());
    ids(|kind| *kind != ProviderKind::Embedded).chain(ids(|kind| *kind == ProviderKind::Embedded)).collect()
}

/// Why a name of the order is not among the providers that are left.
pub(super) fn not_in_reserve(id: &str, taken: &[Provider], left: &[Provider]) -> RegistryError {
    let id = id.to_owned();
    if taken.iter().any(|p| p.id == id) {
        return RegistryError::DuplicateInOrder { id };
    }
    let known = taken.iter().chain(left).map(|p| p.id.clone()).collect();
    RegistryError::UnknownInOrder { id, known }
}
