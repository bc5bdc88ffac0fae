//! Alerts as documents: import and export of CAP, and the Atom feed.

use bytes::Bytes;
use muster_cap::{CapError, Entry, Feed};

use super::messages::{IncidentRequest, IncidentResponse};
use super::service::Incidents;
use crate::alert::{AlertRecord, from_cap, points_of, title, to_xml};
use crate::shapes;
use muster_core::ids::{IdKind, new_id};
use muster_core::{Error, Kind};
use muster_identity::By;

/// Largest number of entries of the feed, the newest.
const MAX_ENTRIES: usize = 200;

/// The outcome of an import.
#[derive(Debug, Clone)]
pub struct ImportedDocument {
    /// The response to the change.
    pub response: IncidentResponse,
    /// What the document contains that is valid but probably not meant, each with its place.
    pub warnings: Vec<String>,
}

impl Incidents {
    /// Imports a CAP document. Idempotent by its identifier, sender and time.
    ///
    /// # Errors
    /// `Invalid` with the element; `Forbidden`; `Conflict` if it refers to another sender's message.
    pub async fn import(&self, by: By, document: Bytes) -> Result<ImportedDocument, Error> {
        let (actor, now) = (by.id().to_owned(), self.clock.now());
        let read = move || {
            let alert = muster_cap::parse(&document).map_err(|error| invalid_cap(&error))?;
            // It was parsed, so it is UTF-8.
            let xml = String::from_utf8_lossy(&document).into_owned();
            let warnings = points_of(&alert);
            Ok::<_, Error>((Box::new(from_cap(alert, new_id(IdKind::Alert), &actor, now)), xml, warnings))
        };
        let (message, xml, warnings) = shapes::apart(read).await??;
        let response = self.write(by, None, IncidentRequest::Import { message, xml }).await?;
        Ok(ImportedDocument { response, warnings })
    }

    /// Returns the document of an alert; an imported one as it was received.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn document(&self, by: By, alert: String) -> Result<String, Error> {
        let alert = self.alert(by, alert).await?;
        self.written(&alert)
    }

    /// Returns the newest document of an incident; if none was sent, one with the status Draft.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn incident_document(&self, by: By, id: String) -> Result<String, Error> {
        let alert = self.newest(by, id).await?;
        self.written(&alert)
    }

    /// Returns the public messages in force as an Atom feed, Cancels among them. `base` is the address of the server.
    ///
    /// # Errors
    /// `Unavailable`.
    pub async fn atom(&self, by: By, base: &str) -> Result<String, Error> {
        let (alerts, updated) = self.feed(by, MAX_ENTRIES).await?;
        let feed = Feed {
            id: format!("{base}/api/v1/alerts/feed.atom"),
            title: "Alerts".to_owned(),
            author: self.sender_name.to_string(),
            updated: updated.rfc3339(),
            link: format!("{base}/api/v1/alerts/feed.atom"),
            entries: alerts.iter().map(|alert| entry(alert, base)).collect(),
        };
        Ok(feed.to_xml())
    }

    fn written(&self, alert: &AlertRecord) -> Result<String, Error> {
        if let Some(xml) = self.received(alert)? {
            return Ok(xml);
        }
        to_xml(alert).map_err(|error| {
            tracing::error!(alert = %alert.id, %error, "an alert cannot be written as CAP");
            Error::new(Kind::Internal, format!("the alert cannot be expressed in CAP: {error}"))
        })
    }
}

/// Returns the error for a document that is not a CAP alert.
fn invalid_cap(error: &CapError) -> Error {
    Error::field(Kind::Invalid, &["body", &error.place], error.why.clone(), serde_json::Value::Null)
        .coded("invalid_cap")
}

fn entry(alert: &AlertRecord, base: &str) -> Entry {
    let info = alert.info.as_ref();
    Entry {
        id: format!("urn:muster:alert:{}", alert.id),
        title: title(alert),
        updated: alert.sent.rfc3339(),
        published: alert.sent.rfc3339(),
        summary: info.and_then(|info| info.description.clone()),
        link: format!("{base}/api/v1/alerts/{}.cap", alert.id),
        categories: info.iter().flat_map(|info| &info.category).map(|term| term.name().to_owned()).collect(),
    }
}
