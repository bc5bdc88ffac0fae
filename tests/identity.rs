//! People of the disaster network: login, sessions, tokens and what each may do.

mod login;

use crate::support;
