//! `cargo bench -p muster-models --bench vision`: time of the models of vision per page and photograph, wall clock and CPU,
//! on the open cases.

#[path = "../tests/pages/mod.rs"]
mod pages;

use std::time::Instant;

use muster_models::{DetectOptions, Detector, Moderator, Ocr};
use pages::{Failure, Picture, cases_folder, models_folder};

const ROUNDS: u32 = 3;

fn main() -> Result<(), Failure> {
    let Some(folder) = cases_folder() else {
        println!("skipped: no folder of cases; name one in MUSTER_MEDIA_CASES");
        return Ok(());
    };
    let page = Picture::open(&folder.join("ocr/guide-en-p20.png"))?;
    let small = Picture::open(&folder.join("ocr/page.png"))?;
    let photo = Picture::open(&folder.join("photos/astronaut.jpg"))?;
    let models = models_folder();
    println!("{:<28} {:>9} {:>9}", "each", "wall ms", "CPU ms");
    let ocr = measured("load OCR", 1, || Ocr::load(&models))?;
    measured("OCR, page of 1075 x 1521", ROUNDS, || ocr.read(page.view(), &|| false))?;
    measured("OCR, piece of 384 x 191", ROUNDS, || ocr.read(small.view(), &|| false))?;
    drop(ocr);
    let detector = measured("load detector", 1, || Detector::load(&models))?;
    measured("detector, 512 x 512", ROUNDS, || detector.detect(photo.view(), DetectOptions::default(), &|| false))?;
    let moderator = measured("load moderation", 1, || Moderator::load(&models))?;
    measured("moderation, 512 x 512", ROUNDS, || moderator.assess(photo.view(), &|| false))?;
    println!("largest memory of the process: {:.0} MB", memory_mb("VmHWM:"));
    Ok(())
}

fn measured<T, E: Into<Failure>>(
    name: &str,
    rounds: u32,
    mut work: impl FnMut() -> Result<T, E>,
) -> Result<T, Failure> {
    let (begin, cpu) = (Instant::now(), cpu_ms());
    for _ in 1..rounds {
        work().map_err(Into::into)?;
    }
    let result = work().map_err(Into::into)?;
    let rounds = f64::from(rounds);
    let wall = begin.elapsed().as_secs_f64() * 1e3 / rounds;
    println!("{name:<28} {wall:>9.0} {:>9.0}", (cpu_ms() - cpu) / rounds);
    Ok(result)
}

/// CPU time of this process, user and system. A clock tick is 1/100 s on every Linux (`proc_pid_stat(5)`).
fn cpu_ms() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: f64 = after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum();
    ticks * 10.0
}

fn memory_mb(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib: Option<f64> = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kib.map_or(f64::NAN, |kib| kib * 1024.0 / 1e6)
}
