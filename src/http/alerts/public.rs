//! Who reads the feed of public alerts and their documents: users, and anybody where the settings say so.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use muster_core::principal::{Permission, Permissions, UserRole};
use muster_identity::{By, Person};
use sha2::{Digest, Sha256};

use crate::envelope;
use crate::error::HttpError;
use crate::guard::{AlertsRead, Guard, Guarded, Requirement, admit_address, app, by_of};

/// How long a cache may keep a public response, in seconds.
const MAX_AGE: u32 = 60;

/// Guard that admits a user with `alerts:read` and, with `incidents.public_feed`, a request without a credential, which
/// is counted by its address.
#[derive(Debug)]
pub struct PublicReader {
    /// The user, or a reader of public alerts without any other right.
    pub by: By,
    /// Whether the request has no credential.
    pub anonymous: bool,
}

impl FromRequest for PublicReader {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<Self, HttpError>>>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (http, guarded) = (request.clone(), Guarded::<AlertsRead>::from_request(request, payload));
        Box::pin(async move {
            let app = app(&http)?;
            if app.live().config.incidents.public_feed && !http.headers().contains_key(header::AUTHORIZATION) {
                admit_address(&app, &http).await?;
                return Ok(Self { by: anybody(), anonymous: true });
            }
            guarded.await?;
            Ok(Self { by: by_of(&http)?, anonymous: false })
        })
    }
}

impl Guard for PublicReader {
    const REQUIREMENT: Requirement = Requirement::of::<AlertsRead>();
}

impl PublicReader {
    /// Returns a document with its entity tag, or 304 if the client has it. Documents for everybody may be cached.
    pub fn document(&self, http: &HttpRequest, content_type: &'static str, body: String) -> HttpResponse {
        let digest = Sha256::digest(body.as_bytes());
        let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let tag = format!("\"{hex}\"");
        let cached = if self.anonymous { format!("public, max-age={MAX_AGE}") } else { "private, no-cache".to_owned() };
        let known = envelope::is_known(http, &tag);
        let mut answer = if known { HttpResponse::NotModified() } else { HttpResponse::Ok() };
        answer.insert_header((header::ETAG, tag)).insert_header((header::CACHE_CONTROL, cached));
        answer.insert_header((header::VARY, HeaderValue::from_static("authorization")));
        if known { answer.finish() } else { answer.content_type(content_type).body(body) }
    }
}

/// Returns a reader of public alerts who is nobody.
fn anybody() -> By {
    By::Person(Arc::new(Person {
        user_id: "anonymous".into(),
        email: "".into(),
        role: UserRole::Viewer,
        session_id: "".into(),
        permissions: Permissions::of(&[Permission::AlertsRead]),
    }))
}
