//! Pictures of a request: their headers are read here, their pixels in a process of their own.

use futures::future::join_all;
use muster_core::{Error, FieldError, Kind};
use muster_media::{Measures, Rgb};
use muster_medical::image::Picture;
use muster_tasks::engine::{EngineCaller, Engines, JobCall};
use serde_json::Value;

use crate::pictures::{MEASURE, Measurement, VISION, read_output};

/// A picture with the measures of its pixels; `None` for DICOM.
pub type Examined = (Picture, Option<Measures>);

/// Reads and measures pictures.
///
/// # Errors
/// `Invalid` with each picture that is refused, such as `images.2`; `Unavailable` or `RateLimited` if no process is free.
pub async fn examine(engines: &Engines, texts: Vec<String>, caller: &EngineCaller) -> Result<Vec<Examined>, Error> {
    if texts.is_empty() {
        return Ok(Vec::new());
    }
    // Base64 and hashes of up to 24 MiB.
    let read =
        tokio::task::spawn_blocking(move || texts.iter().map(|text| Picture::from_text(text)).collect::<Vec<_>>());
    let read = read.await.map_err(|error| Error::new(Kind::Internal, format!("reading pictures: {error}")))?;
    let read = each(read.into_iter().map(|picture| picture.map_err(|error| error.to_string())))?;
    let measured = join_all(read.iter().map(|picture| measured(engines, picture, caller))).await;
    let measured = each(measured.into_iter().collect::<Result<Vec<_>, Error>>()?)?;
    Ok(read.into_iter().zip(measured).collect())
}

/// Returns the results, or an error with a field for each picture that was refused.
fn each<T>(results: impl IntoIterator<Item = Result<T, String>>) -> Result<Vec<T>, Error> {
    let (mut accepted, mut fields) = (Vec::new(), Vec::new());
    for (index, result) in results.into_iter().enumerate() {
        match result {
            Ok(value) => accepted.push(value),
            Err(msg) => fields.push(FieldError {
                kind: "value_error",
                loc: vec!["body".to_owned(), "images".to_owned(), index.to_string()],
                msg,
                input: Value::Null,
            }),
        }
    }
    let Some(first) = fields.first() else { return Ok(accepted) };
    let message = format!("{}: {}", first.loc.get(1..).unwrap_or_default().join("."), first.msg);
    Err(Error { fields, ..Error::new(Kind::Invalid, message) })
}

/// Measures a picture. The inner error is why it is refused.
async fn measured(
    engines: &Engines,
    picture: &Picture,
    caller: &EngineCaller,
) -> Result<Result<Option<Measures>, String>, Error> {
    if picture.format().is_none() {
        return Ok(Ok(None));
    }
    let call = JobCall { job: &MEASURE, input: picture.bytes.clone(), caller: caller.clone() };
    match engines.run_job(call).await {
        Ok(output) => {
            let measurement: Measurement = serde_json::from_slice(&output)
                .map_err(|error| Error::new(Kind::Internal, format!("the measures of a picture: {error}")))?;
            Ok(measurement.map(Some).map_err(|error| error.to_string()))
        }
        Err(error) => refusal(error).map(Err),
    }
}

/// Decodes pictures that were measured before for an outside service: upright, on white, at most 2,048 pixels a side.
///
/// # Errors
/// `Unavailable` or `RateLimited` if no process is free.
pub async fn pixels(engines: &Engines, pictures: Vec<Picture>, caller: &EngineCaller) -> Result<Vec<Rgb>, Error> {
    let decoded = pictures.into_iter().map(|picture| async {
        let output = engines.run_job(JobCall { job: &VISION, input: picture.bytes, caller: caller.clone() }).await?;
        let decoded = read_output(output).and_then(Result::ok);
        decoded.ok_or_else(|| Error::new(Kind::Internal, "a picture that was measured cannot be decoded"))
    });
    join_all(decoded).await.into_iter().collect()
}

/// Why a picture is refused whose process was stopped; other errors are not the picture's.
fn refusal(error: Error) -> Result<String, Error> {
    match error.kind {
        Kind::TimedOut => {
            Ok(format!("takes more than {} s to be decoded: scale it down, or save it again", MEASURE.time.as_secs()))
        }
        Kind::TooLarge => {
            Ok("needs more memory to be decoded than is permitted: scale it down, or save it with 8 bits a sample"
                .to_owned())
        }
        Kind::Invalid => Ok("cannot be decoded: save it again".to_owned()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refused_picture_is_named_and_the_first_is_the_message() {
        let refused = each([Ok(1), Err("is GIF".to_owned()), Ok(2), Err("is empty".to_owned())]).unwrap_err();
        assert_eq!((refused.kind, refused.message.as_str()), (Kind::Invalid, "images.1: is GIF"));
        let locs: Vec<String> = refused.fields.iter().map(|field| field.loc.join(".")).collect();
        assert_eq!(locs, ["body.images.1", "body.images.3"]);
        assert_eq!(each([Ok(1), Ok(2)]).unwrap(), [1, 2]);
    }

    #[test]
    fn a_stopped_process_is_the_picture_s_fault_and_a_busy_pool_is_not() {
        for kind in [Kind::TimedOut, Kind::TooLarge, Kind::Invalid] {
            assert!(refusal(Error::new(kind, "x")).is_ok());
        }
        for kind in [Kind::Unavailable, Kind::RateLimited, Kind::Internal] {
            assert_eq!(refusal(Error::new(kind, "x")).unwrap_err().kind, kind);
        }
    }
}
