//! Issues and verifies the tokens of sessions.

use std::sync::Arc;
use std::time::Duration;

use muster_auth::dpop::{self, BoundBearer, Expected, JtiLimits, JtiStore, Proof, Scheme};
use muster_auth::{
    AccessClaims, Confirmation, KeySet, RefreshClaims, TokenCache, TokenRequirements, TokenType, mint, verify,
};
use tokio::sync::watch;

use super::sessions::{Lifetimes, RefreshToken, SessionRecord};
use super::users::UserRecord;
use muster_core::{Error, Kind, Millis};

/// The credential of a request.
#[derive(Debug, Clone, Copy)]
pub struct Credential<'a> {
    /// Scheme of the header `Authorization`.
    pub scheme: Scheme,
    /// The token; empty if the request has none.
    pub token: &'a str,
    /// Value of the header `DPoP`.
    pub proof: Option<&'a str>,
    /// Method of the request.
    pub method: &'a str,
    /// URL of the request as its sender knows it.
    pub url: &'a str,
}

/// The tokens issued by a login or a refresh.
#[derive(Debug, Clone)]
pub struct IssuedTokens {
    /// The access token.
    pub token: String,
    /// The refresh token.
    pub refresh_token: String,
    /// Lifetime of the access token, in seconds.
    pub expires_in: u64,
    /// The user of the session.
    pub user: Arc<UserRecord>,
    /// Session identifier, `ses_…`.
    pub session_id: String,
    /// Whether the tokens are bound to a key.
    pub bound: bool,
}

/// Issues and verifies tokens.
#[derive(Debug)]
pub(super) struct Tokens {
    pub keys: watch::Receiver<Option<Arc<KeySet>>>,
    pub issuer: String,
    pub lifetimes: Lifetimes,
    pub bound_bearer: BoundBearer,
    cache: TokenCache<AccessClaims>,
    proofs: JtiStore,
}

/// The error for an invalid access token.
pub(super) fn invalid(message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unauthenticated, format!("the token is invalid: {message}"))
}

/// The error for a missing or invalid proof of possession.
pub(super) fn unproven(message: impl std::fmt::Display) -> Error {
    Error::new(Kind::Unauthenticated, message.to_string()).coded("invalid_dpop_proof")
}

impl Tokens {
    pub fn new(
        keys: watch::Receiver<Option<Arc<KeySet>>>,
        issuer: String,
        lifetimes: Lifetimes,
        bound_bearer: BoundBearer,
    ) -> Self {
        let (cache, proofs) = (TokenCache::default(), JtiStore::new(JtiLimits::default()));
        Self { keys, issuer, lifetimes, bound_bearer, cache, proofs }
    }

    /// Returns the present keys.
    pub fn keys(&self) -> Result<Arc<KeySet>, Error> {
        self.keys.borrow().clone().ok_or_else(|| Error::new(Kind::Unavailable, "the signing keys are being read"))
    }

    /// Issues the tokens of a session's present generation. They are the same each time, as long as the keys are.
    pub fn of(&self, session: &SessionRecord, user: Arc<UserRecord>) -> Result<IssuedTokens, Error> {
        let keys = self.keys()?;
        let (iat, family) = (session.refresh.rotated_at.seconds(), &session.refresh);
        let cnf = session.jkt.as_ref().map(|jkt| Confirmation { jkt: jkt.clone() });
        // Not longer than the session, which may end with its account.
        let left = session.ends(&self.lifetimes).since(session.refresh.rotated_at);
        let expires_in = self.lifetimes.access.min(left).as_secs();
        let access = AccessClaims {
            iss: self.issuer.clone(),
            aud: TokenType::Access.audience().to_owned(),
            sub: user.id.clone(),
            sid: session.id.clone(),
            jti: family.access_jti(),
            iat,
            nbf: iat,
            exp: iat + expires_in,
            role: user.role.name().to_owned(),
            pv: user.pv,
            cnf: cnf.clone(),
        };
        let refresh = RefreshClaims {
            iss: self.issuer.clone(),
            aud: TokenType::Refresh.audience().to_owned(),
            sub: user.id.clone(),
            sid: session.id.clone(),
            fam: family.fam.clone(),
            generation: family.generation,
            jti: family.jti(),
            iat,
            exp: iat + session.refresh_lifetime(&self.lifetimes).as_secs(),
            cnf,
        };
        let internal = |error: muster_auth::token::MintError| Error::new(Kind::Internal, error.to_string());
        Ok(IssuedTokens {
            token: mint(&keys, TokenType::Access, &access).map_err(internal)?,
            refresh_token: mint(&keys, TokenType::Refresh, &refresh).map_err(internal)?,
            expires_in,
            user,
            session_id: session.id.clone(),
            bound: session.jkt.is_some(),
        })
    }

    /// Signs a token valid for a minute, verifies it, and checks that it is rejected with another signature. It belongs
    /// to no session, so it authenticates nobody. Returns how long the key has been signing.
    ///
    /// # Errors
    /// A check failed.
    pub fn self_test(&self, now: Millis) -> Result<Duration, Error> {
        let (keys, at) = (self.keys()?, now.seconds());
        let claims = AccessClaims {
            iss: self.issuer.clone(),
            aud: TokenType::Access.audience().to_owned(),
            sub: "health".to_owned(),
            sid: "health".to_owned(),
            jti: "health".to_owned(),
            iat: at,
            nbf: at,
            exp: at + 60,
            role: "viewer".to_owned(),
            pv: 0,
            cnf: None,
        };
        let failed = |message: String| Error::new(Kind::Internal, message);
        let token = mint(&keys, TokenType::Access, &claims).map_err(|error| failed(error.to_string()))?;
        let check = |token: &str| verify::<AccessClaims>(&keys, token, TokenRequirements::access(&self.issuer), at);
        check(&token).map_err(|error| failed(format!("a newly signed token is rejected: {error}")))?;
        let (signed, signature) = token.rsplit_once('.').unwrap_or_default();
        let other = if signature.starts_with('A') { "B" } else { "A" };
        let forged = format!("{signed}.{other}{}", signature.get(1..).unwrap_or_default());
        if check(&forged).is_ok() {
            return Err(failed("a token with another signature is accepted".to_owned()));
        }
        Ok(Duration::from_secs(at.saturating_sub(keys.current().use_from())))
    }

    /// Verifies an access token and returns its claims. Its session is not checked.
    pub fn access(&self, token: &str, now: Millis) -> Result<Arc<AccessClaims>, Error> {
        if let Some(claims) = self.cache.get(token, now.seconds()) {
            return Ok(claims);
        }
        let expected = TokenRequirements::access(&self.issuer);
        let claims: AccessClaims = verify(&*self.keys()?, token, expected, now.seconds()).map_err(invalid)?;
        let claims = Arc::new(claims);
        self.cache.insert(token, Arc::clone(&claims), claims.exp);
        Ok(claims)
    }

    /// Verifies a refresh token and returns its content; `jkt` is the thumbprint of the key that the request proved to
    /// hold.
    pub fn refresh(&self, token: &str, jkt: Option<String>, now: Millis) -> Result<RefreshToken, Error> {
        let expected = TokenRequirements::refresh(&self.issuer);
        let claims: RefreshClaims = verify(&*self.keys()?, token, expected, now.seconds()).map_err(invalid)?;
        Ok(RefreshToken { sid: claims.sid, fam: claims.fam, generation: claims.generation, jti: claims.jti, jkt })
    }

    /// Checks that the sender of a token holds the key that the token is bound to.
    pub fn check_possession(
        &self,
        credential: &Credential<'_>,
        claims: &AccessClaims,
        now: Millis,
    ) -> Result<(), Error> {
        let proof = match (&claims.cnf, credential.proof) {
            (Some(_), Some(proof)) => Some(self.proof(credential, proof, Some(credential.token), now)?),
            _ => None,
        };
        dpop::check_binding(credential.scheme, claims.cnf.as_ref(), proof.as_ref(), self.bound_bearer)
            .map_err(unproven)?;
        match proof {
            Some(proof) => self.proofs.admit(&proof, now.seconds()).map_err(unproven),
            None => Ok(()),
        }
    }

    /// Returns the key that a request without an access token proves to hold.
    pub fn proven_key(&self, credential: &Credential<'_>, now: Millis) -> Result<Option<String>, Error> {
        let Some(proof) = credential.proof else { return Ok(None) };
        let proof = self.proof(credential, proof, None, now)?;
        self.proofs.admit(&proof, now.seconds()).map_err(unproven)?;
        Ok(Some(proof.jkt))
    }

    fn proof(
        &self,
        credential: &Credential<'_>,
        proof: &str,
        token: Option<&str>,
        now: Millis,
    ) -> Result<Proof, Error> {
        let expected = Expected { htm: credential.method, htu: credential.url, access_token: token, nonces: None };
        dpop::check(proof, expected, now.seconds()).map_err(unproven)
    }
}
