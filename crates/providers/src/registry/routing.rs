//! Which other names and models may stand for a model: aliases, equivalent models, fallbacks. Settings and their
//! validation.

use std::collections::BTreeMap;

use super::{Candidate, Registry, RegistryError};

/// Routing between models, as configured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoutingSettings {
    /// Names that stand for models, each in order of preference.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Models that answer where all providers of a model or of an alias fail, in order.
    pub fallbacks: BTreeMap<String, Vec<String>>,
    /// Groups of models each of which may answer for the others.
    pub equivalents: Vec<Vec<String>>,
}

/// Maximum number of models of one alias, of one list of fallbacks, or of one group.
const MAX_MODELS: usize = 16;

impl Registry {
    /// Returns the registry with this routing between its models.
    ///
    /// # Errors
    /// [`RegistryError::Routing`] for the first entry that names an unknown model, hides a model, or has no models.
    pub fn with_routing(mut self, routing: RoutingSettings) -> Result<Self, RegistryError> {
        for (alias, models) in &routing.aliases {
            let place = format!("[alias] {alias:?}");
            if let Some(provider) = self.providers.iter().find(|provider| provider.names(alias)) {
                let why =
                    format!("hides the model of this name at [[provider]] id = {:?}: choose another", provider.id);
                return Err(RegistryError::Routing { place, why });
            }
            if let Some(other) = models.iter().find(|model| routing.aliases.contains_key(*model)) {
                let why = format!("names {other:?}, which is an alias: name its models");
                return Err(RegistryError::Routing { place, why });
            }
            self.check_models(&place, models, 1)?;
        }
        for (model, models) in &routing.fallbacks {
            let place = format!("[fallback] {model:?}");
            if !routing.aliases.contains_key(model) {
                self.check_models(&place, std::slice::from_ref(model), 1)?;
            }
            self.check_models(&place, models, 1)?;
        }
        for models in &routing.equivalents {
            self.check_models(&format!("[[equivalent]] models = {models:?}"), models, 2)?;
        }
        self.routing = routing;
        Ok(self)
    }

    fn check_models(&self, place: &str, models: &[String], least: usize) -> Result<(), RegistryError> {
        let refused = |why: String| Err(RegistryError::Routing { place: place.to_owned(), why });
        if !(least..=MAX_MODELS).contains(&models.len()) {
            return refused(format!("takes {least} to {MAX_MODELS} models"));
        }
        match models.iter().find(|model| !self.is_known(model)) {
            Some(unknown) => refused(format!(
                "names {unknown:?}, which no [[provider]] and no catalogue entry has; GET /v1/models lists the models"
            )),
            None => Ok(()),
        }
    }

    /// Whether a request for this name could be served, given the keys of all providers.
    fn is_known(&self, name: &str) -> bool {
        let pinned = || self.split(name).is_some_and(|(provider, model)| self.offers(provider, model));
        let wildcard = || self.providers.iter().any(|provider| provider.takes_any);
        !name.trim().is_empty() && (self.names_model(name) || pinned() || wildcard())
    }

    /// Returns the names under which the settings may mention a requested model.
    pub(super) fn names_of(&self, requested: &str, own: &[Candidate]) -> Vec<String> {
        let mut names = vec![requested.to_owned()];
        for candidate in own {
            names.push(candidate.model_id.clone());
            names.push(format!("{}/{}", candidate.provider_id, candidate.upstream_model));
        }
        names
    }

    /// Returns the candidates of the models that are equivalent to the model of these names, those without their key
    /// left out.
    pub(super) fn equivalents(&self, names: &[&str]) -> Vec<Candidate> {
        let is_named = |model: &String| names.contains(&model.as_str());
        let groups = self.routing.equivalents.iter().filter(|group| group.iter().any(is_named));
        self.standing_in(groups.flatten().filter(|model| !is_named(model)))
    }

    /// Returns the candidates of the fallbacks of the model or alias of these names.
    pub(super) fn fallbacks(&self, names: &[&str]) -> Vec<Candidate> {
        let lists = self.routing.fallbacks.iter().filter(|(model, _)| names.contains(&model.as_str()));
        self.standing_in(lists.flat_map(|(_, models)| models))
    }

    fn standing_in<'a>(&self, models: impl Iterator<Item = &'a String>) -> Vec<Candidate> {
        models.filter_map(|model| self.of_list([model]).ok()).flatten().collect()
    }
}
