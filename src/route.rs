//! A path of the server, and what it says of methods that it does not take.

use actix_web::HttpResponse;
use muster_core::Kind;

use crate::error::HttpError;

/// A path with its methods: `HEAD` works wherever `GET` does, any other method is 405 with `Allow`.
macro_rules! resource {
    ($path:literal, $($method:ident => $handler:path),+) => {{
        let mut allowed = Vec::new();
        let mut resource = actix_web::web::resource($path);
        $(
            resource = resource.route(actix_web::web::$method().to($handler));
            allowed.push(stringify!($method).to_uppercase());
            if stringify!($method) == "get" {
                resource = resource.route(actix_web::web::head().to($handler));
                allowed.push("HEAD".to_owned());
            }
        )+
        let allowed = allowed.join(", ");
        resource.default_service(actix_web::web::to(move || std::future::ready($crate::route::not_allowed(&allowed))))
    }};
}

pub(crate) use resource;

/// The refusal of a method.
///
/// # Errors
/// Always, with the methods that the path takes.
pub fn not_allowed(allowed: &str) -> Result<HttpResponse, HttpError> {
    let error = HttpError::new(Kind::MethodNotAllowed, format!("this path takes {allowed}"));
    Err(HttpError(error.0.allowing(allowed)))
}
