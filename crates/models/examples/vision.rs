//! `cargo run --release -p muster-models --example vision [ocr|turned|photos]`: accuracy of the models of vision on the open
//! cases, a line a case; fails if a bound is exceeded. Folder of the cases: `MUSTER_MEDIA_CASES`, of the models:
//! `MUSTER_MODELS_DIR`.

#[path = "../tests/pages/mod.rs"]
mod pages;

use std::path::Path;
use std::time::Instant;

use muster_models::{DetectOptions, Detector, Moderator, Ocr, OcrPage};

use pages::{Failure, PageCase, PhotoCase, Picture, cases_folder, error_rate, models_folder, read_cases, word_f1};

const TURNED_PAGE: &str = "ocr/guide-en-p20.png";
/// Character error rates at most.
const OF_ENGLISH_AND_CHINESE: f64 = 0.005;
const OF_THE_TYPEWRITER: f64 = 0.03;
const MEDIAN: f64 = 0.015;
/// By how much a turned page may be worse than the upright one.
const BY_TURNING: f64 = 0.005;
/// Score from which a picture counts as sexual.
const FLAGGED: f32 = 0.8;
/// Score under which a line is doubtful: its letters are counted.
const DOUBTFUL: f32 = 0.9;
/// Languages in scripts that the model does not know.
const UNCOVERED: [&str; 2] = ["ko", "ru"];

/// Bounds that were exceeded.
#[derive(Debug, Default)]
struct Exceeded(Vec<String>);

impl Exceeded {
    fn check(&mut self, holds: bool, what: impl Into<String>) {
        if !holds {
            self.0.push(what.into());
        }
    }
}

fn main() -> Result<(), Failure> {
    let Some(folder) = cases_folder() else {
        println!("skipped: no folder of cases; name one in MUSTER_MEDIA_CASES");
        return Ok(());
    };
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut exceeded = Exceeded::default();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    if is_wanted("photos") {
        photos(&folder, &mut exceeded)?;
    }
    if is_wanted("ocr") || is_wanted("turned") {
        let ocr = Ocr::load(&models_folder())?;
        if is_wanted("ocr") {
            table(&ocr, &folder, &mut exceeded)?;
        }
        if is_wanted("turned") {
            turned(&ocr, &folder, &mut exceeded)?;
        }
    }
    if exceeded.0.is_empty() { Ok(()) } else { Err(format!("exceeded: {}", exceeded.0.join("; ")).into()) }
}

fn table(ocr: &Ocr, folder: &Path, exceeded: &mut Exceeded) -> Result<(), Failure> {
    let mut covered = Vec::new();
    for case in read_cases::<PageCase>(&folder.join("ocr.jsonl"))? {
        let picture = Picture::open(&folder.join(&case.file))?;
        let (rate, is_warned) = line(&case.file, ocr, &picture, &case.text)?;
        let is_uncovered = UNCOVERED.contains(&case.lang.as_str());
        exceeded.check(is_uncovered == is_warned, format!("{}: warned {is_warned}", case.file));
        if is_uncovered {
            continue;
        }
        covered.push(rate);
        let is_guide = case.file.contains("guide-en") || case.file.contains("guide-zh");
        exceeded.check(!is_guide || rate <= OF_ENGLISH_AND_CHINESE, format!("{}: {rate:.4}", case.file));
        let is_typed = case.file.contains("typewriter");
        exceeded.check(!is_typed || rate <= OF_THE_TYPEWRITER, format!("{}: {rate:.4}", case.file));
    }
    covered.sort_by(f64::total_cmp);
    let median = covered.get(covered.len() / 2).copied().unwrap_or_default();
    println!("{} covered pages: CER median {median:.4}", covered.len());
    exceeded.check(median <= MEDIAN, format!("median: {median:.4}"));
    Ok(())
}

fn turned(ocr: &Ocr, folder: &Path, exceeded: &mut Exceeded) -> Result<(), Failure> {
    let cases = read_cases::<PageCase>(&folder.join("ocr.jsonl"))?;
    let case = cases.iter().find(|case| case.file == TURNED_PAGE).ok_or("the English page is missing")?;
    let upright = Picture::open(&folder.join(&case.file))?;
    let (expected, _) = line("upright", ocr, &upright, &case.text)?;
    let quarters = |count: u32| (format!("turned by {}", count * 90), upright.quarter_turned(count));
    let bounded = [("turned by 2".to_owned(), upright.turned(2.0)), quarters(1), quarters(2), quarters(3)];
    for (name, picture) in bounded {
        let (rate, _) = line(&name, ocr, &picture, &case.text)?;
        exceeded.check(rate <= expected + BY_TURNING, format!("{name}: {rate:.4}, upright {expected:.4}"));
    }
    let others = [
        ("turned by -5", upright.turned(-5.0)),
        ("JPEG of quality 20", upright.compressed(20)?),
        ("blurred by 1.5 pixels", upright.blurred(1.5)),
        ("half size", upright.halved()),
    ];
    for (name, picture) in others {
        line(name, ocr, &picture, &case.text)?;
    }
    Ok(())
}

/// Prints a page's figures; returns its character error rate and whether its script is reported as not covered.
fn line(name: &str, ocr: &Ocr, picture: &Picture, expected: &str) -> Result<(f64, bool), Failure> {
    let begin = Instant::now();
    let page: OcrPage = ocr.read(picture.view(), &|| false)?;
    let rate = error_rate(&page.text, expected);
    let letters = |is_counted: &dyn Fn(f32) -> bool| -> usize {
        let lines = page.lines.iter().filter(|line| is_counted(line.score));
        lines.map(|line| line.text.chars().count()).sum()
    };
    let doubtful = letters(&|score| score < DOUBTFUL) as f64 / letters(&|_| true).max(1) as f64;
    println!(
        "{name:<26} CER {rate:.4} F1 {:.3} mean {:.3} doubtful {doubtful:.3} lines {:>3} rotation {:>3} uncovered {:<5} {:>5} ms",
        word_f1(&page.text, expected),
        page.mean_score.unwrap_or_default(),
        page.lines.len(),
        page.rotation.degrees(),
        page.script_not_covered,
        begin.elapsed().as_millis()
    );
    if std::env::var_os("MUSTER_SHOW_TEXT").is_some() {
        println!("{}", page.text);
    }
    Ok((rate, page.script_not_covered))
}

fn photos(folder: &Path, exceeded: &mut Exceeded) -> Result<(), Failure> {
    let (detector, moderator) = (Detector::load(&models_folder())?, Moderator::load(&models_folder())?);
    for case in read_cases::<PhotoCase>(&folder.join("photos.jsonl"))? {
        let picture = Picture::open(&folder.join(&case.file))?;
        let objects = detector.detect(picture.view(), DetectOptions::default(), &|| false)?;
        let scores = moderator.assess(picture.view(), &|| false)?;
        println!("{:<24} expected {:?}, sexual {:.4}", case.file, case.objects, scores.sexual);
        let labels: Vec<&str> = objects.iter().map(|object| object.label).collect();
        let is_found = !case.objects.iter().any(|label| label == "person") || labels.contains(&"person");
        exceeded.check(is_found, format!("{}: no person among {labels:?}", case.file));
        exceeded.check(!case.objects.is_empty() || labels.is_empty(), format!("{}: {labels:?}", case.file));
        exceeded.check((scores.sexual >= FLAGGED) == case.sexual, format!("{}: sexual {}", case.file, scores.sexual));
        for object in objects {
            println!("    {} {:.2} {:?}", object.label, object.score, object.bounds);
        }
    }
    Ok(())
}
