//! A guard for what its owner reads by a key, and anybody by a signed link.

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};

use super::{ChatA, Guard, Local, Requirement, admit_address, app, enter};
use crate::error::HttpError;

/// Longest signature.
const MAX_SIGNATURE: usize = 128;

/// Who reads.
#[derive(Debug)]
pub enum OwnerOrLink {
    /// A caller with a credential and the scope `chat`.
    Owner,
    /// Somebody with a link of this signature, which the handler checks. Counted by client address.
    Link(String),
}

impl FromRequest for OwnerOrLink {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let app = app(&request)?;
            let signature = request.query_string().split('&').find_map(|pair| pair.strip_prefix("sig="));
            match signature.filter(|signature| signature.len() <= MAX_SIGNATURE) {
                Some(signature) => {
                    admit_address(&app, &request).await?;
                    Ok(Self::Link(signature.to_owned()))
                }
                None => {
                    enter::<ChatA>(&app, &request, || Ok(())).await?;
                    Ok(Self::Owner)
                }
            }
        })
    }
}

impl Guard for OwnerOrLink {
    const REQUIREMENT: Requirement = Requirement::of::<ChatA>();
}
