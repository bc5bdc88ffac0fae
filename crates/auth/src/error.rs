//! Why a token is refused. Never holds a part of the token: it came from outside and may be a secret.

/// A token that is not accepted. To the caller all are one 401; the difference is for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the token is longer than is read")]
    TooLong,
    #[error("the token is malformed: {0}")]
    Malformed(&'static str),
    #[error("the token is not signed with the one algorithm that is accepted")]
    WrongAlgorithm,
    #[error("the token is of another type than is asked for here")]
    WrongType,
    #[error("the token names a key that nobody here knows")]
    UnknownKey,
    #[error("the token's key was not in use when the token says it was made, or is in use no longer")]
    KeyNotInUse,
    #[error("the token's signature does not match")]
    BadSignature,
    #[error("the token has expired: get a new one")]
    Expired,
    #[error("the token is not valid yet: check the clock of the machine that made it")]
    NotYet,
    #[error("the token is valid for longer than is allowed")]
    TooLongLived,
    #[error("the token is for another audience")]
    WrongAudience,
    #[error("the token is of another issuer")]
    WrongIssuer,
    #[error("the token is about somebody else")]
    WrongSubject,
}

/// The system gave no randomness; nothing can be made without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system gives no randomness")]
pub struct RandomError;

/// `N` unpredictable bytes.
pub fn random<const N: usize>() -> Result<[u8; N], RandomError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| RandomError)?;
    Ok(bytes)
}
