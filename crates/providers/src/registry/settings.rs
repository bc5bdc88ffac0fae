//! Provider settings and their validation.

use std::fmt;

use super::{Provider, WILDCARD};
use crate::{Catalogue, Price};

/// One `[[provider]]` section of the configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProviderSettings {
    /// Provider id.
    pub id: String,
    /// `openai`, `anthropic`, `gemini` or `embedded`.
    pub kind: String,
    /// Base URL of the API.
    pub base_url: Option<String>,
    /// Environment variable that holds the key; `None` or empty if no key is needed.
    pub api_key_env: Option<String>,
    /// Whether that variable is set.
    pub has_key: bool,
    /// Model names; `*` accepts any name.
    pub models: Vec<String>,
    /// Price of each of its models, instead of the catalogue's.
    pub price: Option<Price>,
}

impl ProviderSettings {
    /// Fills in missing values from the catalogue's entry of this id. Call it before looking up `api_key_env`.
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

/// Wire protocol of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    /// OpenAI-compatible API.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's Gemini API.
    Gemini,
    /// The in-process models.
    Embedded,
}

impl ProviderKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Embedded];

    /// Returns the name used in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Embedded => "embedded",
        }
    }

    /// Parses the name used in settings.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why the provider settings are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// A provider has no id.
    #[error("a [[provider]] has no id; give it one, such as id = \"openai\"")]
    NoId,
    /// Two providers have the same id.
    #[error("[[provider]] id = {id:?} occurs twice; give each provider its own id")]
    DuplicateProvider {
        /// The id.
        id: String,
    },
    /// The kind is unknown.
    #[error(
        "[[provider]] id = {id:?}: kind {kind:?} is unknown; accepted: openai (any server that speaks its API), \
         anthropic, gemini, embedded"
    )]
    UnknownKind {
        /// Provider id.
        id: String,
        /// The configured kind.
        kind: String,
    },
    /// The provider names no models.
    #[error("[[provider]] id = {id:?} names no models; set models = [\"name\"], or [\"*\"] for any name")]
    NoModels {
        /// Provider id.
        id: String,
    },
    /// The provider has no base URL.
    #[error("[[provider]] id = {id:?} has no base_url; set it, such as \"https://host/v1\"")]
    NoBaseUrl {
        /// Provider id.
        id: String,
    },
    /// A second provider of kind `embedded`.
    #[error(
        "[[provider]] id = {id:?}: only one provider may be of kind embedded, and [[provider]] id = {first:?} already is"
    )]
    SecondEmbedded {
        /// Id of the second one.
        id: String,
        /// Id of the first one.
        first: String,
    },
    /// The id `embedded` is used for another kind.
    #[error(
        "[[provider]] id = \"embedded\" has kind {kind}; that id is reserved for the embedded model: choose another"
    )]
    ReservedId {
        /// The configured kind.
        kind: ProviderKind,
    },
    /// The chain order names an unknown provider.
    #[error("[chain] order names {id:?}, which is not a configured [[provider]]; accepted: {}", known.join(", "))]
    UnknownInOrder {
        /// The unknown id.
        id: String,
        /// Accepted ids.
        known: Vec<String>,
    },
    /// The chain order names a provider twice.
    #[error("[chain] order names {id:?} twice; name each provider once")]
    DuplicateInOrder {
        /// The id.
        id: String,
    },
    /// The chain order is empty.
    #[error("[chain] order is empty; name at least \"embedded\", or leave the setting out")]
    EmptyOrder,
    /// An alias, a fallback or a group of equivalent models cannot be used.
    #[error("{place}: {why}")]
    Routing {
        /// The setting.
        place: String,
        /// What is wrong, and how to correct it.
        why: String,
    },
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
        images: Vec::new(),
        price: settings.price,
        missing: key.filter(|_| !settings.has_key).cloned(),
    })
}

/// Configuration order, with the embedded model last.
pub(super) fn default_order(providers: &[Provider]) -> Vec<String> {
    let ids =
        |embedded: fn(&ProviderKind) -> bool| providers.iter().filter(move |p| embedded(&p.kind)).map(|p| p.id.clone());
    ids(|kind| *kind != ProviderKind::Embedded).chain(ids(|kind| *kind == ProviderKind::Embedded)).collect()
}

/// Explains why an id in the order does not name a remaining provider.
pub(super) fn not_in_reserve(id: &str, taken: &[Provider], left: &[Provider]) -> RegistryError {
    let id = id.to_owned();
    if taken.iter().any(|p| p.id == id) {
        return RegistryError::DuplicateInOrder { id };
    }
    let known = taken.iter().chain(left).map(|p| p.id.clone()).collect();
    RegistryError::UnknownInOrder { id, known }
}
