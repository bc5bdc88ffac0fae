//! Resolves a model's name to the providers to call, in order.

use super::{ImageProperties, Provider, ProviderKind, Registry};
use crate::{CallPrice, EMBEDDED_MODEL, Fault, ModelEntry, Price};

/// Origin of a candidate's upstream name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// The configuration or the catalogue.
    Settings,
    /// The client, through `*`: it is unknown whether the provider has it.
    Client,
}

/// A provider to call, with the model to request.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Provider id.
    pub provider_id: String,
    /// Name of the model at the provider.
    pub upstream_model: String,
    /// Model id shown to clients.
    pub model_id: String,
    /// Catalogue entry, if there is one.
    pub entry: Option<ModelEntry>,
    /// Whether the model accepts sampling parameters.
    pub takes_sampling: bool,
    /// Whether the model thinks in tokens before it answers: neither a default temperature nor a default length suits it.
    pub reasons: bool,
    /// Largest number of answer tokens of the model; `None` if it is unknown.
    pub max_output: Option<u32>,
    /// Price; `None` if it is unknown, which does not mean free.
    pub price: Option<Price>,
    /// Origin of the upstream name.
    pub named_by: NamedBy,
    /// Whether it is in the place of the requested model, as the settings allow.
    pub stands_in: bool,
    /// What is known of it as an image model; `None` for others.
    pub image: Option<Box<ImageProperties>>,
}

impl Candidate {
    /// Returns the price of a call; `None` if it is unknown.
    pub fn call_price(&self) -> Option<CallPrice> {
        match &self.image {
            Some(image) => image.price.map(CallPrice::Images),
            None => self.price.map(CallPrice::Tokens),
        }
    }

    fn standing_in(self) -> Self {
        Self { stands_in: true, ..self }
    }

    /// Returns whether both are the same model: by its id, or by its name at the providers.
    pub fn is_same_model(&self, other: &Self) -> bool {
        self.model_id == other.model_id || self.upstream_model == other.upstream_model
    }

    /// Returns whether the fault is not the provider's: a client invented a name that `*` accepted, and the provider
    /// does not know it. Failover continues without a penalty (otherwise one client could open a provider's breaker for
    /// everyone), and `model_not_found` is returned if no other provider knows it.
    pub fn is_unknown_client_model(&self, fault: &Fault) -> bool {
        self.named_by == NamedBy::Client && matches!(fault.status, Some(404))
    }
}

/// Why a name cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// The model is unknown.
    #[error("the model {model:?} does not exist; GET /v1/models lists those that do")]
    NotFound {
        /// Requested name.
        model: String,
    },
    /// The model is known, but its provider is not configured.
    #[error("the model {model:?} needs its provider {provider:?}, which is not configured: set {setting}")]
    Unconfigured {
        /// Requested name.
        model: String,
        /// Provider that has the model.
        provider: String,
        /// Setting that is missing.
        setting: String,
    },
}

impl Registry {
    /// Returns the candidates for a requested model, best first, never empty. `None` and `default` select the chain
    /// itself.
    ///
    /// # Errors
    /// [`ResolveError`] when no usable provider serves the name.
    pub fn resolve(&self, requested: Option<&str>) -> Result<Vec<Candidate>, ResolveError> {
        let name = requested.map(str::trim).filter(|name| !name.is_empty()).unwrap_or("default");
        let mut candidates = match self.routing.aliases.get(name).map(Vec::as_slice) {
            Some([model]) => self.of_name(model),
            Some(models) => self.of_list(models),
            None => self.of_name(name),
        };
        // Those of an alias; those of a model are among its own candidates already.
        if self.routing.aliases.contains_key(name) {
            candidates = self.with_stand_ins(candidates, self.fallbacks(&[name]));
        }
        let mut candidates = candidates?;
        keep_first(&mut candidates);
        if candidates.is_empty() { Err(self.nothing_configured(name)) } else { Ok(candidates) }
    }

    /// Returns the candidates for models in order of preference, best first, each once, never empty. None or one name
    /// is [`Self::resolve`]. Two or more are exclusive: nothing stands behind them but the embedded model, which comes
    /// last where a family is among them. An unknown name rejects the whole list; an unconfigured one is skipped,
    /// unless all are: then the error of the first one is returned.
    pub fn resolve_list(&self, requested: &[String]) -> Result<Vec<Candidate>, ResolveError> {
        let [_, _, ..] = requested else { return self.resolve(requested.first().map(String::as_str)) };
        let models = requested.iter().flat_map(|name| match self.routing.aliases.get(name.trim()) {
            Some(models) => models.as_slice(),
            None => std::slice::from_ref(name),
        });
        let mut candidates = self.of_list(models)?;
        keep_first(&mut candidates);
        let first = requested.first().map_or("default", |name| name.trim());
        if candidates.is_empty() { Err(self.nothing_configured(first)) } else { Ok(candidates) }
    }

    /// Returns the candidates of a name that is no alias.
    fn of_name(&self, name: &str) -> Result<Vec<Candidate>, ResolveError> {
        match self.catalogue.family(name) {
            _ if name == "default" => Ok(self.rest_of_chain(None)),
            Some(family) => Ok(self.family_chain(&family.order)),
            None => self.model_chain(name),
        }
    }

    /// Returns the candidates of these models and no others, each name as if it was alone, without what stands behind it.
    pub(super) fn of_list<'a>(
        &self,
        models: impl IntoIterator<Item = &'a String>,
    ) -> Result<Vec<Candidate>, ResolveError> {
        let (mut candidates, mut stand_ins, mut lacking) = (Vec::new(), Vec::new(), None);
        for name in models {
            let found = match name.trim() {
                "" | "default" => Ok(self.rest_of_chain(None)),
                name => match self.catalogue.family(name) {
                    Some(family) => {
                        stand_ins.extend(self.family_fallback());
                        Ok(self.family(&family.order))
                    }
                    None => self.own(name).map(|own| own.candidates),
                },
            };
            match found {
                Ok(found) => candidates.extend(found),
                Err(unknown @ ResolveError::NotFound { .. }) => return Err(unknown),
                Err(unconfigured) => {
                    lacking.get_or_insert(unconfigured);
                }
            }
        }
        candidates.append(&mut stand_ins);
        match lacking {
            Some(unconfigured) if candidates.is_empty() => Err(unconfigured),
            _ => Ok(candidates),
        }
    }

    /// The first usable candidate that the settings name for this model.
    pub(super) fn named(&self, name: &str) -> Option<Candidate> {
        self.naming(name).next()
    }

    fn naming<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Candidate> + 'a {
        self.usable().filter_map(move |provider| {
            let upstream = self.upstream_of(provider, name)?;
            Some(self.candidate(provider, upstream, NamedBy::Settings))
        })
    }

    fn family_chain(&self, order: &[String]) -> Vec<Candidate> {
        self.family(order).into_iter().chain(self.family_fallback()).collect()
    }

    fn family(&self, order: &[String]) -> Vec<Candidate> {
        order.iter().filter(|id| *id != EMBEDDED_MODEL).flat_map(|id| self.naming(id)).collect()
    }

    /// Fallback of a family without a usable model.
    fn family_fallback(&self) -> Option<Candidate> {
        let embedded = self.usable_chain().find(|p| p.kind == ProviderKind::Embedded)?;
        Some(self.candidate(embedded, EMBEDDED_MODEL, NamedBy::Settings))
    }

    /// Returns the model's own providers, then those of the models that the settings allow in its place.
    fn model_chain(&self, name: &str) -> Result<Vec<Candidate>, ResolveError> {
        let own = self.own(name);
        if own.as_ref().is_ok_and(|own| own.pinned) {
            return own.map(|own| own.candidates);
        }
        let candidates = own.map(|own| own.candidates);
        let names = self.names_of(name, candidates.as_deref().unwrap_or_default());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let stand_ins = [self.equivalents(&names), self.fallbacks(&names)].concat();
        let mut candidates = self.with_stand_ins(candidates, stand_ins)?;
        let only_embedded = candidates.iter().all(|c| self.is_embedded(&c.provider_id));
        if self.chain_is_configured && !only_embedded {
            // A provider that accepts any name is requested the same model.
            let stands_in = |c: Candidate| Candidate { stands_in: c.named_by == NamedBy::Settings, ..c };
            candidates.extend(self.rest_of_chain(Some(name)).into_iter().map(stands_in));
        }
        Ok(candidates)
    }

    /// Appends the candidates that may stand in. A model that is known and not configured is served by them alone.
    fn with_stand_ins(
        &self,
        own: Result<Vec<Candidate>, ResolveError>,
        stand_ins: Vec<Candidate>,
    ) -> Result<Vec<Candidate>, ResolveError> {
        let stand_ins: Vec<Candidate> = stand_ins.into_iter().map(Candidate::standing_in).collect();
        match own {
            Err(ResolveError::Unconfigured { .. }) if !stand_ins.is_empty() => Ok(stand_ins),
            own => own.map(|own| own.into_iter().chain(stand_ins).collect()),
        }
    }

    /// Returns the model's own providers, at least one.
    fn own(&self, name: &str) -> Result<Own, ResolveError> {
        let mut candidates: Vec<Candidate> = self.naming(name).collect();
        if name == EMBEDDED_MODEL {
            // Another server of this kind may name it too; it is addressed as `provider/muster-core`.
            candidates.retain(|c| self.is_embedded(&c.provider_id));
        }
        if candidates.is_empty()
            && let Some((provider, rest)) = self.split(name)
            && let Some(candidate) = self.at(provider, rest)
        {
            return Ok(Own { candidates: vec![candidate], pinned: true });
        }
        if candidates.is_empty() && !self.is_pinned_to_keyless(name) {
            candidates.extend(self.usable().filter(|p| p.takes_any).map(|p| self.candidate(p, name, NamedBy::Client)));
        }
        if candidates.is_empty() { Err(self.explain(name)) } else { Ok(Own { candidates, pinned: false }) }
    }

    /// Whether the name pins a provider that has no key, so that no other provider may serve it.
    fn is_pinned_to_keyless(&self, name: &str) -> bool {
        self.split(name).is_some_and(|(provider, model)| provider.missing.is_some() && self.offers(provider, model))
    }

    /// Whether the provider would serve the model if it had its key.
    pub(super) fn offers(&self, provider: &Provider, model: &str) -> bool {
        provider.takes_any || self.upstream_of(provider, model).is_some()
    }

    /// Splits `provider/model` of a configured provider.
    pub(super) fn split<'a>(&self, name: &'a str) -> Option<(&Provider, &'a str)> {
        let (id, model) = name.split_once('/')?;
        let provider = self.providers.iter().find(|p| p.id == id)?;
        Some((provider, model)).filter(|(_, model)| !model.is_empty())
    }

    /// The model at this provider only.
    fn at(&self, provider: &Provider, model: &str) -> Option<Candidate> {
        if provider.missing.is_some() {
            return None;
        }
        match self.upstream_of(provider, model) {
            Some(upstream) => Some(self.candidate(provider, upstream, NamedBy::Settings)),
            None if provider.takes_any => Some(self.candidate(provider, model, NamedBy::Client)),
            None => None,
        }
    }

    /// Every provider of the chain with the first model that it names, or with the requested name if it accepts any.
    fn rest_of_chain(&self, model: Option<&str>) -> Vec<Candidate> {
        self.usable_chain()
            .filter_map(|provider| match (provider.models.first(), model) {
                (Some(first), _) => {
                    let upstream = self.upstream_of(provider, first).unwrap_or(first);
                    Some(self.candidate(provider, upstream, NamedBy::Settings))
                }
                (None, Some(model)) => self.at(provider, model),
                (None, None) => None,
            })
            .collect()
    }

    fn is_embedded(&self, provider_id: &str) -> bool {
        self.providers.iter().any(|p| p.id == provider_id && p.kind == ProviderKind::Embedded)
    }

    /// Explains why no usable provider serves this name.
    pub(super) fn explain(&self, name: &str) -> ResolveError {
        let models = self.catalogue.models().iter();
        let known = models.map(|m| (m.provider.as_str(), [Some(m.id.as_str()), m.upstream.as_deref()]));
        self.explain_among(name, known, |provider, model| self.upstream_of(provider, model).is_some(), false)
    }

    /// Explains why no usable provider serves a name, among models of one kind: `known` are the provider and the names of
    /// each in the catalogue, `names` says whether the settings of a provider name one, `is_other` whether the name is that
    /// of a model of another kind.
    pub(super) fn explain_among<'a>(
        &self,
        name: &str,
        mut known: impl Iterator<Item = (&'a str, [Option<&'a str>; 2])>,
        names: impl Fn(&Provider, &str) -> bool,
        is_other: bool,
    ) -> ResolveError {
        let unconfigured = |provider: &str, setting: String| ResolveError::Unconfigured {
            model: name.to_owned(),
            provider: provider.to_owned(),
            setting,
        };
        // Named in the settings, but without its key.
        let keyless = self.providers.iter().find_map(|p| {
            let model = match self.split(name) {
                Some((provider, model)) if provider.id == p.id => model,
                _ => name,
            };
            let setting = p.missing.clone()?;
            (names(p, model) || (p.takes_any && model != name)).then_some((p, setting))
        });
        if let Some((provider, setting)) = keyless {
            return unconfigured(&provider.id, setting);
        }
        let known = known.find(|(provider, of_model)| {
            let of_provider = name.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
            of_model.iter().flatten().any(|known| *known == name || Some(*known) == of_provider)
        });
        if let Some((provider, _)) = known {
            return unconfigured(provider, self.setting_of(provider));
        }
        match self.keyless_for_any(name) {
            Some((provider, setting)) if !is_other => unconfigured(provider, setting),
            _ => ResolveError::NotFound { model: name.to_owned() },
        }
    }

    /// Returns a provider that accepts any name and may have this one, and the key that it lacks.
    pub(super) fn keyless_for_any(&self, name: &str) -> Option<(&str, String)> {
        // A name of a provider that is configured is no model of another one.
        let of_other = name.split_once('/').is_some_and(|(id, _)| self.providers.iter().any(|p| p.id == id));
        let keyless = self.providers.iter().filter(|p| p.takes_any && !of_other && !name.is_empty());
        keyless.filter_map(|p| Some((p.id.as_str(), p.missing.clone()?))).next()
    }

    /// The setting needed for this provider to serve one more of its models.
    pub(super) fn setting_of(&self, provider: &str) -> String {
        let block = format!("[[provider]] id = {provider:?}");
        match self.providers.iter().find(|p| p.id == provider) {
            None => block,
            Some(provider) => match &provider.missing {
                Some(env) => env.clone(),
                None => format!("models of {block}"),
            },
        }
    }

    /// No provider of the chain is usable: names the first missing setting.
    fn nothing_configured(&self, name: &str) -> ResolveError {
        let chain = || self.providers.iter().take(self.chain_len);
        let keyless = chain().find(|p| p.missing.is_some());
        let (provider, setting) = match keyless.or_else(|| chain().next()) {
            Some(p) => {
                (p.id.clone(), p.missing.clone().unwrap_or_else(|| format!("models of [[provider]] id = {:?}", p.id)))
            }
            None => (crate::EMBEDDED_PROVIDER.to_owned(), "[chain] order".to_owned()),
        };
        ResolveError::Unconfigured { model: name.to_owned(), provider, setting }
    }
}

/// The providers of one model.
struct Own {
    candidates: Vec<Candidate>,
    /// Requested as `provider/model`.
    pinned: bool,
}

/// Removes duplicate candidates.
fn keep_first(candidates: &mut Vec<Candidate>) {
    let mut seen = std::collections::HashSet::new();
    candidates.retain(|c| seen.insert((c.provider_id.clone(), c.upstream_model.clone())));
}
