//! `cargo bench -p muster-models`: tokens per second of the embedded chat models, beside the figures of the design (2
//! cores with AVX2, 2 threads, idle machine) and beside the memory-bandwidth ceiling: each generated token reads the
//! weights once, so one sequence cannot be faster than bandwidth divided by model size.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_models::{
    ChatModel, ChatTurn, Format, GenerateEvent, GenerateRequest, Generation, LocalModel, Manifest, ModelEntry,
    ModelOptions, ModelStatus, Role, Selection, TokenUsage,
};

type Failure = Box<dyn std::error::Error>;

/// Design figures in tokens per second: prompt, generation with 1 sequence, generation with 4 sequences.
const DESIGN: [(&str, [&str; 3]); 2] = [("small", ["149", "84", "113"]), ("standard", ["70-80", "25", "46"])];

const PROMPT: &str = "The harbour was quiet in the morning, and the boats lay in two rows along the wall. ";
const GENERATED: u32 = 96;

fn main() -> Result<(), Failure> {
    let manifest = Manifest::embedded()?;
    let dir = std::env::var_os("MUSTER_MODELS_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache"), PathBuf::from);
    let bandwidth = bandwidth();
    println!("memory: {:.1} GB/s read by {} threads", bandwidth / 1e9, threads());
    println!("{:<9} {:<28} {:>9} {:>9} {:>9}", "model", "figure", "measured", "design", "ceiling");
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    for (id, design) in DESIGN {
        let Some(entry) = manifest.get(id).filter(|entry| entry.path(&dir).is_file()) else {
            println!("{id:<9} skipped: run `make models`");
            continue;
        };
        runtime.block_on(measure(entry, &dir, design, bandwidth))?;
    }
    Ok(())
}

async fn measure(entry: &ModelEntry, dir: &Path, design: [&str; 3], bandwidth: f64) -> Result<(), Failure> {
    let begin = Instant::now();
    let selection = Selection::Id(entry.id.clone());
    let model = LocalModel::start(ModelOptions { selection, cache_dir: dir.to_owned(), ..ModelOptions::default() });
    ready(&model).await?;
    let loaded = begin.elapsed();
    // The first step maps the weights into memory.
    finish(model.generate(request_of("Hello.", 4))?).await?;

    let begin = Instant::now();
    let (_, usage) = finish(model.generate(request_of(&PROMPT.repeat(26), 1))?).await?;
    let prompt = rate(usage.prompt, begin.elapsed());
    let one = generate(&model, 1).await?;
    let four = generate(&model, 4).await?;

    let ceiling = bandwidth / entry.bytes as f64;
    let row = |figure: &str, measured: f64, design: &str, ceiling: String| {
        println!("{:<9} {figure:<28} {measured:>9.1} {design:>9} {ceiling:>9}", entry.id);
    };
    let [prompt_design, one_design, four_design] = design;
    row(&format!("prompt tok/s ({} tokens)", usage.prompt), prompt, prompt_design, "-".to_owned());
    row("generated tok/s, 1 sequence", one, one_design, format!("{ceiling:.0}"));
    row("generated tok/s, 4 sequences", four, four_design, format!("{:.0}", ceiling * 4.0));
    row("start to ready, s", loaded.as_secs_f64(), "-", "-".to_owned());
    row("memory of process after, MB", memory_mb(), "-", "-".to_owned());
    Ok(())
}

/// Returns tokens per second over all sequences, from the first text of any to the end of the last.
async fn generate(model: &Arc<LocalModel>, sequences: usize) -> Result<f64, Failure> {
    let request = request_of("Write a very long story about the sea.", GENERATED);
    let running: Result<Vec<_>, _> = (0..sequences).map(|_| model.generate(request.clone())).collect();
    let mut first: Option<Instant> = None;
    let mut tokens = 0;
    for generation in running? {
        let (begun, usage) = finish(generation).await?;
        first = Some(first.map_or(begun, |first| first.min(begun)));
        tokens += usage.completion - 1;
    }
    Ok(rate(tokens, first.ok_or("no text came")?.elapsed()))
}

fn request_of(content: &str, max_tokens: u32) -> GenerateRequest {
    GenerateRequest {
        turns: vec![ChatTurn::text(Role::User, content)],
        max_tokens,
        temperature: 0.0,
        top_p: 1.0,
        presence_penalty: 0.0,
        frequency_penalty: 0.0,
        seed: None,
        stop: Vec::new(),
        format: Format::Text,
        tools: None,
    }
}

async fn ready(model: &LocalModel) -> Result<(), Failure> {
    let mut changes = model.watch_status();
    loop {
        let status = changes.borrow_and_update().clone();
        match status {
            ModelStatus::Ready => return Ok(()),
            ModelStatus::Loading { .. } => changes.changed().await?,
            other => return Err(format!("{other:?}").into()),
        }
    }
}

/// Returns when the first text arrived, and the usage.
async fn finish(mut generation: Generation) -> Result<(Instant, TokenUsage), Failure> {
    let mut first = None;
    while let Some(event) = generation.events.recv().await {
        match event {
            GenerateEvent::Delta(_) | GenerateEvent::Call { .. } | GenerateEvent::Arguments { .. } => {
                first = first.or(Some(Instant::now()));
            }
            GenerateEvent::Done { usage, .. } => return Ok((first.ok_or("no text came")?, usage)),
            GenerateEvent::Failed(error) => return Err(error.into()),
        }
    }
    Err("the engine went away".into())
}

fn rate(tokens: u32, took: Duration) -> f64 {
    f64::from(tokens) / took.as_secs_f64()
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the bytes per second that all threads together read from memory.
fn bandwidth() -> f64 {
    const WORDS: usize = 32 << 20;
    const ROUNDS: usize = 3;
    let buffer = vec![1_u64; WORDS];
    let share = WORDS.div_ceil(threads());
    let round = || {
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for part in buffer.chunks(share) {
                scope.spawn(move || black_box(part.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word))));
            }
        });
        (WORDS * size_of::<u64>()) as f64 / begin.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(|_| round()).fold(0.0, f64::max)
}

fn memory_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: Option<f64> = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
}
