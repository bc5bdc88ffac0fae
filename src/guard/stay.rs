//! Long-lived responses that end together with the caller's session or key.

use actix_web::HttpRequest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_core::{Kind, Millis};
use muster_identity::{By, Scheme};
use serde::Deserialize;

use super::{app, caller_of, request_url};
use crate::error::HttpError;
use crate::ws::protocol::{Authenticated, Subject};
use crate::ws::{self, Admitted};

/// Returns the caller, with a future that follows its session or key during a long response.
///
/// # Errors
/// `Unauthenticated` if the session or key ended after the guard admitted the request.
pub async fn staying(request: &HttpRequest) -> Result<Admitted, HttpError> {
    let app = app(request)?;
    let admission = &app.sockets.admission;
    let (scheme, token) = ws::bearer(request).unwrap_or((Scheme::Bearer, String::new()));
    match caller_of(request)?.by {
        Some(By::Person(person)) => {
            let watch = admission.watch(&person.session_id);
            let watch =
                watch.ok_or_else(|| HttpError::new(Kind::Unauthenticated, "the session is over: log in again"))?;
            Ok(Admitted { client: Authenticated { subject: Subject::Person(person), exp: end_of(&token) }, watch })
        }
        _ => {
            let admitted = admission.authenticate(scheme, token, None, &request_url(&app, request)).await;
            admitted.map_err(|_| HttpError::new(Kind::Unauthenticated, "the key is not good any more"))
        }
    }
}

/// Returns the expiry time of an admitted token.
fn end_of(token: &str) -> Millis {
    #[derive(Deserialize)]
    struct Claims {
        exp: u64,
    }
    let claims = token.split('.').nth(1).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
    let claims = claims.and_then(|claims| serde_json::from_slice::<Claims>(&claims).ok());
    Millis(claims.map_or(0, |claims| claims.exp.saturating_mul(1000)))
}
