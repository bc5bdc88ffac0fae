//! The error responses of a route, as types: one set for each kind of route, generic over the dialect.
//!
//! `responses((status = 200, …), WriteErrors<Disaster>, NotFound<Disaster>)`: a set names the kinds of errors; their
//! statuses come from the error table, the body's schema from the dialect.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use muster_core::Kind;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::response::{Response, ResponseBuilder};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{Content, Ref, RefOr};
use utoipa::{IntoResponses, ToSchema};

use super::{Dialect, ErrorA, ErrorAgent, ErrorB, ErrorDisaster, ErrorMessages, status};

/// A dialect as a type.
pub trait ErrorDialect {
    const DIALECT: Dialect;
    /// The error body.
    type Body: ToSchema;
}

macro_rules! dialects {
    ($($(#[$doc:meta])* $name:ident: $dialect:ident, $body:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $name {}

        impl ErrorDialect for $name {
            const DIALECT: Dialect = Dialect::$dialect;
            type Body = $body;
        }
    )*};
}

dialects! {
    /// The disaster network.
    Disaster: Disaster, ErrorDisaster;
    /// Interface A of the AI platform.
    InterfaceA: A, ErrorA;
    /// Interface B of the AI platform: OpenAI's.
    OpenAi: B, ErrorB;
    /// Anthropic's Messages API.
    Anthropic: Messages, ErrorMessages;
    /// The medical interface.
    Medical: Medical, ErrorA;
    /// The agent platform.
    Agent: Agent, ErrorAgent;
}

/// What a status means to a caller.
fn meaning(status: u16, dialect: Dialect) -> &'static str {
    match status {
        400 if dialect == Dialect::Agent => "The request is malformed, such as a body that is not JSON",
        400 => "The body is not JSON, or a parameter or field is invalid; the error names it",
        401 => "No credential was sent, or it is invalid, expired or revoked",
        403 => "The caller lacks the required scope or permission",
        404 => "The resource does not exist, or the caller may not see it",
        408 => "The body arrived too slowly, or the time limit of the run was exceeded",
        409 => {
            "The request conflicts with the current state of the resource, or its `Idempotency-Key` was used with \
             another request"
        }
        410 => "The approval has expired: another one must be opened",
        412 => "The version in `If-Match` is not the current version",
        413 => "The body exceeds the size limit",
        415 => "The `Content-Type` of the body is not supported",
        416 => "The requested range is outside the content",
        422 => {
            "A parameter or field is invalid; `detail` lists every one. With the code `NO_ANSWER` the input of an engine \
             is valid and has no answer: `details.reason` is `infeasible`, `singular`, `not_converged`, \
             `outside_validity` or `too_few`"
        }
        426 => "The request is not a WebSocket handshake",
        428 => "The header `If-Match` is required",
        429 => "A rate limit or quota is exceeded",
        502 => "The provider failed, or its response was invalid",
        503 => "The server cannot handle the request at present",
        _ => "The server failed to handle the request",
    }
}

/// The response of a status.
fn response<D: ErrorDialect>(status: u16, description: &str) -> Response {
    let body = Content::new(Some(Ref::from_schema_name(D::Body::name())));
    let response = ResponseBuilder::new().description(description).content("application/json", body);
    if !matches!(status, 429 | 503) {
        return response.build();
    }
    let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).build();
    let header = HeaderBuilder::new().schema(Some(seconds)).description(Some("Seconds until the request may succeed"));
    response.header("Retry-After", header.build()).build()
}

/// The responses of several kinds of errors.
fn responses<D: ErrorDialect>(kinds: &[Kind]) -> BTreeMap<String, RefOr<Response>> {
    let statuses = kinds.iter().map(|&kind| status(kind, D::DIALECT).as_u16());
    statuses.map(|status| (status.to_string(), response::<D>(status, meaning(status, D::DIALECT)).into())).collect()
}

macro_rules! sets {
    ($($(#[$doc:meta])* $name:ident: $($kind:ident),+;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<D>(PhantomData<D>);

        impl<D: ErrorDialect> IntoResponses for $name<D> {
            fn responses() -> BTreeMap<String, RefOr<Response>> {
                responses::<D>(&[$(Kind::$kind),+])
            }
        }
    )*};
}

sets! {
    /// A page that anybody may read: only the rate limit applies.
    PageErrors: RateLimited;
    /// An open route. A parameter is refused.
    OpenErrors: Invalid, RateLimited;
    /// A route that every authenticated caller may call, without parameters: any is refused.
    SessionErrors: Invalid, Unauthenticated, RateLimited, Unavailable;
    /// The same, with a body.
    SessionBodyErrors: InvalidJson, Invalid, Unauthenticated, TimedOut, TooLarge, UnsupportedMediaType, RateLimited,
        Unavailable;
    /// A route with a scope or permission, without parameters: any is refused.
    CallErrors: Invalid, Unauthenticated, Forbidden, RateLimited, Unavailable;
    /// A route of an AI interface that takes no parameters: any is ignored.
    WireErrors: Unauthenticated, Forbidden, RateLimited, Unavailable;
    /// A route that reads, with parameters.
    ReadErrors: Invalid, Unauthenticated, Forbidden, RateLimited, Unavailable;
    /// A route with a body that changes nothing, or never conflicts.
    BodyErrors: InvalidJson, Invalid, Unauthenticated, Forbidden, TimedOut, TooLarge, UnsupportedMediaType,
        RateLimited, Unavailable;
    /// A route that changes something by a body.
    WriteErrors: InvalidJson, Invalid, Unauthenticated, Forbidden, TimedOut, Conflict, TooLarge, UnsupportedMediaType,
        RateLimited, Unavailable;
    /// A route that calls a model.
    RunErrors: InvalidJson, Invalid, Unauthenticated, Forbidden, ModelNotFound, TimedOut, TooLarge,
        UnsupportedMediaType, RateLimited, Internal, ProviderFailed, Unavailable;
    /// A route that runs an engine.
    EngineErrors: InvalidJson, Invalid, NoAnswer, Unauthenticated, Forbidden, NotFound, TimedOut, TooLarge,
        UnsupportedMediaType, RateLimited, Internal, Unavailable;
    /// A write that requires `If-Match`.
    VersionErrors: PreconditionFailed, PreconditionRequired;
    /// A write that takes `If-Match`.
    VersionFailed: PreconditionFailed;
    NotFound: NotFound;
    /// A decision about an approval, which may have expired.
    Gone: Gone;
    Conflict: Conflict;
    TooLarge: TooLarge;
    TimedOut: TimedOut;
    RangeNotSatisfiable: RangeNotSatisfiable;
    Unavailable: Unavailable;
    Internal: Internal;
}

/// The handshake of a WebSocket that is refused.
#[derive(Debug)]
pub struct HandshakeErrors<D>(PhantomData<D>);

impl<D: ErrorDialect> IntoResponses for HandshakeErrors<D> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let rows = [
            (400, "Not a WebSocket handshake, or one for another subprotocol"),
            (
                status(Kind::Invalid, D::DIALECT).as_u16(),
                "Not a WebSocket handshake, or one with parameters in its query",
            ),
            (401, "The credential in the handshake is invalid, expired or revoked"),
            (
                403,
                "The caller lacks the scope or permission, the `Origin` is not allowed, or neither an origin nor a \
                   credential was sent",
            ),
            (426, "The request is not an upgrade; `Upgrade` names the protocol"),
            (429, "Too many handshakes"),
            (503, "Too many connections are not yet authenticated, or the server is stopping"),
        ];
        let refused = rows.map(|(status, text)| (status.to_string(), response::<D>(status, text).into()));
        let other = ("default".to_owned(), response::<D>(500, "The server failed to open the connection").into());
        refused.into_iter().chain([other]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statuses(set: BTreeMap<String, RefOr<Response>>) -> Vec<String> {
        set.into_keys().collect()
    }

    #[test]
    fn a_set_has_the_statuses_of_its_dialect() {
        assert_eq!(statuses(ReadErrors::<Disaster>::responses()), ["400", "401", "403", "429", "503"]);
        assert_eq!(statuses(ReadErrors::<Agent>::responses()), ["401", "403", "422", "429", "503"]);
        assert!(statuses(RunErrors::<OpenAi>::responses()).contains(&"502".to_owned()));
        assert!(!statuses(RunErrors::<InterfaceA>::responses()).contains(&"502".to_owned()));
    }

    #[test]
    fn a_response_refers_to_the_error_body_of_its_dialect() {
        let set = serde_json::to_value(SessionErrors::<Anthropic>::responses()).unwrap();
        let schema = &set["429"]["content"]["application/json"]["schema"];
        assert_eq!(schema["$ref"], "#/components/schemas/ErrorMessages");
        assert_eq!(set["429"]["headers"]["Retry-After"]["schema"]["type"], "integer");
        assert!(set["401"]["headers"].is_null());
    }
}
