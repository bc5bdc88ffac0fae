//! The actor that owns the conversations.

use std::sync::Arc;

use actix::{Actor, Context, Handler, ResponseFuture};
use muster_core::audit::AuditEntry;
use muster_core::ids::{IdKind, new_id};
use muster_core::journal::{Committed, Journal, Journalled, Reply, respond};
use muster_core::supervise::BuildError;
use muster_core::{Clock, Error, Kind};
use muster_seal::{RECORD_SALT, RecordKey, RecordSecret};
use muster_store::{Batch, Op, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde_json::json;

use super::content::{Content, Turn};
use super::messages::{
    ConversationView, Count, Delete, Keep, KeptCounts, NewTurn, Note, Notice, Open, OpenedConversation, Read, Reader,
    Receipt, Sweep, TakeNotices,
};
use super::record::{CONVERSATIONS, ConversationRecord, NoticeRecord, SALT, SaltRecord};
use super::state::{Bounds, ConversationState, Entry};

/// Options of the actor.
#[derive(Clone)]
pub struct ConversationOptions {
    /// Store of the records.
    pub store: StoreHandle,
    /// Clock of their ends.
    pub clock: Clock,
    /// Hours after the last message; 0 keeps nothing, and deletes what was kept before.
    pub keep_hours: u64,
    /// Most conversations of one key.
    pub most_per_owner: usize,
    /// What records are sealed with; without it nothing is kept.
    pub secret: Option<RecordSecret>,
}

impl std::fmt::Debug for ConversationOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConversationOptions").field("keep_hours", &self.keep_hours).finish_non_exhaustive()
    }
}

const HOUR_MS: u64 = 3_600_000;

/// What follows once a decision is durable.
pub(super) struct Effects {
    reply: Reply<()>,
    /// A conversation whose change is durable then.
    stored: Option<(String, u64)>,
}

impl From<Reply<()>> for Effects {
    fn from(reply: Reply<()>) -> Self {
        Self { reply, stored: None }
    }
}

/// Owns the conversations.
pub(super) struct ConversationActor {
    options: ConversationOptions,
    journal: Journal<Effects>,
    state: ConversationState,
    key: Option<RecordKey>,
}

impl std::fmt::Debug for ConversationActor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConversationActor").finish_non_exhaustive()
    }
}

/// Reads the index of what is kept, and derives the key. Where nothing is to be kept, what there is is deleted.
pub(super) async fn load(options: ConversationOptions) -> Result<ConversationActor, BuildError> {
    let journal = Journal::open(&options.store).await?;
    let keep_ms = options.keep_hours.saturating_mul(HOUR_MS);
    let mut state = ConversationState::new(Bounds { keep_ms, most: options.most_per_owner });
    let store = Arc::clone(&options.store);
    let read = move || {
        let conversations = store.records::<ConversationRecord>(CONVERSATIONS, PageRequest::of(100)).values();
        for record in conversations {
            state.load(&record?);
        }
        for notice in store.records::<NoticeRecord>("", PageRequest::of(200)).values() {
            state.load_notice(notice?);
        }
        Ok::<_, StoreError>(state)
    };
    let mut state = tokio::task::spawn_blocking(read).await??;
    if options.keep_hours == 0 {
        let all = state.take_all();
        options
            .store
            .commit(Batch { ops: all.iter().map(|id| delete_conversation(id)).collect(), ..Batch::default() })
            .await?;
    }
    let key = match (&options.secret, options.keep_hours) {
        (Some(secret), 1..) => Some(derive(&options.store, secret.clone()).await?),
        _ => None,
    };
    Ok(ConversationActor { options, journal, state, key })
}

/// Derives the key with the salt of this store, which is made at the first start.
async fn derive(store: &StoreHandle, secret: RecordSecret) -> Result<RecordKey, BuildError> {
    let stored = store.get(Tree::MedicalConversations, SALT)?;
    let salt = match stored {
        Some(record) => SaltRecord::decode(&record)?.0,
        None => {
            let mut salt = [0; RECORD_SALT];
            getrandom::fill(&mut salt).map_err(|error| error.to_string())?;
            store.commit(Batch::put(Tree::MedicalConversations, SALT, SaltRecord(salt).encode()?)).await?;
            salt
        }
    };
    let derived = tokio::task::spawn_blocking(move || secret.key(&salt)).await?;
    Ok(derived.map_err(|error| error.to_string())?)
}

impl Actor for ConversationActor {
    type Context = Context<Self>;
}

impl Journalled for ConversationActor {
    type Effects = Effects;

    fn journal(&mut self) -> &mut Journal<Effects> {
        &mut self.journal
    }

    fn store(&self) -> &StoreHandle {
        &self.options.store
    }

    fn on_committed(&mut self, committed: Committed<Effects>, _: &mut Context<Self>) {
        for Effects { reply, stored } in committed.effects {
            if let Some((id, change)) = stored {
                self.state.durable(&id, change);
            }
            reply.send();
        }
    }

    fn on_failed(&mut self, effects: Vec<Effects>, error: &Error) {
        effects.into_iter().for_each(|effects| effects.reply.fail(error));
    }
}

/// A decision: what is written, what is answered, and which conversation it changes.
struct Decision<T> {
    ops: Vec<Op>,
    response: T,
    stored: Option<(String, u64)>,
}

impl ConversationActor {
    /// Stores a decision and answers once it is durable; an error is answered in the order of the decisions.
    fn settle<T: 'static>(
        &mut self,
        decision: Result<Decision<T>, Error>,
        context: &mut Context<Self>,
    ) -> ResponseFuture<Result<T, Error>> {
        let Decision { ops, response, stored } = match decision {
            Ok(decision) => decision,
            Err(error) => return respond(self, Err(error), context),
        };
        let (reply, durable) = Reply::new(());
        self.journal.push(ops, Effects { reply, stored });
        self.flush(context);
        Box::pin(async move { durable.await.map(|()| response) })
    }

    fn sealing_key(&self) -> Result<&RecordKey, Error> {
        self.key.as_ref().ok_or_else(|| {
            let message = "conversations are not kept here (medical.keep_hours is 0): leave conversationId out and send \
                           `previous`";
            Error::new(Kind::NotFound, message)
        })
    }

    /// Decrypts a conversation.
    fn content(&self, id: &str, entry: &Entry) -> Result<Content, Error> {
        let key = self.sealing_key()?;
        if entry.sealed_by != key.identifier() {
            return Err(unreadable());
        }
        let stored = match &entry.undurable {
            Some(record) => Arc::clone(record),
            None => {
                let record = self.options.store.get(Tree::MedicalConversations, id.as_bytes())?;
                Arc::new(ConversationRecord::decode(&record.ok_or_else(unreadable)?)?)
            }
        };
        let context = ConversationRecord::context(id, &entry.owner);
        let opened = key.open(&context, &stored.sealed).map_err(|_| unreadable())?;
        serde_json::from_slice(&opened).map_err(|_| unreadable())
    }

    fn open(&self, owner: &str, id: &str) -> Result<OpenedConversation, Error> {
        let entry = self.state.of_owner(id, owner, self.options.clock.now())?;
        Ok(OpenedConversation { known: self.content(id, entry)?.known })
    }

    fn keep(&mut self, new: NewTurn) -> Result<Decision<Receipt>, Error> {
        self.admit()?;
        let now = self.options.clock.now();
        let key = self.sealing_key()?;
        let (id, mut content) = match new.conversation {
            Some(id) => {
                let content = self.content(&id, self.state.of_owner(&id, &new.owner, now)?)?;
                (id, content)
            }
            None => {
                self.state.may_begin(&new.owner, now)?;
                (new_id(IdKind::Conversation), Content::default())
            }
        };
        let NewTurn { owner, request_id, message, response, level, ruleset, known, .. } = new;
        content.add(Turn { at: now, request_id, message, response, level, ruleset }, known);
        let internal = |what: &str| Error::new(Kind::Internal, format!("the conversation was not kept: {what}"));
        let text = serde_json::to_vec(&content).map_err(|_| internal("it cannot be encoded"))?;
        let sealed = key.seal(&ConversationRecord::context(&id, &owner), &text);
        let sealed = sealed.map_err(|error| internal(&error.to_string()))?;
        let (ends, sealed_by) = (self.state.ends(now), key.identifier());
        let record = Arc::new(ConversationRecord { id: id.clone(), owner, last: now, ends, sealed_by, sealed });
        let put = Op::Put { tree: Tree::MedicalConversations, key: id.clone().into_bytes(), rec: record.encode()? };
        let change = self.state.put(record);
        let response = Receipt { id: id.clone(), ends, turns: content.turns.len() };
        Ok(Decision { ops: vec![put], response, stored: Some((id, change)) })
    }

    /// Reads a conversation. That it was read is durable before it is shown.
    fn read(&mut self, reader: Reader, id: &str) -> Result<Decision<ConversationView>, Error> {
        self.admit()?;
        let now = self.options.clock.now();
        let entry = match &reader {
            Reader::Owner(owner) => self.state.of_owner(id, owner, now)?,
            Reader::BreakGlass { .. } => self.state.any(id, now)?,
        };
        let (owner, ends) = (entry.owner.clone(), entry.ends);
        let Content { known, turns, dropped } = self.content(id, entry)?;
        let mut ops = Vec::new();
        match reader {
            Reader::Owner(by) => ops.push(AuditEntry::new(now, &by, "medical_conversation_read", id, json!({})).op()?),
            Reader::BreakGlass { by, reason } => {
                let details = json!({ "owner": owner, "reason": reason });
                let entry = AuditEntry::new(now, &by, "medical_break_glass", id, details);
                ops.push(entry.op()?);
                let conversation = id.to_owned();
                let notice = NoticeRecord { id: entry.id, owner: owner.clone(), conversation, at: now, by, reason };
                ops.push(Op::Put { tree: Tree::MedicalNotices, key: notice.key(), rec: notice.encode()? });
                ops.extend(self.state.notify(notice).map(|dropped| delete_notice(&dropped)));
            }
        }
        let response = ConversationView { id: id.to_owned(), owner, ends, known, turns, dropped };
        Ok(Decision { ops, response, stored: None })
    }

    fn delete(&mut self, owner: &str, id: &str) -> Result<Decision<()>, Error> {
        self.admit()?;
        let now = self.options.clock.now();
        self.state.of_owner(id, owner, now)?;
        self.state.remove(id);
        let audit = AuditEntry::new(now, owner, "medical_conversation_delete", id, json!({}));
        Ok(Decision { ops: vec![delete_conversation(id), audit.op()?], response: (), stored: None })
    }

    fn take_notices(&mut self, owner: &str) -> Result<Decision<Vec<Notice>>, Error> {
        if self.state.has_notices(owner) {
            self.admit()?;
        }
        let taken = self.state.take_notices(owner);
        let ops = taken.iter().map(delete_notice).collect();
        let notice = |record: NoticeRecord| {
            let NoticeRecord { conversation, at, by, reason, .. } = record;
            Notice { conversation, at, by, reason }
        };
        Ok(Decision { ops, response: taken.into_iter().map(notice).collect(), stored: None })
    }

    fn sweep(&mut self) -> Result<Decision<usize>, Error> {
        self.admit()?;
        let ended = self.state.ended(self.options.clock.now());
        let ops = ended.iter().map(|id| delete_conversation(id)).collect();
        ended.iter().for_each(|id| self.state.remove(id));
        Ok(Decision { ops, response: ended.len(), stored: None })
    }
}

fn delete_conversation(id: &str) -> Op {
    Op::Delete { tree: Tree::MedicalConversations, key: id.as_bytes().to_vec() }
}

fn delete_notice(notice: &NoticeRecord) -> Op {
    Op::Delete { tree: Tree::MedicalNotices, key: notice.key() }
}

/// The error of a conversation that the present key does not open.
fn unreadable() -> Error {
    let message = "this conversation cannot be decrypted: it was sealed with another MUSTER_MEDICAL_KEY, or changed since. \
                   The operator can set the former key again; otherwise delete it and begin a new one";
    Error::new(Kind::Conflict, message).coded("conversation_unreadable")
}

impl Handler<Open> for ConversationActor {
    type Result = ResponseFuture<Result<OpenedConversation, Error>>;

    fn handle(&mut self, Open { owner, id }: Open, context: &mut Context<Self>) -> Self::Result {
        let opened = self.open(&owner, &id);
        respond(self, opened, context)
    }
}

impl Handler<Keep> for ConversationActor {
    type Result = ResponseFuture<Result<Receipt, Error>>;

    fn handle(&mut self, Keep(new): Keep, context: &mut Context<Self>) -> Self::Result {
        let decision = self.keep(*new);
        self.settle(decision, context)
    }
}

impl Handler<Read> for ConversationActor {
    type Result = ResponseFuture<Result<ConversationView, Error>>;

    fn handle(&mut self, Read { reader, id }: Read, context: &mut Context<Self>) -> Self::Result {
        let decision = self.read(reader, &id);
        self.settle(decision, context)
    }
}

impl Handler<Delete> for ConversationActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, Delete { owner, id }: Delete, context: &mut Context<Self>) -> Self::Result {
        let decision = self.delete(&owner, &id);
        self.settle(decision, context)
    }
}

impl Handler<TakeNotices> for ConversationActor {
    type Result = ResponseFuture<Result<Vec<Notice>, Error>>;

    fn handle(&mut self, TakeNotices { owner }: TakeNotices, context: &mut Context<Self>) -> Self::Result {
        let decision = self.take_notices(&owner);
        self.settle(decision, context)
    }
}

impl Handler<Note> for ConversationActor {
    type Result = ResponseFuture<Result<(), Error>>;

    fn handle(&mut self, Note(entry): Note, context: &mut Context<Self>) -> Self::Result {
        let op = self.admit().and_then(|()| Ok(entry.op()?));
        self.settle(op.map(|op| Decision { ops: vec![op], response: (), stored: None }), context)
    }
}

impl Handler<Sweep> for ConversationActor {
    type Result = ResponseFuture<Result<usize, Error>>;

    fn handle(&mut self, _: Sweep, context: &mut Context<Self>) -> Self::Result {
        let decision = self.sweep();
        self.settle(decision, context)
    }
}

impl Handler<Count> for ConversationActor {
    type Result = ResponseFuture<Result<KeptCounts, Error>>;

    fn handle(&mut self, _: Count, context: &mut Context<Self>) -> Self::Result {
        let key = self.key.as_ref().map(RecordKey::identifier);
        let (kept, unreadable) = self.state.count(key, self.options.clock.now());
        respond(self, Ok(KeptCounts { kept, unreadable }), context)
    }
}
