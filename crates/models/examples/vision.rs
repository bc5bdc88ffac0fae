//! `cargo run --release -p muster-models --example vision [ocr|turned|photos]`: accuracy of the models of vision on the open
//! cases, a line a case. `FOLDER` of cases: `MUSTER_MEDIA_CASES`, models: `MUSTER_MODELS_DIR`.

#[path = "../tests/pages/mod.rs"]
mod pages;

use std::time::Instant;

use muster_models::{DetectOptions, Detector, Moderator, Ocr, OcrPage};

use pages::{Failure, PageCase, PhotoCase, Picture, cases_folder, error_rate, models_folder, read_cases, word_f1};

const TURNED_PAGE: &str = "ocr/guide-en-p20.png";

fn main() -> Result<(), Failure> {
    let Some(folder) = cases_folder() else {
        println!("skipped: no folder of cases; name one in MUSTER_MEDIA_CASES");
        return Ok(());
    };
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|other| other == name);
    if is_wanted("photos") {
        photos(&folder)?;
    }
    if is_wanted("ocr") || is_wanted("turned") {
        let ocr = Ocr::load(&models_folder())?;
        if is_wanted("ocr") {
            table(&ocr, &folder)?;
        }
        if is_wanted("turned") {
            turned(&ocr, &folder)?;
        }
    }
    Ok(())
}

fn table(ocr: &Ocr, folder: &std::path::Path) -> Result<(), Failure> {
    let mut covered = Vec::new();
    for case in read_cases::<PageCase>(&folder.join("ocr.jsonl"))? {
        let picture = Picture::open(&folder.join(&case.file))?;
        let rate = line(&case.file, ocr, &picture, &case.text)?;
        if !["ru", "ko"].contains(&case.lang.as_str()) {
            covered.push(rate);
        }
    }
    covered.sort_by(f64::total_cmp);
    let median = covered.get(covered.len() / 2).copied().unwrap_or_default();
    println!("{} covered pages: CER median {median:.4}", covered.len());
    Ok(())
}

fn turned(ocr: &Ocr, folder: &std::path::Path) -> Result<(), Failure> {
    let cases = read_cases::<PageCase>(&folder.join("ocr.jsonl"))?;
    let case = cases.iter().find(|case| case.file == TURNED_PAGE).ok_or("the English page is missing")?;
    let upright = Picture::open(&folder.join(&case.file))?;
    for degrees in [2.0, -5.0] {
        line(&format!("turned by {degrees}"), ocr, &upright.turned(degrees), &case.text)?;
    }
    for quarters in 1..4 {
        line(&format!("turned by {}", quarters * 90), ocr, &upright.quarter_turned(quarters), &case.text)?;
    }
    line("half size", ocr, &upright.halved(), &case.text)?;
    Ok(())
}

/// Prints a page's figures and returns its character error rate.
fn line(name: &str, ocr: &Ocr, picture: &Picture, expected: &str) -> Result<f64, Failure> {
    let begin = Instant::now();
    let page: OcrPage = ocr.read(picture.view(), &|| false)?;
    let rate = error_rate(&page.text, expected);
    println!(
        "{name:<26} CER {rate:.4} F1 {:.3} mean {:.3} lines {:>3} rotation {:>3} uncovered {:<5} {:>5} ms",
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
    Ok(rate)
}

fn photos(folder: &std::path::Path) -> Result<(), Failure> {
    let (detector, moderator) = (Detector::load(&models_folder())?, Moderator::load(&models_folder())?);
    for case in read_cases::<PhotoCase>(&folder.join("photos.jsonl"))? {
        let picture = Picture::open(&folder.join(&case.file))?;
        let objects = detector.detect(picture.view(), DetectOptions::default(), &|| false)?;
        let scores = moderator.assess(picture.view(), &|| false)?;
        println!("{:<24} expected {:?}, sexual {:.4}", case.file, case.objects, scores.sexual);
        for object in objects {
            println!("    {} {:.2} {:?}", object.label, object.score, object.bounds);
        }
    }
    Ok(())
}
