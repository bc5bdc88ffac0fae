//! Pictures of providers: fetched where they came as URLs, decoded, checked and cropped in a process of their own.

use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, try_join_all};
use muster_core::{Error, Kind};
use muster_engines::Failure;
use muster_gateway::{CheckedPicture, PictureCheck, Unchecked};
use muster_media::decode::Bounds;
use muster_media::fit::{Fitted, fit};
use muster_media::{Limits, Recognised, recognise};
use muster_providers::{ImageData, ImageSize, ReplyImage};
use muster_tasks::engine::{EngineCaller, Engines, Job, JobCall};

use crate::media::fetch::{FetchError, Fetcher};
use crate::telemetry::Metrics;

/// Checks a picture and brings it to a size. The input is columns and rows as big-endian 32-bit integers, 0 for its own
/// size, and the picture; the output is the same two numbers and the PNG, empty where the picture is one of that size
/// already.
pub static FIT: Job = Job { number: Job::FIRST + 1, id: "fit-picture", time: Duration::from_secs(5), run: fit_bytes };

/// Most bytes of the decoder's buffers; `engines.memory_mib` bounds the process.
const MEMORY: u64 = 256 << 20;
const LIMITS: Limits = Limits { pixels: 40_000_000, side: 16_384 };
/// Most bytes of a picture: the input of a job is at most 16 MiB.
const MAX_BYTES: usize = (16 << 20) - 64;

fn fit_bytes(input: &[u8]) -> Result<Vec<u8>, Failure> {
    let refused = |why: &str| Failure::invalid(&["picture"], why);
    let (width, rest) = number(input).ok_or_else(|| refused("has no size"))?;
    let (height, picture) = number(rest).ok_or_else(|| refused("has no size"))?;
    let Some(Recognised::Picture(format)) = recognise(picture) else {
        return Err(refused("is neither PNG nor JPEG"));
    };
    let size = (width > 0 && height > 0).then_some((width, height));
    let bounds = Bounds { limits: LIMITS, memory: MEMORY };
    let Fitted { width, height, png } =
        fit(picture, format, size, &bounds).map_err(|error| refused(&error.to_string()))?;
    let mut output = [width.to_be_bytes(), height.to_be_bytes()].concat();
    output.extend(png.unwrap_or_default());
    Ok(output)
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*first), rest))
}

/// Checks the pictures of a request.
#[derive(Debug, Clone)]
pub struct FitCheck {
    pub engines: Engines,
    /// Fetches pictures that came as URLs, by the rules for those of callers.
    pub fetcher: Fetcher,
    pub metrics: Metrics,
    pub caller: EngineCaller,
    /// Size that they are to have; `None` for their own.
    pub size: Option<ImageSize>,
}

impl PictureCheck for FitCheck {
    fn check(&self, images: Vec<ReplyImage>) -> BoxFuture<'static, Result<Vec<CheckedPicture>, Unchecked>> {
        let check = self.clone();
        async move { try_join_all(images.into_iter().map(|image| check.one(image))).await }.boxed()
    }
}

impl FitCheck {
    async fn one(&self, image: ReplyImage) -> Result<CheckedPicture, Unchecked> {
        let malformed = |why: &str| Unchecked::Malformed(why.to_owned());
        let bytes = match image.data {
            ImageData::Bytes(bytes) => bytes,
            ImageData::Url(url) => {
                let fetched = self.fetcher.fetch(&url, &self.caller.actor).await;
                self.metrics.media_fetch(fetched.as_ref().map_or_else(|error| error.word(), |_| "fetched"));
                fetched.map_err(unfetched)?
            }
        };
        if bytes.len() > MAX_BYTES {
            return Err(malformed("a picture is larger than 16 MiB"));
        }
        let (width, height) = self.size.map_or((0, 0), |size| (size.width, size.height));
        let input = [&width.to_be_bytes()[..], &height.to_be_bytes()[..], &bytes].concat();
        let output = self.engines.run_job(JobCall { job: &FIT, input, caller: self.caller.clone() }).await;
        let output = output.map_err(unchecked)?;
        let read = number(&output).and_then(|(width, rest)| Some((width, number(rest)?)));
        let Some((width, (height, png))) = read else {
            return Err(Unchecked::Unavailable(Error::new(Kind::Internal, "the check of a picture gave no size")));
        };
        let png = if png.is_empty() { bytes } else { png.to_vec() };
        Ok(CheckedPicture { png, width, height, revised_prompt: image.revised_prompt })
    }
}

/// A URL that leads to no picture is the provider's fault; that too many are fetched at a time is not.
fn unfetched(error: FetchError) -> Unchecked {
    let why = match error {
        FetchError::NotAllowed(denied) => denied.word(),
        FetchError::Failed(reason) => reason.word(),
        FetchError::Busy => return Unchecked::Unavailable(error.at(&[])),
    };
    Unchecked::Malformed(format!("a picture could not be fetched by its URL ({why})"))
}

/// A process that was stopped because of a picture is the picture's fault.
fn unchecked(error: Error) -> Unchecked {
    match error.kind {
        Kind::TimedOut | Kind::TooLarge | Kind::Invalid => {
            Unchecked::Malformed(format!("a picture cannot be decoded: {}", error.message))
        }
        _ => Unchecked::Unavailable(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_picture_is_refused_by_the_job() {
        for input in [&b""[..], b"\0\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\0GIF89a", b"\0\0\0\0\0\0\0\0\x89PNG\r\n\x1a\n"] {
            assert!(fit_bytes(input).is_err(), "{input:?}");
        }
    }

    #[test]
    fn a_url_without_a_picture_is_the_provider_s_fault_and_says_no_address() {
        use crate::media::fetch::{Denied, Reason};
        for (error, word) in
            [(FetchError::NotAllowed(Denied::Address), "(address)"), (FetchError::Failed(Reason::Tls), "(tls)")]
        {
            assert!(matches!(unfetched(error), Unchecked::Malformed(why) if why.ends_with(word)), "{word}");
        }
        assert!(matches!(unfetched(FetchError::Busy), Unchecked::Unavailable(_)));
    }

    #[test]
    fn a_stopped_process_is_the_picture_s_fault_and_a_busy_pool_is_not() {
        for kind in [Kind::TimedOut, Kind::TooLarge, Kind::Invalid] {
            assert!(matches!(unchecked(Error::new(kind, "x")), Unchecked::Malformed(_)), "{kind:?}");
        }
        for kind in [Kind::Unavailable, Kind::RateLimited, Kind::Internal] {
            assert!(matches!(unchecked(Error::new(kind, "x")), Unchecked::Unavailable(_)), "{kind:?}");
        }
    }
}
