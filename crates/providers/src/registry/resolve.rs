//! From a model's name to the providers that are asked, in order.

use super::{Provider, ProviderKind, Registry};
use crate::{EMBEDDED_MODEL, Fault, ModelEntry, Price};

/// Where a candidate's upstream name is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// From the configuration or the catalogue.
    Settings,
    /// From the client, through `*`: nobody here knows whether the provider has it.
    Client,
}

/// One provider to ask, and for what.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub provider_id: String,
    /// The provider's own name of the model.
    pub upstream_model: String,
    /// The name under which we show it.
    pub model_id: String,
    /// `None` for a model that the catalogue does not have.
    pub entry: Option<ModelEntry>,
    pub takes_sampling: bool,
    /// `None` where it is not known, which is not the same as free.
    pub price: Option<Price>,
    pub named_by: NamedBy,
}

impl Candidate {
    /// The fault is no fault of the provider: a client made up a name that `*` let through, and the provider rightly
    /// does not know it. The chain goes on without a penalty (else one client could close a provider to all), and
    /// answers `model_not_found` where nobody else knows it either.
    pub fn excuses(&self, fault: &Fault) -> bool {
        self.named_by == NamedBy::Client && matches!(fault.status, Some(404))
    }
}

/// Why a name leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("the model {model:?} does not exist; GET /v1/models lists those that do")]
    NotFound { model: String },
    /// It is known, but its provider is not set up.
    #[error("the model {model:?} needs its provider {provider:?}, which is not configured: set {setting}")]
    Unconfigured { model: String, provider: String, setting: String },
}

impl Registry {
    /// The candidates for a requested model, best first, never empty. `None` and `default` mean the chain itself.
    pub fn resolve(&self, requested: Option<&str>) -> Result<Vec<Candidate>, ResolveError> {
        let name = requested.map(str::trim).filter(|name| !name.is_empty());
        let mut candidates = match name {
            None | Some("default") => self.rest_of_chain(None),
            Some(name) => match self.catalogue.family(name) {
                Some(family) => self.family_chain(&family.order),
                None => self.model_chain(name)?,
            },
        };
        keep_first(&mut candidates);
        if candidates.is_empty() {
            return Err(self.nothing_configured(name.unwrap_or("default")));
        }
        Ok(candidates)
    }

    /// The candidates for models in the order they are wanted, best first, each once, never empty. None or one of them
    /// is [`Self::resolve`]. Two or more are a bound: the rest of the chain is left out, and the embedded model that
    /// stands in for a family comes after all that was named. A name that does not exist refuses them all; one that is
    /// not configured is passed over, unless none is: then the first one's error is told.
    pub fn resolve_list(&self, requested: &[String]) -> Result<Vec<Candidate>, ResolveError> {
        let [_, _, ..] = requested else { return self.resolve(requested.first().map(String::as_str)) };
        let (mut candidates, mut stand_ins, mut lacking) = (Vec::new(), Vec::new(), None);
        for name in requested {
            let found = match name.trim() {
                "" | "default" => Ok(self.rest_of_chain(None)),
                name => match self.catalogue.family(name) {
                    Some(family) => {
                        stand_ins.extend(self.stand_in());
                        Ok(self.family(&family.order))
                    }
                    None => self.own(name).map(|(own, _)| own),
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
        keep_first(&mut candidates);
        if candidates.is_empty() {
            let first = requested.first().map_or("default", |name| name.trim());
            return Err(lacking.unwrap_or_else(|| self.nothing_configured(first)));
        }
        Ok(candidates)
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
        self.family(order).into_iter().chain(self.stand_in()).collect()
    }

    fn family(&self, order: &[String]) -> Vec<Candidate> {
        order.iter().filter(|id| *id != EMBEDDED_MODEL).flat_map(|id| self.naming(id)).collect()
    }

    /// What a family has where nothing else is.
    fn stand_in(&self) -> Option<Candidate> {
        let embedded = self.usable_chain().find(|p| p.kind == ProviderKind::Embedded)?;
        Some(self.candidate(embedded, EMBEDDED_MODEL, NamedBy::Settings))
    }

    fn model_chain(&self, name: &str) -> Result<Vec<Candidate>, ResolveError> {
        let (mut candidates, model) = self.own(name)?;
        if !candidates.iter().all(|c| self.is_embedded(&c.provider_id)) {
            candidates.extend(self.rest_of_chain(Some(model)));
        }
        Ok(candidates)
    }

    /// The model's own providers, at least one, and its name there.
    fn own<'a>(&self, name: &'a str) -> Result<(Vec<Candidate>, &'a str), ResolveError> {
        let mut candidates: Vec<Candidate> = self.naming(name).collect();
        if name == EMBEDDED_MODEL {
            // Another server of this kind may name it too, and would be asked as `provider/muster-core`.
            candidates.retain(|c| self.is_embedded(&c.provider_id));
        }
        let mut model = name;
        if candidates.is_empty()
            && let Some((provider, rest)) = self.split(name)
        {
            candidates.extend(self.at(provider, rest));
            model = rest;
        }
        if candidates.is_empty() {
            model = name;
            candidates.extend(self.usable().filter(|p| p.takes_any).map(|p| self.candidate(p, name, NamedBy::Client)));
        }
        if candidates.is_empty() { Err(self.explain(name)) } else { Ok((candidates, model)) }
    }

    /// `provider/model` of a configured provider.
    pub(super) fn split<'a>(&self, name: &'a str) -> Option<(&Provider, &'a str)> {
        let (id, model) = name.split_once('/')?;
        let provider = self.providers.iter().find(|p| p.id == id)?;
        Some((provider, model)).filter(|(_, model)| !model.is_empty())
    }

    /// The model at this provider alone.
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

    /// Every provider of the chain with the first model that it names, or else with the asked name where it takes any.
    fn rest_of_chain(&self, asked: Option<&str>) -> Vec<Candidate> {
        self.usable_chain()
            .filter_map(|provider| match (provider.models.first(), asked) {
                (Some(first), _) => {
                    let upstream = self.upstream_of(provider, first).unwrap_or(first);
                    Some(self.candidate(provider, upstream, NamedBy::Settings))
                }
                (None, Some(asked)) => self.at(provider, asked),
                (None, None) => None,
            })
            .collect()
    }

    fn is_embedded(&self, provider_id: &str) -> bool {
        self.providers.iter().any(|p| p.id == provider_id && p.kind == ProviderKind::Embedded)
    }

    /// Why no usable provider serves this name.
    pub(super) fn explain(&self, name: &str) -> ResolveError {
        let unconfigured = |provider: &str, setting: String| ResolveError::Unconfigured {
            model: name.to_owned(),
            provider: provider.to_owned(),
            setting,
        };
        // Named by the settings, but without its key.
        let keyless = self.providers.iter().find_map(|p| {
            let model = match self.split(name) {
                Some((provider, model)) if provider.id == p.id => model,
                _ => name,
            };
            let setting = p.missing.clone()?;
            self.upstream_of(p, model)?;
            Some((p, setting))
        });
        if let Some((provider, setting)) = keyless {
            return unconfigured(&provider.id, setting);
        }
        let known = self.catalogue.models().iter().find(|m| {
            let of_provider = name.strip_prefix(m.provider.as_str()).and_then(|rest| rest.strip_prefix('/'));
            [Some(name), of_provider].into_iter().flatten().any(|n| m.id == n || m.upstream.as_deref() == Some(n))
        });
        let Some(entry) = known else {
            return ResolveError::NotFound { model: name.to_owned() };
        };
        unconfigured(&entry.provider, self.setting_of(&entry.provider))
    }

    /// What is to be set so that this provider serves one more of its models.
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

    /// Nobody in the chain can be asked: the first one that lacks something says what.
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

/// Nobody is asked for the same model twice.
fn keep_first(candidates: &mut Vec<Candidate>) {
    let mut seen = std::collections::HashSet::new();
    candidates.retain(|c| seen.insert((c.provider_id.clone(), c.upstream_model.clone())));
}
