//! Stored records.

use muster_core::Millis;
use muster_store::{Encoding, Record, Tree};
use serde::{Deserialize, Serialize};

/// A conversation: whose it is and when it ends in the clear, the rest sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConversationRecord {
    pub(super) id: String,
    /// Identifier of the API key that it belongs to.
    pub(super) owner: String,
    /// Time of the last message.
    pub(super) last: Millis,
    /// Time at which it ends, as promised in the last answer.
    pub(super) ends: Millis,
    /// Identifier of the key that it is sealed with.
    pub(super) sealed_by: [u8; 8],
    pub(super) sealed: Vec<u8>,
}

impl Record for ConversationRecord {
    const TREE: Tree = Tree::MedicalConversations;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Postcard;
}

/// Beginning of the keys of conversations.
pub(super) const CONVERSATIONS: &str = "con_";

impl ConversationRecord {
    /// What is authenticated with the content, so that a record can be moved to no other conversation or owner.
    pub(super) fn context(id: &str, owner: &str) -> Vec<u8> {
        format!("{id}\0{owner}").into_bytes()
    }
}

/// The salt that keys are derived with from passphrases. It is no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SaltRecord(pub(super) [u8; 16]);

impl Record for SaltRecord {
    const TREE: Tree = Tree::MedicalConversations;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Postcard;
}

/// Key of the salt.
pub(super) const SALT: &[u8] = b"salt";

/// A notice that waits for an owner: somebody else has read one of their conversations. The reason is what the reader
/// gave, which is asked to contain nothing clinical.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct NoticeRecord {
    /// Identifier of the entry in the audit log.
    pub(super) id: String,
    pub(super) owner: String,
    pub(super) conversation: String,
    pub(super) at: Millis,
    /// Identifier of the key that read it.
    pub(super) by: String,
    pub(super) reason: String,
}

impl Record for NoticeRecord {
    const TREE: Tree = Tree::MedicalNotices;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Postcard;
}

impl NoticeRecord {
    pub(super) fn key(&self) -> Vec<u8> {
        self.id.clone().into_bytes()
    }
}
