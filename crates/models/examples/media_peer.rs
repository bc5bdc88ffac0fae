//! The embedded models for `benches/media/run.py`, which compares them with other programs: reads a line of JSON for each
//! piece of work and writes a line with the CPU time that it took.
//!
//! `{"work": "graph", "file": "ppocrv5_det.onnx", "shape": [1, 3, 960, 672]}`, `{"work": "page", "file": "page.png"}`,
//! `{"work": "translate", "pair": "en-pt", "texts": ["…"]}`.

#[path = "../tests/pages/mod.rs"]
mod pages;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::Arc;

use muster_media::marks::{Glossary, TextFormat};
use muster_media::segments::{TextOptions, translate_text};
use muster_models::translate::{NeuralSegments, Translator, find_pairs};
use muster_models::{MediaManifest, Ocr};
use pages::{Failure, Picture, models_folder};
use rten::{ModelOptions, OpRegistry, RunOptions, ThreadPool, Value};
use rustix::time::{ClockId, clock_gettime};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
enum Work {
    Graph { file: String, shape: [usize; 4] },
    Page { file: String },
    Translate { pair: String, texts: Vec<String> },
}

/// What was loaded so far. Loading is not measured.
#[derive(Default)]
struct Loaded {
    graphs: HashMap<String, rten::Model>,
    ocr: Option<Ocr>,
    pairs: HashMap<String, Translator>,
}

fn main() -> Result<(), Failure> {
    let mut loaded = Loaded::default();
    // One thread, as on the other side.
    let pool = Arc::new(ThreadPool::with_num_threads(1));
    for line in std::io::stdin().lock().lines() {
        let work: Work = serde_json::from_str(&line?)?;
        let answer = match loaded.run(work, &pool) {
            Ok(cpu_ms) => serde_json::json!({ "cpu_ms": cpu_ms }),
            Err(error) => serde_json::json!({ "error": error.to_string() }),
        };
        let mut output = std::io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

impl Loaded {
    fn run(&mut self, work: Work, pool: &Arc<ThreadPool>) -> Result<f64, Failure> {
        match work {
            Work::Graph { file, shape } => {
                if !self.graphs.contains_key(&file) {
                    self.graphs.insert(file.clone(), graph(&file)?);
                }
                let model = self.graphs.get(&file).ok_or("the graph is gone")?;
                let input = *model.input_ids().first().ok_or("the graph has no input")?;
                let count = shape.iter().product::<usize>();
                // Any numbers from −1 to 1: the time does not depend on them.
                let numbers = (0..count).map(|at| (at * 7919 % 2001) as f32 / 1000.0 - 1.0).collect::<Vec<f32>>();
                let value = Value::from_shape(shape, numbers)?;
                let options = RunOptions::default().with_thread_pool(Some(Arc::clone(pool)));
                measured(|| {
                    model.run(vec![(input, value.into())], model.output_ids(), Some(options))?;
                    Ok(())
                })
            }
            Work::Page { file } => {
                let picture = Picture::open(file.as_ref())?;
                let ocr = match self.ocr.take() {
                    Some(ocr) => ocr,
                    None => Ocr::load(&models_folder())?,
                };
                let ocr = self.ocr.insert(ocr);
                measured(|| {
                    ocr.read(picture.view(), &|| false)?;
                    Ok(())
                })
            }
            Work::Translate { pair, texts } => {
                if !self.pairs.contains_key(&pair) {
                    let pairs = find_pairs(&models_folder(), &MediaManifest::embedded()?);
                    let found = pairs.iter().find(|found| found.id() == pair).ok_or("the pair is absent")?;
                    self.pairs.insert(pair.clone(), Translator::load(found)?);
                }
                let translator = self.pairs.get(&pair).ok_or("the pair is gone")?;
                let glossary = Glossary::default();
                let options = TextOptions { format: TextFormat::Text, to: &translator.pair().to, glossary: &glossary };
                measured(|| {
                    for text in &texts {
                        let mut engine = NeuralSegments::new(translator, &|| false);
                        translate_text(text, &options, &mut engine, None, &mut |_| ())?;
                    }
                    Ok(())
                })
            }
        }
    }
}

/// Loads a graph with the options of the server.
fn graph(file: &str) -> Result<rten::Model, Failure> {
    let mut options = ModelOptions::with_ops(OpRegistry::with_all_ops());
    options.prepack_weights(true);
    Ok(options.load(std::fs::read(models_folder().join(file))?)?)
}

/// CPU time of all threads of this process in milliseconds.
fn measured(work: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let begin = clock_gettime(ClockId::ProcessCPUTime);
    work()?;
    let taken = clock_gettime(ClockId::ProcessCPUTime) - begin;
    Ok(taken.tv_sec as f64 * 1e3 + taken.tv_nsec as f64 / 1e6)
}
