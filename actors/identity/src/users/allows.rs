//! What an account allows, for its entries in the audit log.

use muster_store::{PageRequest, StoreError, StoreHandle};
use serde_json::{Value, json};

use super::UserRecord;

impl UserRecord {
    /// Returns what the account allows and to whose secret: the entries of the audit log have the hash of it. No name.
    #[must_use]
    pub fn allows(&self) -> Value {
        json!({
            "user": self.id,
            "role": self.role,
            "grants": self.grants,
            "disabled": self.disabled,
            "password": self.password,
            "service": self.service,
        })
    }

    /// Returns the identifier of every stored account, and what it allows.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn all_that_is_allowed(store: &StoreHandle) -> Result<Vec<(String, Value)>, StoreError> {
        let accounts = store.records::<Self>([], PageRequest::default()).values();
        accounts.map(|account| account.map(|account| (account.id.clone(), account.allows()))).collect()
    }
}
