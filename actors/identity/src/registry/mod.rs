//! The registry: the actor that owns users and sessions.

mod actor;
mod effects;
mod login;
mod messages;
mod open_sessions;
mod sessions;
mod users;

pub(super) use actor::{Registry, RegistryOptions, load};
pub(super) use login::rejected as login_rejected;
pub use messages::CreatedUser;
pub(super) use messages::{
    AttemptLogin, CreateUser, DeleteUser, EndReason, EndSession, EndSessions, GetUser, ListSessions, ListUsers,
    LocateSession, LoginAttempt, OpenSession, PatchUser, SetPassword,
};
