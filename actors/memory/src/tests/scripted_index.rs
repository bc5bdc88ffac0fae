//! An index that records changes and searches, and responds as a test specifies.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::{BoxFuture, pending, ready};
use muster_retrieval::{Explain, Hit, Language};

use crate::{
    Applied, AppliedKind, ApplyOutcome, Candidate, Candidates, EntryRecord, IndexHealth, IndexSearch, IndexSink, Mode,
    Owner, OwnerIndexStats, Searcher,
};
use muster_core::{Error, Kind};

/// How the index applies changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ApplyBehaviour {
    #[default]
    All,
    Partly,
    /// It never responds.
    Never,
}

#[derive(Debug, Default)]
pub(super) struct ScriptedIndex {
    received: Mutex<Vec<Applied>>,
    behaviour: Mutex<ApplyBehaviour>,
    found: Mutex<VecDeque<Vec<Candidate>>>,
    searches: Mutex<Vec<IndexSearch>>,
}

impl ScriptedIndex {
    pub(super) fn set_behaviour(&self, behaviour: ApplyBehaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    /// Returns all changes received so far, in order.
    pub(super) fn received(&self) -> Vec<Applied> {
        self.received.lock().unwrap().clone()
    }

    pub(super) fn kinds(&self) -> Vec<AppliedKind> {
        self.received().into_iter().map(|applied| applied.kind).collect()
    }

    pub(super) fn searches(&self) -> Vec<IndexSearch> {
        self.searches.lock().unwrap().clone()
    }

    /// Specifies the results of the next search; a search without results fails.
    pub(super) fn respond_with(&self, found: Vec<Candidate>) {
        self.found.lock().unwrap().push_back(found);
    }
}

pub(super) fn candidate(of: &EntryRecord) -> Candidate {
    Candidate {
        namespace: Arc::clone(&of.place.space.namespace),
        hit: Hit {
            collection: 0,
            id: of.id.0,
            version: of.version,
            language: Language::default(),
            score: 0.5,
            text: Some(1.0),
            semantic: None,
            explain: no_explanation(),
            prev: None,
            next: None,
        },
    }
}

fn no_explanation() -> Explain {
    Explain {
        text: None,
        semantic: None,
        alpha: 0.0,
        fused: 0.0,
        importance: 0.0,
        best: 0.0,
        decay: 1.0,
        likeness: None,
        score: 0.5,
    }
}

impl IndexSink for ScriptedIndex {
    fn apply(&self, changes: Arc<[Applied]>) -> BoxFuture<'static, ApplyOutcome> {
        self.received.lock().unwrap().extend(changes.iter().cloned());
        match *self.behaviour.lock().unwrap() {
            ApplyBehaviour::All => ready(ApplyOutcome::Complete).boxed(),
            ApplyBehaviour::Partly => ready(ApplyOutcome::Partial).boxed(),
            ApplyBehaviour::Never => pending().boxed(),
        }
    }
}

impl Searcher for ScriptedIndex {
    /// Returns the requested part of the specified results.
    fn search(&self, search: IndexSearch) -> BoxFuture<'static, Result<Candidates, Error>> {
        let (offset, limit) = (search.query.offset, search.query.limit);
        self.searches.lock().unwrap().push(search);
        let Some(found) = self.found.lock().unwrap().pop_front() else {
            return ready(Err(Error::new(Kind::Unavailable, "the index is down"))).boxed();
        };
        let total = found.len();
        let hits = found.into_iter().skip(offset).take(limit).collect();
        let (warnings, index) = (Vec::new(), IndexHealth::Ready);
        ready(Ok(Candidates { hits, total, mode: Mode::Text, warnings, index })).boxed()
    }

    fn owner_stats(&self, _: &Owner) -> BoxFuture<'static, Result<OwnerIndexStats, Error>> {
        ready(Err(Error::new(Kind::Unavailable, "the index is down"))).boxed()
    }

    fn health(&self) -> IndexHealth {
        IndexHealth::Ready
    }
}
