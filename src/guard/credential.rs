//! Identifies the caller by the credential of the request.

use std::sync::Arc;

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderName};
use muster_core::{Error, Kind};
use muster_identity::keys::{KeyRecord, KeyRejection};
use muster_identity::{By, Credential, Scheme, user_key};

use super::{Caller, Callers, request_url};
use crate::app::App;
use crate::error::Dialect;

/// Prefix of every API key, which no token of a session or a device has.
const KEY_PREFIX: &str = "mst_";

/// Authenticates the caller of a request, of the kinds that the route permits, by the header of its dialect.
/// Credentials in the query are ignored.
pub(super) fn caller(app: &App, request: &HttpRequest, by: Callers) -> Result<Caller, Error> {
    match by {
        Callers::KeysAndPeople => key_or_person(app, request),
        Callers::People => {
            let sent = authorization(request).ok_or_else(|| unauthenticated(HOW_PEOPLE))?;
            if sent.1.starts_with(KEY_PREFIX) {
                return Err(unauthenticated(
                    "an API key does not belong to a user: log in with POST /api/v1/auth/login",
                ));
            }
            person(app, request, sent)
        }
        Callers::Devices => {
            let (_, token) = authorization(request).ok_or_else(|| unauthenticated(HOW_DEVICES))?;
            device_of(app, token)
        }
        Callers::DevicesAndPeople => {
            let how = format!("{HOW_DEVICES}, or {HOW_PEOPLE}");
            let sent = authorization(request).ok_or_else(|| unauthenticated(&how))?;
            if muster_auth::device::peek(sent.1).is_some() {
                device_of(app, sent.1)
            } else {
                person(app, request, sent)
            }
        }
    }
}

const HOW_PEOPLE: &str = "send the token of your login as `Authorization: Bearer <token>`";
const HOW_DEVICES: &str = "send a token signed by the device's key as `Authorization: Bearer <token>`";

fn unauthenticated(message: &str) -> Error {
    Error::new(Kind::Unauthenticated, message)
}

/// Returns scheme and credential of the header `Authorization`.
fn authorization(request: &HttpRequest) -> Option<(Scheme, &str)> {
    let (scheme, token) = text(request, header::AUTHORIZATION)?.split_once(' ')?;
    let token = token.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some((Scheme::Bearer, token));
    }
    scheme.eq_ignore_ascii_case("dpop").then_some((Scheme::Dpop, token))
}

fn text(request: &HttpRequest, name: HeaderName) -> Option<&str> {
    request.headers().get(name)?.to_str().ok()
}

fn person(app: &App, request: &HttpRequest, (scheme, token): (Scheme, &str)) -> Result<Caller, Error> {
    let url = request_url(app, request);
    let presented = Credential { scheme, token, proof: proof(request), method: request.method().as_str(), url: &url };
    let person = app.identity.admit(&presented)?.person;
    Ok(Caller { key: Arc::new(user_key(&person)), by: Some(By::Person(person)) })
}

fn device_of(app: &App, token: &str) -> Result<Caller, Error> {
    let devices = &app.device_directory;
    device(devices.authenticate(token, app.clock.now())?)
}

fn device(id: Arc<str>) -> Result<Caller, Error> {
    let key = Arc::new(KeyRecord::without_secret(&id, &id));
    Ok(Caller { key, by: Some(By::Device(id)) })
}

/// Returns the DPoP proof. A request with two proofs has none (RFC 9449, section 4.3).
fn proof(request: &HttpRequest) -> Option<&str> {
    let mut proofs = request.headers().get_all("DPoP");
    match (proofs.next(), proofs.next()) {
        (Some(proof), None) => proof.to_str().ok(),
        _ => None,
    }
}

/// Returns the proof of possession of a request without a token, for a login that is bound to the key.
pub fn credential_without_token<'a>(request: &'a HttpRequest, url: &'a str) -> Credential<'a> {
    let (proof, method) = (proof(request), request.method().as_str());
    Credential { scheme: Scheme::Bearer, token: "", proof, method, url }
}

fn key_or_person(app: &App, request: &HttpRequest) -> Result<Caller, Error> {
    let own = || text(request, HeaderName::from_static("x-api-key")).map(|key| (Scheme::Bearer, key));
    let bearer = || authorization(request);
    let (sent, how) = match Dialect::of(request.path()) {
        Dialect::Medical => (own(), "send your key as `X-API-Key: mst_…`"),
        // Anthropic's clients send either header, depending on version and configuration.
        Dialect::Messages => {
            (own().or_else(bearer), "send your key as `x-api-key: mst_…` or `Authorization: Bearer mst_…`")
        }
        Dialect::Disaster | Dialect::A | Dialect::B | Dialect::Agent => {
            (bearer(), "send your key as `Authorization: Bearer mst_…`")
        }
    };
    let sent = sent.ok_or_else(|| unauthenticated(how))?;
    // A token contains two dots, a key none.
    if !sent.1.starts_with(KEY_PREFIX) && sent.1.matches('.').count() == 2 {
        return person(app, request, sent);
    }
    match app.keys.authenticate(sent.1) {
        Ok(key) => Ok(Caller { key, by: None }),
        Err(KeyRejection::Malformed) => Err(unauthenticated(
            "this is not a key of this server: a key has the form mst_<12 characters>_<43 characters>",
        )),
        Err(KeyRejection::Unknown | KeyRejection::Expired | KeyRejection::Revoked) => {
            Err(unauthenticated("the key is unknown, expired or revoked: request a new one"))
        }
    }
}
