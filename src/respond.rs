//! The outermost middleware: error bodies in the dialect of the route, request identifiers, limit headers, and the
//! span.

use std::rc::Rc;
use std::time::Duration;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, HttpRequest, web};
use muster_core::ids::{IdKind, new_id};
use muster_core::principal::UserRole;
use muster_core::{Error, Kind, Millis};
use muster_identity::By;
use muster_identity::keys::Role;
use tracing::Instrument;

use crate::alias;
use crate::app::App;
use crate::body::{BodyHold, SharedBody, keeping};
use crate::connections::{Activity, InProgress};
use crate::error::{Credential, Dialect, HttpError, render};
use crate::guard::{Caller, HeadOnly, address_name};
use crate::limit_headers;
use crate::otel::ServerSpan;

/// Identifier of a request: the caller's, if it sent a valid one, otherwise a new one.
#[derive(Debug, Clone)]
pub struct RequestId(pub String);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The header name that Anthropic's clients read.
const MESSAGES_REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// The outermost layer.
pub async fn respond<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let begun = std::time::Instant::now();
    alias::resolve(&mut request);
    let id = request_id(&request);
    request.extensions_mut().insert(RequestId(id.clone()));
    let app = request.app_data::<web::Data<App>>().cloned();
    let (method, path) = (request.method().clone(), request.path().to_owned());
    let dialect = Dialect::of(&path);
    if dialect == Dialect::Medical {
        detach(request.headers_mut());
    }
    let head_only = request.extensions().get::<HeadOnly>().cloned();
    let live = app.as_ref().map(|app| app.live());
    let shared = live.and_then(|live| SharedBody::pace(&mut request, live.config.server.pace()));
    let otel = app.as_ref().and_then(|app| app.otel.as_ref());
    let traced = otel.map(|otel| ServerSpan::begin(otel, &request, method_label(&method), &id));
    let span = tracing::info_span!("request", id = %id, method = %method, path = %path);
    let progress = begin(&request);
    let response = match &progress {
        Err(refused) => request.error_response(refused.clone()),
        Ok(_) => next.call(request).instrument(span.clone()).await?.map_into_boxed_body(),
    };
    if head_only.is_some_and(|head| head.is_admitted()) {
        return Ok(response.map_into_boxed_body());
    }

    let now = app.as_ref().map_or(Millis(0), |app| app.clock.now());
    let mut response = rendered(response, dialect, now, &id);
    if let Ok(value) = HeaderValue::from_str(&id) {
        if dialect == Dialect::Messages {
            response.headers_mut().insert(MESSAGES_REQUEST_ID, value.clone());
        }
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
        .headers_mut()
        .insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    limit_headers::add(&mut response, dialect);
    if let (Dialect::Medical, Some(app)) = (dialect, &app) {
        medical_headers(app, response.headers_mut());
    }
    if !response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
        // Only for pages that may read the response at all.
        response.headers_mut().remove(header::ACCESS_CONTROL_EXPOSE_HEADERS);
    }
    let status = response.status();
    let route = response.request().match_pattern().unwrap_or_else(|| "unmatched".to_owned());
    let elapsed = begun.elapsed();
    if let Some(app) = &app {
        app.metrics.request(method_label(&method), &route, status.as_u16(), elapsed);
        if dialect == Dialect::Medical {
            app.metrics.medical_request(&route, method_label(&method), status.as_u16(), elapsed);
        }
    }
    let key = response.request().extensions().get::<Caller>().map(|caller| caller.key.id.clone());
    let is_noted = matches!(status.as_u16(), 401 | 403) || reads_as_auditor(response.request(), status, &route);
    if let Some(app) = app.as_ref().filter(|_| is_noted) {
        let by = key.clone().ok_or_else(|| address_name(app, response.request()));
        app.counted.note(by, status.as_u16(), method_label(&method), &route);
    }
    span.in_scope(|| {
        // What a device sends by the clock would bury the rest.
        if status.is_success() && is_periodic(&method, &route) {
            tracing::debug!(status = status.as_u16(), ms = elapsed.as_millis(), key, "answered");
        } else {
            tracing::info!(status = status.as_u16(), ms = elapsed.as_millis(), key, "answered");
        }
    });
    if let Some(traced) = traced {
        response = traced.follow(response, &route);
    }
    let held = response.request().extensions_mut().remove::<BodyHold>();
    if let Some(shared) = shared {
        response = shared.close_unless_read(response);
    }
    Ok(match (progress, held) {
        (Ok(Some(progress)), held) => keeping((progress, held), response),
        (_, Some(held)) => keeping(held, response),
        (_, None) => response,
    })
}

/// Copies the values of headers. They are parsed as parts of the connection's buffer, in which the body follows, and heads of
/// requests are pooled: without a copy the message would stay in memory until the head is used again.
fn detach(headers: &mut HeaderMap) {
    headers.retain(|_, value| {
        if let Ok(mut copy) = HeaderValue::from_bytes(value.as_bytes()) {
            copy.set_sensitive(value.is_sensitive());
            *value = copy;
        }
        true
    });
}

/// Answers about patients are kept by nobody, and name the rules that they follow from.
fn medical_headers(app: &App, headers: &mut HeaderMap) {
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(Ok(ruleset)) = app.medical.ruleset().as_deref().map(HeaderValue::from_str) {
        headers.insert(HeaderName::from_static("x-muster-ruleset"), ruleset);
    }
    if app.live().config.server.tls.on() {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
    }
}

/// Returns whether an auditor has read what is read by others as part of their work: people, keys, tasks, and everything
/// else but governance itself, which is there to be read.
fn reads_as_auditor(request: &HttpRequest, status: StatusCode, route: &str) -> bool {
    let extensions = request.extensions();
    let is_auditor = extensions.get::<Caller>().is_some_and(|caller| match &caller.by {
        Some(By::Person(person)) => person.role == UserRole::Auditor,
        _ => caller.key.roles.contains(&Role::Auditor),
    });
    is_auditor && status.is_success() && request.method().is_safe() && !route.starts_with("/api/v1/governance")
}

/// Returns whether devices call a route by the clock: polls, heartbeats, readings.
fn is_periodic(method: &Method, route: &str) -> bool {
    match route {
        "/api/v1/device/commands/next" | "/api/v1/device/jobs/next" => true,
        "/api/v1/devices/{id}/heartbeat" | "/api/v1/devices/{id}/telemetry" => *method == Method::POST,
        _ => false,
    }
}

/// Maximum number of requests in progress on one connection. HTTP/2 names none to the client: one that has more learns
/// it from the response.
const MAX_REQUESTS_PER_CONNECTION: usize = 100;

/// Begins a request on its connection; `None` where there is no connection.
fn begin(request: &ServiceRequest) -> Result<Option<InProgress>, HttpError> {
    let Some(activity) = request.conn_data::<Rc<Activity>>() else { return Ok(None) };
    activity.begin(MAX_REQUESTS_PER_CONNECTION).map(Some).ok_or_else(|| {
        let message = format!(
            "this connection has {MAX_REQUESTS_PER_CONNECTION} requests in progress, the most that one may have: wait \
             for one, or open another connection"
        );
        HttpError(Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1)))
    })
}

/// Renders errors in their dialect; all other responses pass unchanged.
fn rendered<B: MessageBody + 'static>(
    response: ServiceResponse<B>,
    dialect: Dialect,
    now: Millis,
    id: &str,
) -> ServiceResponse<BoxBody> {
    let refusal =
        response.response().error().and_then(|error| error.as_error::<HttpError>()).map(|error| error.0.clone());
    let Some(refusal) = refusal else { return response.map_into_boxed_body() };
    let headers = response.request().headers();
    let sent = headers.contains_key(header::AUTHORIZATION) || headers.contains_key("x-api-key");
    let credential = if sent { Credential::Sent } else { Credential::Missing };
    let mut rendered = render(&refusal, dialect, now, credential, id);
    // Headers that inner layers have set are kept, such as those of CORS.
    for (name, value) in response.headers() {
        if !rendered.headers().contains_key(name) {
            rendered.headers_mut().append(name.clone(), value.clone());
        }
    }
    ServiceResponse::new(response.request().clone(), rendered)
}

/// Returns the method for a metric label. Clients may invent methods, and each would be a time series of its own.
fn method_label(method: &Method) -> &'static str {
    let labels = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    labels.into_iter().find(|label| *label == method.as_str()).unwrap_or("other")
}

fn request_id(request: &ServiceRequest) -> String {
    let received = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let fit = |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    received.filter(fit).map_or_else(|| new_id(IdKind::Request), str::to_owned)
}
