//! Login, sessions, the current user.

mod body;
mod keys;
mod login;
mod sessions;

pub use keys::KeyChange;

use crate::route::operations;

operations! {
    login::login,
    login::cli_login,
    login::service_login,
    login::refresh,
    sessions::logout,
    sessions::logout_all,
    sessions::password,
    sessions::me,
    sessions::list,
    sessions::end,
    keys::rotate,
    keys::jwks,
}
