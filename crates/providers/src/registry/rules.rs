//! Which models a caller may use: lists of names, resolved by the registry.

use std::sync::Arc;

use super::Registry;
use crate::Candidate;

/// Lists of models that bind a caller. Each list must allow a model; an empty list allows everything.
///
/// An entry is the name of a model, by our id or by the provider's, `provider/model`, `provider/*` for everything that a
/// provider serves, or a family or another name that stands for several models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ModelRules(Vec<Arc<[String]>>);

impl ModelRules {
    /// Creates the rules of these lists.
    pub fn of<'a>(lists: impl IntoIterator<Item = &'a [String]>) -> Self {
        Self(lists.into_iter().filter(|list| !list.is_empty()).map(Arc::from).collect())
    }

    /// Returns whether everything is allowed.
    pub fn allow_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the lists, none of which is empty.
    pub fn lists(&self) -> impl Iterator<Item = &[String]> {
        self.0.iter().map(|list| &**list)
    }
}

impl Registry {
    /// Returns whether the rules allow a call of this candidate.
    pub fn allows(&self, rules: &ModelRules, candidate: &Candidate) -> bool {
        let Candidate { provider_id, model_id, upstream_model, .. } = candidate;
        let listed = |entry: &String| {
            let is_it = |name: &str| name == model_id || name == upstream_model;
            let of_provider = entry.strip_prefix(provider_id.as_str()).and_then(|rest| rest.strip_prefix('/'));
            is_it(entry)
                || of_provider.is_some_and(|name| name == "*" || is_it(name))
                || self.stands_for(entry, candidate)
        };
        rules.lists().all(|list| list.iter().any(listed))
    }

    /// Returns whether the rules allow a model that is listed under this id, whether or not its provider is configured.
    pub fn allows_listed(&self, rules: &ModelRules, id: &str, provider: &str) -> bool {
        let own = self.own_candidates(id).or_else(|| self.resolve_embedding(Some(id)).ok());
        if let Some(own) = own {
            return own.iter().any(|candidate| self.allows(rules, candidate));
        }
        let listed = |entry: &String| {
            let of_provider = entry.strip_prefix(provider).and_then(|rest| rest.strip_prefix('/'));
            let family =
                self.catalogue.family(entry).is_some_and(|family| family.order.iter().any(|model| model == id));
            entry == id || family || of_provider.is_some_and(|name| name == "*" || name == id)
        };
        rules.lists().all(|list| list.iter().any(listed))
    }

    /// Returns whether a name stands for a candidate among others.
    fn stands_for(&self, name: &str, candidate: &Candidate) -> bool {
        let same = |own: &Candidate| {
            own.provider_id == candidate.provider_id && own.upstream_model == candidate.upstream_model
        };
        self.own_candidates(name).is_some_and(|own| own.iter().any(same))
    }

    /// Returns what a name itself stands for, without anything that the chain would fall back on; `None` if no usable
    /// provider serves it.
    pub fn own_candidates(&self, name: &str) -> Option<Vec<Candidate>> {
        // Of a list of two, only the models that it names are tried.
        let name = name.to_owned();
        self.resolve_list(&[name.clone(), name]).ok()
    }
}
