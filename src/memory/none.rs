use futures::FutureExt;
use futures::future::BoxFuture;
use muster_actors::Error;
use muster_actors::memory::*;
use std::sync::Arc;
#[derive(Debug)]
pub struct None;
impl IndexSink for None {
    fn apply(&self, _: Arc<[Applied]>) -> BoxFuture<'static, Taken> {
        async { Taken::All }.boxed()
    }
}
impl Searcher for None {
    fn search(&self, ask: IndexAsk) -> BoxFuture<'static, Result<Candidates, Error>> {
        async move { Ok(Candidates { hits: vec![], total: 0, mode: ask.mode, warnings: vec![], index: IndexHealth::Ready }) }.boxed()
    }
    fn figures(&self, _: &Owner) -> BoxFuture<'static, Result<IndexFigures, Error>> {
        async { Ok(IndexFigures::default()) }.boxed()
    }
    fn health(&self) -> IndexHealth {
        IndexHealth::Ready
    }
}
