//! User accounts: stored records and the operations on them.

mod record;
mod state;

pub(super) use record::Phc;
pub use record::UserRecord;
pub(super) use state::{MAX_EMAIL, UserState, check_administers, check_new_password, normalize_email};
pub use state::{NewUser, UserPatch};
