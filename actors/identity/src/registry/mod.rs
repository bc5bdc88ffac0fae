//! The registry: the actor that owns users and sessions.

mod actor;
mod effects;
mod login;
mod login_log;
mod messages;
mod open_sessions;
mod role_grant;
mod service_accounts;
mod sessions;
mod users;

pub(super) use actor::{Registry, RegistryOptions, load};
pub(super) use login::{rejected as login_rejected, secret_rejected};
pub use login_log::RecentLogin;
pub(super) use messages::{
    AttemptLogin, CheckedCredential, CreateServiceAccount, CreateUser, DeleteUser, EndReason, EndSession, EndSessions,
    GetUser, ListLogins, ListSessions, ListUsers, LocateSession, LoginAttempt, OpenSession, PatchServiceAccount,
    PatchUser, RotateSecret, SetPassword,
};
pub use messages::{CreatedUser, IssuedSecret};
