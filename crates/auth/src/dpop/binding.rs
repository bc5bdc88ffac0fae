//! Whether a token may be used as it came: bound tokens only with a proof of their key (RFC 9449 §7).

use subtle::ConstantTimeEq;

use super::proof::Proof;
use crate::claims::Confirmation;

/// How the token was sent: the scheme of the `Authorization` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Bearer,
    Dpop,
}

/// What becomes of a bound token that is sent as `Bearer`. RFC 9449 §7.2 refuses it always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundBearer {
    /// Taken when a valid proof comes with it.
    WithProof,
    Reject,
}

/// Why a token may not be used as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BindingError {
    #[error("the token is bound to a key: send a DPoP proof of it")]
    ProofRequired,
    #[error("the proof was made with another key than the token is bound to")]
    OtherKey,
    #[error("a bound token must be sent with the scheme DPoP")]
    BearerRefused,
    #[error("the token is bound to no key: send it with the scheme Bearer")]
    NotBound,
}

/// Checks the way a token came against what it is bound to; `proof` is a checked one.
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
