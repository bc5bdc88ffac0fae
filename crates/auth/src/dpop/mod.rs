//! Demonstrating proof of possession (DPoP, RFC 9449): each request proves that its sender holds the key that its token
//! is bound to.

mod binding;
mod htu;
mod jti;
mod nonce;
mod proof;

pub use binding::{BindingError, BoundBearer, Scheme, check_binding};
pub use jti::{JtiError, JtiLimits, JtiStore};
pub use nonce::Nonces;
pub use proof::{Expected, Proof, ProofError, WINDOW, check, sign_proof};
