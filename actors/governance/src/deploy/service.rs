//! Public face of the deploys.

use std::sync::Arc;

use muster_core::audit::AuditEntry;
use muster_core::event::{Event, Publisher};
use muster_core::ids::{IdKind, new_id};
use muster_core::page::{Page, PageParams};
use muster_core::{Clock, Error, Kind};
use muster_store::{Batch, Expect, PageRequest, Rec, Record, StoreHandle, Tree};
use serde_json::json;

use super::record::{Deploy, DeployEnd, Program};
use super::state::{Changes, Occasion, begin};

/// Number of deploys that are kept.
pub const MAX_KEPT: usize = 1_000;

/// Channel of their events.
const CHANNEL: &str = "governance";

/// The deploys of this server. Cheap to clone.
#[derive(Clone)]
pub struct Deploys {
    store: StoreHandle,
    clock: Clock,
    publisher: Option<Publisher>,
}

impl std::fmt::Debug for Deploys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deploys")
    }
}

impl Deploys {
    /// Returns the deploys of a store.
    pub fn new(store: &StoreHandle, clock: &Clock, publisher: Option<Publisher>) -> Self {
        Self { store: Arc::clone(store), clock: clock.clone(), publisher }
    }

    /// Records a start. Returns the deploy that runs.
    ///
    /// # Errors
    /// `Unavailable`: the store accepts no writes.
    pub async fn start(&self, program: Program, policy: &str) -> Result<Deploy, Error> {
        self.begin(Occasion::Start, program, policy, "system").await
    }

    /// Records a reload of the settings by a principal. Returns the deploy that runs.
    ///
    /// # Errors
    /// `Unavailable`: the store accepts no writes.
    pub async fn reload(&self, program: Program, policy: &str, by: &str) -> Result<Deploy, Error> {
        self.begin(Occasion::Reload, program, policy, by).await
    }

    async fn begin(&self, occasion: Occasion, program: Program, policy: &str, by: &str) -> Result<Deploy, Error> {
        let (newest, surplus) = self.newest().await?;
        let now = self.clock.now();
        let last = newest.as_ref().map(|(_, last)| last.clone());
        let Changes { last, new } = begin(last, occasion, program, policy, new_id(IdKind::Deploy), now);
        let (mut batch, mut recorded) = (Batch::default(), Vec::new());
        if let (Some((rec, _)), Some(last)) = (&newest, &last) {
            batch = batch.and_put(Tree::Deploys, last.id.clone(), last.encode()?).when(
                Tree::Deploys,
                last.id.clone(),
                Expect::Is(rec.clone()),
            );
        }
        if let Some(new) = &new {
            let Program { version, commit, binary_sha256, config_sha256 } = &new.program;
            let details = json!({
                "version": version, "commit": commit, "binary_sha256": binary_sha256, "config_sha256": config_sha256,
                "policy": policy, "previous": new.previous, "previous_end": last.as_ref().and_then(|last| last.end),
                "reload": occasion == Occasion::Reload,
            });
            let entry = AuditEntry::new(now, by, "deploy.recorded", &new.id, details.clone());
            let mut data = details;
            if let Some(data) = data.as_object_mut() {
                data.insert("id".to_owned(), new.id.clone().into());
            }
            let event = Event::new("deploy.recorded", now, vec![CHANNEL.to_owned()], &data);
            batch = batch.and_put(Tree::Deploys, new.id.clone(), new.encode()?);
            batch = surplus.into_iter().fold(batch, |batch, key| batch.and_delete(Tree::Deploys, key));
            batch.ops.extend([entry.op()?, event.op()?]);
            recorded.push(event);
        }
        self.store.commit(batch).await?;
        if let Some(publisher) = self.publisher.as_ref().filter(|_| !recorded.is_empty()) {
            publisher.publish(recorded);
        }
        new.or(last).ok_or_else(|| Error::new(Kind::Internal, "a start recorded nothing"))
    }

    /// Records that the server stops in order.
    ///
    /// # Errors
    /// `Unavailable`: the store accepts no writes.
    pub async fn stop(&self) -> Result<(), Error> {
        let (newest, _) = self.newest().await?;
        let Some((rec, mut last)) = newest.filter(|(_, last)| last.end.is_none()) else { return Ok(()) };
        (last.ended_at, last.end) = (Some(self.clock.now()), Some(DeployEnd::Clean));
        let batch = Batch::put(Tree::Deploys, last.id.clone(), last.encode()?);
        Ok(self.store.commit(batch.when(Tree::Deploys, last.id, Expect::Is(rec))).await?)
    }

    /// Returns a page of deploys, newest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn list(&self, page: PageParams) -> Result<Page<Deploy>, Error> {
        let store = Arc::clone(&self.store);
        let read = move || {
            let from = page.after.as_ref().map(|after| after.clone().into_bytes());
            let request = PageRequest::of(page.limit + 2).starting_at(from).descending();
            let mut items = Vec::new();
            for deploy in store.records::<Deploy>("", request).values() {
                let deploy = deploy?;
                if page.after.as_ref().is_some_and(|after| deploy.id >= *after) {
                    continue;
                }
                if items.len() == page.limit {
                    let next = items.last().map(|last: &Deploy| last.id.clone());
                    return Ok(Page { items, next });
                }
                items.push(deploy);
            }
            Ok::<_, muster_store::StoreError>(Page { items, next: None })
        };
        let read = tokio::task::spawn_blocking(read).await;
        Ok(read.map_err(|_| Error::new(Kind::Internal, "the deploys could not be read"))??)
    }

    /// Returns the newest deploy as stored, and the keys of those beyond the number that is kept with one more.
    async fn newest(&self) -> Result<(Option<(Rec, Deploy)>, Vec<Vec<u8>>), Error> {
        let store = Arc::clone(&self.store);
        let read = move || {
            let (mut newest, mut surplus) = (None, Vec::new());
            for (nth, entry) in
                store.entries(Tree::Deploys, Vec::new(), PageRequest::default().descending()).enumerate()
            {
                let (key, rec) = entry?;
                if nth == 0 {
                    newest = Some((rec.clone(), Deploy::decode(&rec)?));
                }
                if nth + 1 >= MAX_KEPT {
                    surplus.push(key);
                }
            }
            Ok::<_, muster_store::StoreError>((newest, surplus))
        };
        let read = tokio::task::spawn_blocking(read).await;
        Ok(read.map_err(|_| Error::new(Kind::Internal, "the deploys could not be read"))??)
    }
}
