//! Measures one picture from words to PNG, by size and quality, and the reading of words alone. Run with
//! `cargo bench -p muster-media --bench sketch -- <folder of data files>`.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use muster_media::sketch::{Prompt, Quality, Size, Sketcher};

const PROMPTS: [&str; 4] = [
    "three red cars and an elephant beside a house in the rain",
    "a black cat on a chair under the moon",
    "fünf gelbe Autos in der Stadt bei Nacht",
    "沙漠里的两只骆驼和一棵仙人掌",
];
const ROUNDS: u32 = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let folder =
        folder.map_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../models-cache")), PathBuf::from);
    let (pictures, names) =
        (std::fs::read(folder.join("pictures.json"))?, std::fs::read(folder.join("picture-names.json"))?);
    let start = spent();
    let sketcher = Sketcher::open(&pictures, &names)?;
    println!("open: {:.0} ms", spent() - start);
    let start = spent();
    sketcher.warm();
    println!("all languages: {:.0} ms", spent() - start);
    let (read, _) = time(|text| drop(black_box(sketcher.plan(text, None))));
    println!("reading alone: {read:.2} ms");
    for size in Size::ALL {
        for quality in [Quality::Standard, Quality::Hd] {
            let (half, most) =
                time(|text| drop(black_box(sketcher.draw(&Prompt { text, size, quality, ..Prompt::default() }))));
            println!("{} {quality:?}: p50 {half:.0} ms, p95 {most:.0} ms", size.text());
        }
    }
    Ok(())
}

/// Milliseconds that this thread has computed, where the system says so (Linux), so that other programs do not count;
/// else those since the start.
fn spent() -> f64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let computed = statistics.split(' ').next().and_then(|nanoseconds| nanoseconds.parse::<f64>().ok());
    computed.map_or_else(|| START.elapsed().as_secs_f64() * 1e3, |nanoseconds| nanoseconds / 1e6)
}

/// The median and the 95th percentile of the time of one call, in milliseconds.
fn time(run: impl Fn(&str)) -> (f64, f64) {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        for text in PROMPTS {
            let start = spent();
            run(text);
            times.push(spent() - start);
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    (at(0.5), at(0.95))
}
