//! Getting tokens.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_identity::{Login, Origin};

use super::body::{LoginBody, RefreshBody, Tokens, claim};
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::{ErrorDisaster, HttpError};
use crate::guard::{Anyone, address_of, admit_login, peer, shown_without_token};

/// Logs in. Whatever is wrong with e-mail and password is one answer, given after the same work. More than 10 attempts
/// a minute of one address for one e-mail are 429; after 5 failures an account is locked for a second, which doubles
/// with each further failure up to 15 minutes, and is forgotten again.
#[utoipa::path(post, path = "/api/v1/auth/login", tag = "auth", request_body = LoginBody, security(()),
    responses((status = 200, body = Data<Tokens>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn login(
    request: Anyone<LoginBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let body = request.0;
    admit_login(&app, &http, &body.email).await?;
    log_in(&app, &http, body, None).await
}

/// Logs in with tokens that are bound to the key of a device: the header `DPoP` holds a proof of that key (RFC 9449),
/// and so must every request with these tokens.
#[utoipa::path(post, path = "/api/v1/auth/cli/login", tag = "auth", request_body = LoginBody, security(()),
    params(("DPoP" = String, Header, description = "A proof of the device's key, for this method and address")),
    responses((status = 200, body = Data<Tokens>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn cli_login(
    request: Anyone<LoginBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let body = request.0;
    admit_login(&app, &http, &body.email).await?;
    let url = address_of(&app, &http);
    // RFC 9449, section 5: where tokens are given, a bad proof is 400.
    let refused = |error: Error| Error { kind: Kind::Invalid, ..error };
    let jkt = app.identity.holder(&shown_without_token(&http, &url)).map_err(refused)?;
    let jkt = jkt.ok_or_else(|| refused(muster_identity::proof_required()))?;
    log_in(&app, &http, body, Some(jkt)).await
}

async fn log_in(
    app: &App,
    http: &HttpRequest,
    body: LoginBody,
    jkt: Option<String>,
) -> Result<HttpResponse, HttpError> {
    let user_agent = http.headers().get(header::USER_AGENT).and_then(|value| value.to_str().ok()).map(claim);
    let origin = Origin { ip: peer(http), user_agent, claimed: body.device_info.map(Into::into), jkt };
    let done = app.identity.login(Login { email: body.email, password: body.password, origin }).await?;
    Ok(secret(envelope::data(Tokens::from(done))))
}

/// Gives new tokens for a refresh token, which is good once. The same one again within 10 seconds, while its successor
/// is unused, gives that successor again: an answer may be lost. Later it ends the session: it was stolen. A session
/// that is bound to a key needs its proof in the header `DPoP`.
#[utoipa::path(post, path = "/api/v1/auth/refresh", tag = "auth", request_body = RefreshBody, security(()),
    params(("DPoP" = Option<String>, Header, description = "A proof of the key that the session is bound to")),
    responses((status = 200, body = Data<Tokens>), (status = 400, body = ErrorDisaster),
        (status = 401, body = ErrorDisaster), (status = 413, body = ErrorDisaster),
        (status = 415, body = ErrorDisaster), (status = 429, body = ErrorDisaster),
        (status = 503, body = ErrorDisaster)))]
pub async fn refresh(
    request: Anyone<RefreshBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let token = request.0.refresh_token;
    admit_login(&app, &http, &app.identity.session_named(&token)).await?;
    let url = address_of(&app, &http);
    let jkt = app.identity.holder(&shown_without_token(&http, &url))?;
    let done = app.identity.refresh(&token, jkt).await?;
    Ok(secret(envelope::data(Tokens::from(done))))
}

/// Tokens are kept by nobody on the way (RFC 6749, section 5.1).
fn secret(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
