//! A loaded model and the threads that run it.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rten::{ModelOptions, NodeId, OpRegistry, RunOptions, ThreadPool, Value};

use super::VisionError;
use crate::media::{MediaManifest, MediaModel, MediaModelError};

/// Threads of the pool that all vision models share: as many as there are cores, up to this.
const MAX_THREADS: usize = 2;

/// A loaded model.
pub(super) struct Session {
    model: rten::Model,
    input: NodeId,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("parameters", &self.model.total_params()).finish()
    }
}

/// An output of a model: its shape and its numbers in row-major order.
pub(super) struct Output<const N: usize> {
    pub(super) shape: [usize; N],
    pub(super) data: Vec<f32>,
}

/// Returns the entry of the manifest, after the files in the cache folder were verified.
pub(super) fn verified(id: &str, cache: &Path) -> Result<MediaModel, VisionError> {
    let failed = |why: String| MediaModelError::Failed { id: id.to_owned(), why };
    let manifest = MediaManifest::embedded().map_err(|error| failed(error.to_string()))?;
    let model = manifest.get(id).ok_or_else(|| failed("media.toml has no such entry".to_owned()))?;
    model.verify(cache)?;
    Ok(model.clone())
}

impl Session {
    /// Loads the ONNX file of this role. The file must be verified.
    pub(super) fn load(model: &MediaModel, cache: &Path, role: &str) -> Result<Self, VisionError> {
        let path = model.path(cache, role)?;
        let mut options = ModelOptions::with_ops(OpRegistry::with_all_ops());
        options.prepack_weights(true);
        let loaded = std::fs::read(&path)
            .map_err(|error| model.failed(format!("{}: {error}", path.display())))
            .and_then(|bytes| options.load(bytes).map_err(|error| model.failed(error)))?;
        let input = *loaded.input_ids().first().ok_or_else(|| model.failed("the graph has no input"))?;
        Ok(Self { model: loaded, input })
    }

    /// Runs the model on one input and returns all outputs.
    pub(super) fn run(&self, shape: [usize; 4], input: Vec<f32>) -> Result<Vec<Value>, VisionError> {
        let input = Value::from_shape(shape, input).map_err(inference)?;
        let options = RunOptions::default().with_thread_pool(Some(thread_pool()));
        self.model.run(vec![(self.input, input.into())], self.model.output_ids(), Some(options)).map_err(inference)
    }
}

/// Returns an output as numbers.
pub(super) fn output<const N: usize>(value: Option<Value>) -> Result<Output<N>, VisionError>
where
    rten_tensor::NdTensor<f32, N>: TryFrom<Value, Error = rten::TryFromValueError>,
{
    let value = value.ok_or_else(|| inference("an output is missing"))?;
    let (shape, data) = value.into_shape_vec::<f32, N>().map_err(inference)?;
    Ok(Output { shape, data })
}

/// The error of a model that failed while running.
pub(super) fn inference(why: impl ToString) -> VisionError {
    VisionError::Inference { why: why.to_string() }
}

fn thread_pool() -> Arc<ThreadPool> {
    static POOL: OnceLock<Arc<ThreadPool>> = OnceLock::new();
    let threads = || std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MAX_THREADS));
    Arc::clone(POOL.get_or_init(|| Arc::new(ThreadPool::with_num_threads(threads()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Case {
        file: String,
        shape: [usize; 4],
        outputs: Vec<Reference>,
    }

    #[derive(serde::Deserialize)]
    struct Reference {
        shape: Vec<usize>,
        places: Vec<usize>,
        values: Vec<f32>,
        largest: f32,
    }

    /// The input described in tests/fixtures/vision_reference.py.
    fn pattern(shape: [usize; 4]) -> Vec<f32> {
        let byte =
            |x: usize, y: usize, channel: usize| ((x * x / 7 + 31 * y + 17 * channel) % 256) as f32 / 127.5 - 1.0;
        let [_, a, b, c] = shape;
        if a == 3 {
            (0..a * b * c).map(|at| byte(at % c, at / c % b, at / c / b)).collect()
        } else {
            (0..a * b * c).map(|at| byte(at / c % b, at / c / b, at % c) * 127.5).collect()
        }
    }

    /// Expected values: onnxruntime 1.32, by tests/fixtures/vision_reference.py.
    #[test]
    fn outputs_agree_with_onnxruntime() {
        let cache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache");
        let manifest = MediaManifest::embedded().unwrap();
        let cases: Vec<Case> =
            serde_json::from_str(include_str!("../../tests/fixtures/vision_reference.json")).unwrap();
        assert_eq!(cases.len(), 4);
        for case in cases {
            let of_case = |model: &&MediaModel| model.files.iter().any(|file| file.file == case.file);
            let model = manifest.models().iter().find(of_case).unwrap();
            assert!(model.is_present(&cache), "{} is not in models-cache: run `make models`", case.file);
            let role = &model.files.iter().find(|file| file.file == case.file).unwrap().role;
            let session = Session::load(model, &cache, role).unwrap();
            let outputs = session.run(case.shape, pattern(case.shape)).unwrap();
            assert_eq!(outputs.len(), case.outputs.len());
            for (output, expected) in outputs.into_iter().zip(&case.outputs) {
                let output: rten_tensor::Tensor<f32> = output.try_into().unwrap();
                assert_eq!(rten_tensor::Layout::shape(&output).to_vec(), expected.shape, "{}", case.file);
                let data = output.into_data();
                let largest = data.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                assert!((largest - expected.largest).abs() <= 1e-3, "{}: {largest}", case.file);
                for (place, value) in expected.places.iter().zip(&expected.values) {
                    assert!((data[*place] - value).abs() <= 1e-3, "{} at {place}: {} {value}", case.file, data[*place]);
                }
            }
        }
    }
}
