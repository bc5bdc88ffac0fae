//! An index that notes what it is told, and answers as a test says.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::{BoxFuture, pending, ready};
use muster_retrieval::{Explain, Hit, Language};

use crate::{
    Applied, AppliedKind, Candidate, Candidates, EntryRecord, IndexAsk, IndexFigures, IndexHealth, IndexSink, Mode,
    Owner, Searcher, Taken,
};
use muster_core::{Error, Kind};

/// How it takes changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Takes {
    #[default]
    All,
    Partly,
    /// It never says.
    Never,
}

#[derive(Debug, Default)]
pub(super) struct Script {
    received: Mutex<Vec<Applied>>,
    takes: Mutex<Takes>,
    found: Mutex<VecDeque<Vec<Candidate>>>,
    asked: Mutex<Vec<IndexAsk>>,
}

impl Script {
    pub(super) fn takes(&self, takes: Takes) {
        *self.takes.lock().unwrap() = takes;
    }

    /// What it was told, in order.
    pub(super) fn received(&self) -> Vec<Applied> {
        self.received.lock().unwrap().clone()
    }

    pub(super) fn kinds(&self) -> Vec<AppliedKind> {
        self.received().into_iter().map(|applied| applied.kind).collect()
    }

    pub(super) fn asked(&self) -> Vec<IndexAsk> {
        self.asked.lock().unwrap().clone()
    }

    /// What the next search finds; without it there is no answer.
    pub(super) fn finds(&self, found: Vec<Candidate>) {
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
            explain: unexplained(),
            prev: None,
            next: None,
        },
    }
}

fn unexplained() -> Explain {
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

impl IndexSink for Script {
    fn apply(&self, changes: Arc<[Applied]>) -> BoxFuture<'static, Taken> {
        self.received.lock().unwrap().extend(changes.iter().cloned());
        match *self.takes.lock().unwrap() {
            Takes::All => ready(Taken::All).boxed(),
            Takes::Partly => ready(Taken::Partly).boxed(),
            Takes::Never => pending().boxed(),
        }
    }
}

impl Searcher for Script {
    /// Of what a test said, the part that is asked for.
    fn search(&self, ask: IndexAsk) -> BoxFuture<'static, Result<Candidates, Error>> {
        let (offset, limit) = (ask.query.offset, ask.query.limit);
        self.asked.lock().unwrap().push(ask);
        let Some(found) = self.found.lock().unwrap().pop_front() else {
            return ready(Err(Error::new(Kind::Unavailable, "the index is down"))).boxed();
        };
        let total = found.len();
        let hits = found.into_iter().skip(offset).take(limit).collect();
        let (warnings, index) = (Vec::new(), IndexHealth::Ready);
        ready(Ok(Candidates { hits, total, mode: Mode::Text, warnings, index })).boxed()
    }

    fn figures(&self, _: &Owner) -> BoxFuture<'static, Result<IndexFigures, Error>> {
        ready(Err(Error::new(Kind::Unavailable, "the index is down"))).boxed()
    }

    fn health(&self) -> IndexHealth {
        IndexHealth::Ready
    }
}
