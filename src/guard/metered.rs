//! Guards that read a body, once the request is admitted by its head.

use std::marker::PhantomData;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use bytes::{Bytes, BytesMut};
use muster_core::Error;
use muster_limits::{AdmissionPart, Estimate};
use muster_request::Request;

use super::admit::{Metering, Reservation, admit, admit_address};
use super::{Access, Caller, Local, app, authorize, enter, expect};
use crate::app::App;
use crate::body::form::{self, FormFields};
use crate::body::{self, Begun, from_query, refuse_query};
use crate::error::HttpError;

/// A request whose cost in tokens can be estimated before it is served.
pub trait Priced {
    /// Whether a call costs tokens at all.
    const COSTS_TOKENS: bool = true;
    /// The parts of a form as which the body may be sent beside JSON; `None` where it is JSON only.
    const FORM: Option<FormFields> = None;

    /// Returns the tokens to reserve: those of the prompt and the longest possible answer.
    fn estimate(&self, app: &App) -> Estimate;
}

/// An authenticated, counted request with its parsed body and its reserved tokens.
#[derive(Debug)]
pub struct Metered<A, T> {
    pub caller: Caller,
    pub body: T,
    /// The body as it was sent.
    pub sent: Bytes,
    pub reservation: Reservation,
    access: PhantomData<A>,
}

impl<A: Access + 'static, T: Request + Priced + Send + 'static> FromRequest for Metered<A, T> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            let known = expect::take_admitted(&request).flatten();
            let admitted = known.is_some();
            let caller = match known {
                Some(caller) => caller,
                None => authorize::<A>(&app, &request).await?,
            };
            let metering = Metering::of(&app, &caller, A::METER);
            // Only the body shows how many tokens a request takes, so their reservation is a decision of its own.
            let tokens = T::COSTS_TOKENS && metering.counts_tokens();
            let head = check_head::<T>(&app, &request, T::FORM);
            let begun = match head {
                // What has arrived together with the head is cheaper to read than a second decision.
                Ok(()) if tokens && !admitted && !expect::is_head_only(&request) => {
                    body::read_arrived(&request, &mut payload).await
                }
                Ok(()) => Ok(Begun::Part(BytesMut::new())),
                Err(refused) => Err(refused),
            };
            let part = match begun {
                Ok(Begun::Part(_)) if admitted => None,
                Ok(Begun::Part(_)) if tokens => Some(AdmissionPart::Head),
                Ok(Begun::Part(_)) => Some(AdmissionPart::Whole),
                Ok(Begun::Whole(_)) => None,
                // A rejected body still counts as a request, because bad requests must not be free.
                Err(_) => Some(AdmissionPart::Whole),
            };
            let whole = matches!(begun, Ok(Begun::Whole(_)));
            if let Some(part) = part {
                drop(admit(&app, &request, metering.clone(), part, Estimate::default()).await?);
            }
            let begun = begun.map_err(HttpError)?;
            expect::stop_at_head(&request)?;
            let body = read_body::<T>(&app, &request, &mut payload, begun, T::FORM).await;
            let estimate = body.as_ref().map_or_else(|_| Estimate::default(), |(body, _)| body.estimate(&app));
            let reservation = if whole {
                admit(&app, &request, metering, AdmissionPart::Whole, estimate).await?
            } else if tokens && body.is_ok() {
                admit(&app, &request, metering, AdmissionPart::Tokens, estimate).await?
            } else {
                Reservation::uncounted(estimate)
            };
            let (body, sent) = body.map_err(HttpError)?;
            Ok(Self { caller, body, sent, reservation, access: PhantomData })
        })
    }
}

/// An authenticated, counted request with its parsed body, which costs no tokens.
#[derive(Debug)]
pub struct Sent<A, T> {
    pub body: T,
    /// The body as it was sent.
    pub sent: Bytes,
    access: PhantomData<A>,
}

impl<A: Access + 'static, T: Request + Send + 'static> FromRequest for Sent<A, T> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            enter::<A>(&app, &request, || check_head::<T>(&app, &request, None)).await?;
            let begun = Begun::Part(BytesMut::new());
            let (body, sent) = read_body::<T>(&app, &request, &mut payload, begun, None).await?;
            Ok(Self { body, sent, access: PhantomData })
        })
    }
}

/// The same with its query read.
#[derive(Debug)]
pub struct SentQueried<A, T, Q> {
    pub body: T,
    pub query: Q,
    access: PhantomData<A>,
}

impl<A: Access + 'static, T: Request + Send + 'static, Q: Request + 'static> FromRequest for SentQueried<A, T, Q> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            let check = || {
                from_query::<Q>(&request)?;
                check_body_head::<T>(&app, &request, None)
            };
            enter::<A>(&app, &request, check).await?;
            let query = from_query(&request)?;
            let begun = Begun::Part(BytesMut::new());
            let (body, _) = read_body::<T>(&app, &request, &mut payload, begun, None).await?;
            Ok(Self { body, query, access: PhantomData })
        })
    }
}

/// An authenticated, counted request with its query read.
#[derive(Debug)]
pub struct Queried<A, Q> {
    pub query: Q,
    access: PhantomData<A>,
}

impl<A: Access + 'static, Q: Request + 'static> FromRequest for Queried<A, Q> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            enter::<A>(&app(&request)?, &request, || Ok(())).await?;
            Ok(Self { query: from_query(&request)?, access: PhantomData })
        })
    }
}

/// A body without authentication, such as that of a login. A rejected body counts against the client address; an
/// accepted one is counted by the route.
#[derive(Debug)]
pub struct Anyone<T>(pub T);

/// Size of the largest body from a client that nobody knows: credentials are short.
const MAX_ANONYMOUS_BYTES: usize = 16 << 10;

impl<T: Request + Send + 'static> FromRequest for Anyone<T> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            let limit = limit::<T>(&app).min(MAX_ANONYMOUS_BYTES);
            let read = async {
                refuse_query(&request)?;
                body::check_json_head(&request, limit)?;
                expect::stop_at_head(&request).map_err(|stopped| stopped.0)?;
                let bytes = body::read(&app, &request, &mut payload, limit).await?;
                body::parse::<T>(&app, bytes).await
            };
            match read.await {
                Ok((body, _)) => Ok(Self(body)),
                // The head was admitted; its body is counted.
                Err(stopped) if expect::is_head_only(&request) && expect::is_admitted(&request) => {
                    Err(HttpError(stopped))
                }
                Err(refused) => {
                    admit_address(&app, &request).await?;
                    Err(HttpError(refused))
                }
            }
        })
    }
}

/// Returns the largest body of a request, in bytes.
fn limit<T: Request>(app: &App) -> usize {
    let live = app.live();
    let server = &live.config.server;
    if T::TAKES_IMAGES { server.max_image_body_bytes } else { server.max_body_bytes }
}

/// Whether a request has no body and needs none.
fn is_left_out<T: Request>(request: &HttpRequest) -> bool {
    T::MAY_BE_EMPTY && body::is_empty(request)
}

/// Checks what the head says about the body.
fn check_head<T: Request>(app: &App, request: &HttpRequest, form: Option<FormFields>) -> Result<(), Error> {
    refuse_query(request)?;
    check_body_head::<T>(app, request, form)
}

/// The same for a route with parameters.
fn check_body_head<T: Request>(app: &App, request: &HttpRequest, form: Option<FormFields>) -> Result<(), Error> {
    match form {
        _ if is_left_out::<T>(request) => Ok(()),
        Some(_) => body::check_form_head(request, limit::<T>(app)),
        None => body::check_json_head(request, limit::<T>(app)),
    }
}

/// Reads the body of a route, parsed and as bytes.
async fn read_body<T: Request + Send + 'static>(
    app: &App,
    request: &HttpRequest,
    payload: &mut Payload,
    begun: Begun,
    form: Option<FormFields>,
) -> Result<(T, Bytes), Error> {
    if is_left_out::<T>(request) {
        return Ok((body::from_json(&serde_json::json!({}))?, Bytes::new()));
    }
    let bytes = begun.finish(app, request, payload, limit::<T>(app)).await?;
    match form.zip(form::boundary(body::content_type(request))) {
        Some((fields, boundary)) => body::parse_form(app, bytes, boundary.to_owned(), fields).await,
        None => body::parse(app, bytes).await,
    }
}
