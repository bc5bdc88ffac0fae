//! What a key allows, for its entries in the audit log.

use muster_store::{PageRequest, StoreError, StoreHandle};
use serde_json::{Value, json};

use super::record::KeyRecord;

impl KeyRecord {
    /// Returns what the key allows and to whose secret: the entries of the audit log have the hash of it. No name.
    #[must_use]
    pub fn allows(&self) -> Value {
        let replaced =
            self.replaced.as_ref().map(|replaced| json!({ "sha256": replaced.sha256, "until": replaced.until }));
        json!({
            "key": self.id,
            "lookup": self.lookup,
            "sha256": self.secret_sha256,
            "replaced": replaced,
            "owner": self.owner,
            "scopes": self.scopes,
            "roles": self.roles,
            "expires_at": self.expires_at,
            "revoked": self.revoked_at.is_some(),
        })
    }

    /// Returns the identifier of every stored key, and what it allows.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn all_that_is_allowed(store: &StoreHandle) -> Result<Vec<(String, Value)>, StoreError> {
        let keys = store.records::<Self>("key_", PageRequest::default()).values();
        keys.map(|key| key.map(|key| (key.id.clone(), key.allows()))).collect()
    }
}
