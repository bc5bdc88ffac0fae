//! The keys that sign session tokens.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_identity::SigningKeyChange;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{Agent, CallErrors, Disaster, OpenErrors, Unavailable};
use crate::guard::{Guarded, Open, SigningKeysRotate, by_of};

/// A set of public keys (RFC 7517).
#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code, reason = "describes a value that is serialized elsewhere")]
pub struct Jwks {
    /// The current key, the next key before it signs, and retired keys while a token that they signed may be valid.
    pub keys: Vec<Jwk>,
}

#[derive(Debug, Serialize, ToSchema)]
#[allow(dead_code, reason = "describes a value that is serialized elsewhere")]
pub struct Jwk {
    /// Always `OKP`.
    pub kty: String,
    /// Always `Ed25519`.
    pub crv: String,
    pub x: String,
    /// Thumbprint of the key (RFC 7638).
    pub kid: String,
    /// Always `EdDSA`.
    pub alg: String,
    /// Always `sig`.
    pub r#use: String,
}

/// List the public keys of session tokens
///
/// Returns the public keys by which session tokens are verified, as a JSON Web Key Set (RFC 7517): the current key, the
/// next key before it signs, and retired keys while a token that they signed may still be valid. The response may be
/// cached for 5 minutes.
#[utoipa::path(get, path = "/.well-known/jwks.json", tag = "auth", operation_id = "get_jwks",
    responses((status = 200, description = "The public keys", body = Jwks), OpenErrors<Agent>, Unavailable<Agent>))]
pub async fn jwks(_open: Open, app: web::Data<App>) -> Result<HttpResponse, HttpError> {
    let keys = app.identity.jwks()?;
    Ok(HttpResponse::Ok().insert_header((header::CACHE_CONTROL, "public, max-age=300")).json(keys))
}

/// The changes that a rotation made.
#[derive(Debug, Serialize, ToSchema)]
pub struct Rotated {
    pub changes: Vec<KeyChange>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct KeyChange {
    /// `published`, `promoted`, `dropped` or `revoked`.
    pub change: &'static str,
    pub kid: String,
    /// Time from which a published key signs, in Unix seconds.
    pub use_from: Option<u64>,
}

impl From<SigningKeyChange> for KeyChange {
    fn from(change: SigningKeyChange) -> Self {
        let (change, kid, use_from) = match change {
            SigningKeyChange::Published { kid, use_from } => ("published", kid, Some(use_from)),
            SigningKeyChange::Promoted { kid, .. } => ("promoted", kid, None),
            SigningKeyChange::Dropped { kid } => ("dropped", kid, None),
            SigningKeyChange::Revoked { kid } => ("revoked", kid, None),
        };
        Self { change, kid, use_from }
    }
}

/// Rotate the signing keys
///
/// Publishes the next signing key, which begins to sign once every verifier has had time to fetch it
/// (`auth.key_publish_ahead_hours`). Tokens of the current key stay valid. If a next key is already published, nothing
/// changes.
#[utoipa::path(post, path = "/api/v1/auth/keys/rotate", tag = "auth", operation_id = "rotate_signing_keys",
    responses((status = 200, description = "The changes that were made", body = Data<Rotated>), CallErrors<Disaster>))]
pub async fn rotate(
    _guard: Guarded<SigningKeysRotate>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let changes = app.identity.rotate_keys(by_of(&http)?).await?;
    Ok(envelope::data(Rotated { changes: changes.into_iter().map(Into::into).collect() }))
}
