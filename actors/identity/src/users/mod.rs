//! People who may log in: their records, and what may be done with them.

mod record;
mod state;

pub use record::{Phc, UserRecord};
pub(super) use state::UserState;
pub use state::{Given, MAX_PASSWORD, NewUser, UserPatch, fold, usable_password};
