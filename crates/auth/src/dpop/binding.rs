//! Checks whether a token may be used in the way it was sent: bound tokens require a proof of possession of their key
//! (RFC 9449 §7).

use subtle::ConstantTimeEq;

use super::proof::Proof;
use crate::claims::Confirmation;

/// Scheme of the `Authorization` header with which a token was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `Bearer` (RFC 6750).
    Bearer,
    /// `DPoP` (RFC 9449).
    Dpop,
}

/// Policy for bound tokens sent with the scheme `Bearer`. RFC 9449 §7.2 always rejects them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundBearer {
    /// Accepted if a valid proof is sent with it.
    WithProof,
    /// Always rejected.
    Reject,
}

/// Reason for which a token may not be used in the way it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    /// A bound token was sent without a proof.
    #[error("the token is bound to a key: send a DPoP proof of it")]
    ProofRequired,
    /// The proof was signed by a different key.
    #[error("the proof was signed by a key other than the one the token is bound to")]
    OtherKey,
    /// A bound token was sent with the scheme `Bearer`.
    #[error("a bound token must be sent with the scheme DPoP")]
    BearerRefused,
    /// A token that is not bound was sent with the scheme `DPoP`.
    #[error("the token is bound to no key: send it with the scheme Bearer")]
    NotBound,
}

/// Checks the scheme and the proof of a request against the key that its token is bound to. `proof` must have been
/// verified.
///
/// # Errors
///
/// Returns the requirement that the request does not meet.
pub fn check_binding(
    scheme: Scheme,
    cnf: Option<&Confirmation>,
    proof: Option<&Proof>,
    bound_bearer: BoundBearer,
) -> Result<(), BindingError> {
    let Some(cnf) = cnf else {
        return if scheme == Scheme::Bearer { Ok(()) } else { Err(BindingError::NotBound) };
    };
    if (scheme, bound_bearer) == (Scheme::Bearer, BoundBearer::Reject) {
        return Err(BindingError::BearerRefused);
    }
    let proof = proof.ok_or(BindingError::ProofRequired)?;
    if bool::from(proof.jkt.as_bytes().ct_eq(cnf.jkt.as_bytes())) { Ok(()) } else { Err(BindingError::OtherKey) }
}
