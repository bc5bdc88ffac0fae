//! What the answers of the three interfaces have in common.

use std::time::Instant;

use actix_web::{HttpMessage, HttpRequest, web};
use muster_core::{Error, Kind};
use muster_medical::answer::common::Setting;
use muster_medical::answer::{Citation, Common};
use muster_medical::assess::{Assessment, assess};
use muster_medical::base::Base;
use muster_medical::input::Input;
use serde::Serialize;

use super::reader::unreadable;
use crate::app::App;
use crate::error::HttpError;
use crate::medical::Medical;
use crate::respond::RequestId;

/// Most query parameters that are named as ignored.
const MAX_PARAMETERS: usize = 20;

/// A request that is being answered.
pub struct Answering<'a> {
    pub base: &'static Base,
    pub setting: Setting,
    medical: &'a Medical,
    begun: Instant,
    request_id: String,
    timestamp: String,
    /// Query parameters: no route of the interface has any.
    parameters: Vec<String>,
}

/// The first members of an answer.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Head {
    success: bool,
    request_id: String,
    timestamp: String,
}

impl Head {
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }
}

/// An answer: what all have, what this one adds, and what was read.
#[derive(Debug, Clone, Serialize)]
pub struct Answer<T> {
    #[serde(flatten)]
    pub head: Head,
    #[serde(flatten)]
    pub common: Common,
    #[serde(flatten)]
    pub own: T,
    pub citations: Vec<Citation>,
    /// Members of the request that no field has.
    pub ignored: Vec<String>,
}

impl<'a> Answering<'a> {
    /// # Errors
    /// `Unavailable` if the knowledge base failed its test.
    pub fn begin(app: &'a web::Data<App>, http: &HttpRequest) -> Result<Self, HttpError> {
        let knowledge = app.medical.knowledge().map_err(|defect| HttpError::new(Kind::Unavailable, defect))?;
        let live = app.live();
        let setting = Setting {
            emergency_number: live.config.medical.emergency_number.clone(),
            ruleset: knowledge.ruleset().to_owned(),
        };
        let request_id = http.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
        Ok(Self {
            base: knowledge.base(),
            setting,
            medical: &app.medical,
            begun: Instant::now(),
            request_id,
            timestamp: app.clock.now().rfc3339(),
            parameters: parameters(http.query_string()),
        })
    }

    /// # Errors
    /// `Invalid` if a measured value cannot be read.
    pub fn assess(&self, input: &Input) -> Result<Assessment, Error> {
        assess(self.base, input).map_err(|error| unreadable(&error))
    }

    pub fn head(&self) -> Head {
        Head { success: true, request_id: self.request_id.clone(), timestamp: self.timestamp.clone() }
    }

    /// The names of all that was sent and has no field: members of the body, parameters of the query.
    pub fn ignored(&self, mut members: Vec<String>) -> Vec<String> {
        members.extend(self.parameters.iter().cloned());
        members
    }

    /// The identifier of the request.
    pub fn request_id(&self) -> &str {
        &self.request_id
    }

    /// Notes how long the answer took.
    pub fn finish(self) {
        self.medical.latencies.add(self.begun.elapsed());
    }
}

/// Names of query parameters, bounded in number and length.
fn parameters(query: &str) -> Vec<String> {
    let names = query.split('&').filter_map(|pair| pair.split('=').next()).filter(|name| !name.is_empty());
    names.take(MAX_PARAMETERS).map(|name| format!("query.{}", name.chars().take(64).collect::<String>())).collect()
}
