//! Requests with `Expect: 100-continue`, whose body the client sends only once the server has agreed to its head
//! (RFC 9110, section 10.1.1).
//!
//! The HTTP server answers such a request before it routes it. So the head is sent through the routes alone, where the
//! guard of its route admits it and goes no further; then the request itself follows, which is not admitted again. Any
//! other response to the head is the final one.

use std::cell::RefCell;
use std::rc::Rc;

use actix_http::body::{BoxBody, MessageBody};
use actix_http::{Request, Response};
use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use actix_web::dev::ServiceResponse;
use actix_web::{HttpMessage, HttpRequest};
use muster_core::Kind;

use super::Caller;
use crate::error::HttpError;
use crate::limit_headers::Judged;

/// Marks the head of a request that is admitted before its body is requested, and receives the result.
#[derive(Debug, Clone, Default)]
pub(crate) struct HeadOnly(Rc<RefCell<Option<Admitted>>>);

/// What the guard knows of a request that it admitted by its head.
#[derive(Debug)]
struct Admitted {
    /// `None` on routes without a credential.
    caller: Option<Caller>,
    judged: Option<Judged>,
}

impl HeadOnly {
    /// Whether the request was admitted, so that the response to its head is none.
    pub(crate) fn is_admitted(&self) -> bool {
        self.0.borrow().is_some()
    }
}

/// Ends the handling of a head that was admitted.
///
/// # Errors
/// Always, if the request is a head only; nobody sees the error.
pub(super) fn stop_at_head(request: &HttpRequest) -> Result<(), HttpError> {
    let Some(head) = request.extensions().get::<HeadOnly>().cloned() else { return Ok(()) };
    let extensions = request.extensions();
    let (caller, judged) = (extensions.get::<Caller>().cloned(), extensions.get::<Judged>().cloned());
    *head.0.borrow_mut() = Some(Admitted { caller, judged });
    Err(HttpError::new(Kind::Internal, "the head of a request was handled as a request"))
}

/// Whether a request is a head only.
pub(super) fn is_head_only(request: &HttpRequest) -> bool {
    request.extensions().contains::<HeadOnly>()
}

/// Whether a head was admitted.
pub(super) fn is_admitted(request: &HttpRequest) -> bool {
    request.extensions().get::<HeadOnly>().is_some_and(HeadOnly::is_admitted)
}

/// Returns the caller of a request that was admitted by its head.
pub(super) fn take_admitted(request: &HttpRequest) -> Option<Option<Caller>> {
    let Admitted { caller, judged } = request.extensions_mut().remove::<Admitted>()?;
    let mut extensions = request.extensions_mut();
    if let Some(caller) = &caller {
        extensions.insert(caller.clone());
    }
    if let Some(judged) = judged {
        extensions.insert(judged);
    }
    Some(caller)
}

/// Decides about requests that wait for `100 Continue`, by the routes of `app`.
pub(crate) fn expect_continue<F, B>(
    app: F,
) -> impl ServiceFactory<
    Request,
    Config = (),
    Response = Request,
    Error = Response<BoxBody>,
    InitError = (),
    Future = impl Future + 'static,
    Service = impl Service<Request, Response = Request, Error = Response<BoxBody>, Future = impl Future + 'static>,
>
where
    F: ServiceFactory<Request, Config = (), Response = ServiceResponse<B>, Error = actix_web::Error, InitError = ()>,
    F: 'static,
    B: MessageBody + 'static,
{
    let app = Rc::new(app);
    fn_factory(move || {
        let app = Rc::clone(&app);
        async move {
            let app = Rc::new(app.new_service(()).await?);
            Ok::<_, ()>(fn_service(move |request: Request| {
                let app = Rc::clone(&app);
                async move {
                    let marker = HeadOnly::default();
                    let head = head_of(&request);
                    head.extensions_mut().insert(marker.clone());
                    let answered = app.call(head).await;
                    if let Some(admitted) = marker.0.borrow_mut().take() {
                        request.extensions_mut().insert(admitted);
                        return Ok(request);
                    }
                    Err(match answered {
                        Ok(response) => Response::from(response).map_body(|_, body: B| body.boxed()),
                        Err(error) => Response::from(error),
                    })
                }
            }))
        }
    })
}

/// Returns a request with the same head and no body.
fn head_of(request: &Request) -> Request {
    let mut copy = Request::new();
    let (from, head) = (request.head(), copy.head_mut());
    head.method.clone_from(&from.method);
    head.uri.clone_from(&from.uri);
    head.version = from.version;
    head.headers.clone_from(&from.headers);
    head.peer_addr = from.peer_addr;
    copy
}
