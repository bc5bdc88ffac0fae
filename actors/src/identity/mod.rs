//! Who may log in, who is logged in, and what each may do.

mod caller;
mod permission;

pub use caller::{By, Person, lacks};
pub use permission::{Permission, Permissions, UserRole};
