//! The span of a request, by the semantic conventions for HTTP servers, from its arrival to the last byte of its
//! response.

use std::pin::Pin;
use std::task::{Context as Task, Poll};
use std::time::{Instant, SystemTime};

use actix_web::HttpMessage;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use bytes::Bytes;

use super::Otel;
use super::context::Context;
use super::span::{Attribute, Kind, Span};

/// The span of a request until its response has ended.
#[derive(Debug)]
pub struct ServerSpan {
    otel: Otel,
    context: Context,
    begun: Instant,
    method: &'static str,
    path: String,
    scheme: &'static str,
    request_id: String,
}

impl ServerSpan {
    /// Begins the span and attaches its context to the request for provider calls. `method` is a known one.
    pub fn begin(otel: &Otel, request: &ServiceRequest, method: &'static str, request_id: &str) -> Self {
        let context = Context::begin(request.headers());
        if otel.0.settings.traces {
            request.extensions_mut().insert(context);
        }
        let scheme = if request.app_config().secure() { "https" } else { "http" };
        let path = request.path().to_owned();
        Self {
            otel: otel.clone(),
            context,
            begun: Instant::now(),
            method,
            path,
            scheme,
            request_id: request_id.to_owned(),
        }
    }

    /// Extends the span until the response body has ended or its reader has left.
    pub fn follow(self, response: ServiceResponse<BoxBody>, route: &str) -> ServiceResponse<BoxBody> {
        let status = response.status();
        let route = route.to_owned();
        response.map_body(|_, body| BoxBody::new(Followed { body, _end: End { span: self, route, status } }))
    }
}

struct Followed {
    // Dropped first: an abandoned stream settles, and its span ends, before the span of the request.
    body: BoxBody,
    _end: End,
}

/// Sends the span when it is dropped.
struct End {
    span: ServerSpan,
    route: String,
    status: StatusCode,
}

impl MessageBody for Followed {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_next(task)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let ServerSpan { otel, context, begun, method, path, scheme, request_id } = &self.span;
        let took = begun.elapsed();
        let status = self.status.as_str().to_owned();
        otel.0.figures.request(method, &self.route, &status, scheme, took);
        if !context.sampled || !otel.0.settings.traces {
            return;
        }
        let mut attributes: Vec<(&'static str, Attribute)> = vec![
            ("http.request.method", (*method).into()),
            ("http.route", self.route.as_str().into()),
            ("http.response.status_code", u32::from(self.status.as_u16()).into()),
            ("url.path", path.as_str().into()),
            ("url.scheme", (*scheme).into()),
            ("muster.request_id", request_id.as_str().into()),
        ];
        let failed = self.status.is_server_error();
        if failed {
            attributes.push(("error.type", status.into()));
        }
        let (name, ended) = (format!("{method} {}", self.route), SystemTime::now());
        otel.send(Span { context: *context, name, kind: Kind::Server, ended, took, attributes, failed });
    }
}
