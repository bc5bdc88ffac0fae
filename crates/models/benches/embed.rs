//! `cargo bench -p muster-models --bench embed`: texts per second of the embedding model, beside the figures of the
//! design (candle, 2 threads, idle machine: 17 ms per text of 17 tokens, 183 texts per second in batches of 32).

use std::path::{Path, PathBuf};
use std::time::Instant;

use muster_models::{EmbedError, EmbedModel, EmbedOptions, LocalEmbedder, ModelStatus};

type Failure = Box<dyn std::error::Error>;

/// 17 word pieces including the two special tokens.
const TEXT: &str = "There is smoke near the racks of the data centre, please send help.";
const ROUNDS: usize = 30;

fn main() -> Result<(), Failure> {
    let cache_dir = std::env::var_os("MUSTER_MODELS_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache"), PathBuf::from);
    tokio::runtime::Builder::new_current_thread().build()?.block_on(measure(cache_dir))
}

async fn measure(cache_dir: PathBuf) -> Result<(), Failure> {
    let before = memory_mb("VmRSS:");
    let begin = Instant::now();
    let model = LocalEmbedder::start(EmbedOptions { cache_dir, ..EmbedOptions::default() });
    let mut status = model.watch_status();
    let status = status.wait_for(|status| !matches!(status, ModelStatus::Loading { .. })).await?.clone();
    if status != ModelStatus::Ready {
        println!("skipped: {status:?}");
        return Ok(());
    }
    let loaded = begin.elapsed();
    println!("loaded in {:.2} s, {:.0} MB more than before", loaded.as_secs_f64(), memory_mb("VmRSS:") - before);
    rate(&model, 1).await?;
    println!("{:<34} {:>9} {:>9}", "figure", "measured", "design");
    println!("{:<34} {:>9.1} {:>9}", "ms, one text of 17 tokens alone", 1e3 / rate(&model, 1).await?, "17");
    println!("{:<34} {:>9.1} {:>9}", "texts/s, 32 at once", rate(&model, 32).await?, "183");
    let cpu = cpu_seconds();
    println!("{:<34} {:>9.1} {:>9}", "texts/s, 256 at once", rate(&model, 256).await?, "-");
    let per_cpu = (ROUNDS * 256) as f64 / (cpu_seconds() - cpu);
    println!("{:<34} {:>9.1} {:>9}", "texts per CPU-second, 256 at once", per_cpu, "93-100");
    let long = vec![TEXT.repeat(16); 8];
    let begin = Instant::now();
    let tokens = model.embed(long).await?.total_tokens();
    println!("{:<34} {:>9.1} {:>9}", "tokens/s, long texts", f64::from(tokens) / begin.elapsed().as_secs_f64(), "-");
    println!(
        "memory: {:.0} MB more than before, {:.0} MB more at most",
        memory_mb("VmRSS:") - before,
        memory_mb("VmHWM:") - before
    );
    Ok(())
}

/// Returns texts per second with `together` texts per request.
async fn rate(model: &LocalEmbedder, together: usize) -> Result<f64, EmbedError> {
    let begin = Instant::now();
    for _ in 0..ROUNDS {
        model.embed(vec![TEXT.to_owned(); together]).await?;
    }
    Ok((ROUNDS * together) as f64 / begin.elapsed().as_secs_f64())
}

/// CPU time of this process, user and system. A clock tick is 1/100 s on every Linux (`proc_pid_stat(5)`).
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn memory_mb(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib: Option<f64> = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
}
