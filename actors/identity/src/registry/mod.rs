//! The registry: the one actor that says who there is and which sessions live.

mod actor;
mod effects;
mod login;
mod messages;
mod open;
mod people;
mod sessions;

pub(super) use actor::{Registry, RegistryOptions, load};
pub(super) use login::refused as login_refused;
pub use messages::Created;
pub(super) use messages::Reason;
pub(super) use messages::{
    Attempt, Attempted, CreateUser, DeleteUser, EndAll, EndSession, GetUser, ListSessions, ListUsers, Locate,
    OpenSession, PatchUser, SetPassword,
};
