//! Errors of tokens. They never contain a part of the token, which is untrusted and may be a secret.

/// Reason for which a token is not accepted. Callers receive the same 401 for all of them; the distinction is for the
/// log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The token exceeds the maximum length.
    #[error("the token exceeds the maximum length")]
    TooLong,
    /// The token does not have the required form.
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    /// The algorithm is not the accepted one.
    #[error("the token is not signed with EdDSA, the only accepted algorithm")]
    WrongAlgorithm,
    /// The `typ` is not the required one.
    #[error("the token is of a type that is not accepted here")]
    WrongType,
    /// The key is unknown.
    #[error("the token was signed by an unknown key")]
    UnknownKey,
    /// The key was not in use at the time of issue, or is no longer in use.
    #[error("the token's key was not in use at the token's time of issue, or is no longer in use")]
    KeyNotInUse,
    /// The signature does not match.
    #[error("the token's signature does not match")]
    BadSignature,
    /// The token has expired.
    #[error("the token has expired: get a new one")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet: check the clock of the machine that made it")]
    NotYet,
    /// The lifetime exceeds the maximum.
    #[error("the token is valid for longer than is allowed")]
    TooLongLived,
    /// The audience is not the required one.
    #[error("the token is for another audience")]
    WrongAudience,
    /// The issuer is not the required one.
    #[error("the token is of another issuer")]
    WrongIssuer,
    /// The subject is not the required one.
    #[error("the token is for another subject")]
    WrongSubject,
}

/// The operating system provided no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system provides no randomness")]
pub struct RandomError;

/// Returns `N` unpredictable bytes.
pub fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| RandomError)?;
    Ok(bytes)
}
