//! The actor that owns the API keys.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context, Handler, ResponseFuture};
use muster_store::{Op, PageRequest, Record, StoreError, StoreHandle};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Directory;
use super::messages::{
    Create, CreateTeam, CreatedKey, DeleteTeam, Edit, EditTeam, Get, KeyIssuer, KeyPage, List, Revoke, Rotate,
    SetOwner, Touch,
};
use super::record::KeyRecord;
use super::state::KeyState;
use super::team::{OWNERS, OwnerRecord, TeamRecord};
use super::token::Token;
use muster_core::audit::AuditEntry;
use muster_core::idempotency::RecentResponses;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Committed, Journal, Journalled, Reply, respond};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Kind, Millis};

/// Shortest time between two writes of a key's `last_used_at`.
pub(super) const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Options of the key actor.
#[derive(Clone)]
pub struct KeyActorOptions {
    /// Store of the key records.
    pub store: StoreHandle,
    /// Clock that expiry is checked against.
    pub clock: Clock,
}

impl std::fmt::Debug for KeyActorOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyActorOptions")
    }
}

/// An effect of a decision about keys, performed once the decision is durable.
pub(super) enum KeyEffect {
    /// Adds a record to the directory: requests are checked against it from now on.
    Publish(Arc<KeyRecord>),
    /// Does the same for a team.
    PublishTeam(Arc<TeamRecord>),
    /// Removes a team from the directory.
    RemoveTeam(String),
    /// Publishes the budget of an owner.
    PublishOwner(OwnerRecord),
    /// Responds to a caller.
    Reply(Reply<()>),
}

impl From<Reply<()>> for KeyEffect {
    fn from(reply: Reply<()>) -> Self {
        Self::Reply(reply)
    }
}

/// Owns the key records: creates, rotates, revokes and lists them.
pub(super) struct KeyActor {
    options: KeyActorOptions,
    journal: Journal<KeyEffect>,
    /// All keys after every decision so far, durable or not.
    state: KeyState,
    /// All keys after the durable decisions.
    publish: watch::Sender<Arc<Directory>>,
    /// First responses to the creation of keys. They contain secrets, which are never stored.
    responses: RecentResponses<CreatedKey>,
    team_responses: RecentResponses<Arc<TeamRecord>>,
    /// Time of the last write of `last_used_at`, by lookup identifier, for [`TOUCH_INTERVAL`].
    touched: HashMap<String, Millis>,
}

impl std::fmt::Debug for KeyActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyActor").finish_non_exhaustive()
    }
}

/// Reads all keys from the store and publishes the directory.
pub(super) async fn load(
    options: KeyActorOptions,
    publish: watch::Sender<Arc<Directory>>,
) -> Result<KeyActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let store = Arc::clone(&options.store);
    let read = move || {
        let page = || PageRequest::of(500);
        let keys = store.records("key_", page()).values().collect::<Result<_, _>>()?;
        let teams = store.records("team_", page()).values().collect::<Result<_, _>>()?;
        let owners = store.records(OWNERS, page()).values().collect::<Result<_, _>>()?;
        Ok::<_, StoreError>(KeyState::from_records(keys, teams, owners))
    };
    let state = tokio::task::spawn_blocking(read).await??;
    publish.send_replace(Arc::new(state.directory()));
    Ok(KeyActor {
        options,
        journal,
        state,
        publish,
        responses: RecentResponses::default(),
        team_responses: RecentResponses::default(),
        touched: HashMap::new(),
    })
}

impl Actor for KeyActor {
    type Context = Context<Self>;
}

impl Journalled for KeyActor {
    type Effects = KeyEffect;

    fn journal(&mut self) -> &mut Journal<KeyEffect> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<KeyEffect>, _: &mut Context<Self>) {
        for effect in committed.effects {
            let change = |change: &dyn Fn(&mut Directory)| {
                self.publish.send_modify(|directory| change(Arc::make_mut(directory)));
            };
            match effect {
                KeyEffect::Publish(record) => change(&|directory| directory.insert(Arc::clone(&record))),
                KeyEffect::PublishTeam(team) => change(&|directory| directory.insert_team(Arc::clone(&team))),
                KeyEffect::RemoveTeam(id) => change(&|directory| directory.remove_team(&id)),
                KeyEffect::PublishOwner(owner) => change(&|directory| directory.insert_owner(&owner)),
                KeyEffect::Reply(reply) => reply.send(),
            }
        }
    }

    fn on_failed(&mut self, effects: Vec<KeyEffect>, error: &Error) {
        for effect in effects {
            if let KeyEffect::Reply(reply) = effect {
                reply.fail(error);
            }
        }
    }
}

impl KeyActor {
    fn now(&self) -> Millis {
        self.options.clock.now()
    }

    /// Stores a record with these other writes. Later decisions depend on it at once; requests are checked against it once
    /// it is durable.
    fn put(&mut self, record: &Arc<KeyRecord>, mut ops: Vec<Op>) -> Result<(), Error> {
        ops.push(put_op(record.id.as_bytes(), &**record)?);
        self.state.put(Arc::clone(record));
        self.journal.push(ops, KeyEffect::Publish(Arc::clone(record)));
        Ok(())
    }

    /// Returns the write of an audit entry about a key, which has the hash of what it allows now.
    fn audit_key(&self, issuer: &KeyIssuer, action: &str, key: &KeyRecord, details: Value) -> Result<Vec<Op>, Error> {
        let entry = AuditEntry::new(self.now(), issuer.id(), action, &key.id, details);
        Ok(vec![entry.after(&key.allows()).op()?])
    }

    /// Returns the write of an audit entry.
    fn audit(&self, issuer: &KeyIssuer, action: &str, resource: &str, details: Value) -> Result<Vec<Op>, Error> {
        Ok(vec![AuditEntry::new(self.now(), issuer.id(), action, resource, details).op()?])
    }

    fn create(&mut self, create: Create) -> Result<CreatedKey, Error> {
        let now = self.now();
        if let Some(request) = &create.idempotency
            && let Some(first) = self.responses.replay(request, now)?
        {
            return Ok(CreatedKey { replayed: true, ..first });
        }
        self.admit()?;
        let key = create.token.map_or_else(generate, Ok)?;
        let record = Arc::new(self.state.create(create.new, &create.issuer, &key, new_id(IdKind::Key), now)?);
        let details =
            json!({ "name": record.name, "owner": record.owner, "scopes": record.scopes, "roles": record.roles });
        let ops = self.audit_key(&create.issuer, "key_created", &record, details)?;
        self.put(&record, ops)?;
        let created = CreatedKey { record, key, replayed: false };
        if let Some(request) = &create.idempotency {
            self.responses.insert(request, created.clone(), now);
        }
        Ok(created)
    }

    fn revoke(&mut self, Revoke { id, issuer }: Revoke) -> Result<Arc<KeyRecord>, Error> {
        self.admit()?;
        let record = self.state.revoke(&id, &issuer, self.now())?;
        if self.state.get(&id).is_some_and(|before| before.version != record.version) {
            let ops = self.audit_key(&issuer, "key_revoked", &record, Value::Null)?;
            self.put(&record, ops)?;
        }
        Ok(record)
    }

    fn edit(&mut self, Edit { id, patch, issuer, if_match }: Edit) -> Result<Arc<KeyRecord>, Error> {
        self.admit()?;
        let record = self.state.edit(&id, patch, &issuer, if_match, self.now())?;
        let Some(before) = self.state.get(&id).filter(|before| before.version != record.version) else {
            return Ok(record);
        };
        let ops = self.audit_key(&issuer, "key_edited", &record, differences(&*before, &*record))?;
        self.put(&record, ops)?;
        Ok(record)
    }

    fn create_team(&mut self, create: CreateTeam) -> Result<(Arc<TeamRecord>, bool), Error> {
        let now = self.now();
        if let Some(request) = &create.idempotency
            && let Some(first) = self.team_responses.replay(request, now)?
        {
            return Ok((first, true));
        }
        self.admit()?;
        let team = self.state.create_team(create.new, &create.issuer, new_id(IdKind::Team), now)?;
        self.put_team(&team, &create.issuer, "team_created", json!({ "name": team.name }))?;
        if let Some(request) = &create.idempotency {
            self.team_responses.insert(request, Arc::clone(&team), now);
        }
        Ok((team, false))
    }

    fn edit_team(&mut self, EditTeam { id, patch, issuer, if_match }: EditTeam) -> Result<Arc<TeamRecord>, Error> {
        self.admit()?;
        let team = self.state.edit_team(&id, patch, &issuer, if_match, self.now())?;
        let Some(before) = self.state.teams.get(&id).filter(|before| before.version != team.version) else {
            return Ok(team);
        };
        let changed = differences(&**before, &*team);
        self.put_team(&team, &issuer, "team_edited", changed)?;
        Ok(team)
    }

    fn put_team(&mut self, team: &Arc<TeamRecord>, by: &KeyIssuer, action: &str, details: Value) -> Result<(), Error> {
        let mut ops = self.audit(by, action, &team.id, details)?;
        ops.push(put_op(team.id.as_bytes(), &**team)?);
        self.state.put_team(Arc::clone(team));
        self.journal.push(ops, KeyEffect::PublishTeam(Arc::clone(team)));
        Ok(())
    }

    fn delete_team(&mut self, DeleteTeam { id, issuer, if_match }: DeleteTeam) -> Result<Arc<TeamRecord>, Error> {
        self.admit()?;
        let team = self.state.delete_team(&id, &issuer, if_match)?;
        let mut ops = self.audit(&issuer, "team_deleted", &id, json!({ "name": team.name }))?;
        ops.push(Op::Delete { tree: TeamRecord::TREE, key: id.clone().into_bytes() });
        self.state.remove_team(&id);
        self.journal.push(ops, KeyEffect::RemoveTeam(id));
        Ok(team)
    }

    fn set_owner(&mut self, SetOwner { owner, budget_usd, issuer }: SetOwner) -> Result<OwnerRecord, Error> {
        self.admit()?;
        let owner = self.state.set_owner(owner, budget_usd, &issuer, self.now())?;
        let mut ops = self.audit(&issuer, "owner_budget_set", &owner.owner, json!({ "budget_usd": budget_usd }))?;
        ops.push(put_op(&OwnerRecord::key(&owner.owner), &owner)?);
        self.state.put_owner(owner.clone());
        self.journal.push(ops, KeyEffect::PublishOwner(owner.clone()));
        Ok(owner)
    }

    fn rotate(&mut self, Rotate { id, issuer, grace }: Rotate) -> Result<CreatedKey, Error> {
        self.admit()?;
        let new = generate()?;
        let record = self.state.rotate(&id, &issuer, &new.secret, grace, self.now())?;
        // The lookup identifier stays, so that logs and lists continue to identify the key.
        let key = Token { lookup: record.lookup.clone(), ..new };
        let record = Arc::new(record);
        let ops = self.audit_key(&issuer, "key_rotated", &record, Value::Null)?;
        self.put(&record, ops)?;
        Ok(CreatedKey { record, key, replayed: false })
    }
}

fn put_op<R: Record>(key: &[u8], record: &R) -> Result<Op, StoreError> {
    Ok(Op::Put { tree: R::TREE, key: key.to_vec(), rec: record.encode()? })
}

/// Returns the members of a record that have changed, with their new values. Hashes of secrets change by rotation only.
fn differences(before: &impl serde::Serialize, after: &impl serde::Serialize) -> Value {
    let members = |record: Value| match record {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    };
    let before = members(serde_json::to_value(before).unwrap_or_default());
    let mut after = members(serde_json::to_value(after).unwrap_or_default());
    after.retain(|name, value| before.get(name) != Some(value) && name != "updated_at");
    Value::Object(after)
}

fn generate() -> Result<Token, Error> {
    Token::generate().map_err(|error| Error::new(Kind::Internal, error.to_string()))
}

/// Answers a message by a method of the same name.
macro_rules! handle {
    ($($message:ty => $method:ident -> $answer:ty;)*) => {$(
        impl Handler<$message> for KeyActor {
            type Result = ResponseFuture<Result<$answer, Error>>;

            fn handle(&mut self, message: $message, context: &mut Context<Self>) -> Self::Result {
                let done = self.$method(message);
                respond(self, done, context)
            }
        }
    )*};
}

handle! {
    Create => create -> CreatedKey;
    Edit => edit -> Arc<KeyRecord>;
    Revoke => revoke -> Arc<KeyRecord>;
    Rotate => rotate -> CreatedKey;
    CreateTeam => create_team -> (Arc<TeamRecord>, bool);
    EditTeam => edit_team -> Arc<TeamRecord>;
    DeleteTeam => delete_team -> Arc<TeamRecord>;
    SetOwner => set_owner -> OwnerRecord;
}

impl Handler<Get> for KeyActor {
    type Result = ResponseFuture<Result<Option<Arc<KeyRecord>>, Error>>;

    fn handle(&mut self, get: Get, context: &mut Context<Self>) -> Self::Result {
        let found = self.state.get(&get.id);
        respond(self, Ok(found), context)
    }
}

impl Handler<List> for KeyActor {
    type Result = ResponseFuture<Result<KeyPage, Error>>;

    fn handle(&mut self, list: List, context: &mut Context<Self>) -> Self::Result {
        let page = self.state.list(list.limit, list.after.as_deref());
        respond(self, Ok(page), context)
    }
}

impl Handler<Touch> for KeyActor {
    type Result = ();

    fn handle(&mut self, touch: Touch, context: &mut Context<Self>) {
        let now = self.now();
        self.touched.retain(|_, at| now.since(*at) < TOUCH_INTERVAL);
        // No caller waits for this write: it is skipped while nothing can be stored.
        if self.admit().is_err() || self.touched.insert(touch.lookup.clone(), now).is_some() {
            return;
        }
        let Some(record) = self.state.by_lookup(&touch.lookup) else { return };
        let record = Arc::new(KeyRecord { last_used_at: Some(touch.at), ..KeyRecord::clone(&record) });
        if let Err(error) = self.put(&record, Vec::new()) {
            tracing::warn!(%error, "last use of a key was not written");
        }
        self.flush(context);
    }
}
