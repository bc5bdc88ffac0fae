//! Validation of geometries apart from the threads that serve requests.

use std::time::Duration;

use muster_core::{Error, Kind};
use muster_geo::{Geometry, Shape};
use serde_json::Value;

/// Number of positions up to which a geometry is validated at once: their pairs are few, however they lie.
const VALIDATED_AT_ONCE: usize = 200;

/// Validates the geometry of a request, which takes up to some ten milliseconds for one whose edges lie close together.
///
/// # Errors
/// `Invalid` with the field `geometry`; `Unavailable` if the server is stopping.
pub async fn shape(geometry: Geometry) -> Result<Shape, Error> {
    if geometry.vertices() <= VALIDATED_AT_ONCE {
        return shape_here(&geometry);
    }
    apart(move || shape_here(&geometry)).await?
}

/// Validates a geometry, if there is one, before it is sent to an actor.
pub(crate) async fn check(geometry: Option<&Geometry>) -> Result<(), Error> {
    match geometry.filter(|geometry| geometry.vertices() > VALIDATED_AT_ONCE) {
        // The actor validates it, with the other fields of its request.
        None => Ok(()),
        Some(geometry) => shape(geometry.clone()).await.map(drop),
    }
}

/// Runs work that takes long on a thread that serves no requests.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        let message = "the server is stopping: try again";
        Error::new(Kind::Unavailable, message).retry_in(Duration::from_secs(1))
    })
}

fn shape_here(geometry: &Geometry) -> Result<Shape, Error> {
    geometry.shape().map_err(|error| Error::field(Kind::Invalid, &["body", "geometry"], error.to_string(), Value::Null))
}
