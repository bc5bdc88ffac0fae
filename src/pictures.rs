//! Work on pictures in the processes of engines: nothing untrusted is decoded in the server's own process.

use std::time::Duration;

use muster_engines::Failure;
use muster_media::decode::{Bounds, DecodeError, luma, rgb};
use muster_media::measure::measure;
use muster_media::{Limits, Measures, Recognised, Rgb, recognise};
use muster_tasks::engine::Job;
use serde::{Deserialize, Serialize};

/// Decodes a PNG or a JPEG and measures it. The output is the JSON of [`Measurement`].
pub static MEASURE: Job =
    Job { number: Job::FIRST, id: "measure-picture", time: Duration::from_secs(5), run: measure_bytes };

/// The jobs of this server.
pub static JOBS: &[&Job] = &[&MEASURE, &crate::images::FIT, &VISION];

/// Most pixels of a picture, and of a side, by its header.
pub const LIMITS: Limits = muster_medical::image::LIMITS;

/// Result of [`MEASURE`].
pub type Measurement = Result<Measures, DecodeError>;

/// Most bytes of the decoder's buffers; `engines.memory_mib` bounds the process.
const MEMORY: u64 = 256 << 20;

fn measure_bytes(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let Some(Recognised::Picture(format)) = recognise(bytes) else {
        return Err(Failure::invalid(&["picture"], "is neither PNG nor JPEG"));
    };
    let decoded = luma(bytes, format, &Bounds { limits: LIMITS, memory: MEMORY });
    let measurement: Measurement = decoded.map(|(_, luma)| measure(&luma));
    serde_json::to_vec(&measurement).map_err(Failure::internal)
}

/// Decodes a picture for models: upright, on white, at most [`SIDE`] a side. The output is read by [`read_output`].
pub static VISION: Job =
    Job { number: Job::FIRST + 2, id: "decode-picture", time: Duration::from_secs(5), run: decode_bytes };

/// Most pixels of a side that models see.
pub const SIDE: u32 = 2_048;

/// What precedes the pixels in the output of [`VISION`].
#[derive(Debug, Serialize, Deserialize)]
struct Decoded {
    width: u32,
    height: u32,
}

fn decode_bytes(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let Some(Recognised::Picture(format)) = recognise(bytes) else {
        return Err(Failure::invalid(&["picture"], "is no picture"));
    };
    let decoded = rgb(bytes, format, &Bounds { limits: LIMITS, memory: MEMORY }, SIDE);
    let sides = decoded.as_ref().map(|(_, picture)| Decoded { width: picture.width(), height: picture.height() });
    let head = serde_json::to_vec(&sides).map_err(Failure::internal)?;
    let length = u32::try_from(head.len()).map_err(Failure::internal)?;
    let pixels = decoded.ok().map(|(_, picture)| picture.into_pixels()).unwrap_or_default();
    Ok([length.to_le_bytes().as_slice(), &head, &pixels].concat())
}

/// Reads the output of [`VISION`]; `None` if it is not complete.
pub fn read_output(mut output: Vec<u8>) -> Option<Result<Rgb, DecodeError>> {
    let length = usize::try_from(u32::from_le_bytes(*output.first_chunk()?)).ok()?;
    let head: Result<Decoded, DecodeError> = serde_json::from_slice(output.get(4..length.checked_add(4)?)?).ok()?;
    match head {
        Ok(Decoded { width, height }) => Rgb::new(width, height, output.split_off(length + 4)).map(Ok),
        Err(error) => Some(Err(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_refusals_are_read_as_they_were_written() {
        // The header of a bitmap of two white pixels, 24 bits each, and a row of 8 bytes.
        let mut bitmap = b"BM\x3e\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x01\0\0\0\x01\0\x18\0".to_vec();
        bitmap.extend([0; 24]);
        bitmap.extend([255; 8]);
        let picture = read_output(decode_bytes(&bitmap).unwrap()).unwrap().unwrap();
        assert_eq!((picture.width(), picture.height(), picture.pixels()), (2, 1, [255; 6].as_slice()));
        bitmap.truncate(56);
        assert!(read_output(decode_bytes(&bitmap).unwrap()).unwrap().is_err());
        assert!(read_output(vec![9, 0, 0, 0, 1]).is_none());
        assert!(read_output(vec![255; 4]).is_none());
    }
}
