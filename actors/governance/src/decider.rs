//! Stored records of deciders, delegations and the constitution.

use muster_auth::PublicKey;
use muster_core::Millis;
use muster_core::guard::QuorumRole;
use muster_store::{Encoding, PageRequest, Record, StoreError, StoreHandle, Tree};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Maximum number of keys of a decider.
pub const MAX_KEYS: usize = 3;

/// A key by which a decider signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeciderKey {
    /// RFC 7638 thumbprint.
    pub kid: String,
    /// The 32 bytes of the public Ed25519 key, base64url.
    pub x: String,
    /// Time of the enrolment: approvals that were opened before are not signed with it.
    pub enrolled_at: Millis,
}

impl DeciderKey {
    /// Returns the key; `None` if the record is damaged.
    pub fn public(&self) -> Option<PublicKey> {
        PublicKey::from_jwk(&self.jwk()).ok()
    }

    /// Returns the public JWK.
    pub fn jwk(&self) -> Value {
        json!({ "kty": "OKP", "crv": "Ed25519", "x": self.x })
    }
}

/// The stored record of a decider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeciderRecord {
    /// The person, `usr_…`.
    pub user: String,
    /// Roles for which the person decides, as long as the role of the server holds them.
    pub roles: Vec<QuorumRole>,
    /// One to three keys.
    pub keys: Vec<DeciderKey>,
    /// Time of the first enrolment.
    pub enrolled_at: Millis,
    /// Time of the newest proof that the person has a key. Changes of the account by others after it suspend the decider.
    pub confirmed_at: Millis,
    /// Number of delegations so far, so that no signature of one is used twice.
    #[serde(default)]
    pub delegated: u32,
}

impl DeciderRecord {
    /// Returns the key of a decider's record.
    pub fn key(user: &str) -> Vec<u8> {
        [b"decider/", user.as_bytes()].concat()
    }
}

impl DeciderRecord {
    /// Returns the resource by which entries of the audit log name a decider; its account is another one.
    pub fn resource(user: &str) -> String {
        format!("decider/{user}")
    }

    /// Returns what the record allows, for the audit log.
    pub fn allows(&self) -> Value {
        let keys: Vec<_> = self.keys.iter().map(|key| &key.kid).collect();
        json!({ "roles": self.roles, "keys": keys })
    }
}

impl Record for DeciderRecord {
    const TREE: Tree = Tree::Deciders;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The stored record of a delegation in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegationRecord {
    /// Identifier, `dlg_…`.
    pub id: String,
    /// Who delegates.
    pub from: String,
    /// Who decides instead.
    pub to: String,
    /// The role.
    pub role: QuorumRole,
    /// Time until which it is in force.
    pub until: Millis,
    /// Time at which it was made.
    pub created_at: Millis,
    /// Nonce that was signed.
    pub nonce: String,
    /// Thumbprint of the key that signed.
    pub kid: String,
    /// The signature, base64url.
    pub signature: String,
}

impl DelegationRecord {
    /// Returns the key of a delegation's record.
    pub fn key(id: &str) -> Vec<u8> {
        [b"delegation/", id.as_bytes()].concat()
    }
}

impl Record for DelegationRecord {
    const TREE: Tree = Tree::Deciders;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The record that there is a quorum: from then on guarded actions need an approval, for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constitution {
    /// Time from which it is in force.
    pub at: Millis,
    /// The deciders of that time.
    pub deciders: Vec<String>,
}

impl Constitution {
    /// Key of the record.
    pub const KEY: &'static [u8] = b"constitution";
    /// Resource by which entries of the audit log name it.
    pub const RESOURCE: &'static str = "governance";
}

impl Constitution {
    /// Returns what the record says, for the audit log.
    pub fn allows(&self) -> Value {
        json!({ "at": self.at, "deciders": self.deciders })
    }
}

/// Returns what each decider of a store may sign, and whether there is a constitution: null without one, so that one that
/// was taken away is found.
///
/// # Errors
/// The store cannot be read.
pub fn all_that_is_allowed(store: &StoreHandle) -> Result<Vec<(String, Value)>, StoreError> {
    let deciders = store.records::<DeciderRecord>(DeciderRecord::key(""), PageRequest::default()).values();
    let deciders =
        deciders.map(|decider| decider.map(|decider| (DeciderRecord::resource(&decider.user), decider.allows())));
    let mut all = deciders.collect::<Result<Vec<_>, StoreError>>()?;
    let constitution = store.record::<Constitution>(Constitution::KEY)?;
    all.push((
        Constitution::RESOURCE.to_owned(),
        constitution.map_or(Value::Null, |constitution| constitution.allows()),
    ));
    Ok(all)
}

impl Record for Constitution {
    const TREE: Tree = Tree::Deciders;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}

/// The newest time that a decision of governance has seen, so that a clock that is moved back revives nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewestTime(pub Millis);

impl NewestTime {
    /// Key of the record.
    pub const KEY: &'static [u8] = b"time";
}

impl Record for NewestTime {
    const TREE: Tree = Tree::Deciders;
    const SCHEMA: u16 = 1;
    const ENCODING: Encoding = Encoding::Json;
}
