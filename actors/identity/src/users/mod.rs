//! User accounts: stored records and the operations on them.

mod record;
mod state;

pub use record::{Phc, UserRecord};
pub(super) use state::UserState;
pub use state::{Given, MAX_PASSWORD, NewUser, UserPatch, fold, usable_password};
