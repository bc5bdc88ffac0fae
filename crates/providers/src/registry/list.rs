//! Lists every model that can be named, and whether it is available.

use std::collections::HashSet;

use super::{Registry, ResolveError};
use crate::{ModelEntry, Price};

/// A model in a list of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedModel {
    /// Model id.
    pub id: String,
    /// Provider that would be called first, or the catalogue's if none is configured.
    pub provider: String,
    /// Catalogue entry; `None` for a model that only the configuration names.
    pub entry: Option<ModelEntry>,
    /// Price charged for a call: as configured for that provider, else as in the catalogue.
    pub price: Option<Price>,
    /// Whether a configured provider serves it.
    pub configured: bool,
    /// The missing setting, if it is not configured.
    pub setting: Option<String>,
}

impl Registry {
    /// Returns the catalogue's models in order, then models named only in the configuration, then aliases; each id once.
    pub fn list(&self) -> Vec<ListedModel> {
        let catalogue = self.catalogue.models().iter();
        let mut listed: Vec<ListedModel> =
            catalogue.map(|entry| self.listed(&entry.id, &entry.provider, Some(entry))).collect();
        let mut seen: HashSet<String> = listed.iter().map(|model| model.id.clone()).collect();
        for provider in &self.providers {
            for model in &provider.models {
                let entry = self.entry_of(provider, model);
                let under_its_id = entry.is_some_and(|e| e.upstream.as_deref() == Some(model));
                if !under_its_id && seen.insert(model.clone()) {
                    listed.push(self.listed(model, &provider.id, entry));
                }
            }
        }
        let aliases = self.routing.aliases.keys().filter(|alias| seen.insert((*alias).clone()));
        listed.extend(aliases.map(|alias| self.listed_alias(alias)));
        listed
    }

    /// An alias has the properties of the model that would answer first.
    fn listed_alias(&self, alias: &str) -> ListedModel {
        let first = self.resolve(Some(alias)).map(|candidates| candidates.into_iter().next());
        let (candidate, setting) = match first {
            Ok(candidate) => (candidate, None),
            Err(ResolveError::Unconfigured { setting, .. }) => (None, Some(setting)),
            Err(ResolveError::NotFound { .. }) => (None, None),
        };
        ListedModel {
            id: alias.to_owned(),
            configured: candidate.is_some(),
            provider: candidate.as_ref().map(|candidate| candidate.provider_id.clone()).unwrap_or_default(),
            price: candidate.as_ref().and_then(|candidate| candidate.price),
            entry: candidate.and_then(|candidate| candidate.entry),
            setting,
        }
    }

    fn listed(&self, id: &str, otherwise: &str, entry: Option<&ModelEntry>) -> ListedModel {
        let served = self.named(id);
        let setting = match &served {
            Some(_) => None,
            None => match self.explain(id) {
                ResolveError::Unconfigured { setting, .. } => Some(setting),
                ResolveError::NotFound { .. } => None,
            },
        };
        ListedModel {
            id: id.to_owned(),
            configured: served.is_some(),
            price: served.as_ref().and_then(|candidate| candidate.price).or_else(|| entry.map(Price::of)),
            provider: served.map_or_else(|| otherwise.to_owned(), |candidate| candidate.provider_id),
            entry: entry.cloned(),
            setting,
        }
    }
}
