//! Login and refresh: the routes that issue tokens.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use muster_core::{Error, Kind};
use muster_identity::{LoginAdmission, Origin};

use super::body::{LoginBody, RefreshBody, ServiceLoginBody, Tokens, claim};
use crate::app::App;
use crate::envelope::{self, Data};
use crate::error::HttpError;
use crate::error::sets::{Disaster, SessionBodyErrors};
use crate::guard::{
    Anyone, admit_address, admit_login, client_address, credential_without_token, login_refused, request_url,
};

/// Log in
///
/// Returns a session token, valid for `expires_in` seconds, and a refresh token. A wrong e-mail address and a wrong password have
/// the same error, returned after the same amount of work.
///
/// More than 10 attempts within a minute from one address for one e-mail address are rejected with 429, and so are more
/// than an address, a network or all together may make. After 5 failures the account is locked for that address for a
/// second; the lock doubles with every further failure, up to 15 minutes. Failures elsewhere do not lock out addresses
/// and devices that the account has logged in with before.
#[utoipa::path(post, path = "/api/v1/auth/login", tag = "auth", operation_id = "login", request_body = LoginBody,
    responses((status = 200, description = "The tokens of the new session", body = Data<Tokens>),
        SessionBodyErrors<Disaster>))]
pub async fn login(
    request: Anyone<LoginBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    log_in(&app, &http, request.0, None).await
}

/// Log in with a key-bound session
///
/// Returns tokens that are bound to a key of the caller: the header `DPoP` contains a proof of possession of that key
/// (RFC 9449), and every request with these tokens needs such a proof. The limits of `POST /api/v1/auth/login` apply.
#[utoipa::path(post, path = "/api/v1/auth/cli/login", tag = "auth", operation_id = "cli_login", request_body = LoginBody,
    params(("DPoP" = String, Header, description = "Proof of possession of the client's key for this method and URL (RFC 9449)")),
    responses((status = 200, description = "The tokens of the new session", body = Data<Tokens>),
        SessionBodyErrors<Disaster>))]
pub async fn cli_login(
    request: Anyone<LoginBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let body = request.0;
    // A known device is admitted before others, so its proof is verified first; a proof is not free either.
    admit_address(&app, &http).await?;
    let url = request_url(&app, &http);
    // RFC 9449, section 5: where tokens are issued, an invalid proof is 400.
    let refused = |error: Error| Error { kind: Kind::Invalid, ..error };
    let jkt = app.identity.proven_key(&credential_without_token(&http, &url)).map_err(refused)?;
    let jkt = jkt.ok_or_else(|| refused(muster_identity::proof_required()))?;
    log_in(&app, &http, body, Some(jkt)).await
}

/// Log in as a service account
///
/// Exchanges the secret of a service account (`POST /api/v1/service-accounts`) for the tokens of a session, which is like
/// that of a user: `POST /api/v1/auth/refresh` continues it, and it ends at the latest when the account expires. An
/// unknown account, a wrong secret, and an account that is locked, disabled or has expired have the same error. The
/// limits of `POST /api/v1/auth/login` apply.
#[utoipa::path(post, path = "/api/v1/auth/service/login", tag = "auth", operation_id = "service_login",
    request_body = ServiceLoginBody,
    responses((status = 200, description = "The tokens of the new session", body = Data<Tokens>),
        SessionBodyErrors<Disaster>))]
pub async fn service_login(
    request: Anyone<ServiceLoginBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let ServiceLoginBody { service_account, secret: sent } = request.0;
    let origin = Origin { ip: client_address(&app, &http), user_agent: user_agent(&http), ..Origin::default() };
    let pending = match app.identity.begin_service_login(&service_account, origin).await? {
        LoginAdmission::Admitted(pending) => pending,
        LoginAdmission::Refused(excess) => return Err(login_refused(&app, &http, excess)),
    };
    admit_login(&app, &http, None, &service_account).await?;
    let done = app.identity.finish_service_login(*pending, &sent).await?;
    Ok(secret(envelope::data(Tokens::from(done))))
}

/// Returns the name of the client program, as the header claims it.
fn user_agent(http: &HttpRequest) -> Option<String> {
    http.headers().get(header::USER_AGENT).and_then(|value| value.to_str().ok()).map(claim)
}

async fn log_in(
    app: &web::Data<App>,
    http: &HttpRequest,
    body: LoginBody,
    jkt: Option<String>,
) -> Result<HttpResponse, HttpError> {
    let claimed = body.device_info.map(Into::into);
    let origin = Origin { ip: client_address(app, http), user_agent: user_agent(http), claimed, jkt };
    // Counted by network first: made-up names must not fill the tables of the limits.
    let pending = match app.identity.begin_login(&body.email, origin).await? {
        LoginAdmission::Admitted(pending) => pending,
        LoginAdmission::Refused(excess) => return Err(login_refused(app, http, excess)),
    };
    admit_login(app, http, pending.known_device(), &body.email).await?;
    let done = app.identity.finish_login(*pending, body.password).await?;
    Ok(secret(envelope::data(Tokens::from(done))))
}

/// Refresh a session
///
/// Returns new tokens for a refresh token, which can be used once. If the same refresh token is sent again within 10
/// seconds and its successor is unused, that successor is returned again, as a response can be lost. Later use ends the
/// session: the refresh token is considered stolen. A session that is bound to a key needs a proof in the header
/// `DPoP`.
#[utoipa::path(post, path = "/api/v1/auth/refresh", tag = "auth", operation_id = "refresh", request_body = RefreshBody,
    params(("DPoP" = Option<String>, Header, description = "Proof of possession of the key that the session is bound to")),
    responses((status = 200, description = "The new tokens", body = Data<Tokens>), SessionBodyErrors<Disaster>))]
pub async fn refresh(
    request: Anyone<RefreshBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<HttpResponse, HttpError> {
    let token = request.0.refresh_token;
    admit_login(&app, &http, None, &app.identity.refresh_limit_key(&token)).await?;
    let url = request_url(&app, &http);
    let jkt = app.identity.proven_key(&credential_without_token(&http, &url))?;
    let done = app.identity.refresh(&token, jkt).await?;
    Ok(secret(envelope::data(Tokens::from(done))))
}

/// Forbids caches to store a response that contains tokens (RFC 6749, section 5.1).
fn secret(mut response: HttpResponse) -> HttpResponse {
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
