//! Guards that read a body and reserve its tokens in the same decision that admits the request.

use std::marker::PhantomData;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use bytes::Bytes;
use muster_limits::Estimate;

use super::admit::{Reservation, admit, admit_address};
use super::{Access, Caller, Local, app, authorize};
use crate::app::App;
use crate::body::{FromJson, is_empty, read_json};
use crate::error::HttpError;

/// A request whose cost in tokens can be estimated before it is served.
pub trait Priced {
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

impl<A: Access + 'static, T: FromJson + Priced + 'static> FromRequest for Metered<A, T> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            let caller = authorize::<A>(&app, &request).await?;
            let body = read_body::<T>(&app, &request, &mut payload).await;
            // A rejected body still counts as a request, because bad requests must not be free.
            let estimate = body.as_ref().map_or_else(|_| Estimate::default(), |(body, _)| body.estimate(&app));
            let reservation = admit(&app, &request, &caller, A::METER, estimate).await?;
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

impl<A: Access + 'static, T: FromJson + 'static> FromRequest for Sent<A, T> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            let caller = authorize::<A>(&app, &request).await?;
            let body = read_body::<T>(&app, &request, &mut payload).await;
            drop(admit(&app, &request, &caller, A::METER, Estimate::default()).await?);
            let (body, sent) = body.map_err(HttpError)?;
            Ok(Self { body, sent, access: PhantomData })
        })
    }
}

/// A body without authentication, such as that of a login. A rejected body counts against the client address; an
/// accepted one is counted by the route.
#[derive(Debug)]
pub struct Anyone<T>(pub T);

impl<T: FromJson + 'static> FromRequest for Anyone<T> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, mut payload) = (request.clone(), payload.take());
        Box::pin(async move {
            let app = app(&request)?;
            match read_body::<T>(&app, &request, &mut payload).await {
                Ok((body, _)) => Ok(Self(body)),
                Err(refused) => {
                    admit_address(&app, &request).await?;
                    Err(HttpError(refused))
                }
            }
        })
    }
}

/// Reads the body of a route, parsed and as bytes.
async fn read_body<T: FromJson>(
    app: &App,
    request: &HttpRequest,
    payload: &mut Payload,
) -> Result<(T, Bytes), muster_core::Error> {
    let live = app.live();
    let server = &live.config.server;
    let limit = if T::TAKES_IMAGES { server.max_image_body_bytes } else { server.max_body_bytes };
    let (value, sent) = if T::MAY_BE_EMPTY && is_empty(request) {
        (serde_json::json!({}), Bytes::new())
    } else {
        read_json(request, payload, limit).await?
    };
    Ok((T::from_json(&value)?, sent))
}
