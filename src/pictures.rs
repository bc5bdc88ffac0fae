//! Work on pictures in the processes of engines: nothing untrusted is decoded in the server's own process.

use std::time::Duration;

use muster_engines::Failure;
use muster_media::decode::{Bounds, DecodeError, luma};
use muster_media::measure::measure;
use muster_media::{Measures, Recognised, recognise};
use muster_medical::image::LIMITS;
use muster_tasks::engine::Job;

/// Decodes a PNG or a JPEG and measures it. The output is the JSON of [`Measurement`].
pub static MEASURE: Job =
    Job { number: Job::FIRST, id: "measure-picture", time: Duration::from_secs(5), run: measure_bytes };

/// The jobs of this server.
pub static JOBS: &[&Job] = &[&MEASURE];

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
