//! User accounts: stored records and the operations on them.

mod allows;
mod record;
mod service_account;
mod service_state;
mod state;

pub(super) use record::Phc;
pub use record::UserRecord;
pub use service_account::{NewServiceAccount, ServiceAccountPatch, ServiceCredential};
pub(super) use service_account::{SecretHash, ServiceSecret};
pub(super) use state::{AccountKind, MAX_EMAIL, UserState, check_administers, check_new_password, normalize_email};
pub use state::{NewUser, UserPatch};
