//! Signing: a checkpoint of durable entries only, consistent with the last one, first in the file, then everywhere else.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use muster_core::audit::AuditEntry;
use muster_store::{Batch, StoreError, Tree};
use muster_tlog::{Checkpoint, SignatureType, TileTree, VerifierKey};
use serde_json::{Value, json};

use super::Follower;
use crate::checkpoint_file::{Line, write_copy};
use crate::marks::SignedMark;
use crate::view::SignedCheckpoint;

impl Follower {
    /// Signs after a delay, so that entries which come together share a checkpoint.
    pub(super) fn sign_soon(&mut self, context: &mut Context<Self>) {
        if self.view.size() <= self.view.signed_size() {
            return;
        }
        self.view.unsigned_since.get_or_insert(self.options.clock.now());
        if !self.signing_due {
            self.signing_due = true;
            context.run_later(self.options.delay, |follower, context| {
                follower.signing_due = false;
                follower.sign(context);
            });
        }
    }

    pub(super) fn sign(&mut self, context: &mut Context<Self>) {
        if self.view.size() <= self.view.signed_size() {
            return;
        }
        match self.signed() {
            Ok(signed) => {
                self.view.problem = None;
                self.view.unsigned_since = None;
                let data = json!({ "origin": self.view.origin, "size": signed.size, "root": signed.root.to_string() });
                let mark = SignedMark { at: signed.at, note: signed.note.clone() };
                if let Some(copy) = &self.options.copy
                    && let Err(error) = write_copy(copy, &signed.note)
                {
                    tracing::warn!(%error, "the checkpoint was not copied");
                }
                self.view.signed = Some(signed);
                match mark.batch() {
                    Ok(batch) => self.publish_event("audit.checkpoint", batch, &data, context),
                    Err(error) => tracing::warn!(%error, "the checkpoint is in its file only"),
                }
                self.activate_key();
                self.ask_witnesses(context);
            }
            Err(error) => {
                tracing::error!(%error, "the audit log was not signed");
                self.view.problem = Some(error.to_string());
                self.sign_soon(context);
            }
        }
        self.publish();
    }

    fn signed(&mut self) -> Result<SignedCheckpoint, SigningError> {
        let (size, root) = (self.view.edge.size(), self.view.edge.root());
        if let Some(last) = &self.view.signed {
            let before = TileTree::new(&self.view.edge, &self.log).root(last.size);
            if before.map_err(|error| SigningError::Tree(error.to_string()))? != last.root {
                return Err(SigningError::Fork { size: last.size });
            }
        }
        let now = self.options.clock.now();
        let signers = self.options.keys.signers(&self.view.origin, now)?;
        let signers: Vec<_> = signers.iter().collect();
        let note = Checkpoint::new(self.view.origin.clone(), size, root).sign(&signers)?.to_string();
        self.file.append(&Line { at: now, note: note.clone() })?;
        Ok(SignedCheckpoint { size, root, at: now, note, cosignatures: Vec::new() })
    }

    /// Adds the entry that names an announced key. The keys before it sign the checkpoint that has this entry.
    pub(super) fn announce_key(&mut self, context: &mut Context<Self>) {
        let Some(public) = self.options.keys.pending() else { return };
        let appended = self.key_entry(&public).map(|op| self.options.store.commit(op));
        let appended = match appended {
            Ok(appended) => appended,
            Err(error) => return tracing::error!(%error, "the new key of the audit log cannot be announced"),
        };
        context.spawn(appended.into_actor(self).map(|appended, follower, _| match appended {
            Ok(()) => follower.new_key_at = Some(*follower.options.store.appended(Tree::AuditLog).borrow()),
            Err(error) => tracing::error!(%error, "the new key of the audit log cannot be announced"),
        }));
    }

    fn key_entry(&self, public: &[u8; 32]) -> Result<Batch, StoreError> {
        let vkey = VerifierKey::new(&self.view.origin, SignatureType::Ed25519, public);
        let vkey = vkey.map_err(|error| StoreError::BadRequest(error.to_string()))?.to_string();
        let entry = AuditEntry::new(self.options.clock.now(), "system", "log.key_added", &vkey, Value::Null);
        Ok(Batch { ops: vec![entry.op()?], ..Batch::default() })
    }

    fn activate_key(&mut self) {
        if self.new_key_at.is_some_and(|size| size <= self.view.signed_size()) {
            self.new_key_at = None;
            match self.options.keys.activate(self.options.clock.now()) {
                Ok(()) => tracing::info!("the new key of the audit log signs from now on"),
                Err(error) => tracing::error!(%error, "the new key of the audit log does not sign yet"),
            }
        }
    }
}

/// Why a checkpoint was not signed.
#[derive(Debug, thiserror::Error)]
enum SigningError {
    #[error("the tree no longer has the root that was signed for its first {size} entries")]
    Fork { size: u64 },
    #[error("the root of the last checkpoint cannot be computed: {0}")]
    Tree(String),
    #[error(transparent)]
    Key(#[from] muster_tlog::KeyError),
    #[error(transparent)]
    Checkpoint(#[from] muster_tlog::CheckpointError),
    #[error("the file of checkpoints cannot be written: {0}")]
    File(#[from] std::io::Error),
}
