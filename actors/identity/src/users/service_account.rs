//! Service accounts: principals of programs, with a secret instead of a password. A file of its own because people have
//! none of this.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use muster_core::principal::UserRole;
use muster_core::{Error, Kind, Millis};

/// Prefix of every secret, by which scanners of source code recognize one.
const PREFIX: &str = "mss_";

/// SHA-256 of a secret. The secret has 256 random bits, so a slow hash would add no security.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    /// Returns the hash of a secret as a client sent it.
    pub(crate) fn of(secret: &str) -> Self {
        Self(Sha256::digest(secret.as_bytes()).into())
    }

    /// Compares in constant time.
    fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(…)")
    }
}

/// A new secret, which is returned once.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ServiceSecret(String);

impl fmt::Debug for ServiceSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServiceSecret(…)")
    }
}

impl ServiceSecret {
    /// Generates a secret of 256 bits.
    ///
    /// # Errors
    /// `Internal` if the operating system returned no random numbers.
    pub(crate) fn generate() -> Result<Self, Error> {
        let mut random = [0; 32];
        getrandom::fill(&mut random).map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        Ok(Self(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random))))
    }

    pub(crate) fn hash(&self) -> SecretHash {
        SecretHash::of(&self.0)
    }

    /// Returns the secret as text, for the one response that contains it.
    pub(crate) fn reveal(self) -> String {
        self.0
    }
}

/// The stored secret and expiry of a service account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServiceCredential {
    pub(super) secret: SecretHash,
    /// The secret before the last rotation.
    pub(super) previous: Option<SecretHash>,
    /// Time until which the previous secret is accepted.
    pub previous_until: Option<Millis>,
    /// Time of the last rotation.
    pub rotated_at: Millis,
    /// Time at which the account expires.
    pub expires_at: Millis,
}

impl ServiceCredential {
    /// Returns whether a secret with this hash is accepted.
    pub(crate) fn accepts(&self, sent: &SecretHash, now: Millis) -> bool {
        let current = self.secret.matches(sent);
        let in_grace = self.previous_until.is_some_and(|until| now < until);
        let previous = self.previous.as_ref().is_some_and(|previous| previous.matches(sent));
        now < self.expires_at && (current || (in_grace && previous))
    }
}

/// A service account to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewServiceAccount {
    /// Unique name: 1 to 64 lower-case letters, digits and hyphens.
    pub name: String,
    /// Role: any of [`NewServiceAccount::ROLES`].
    pub role: UserRole,
    /// Time at which it expires; `None` for one year.
    pub expires_at: Option<Millis>,
}

impl NewServiceAccount {
    /// Roles that a service account can have. The others close a rule of two people or administer accounts, which is for
    /// people only.
    pub const ROLES: [UserRole; 5] =
        [UserRole::Viewer, UserRole::Auditor, UserRole::Responder, UserRole::Operator, UserRole::FirmwareManager];
}

/// Changes to a service account; `None` leaves a field as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ServiceAccountPatch {
    /// Role: any of [`NewServiceAccount::ROLES`].
    pub role: Option<UserRole>,
    /// Time at which it expires.
    pub expires_at: Option<Millis>,
    /// Whether it is barred from logging in.
    pub disabled: Option<bool>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_has_256_bits_and_is_in_no_debug_output() {
        let secret = ServiceSecret::generate().unwrap();
        assert_eq!(secret.0.len(), PREFIX.len() + 43);
        assert_ne!(ServiceSecret::generate().unwrap(), secret);
        assert!(!format!("{secret:?} {:?}", secret.hash()).contains(&secret.0));
    }

    #[test]
    fn the_previous_secret_is_accepted_until_its_grace_ends_and_none_after_expiry() {
        let (old, new) = (SecretHash::of("old"), SecretHash::of("new"));
        let credential = ServiceCredential {
            secret: new,
            previous: Some(old),
            previous_until: Some(Millis(10)),
            rotated_at: Millis(0),
            expires_at: Millis(20),
        };
        let accepted = |at| [old, new, SecretHash::of("x")].map(|hash| credential.accepts(&hash, Millis(at)));
        assert_eq!(accepted(9), [true, true, false]);
        assert_eq!(accepted(10), [false, true, false]);
        assert_eq!(accepted(20), [false, false, false]);
    }
}
