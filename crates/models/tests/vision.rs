//! The models of vision, on pictures drawn here and on the open cases where those are present.

#![cfg(feature = "vision")]
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

mod pages;

use std::cell::Cell;
use std::path::PathBuf;

use muster_models::{
    DetectOptions, Detector, MAX_IMAGE_SIDE, MediaManifest, Moderator, Ocr, OcrPage, RgbImage, Rotation, VisionError,
};
use pages::{PageCase, PhotoCase, Picture, cases_folder, error_rate, models_folder, read_cases};

/// Folder of the models; fails unless they are there.
fn models(ids: &[&str]) -> PathBuf {
    let (folder, manifest) = (models_folder(), MediaManifest::embedded().unwrap());
    for id in ids {
        let is_present = manifest.get(id).unwrap().is_present(&folder);
        assert!(is_present, "the model {id} is not in {}: run `make models`", folder.display());
    }
    folder
}

fn ocr() -> Ocr {
    Ocr::load(&models(&["ocr"])).unwrap()
}

fn detector_and_moderator() -> (Detector, Moderator) {
    let folder = models(&["detect", "moderate"]);
    (Detector::load(&folder).unwrap(), Moderator::load(&folder).unwrap())
}

fn drawn(width: u32, height: u32, pixel: impl Fn(u32, u32) -> [u8; 3]) -> Picture {
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).flat_map(|(x, y)| pixel(x, y)).collect();
    Picture { width, height, pixels }
}

fn read(ocr: &Ocr, picture: &Picture) -> OcrPage {
    ocr.read(picture.view(), &|| false).unwrap()
}

/// A page of the open cases with its text; none where they are absent.
fn page(file: &str) -> Option<(Picture, String)> {
    let Some(folder) = cases_folder() else {
        println!("skipped: ../shared/media is absent, so is {file}");
        return None;
    };
    let cases: Vec<PageCase> = read_cases(&folder.join("ocr.jsonl")).unwrap();
    let case = cases.into_iter().find(|case| case.file == file).unwrap();
    Some((Picture::open(&folder.join(file)).unwrap(), case.text))
}

#[test]
fn pictures_without_text_are_empty_pages() {
    let ocr = ocr();
    let white = drawn(300, 200, |_, _| [255; 3]);
    let disc = drawn(256, 256, |x, y| {
        if (x as i32 - 128).pow(2) + (y as i32 - 128).pow(2) < 6400 { [200, 30, 30] } else { [20, 60, 200] }
    });
    for picture in
        [white, drawn(1, 1, |_, _| [0; 3]), drawn(2048, 1, |x, _| [x as u8; 3]), drawn(1, 2048, |_, y| [y as u8; 3])]
    {
        assert_eq!(read(&ocr, &picture), OcrPage::default(), "{} x {}", picture.width, picture.height);
    }
    // The model reads a disc as a bullet, which it resembles; no letter is made up.
    let text = read(&ocr, &disc).text;
    assert!(!text.contains(char::is_alphanumeric), "{text}");
}

#[test]
fn drawn_shapes_hold_no_object_and_nothing_sexual() {
    let (detector, moderator) = detector_and_moderator();
    for (width, height) in [(320, 240), (1, 1), (2048, 3), (3, 2048)] {
        let stripes =
            drawn(width, height, |x, y| if (x / 16 + y / 16) % 2 == 0 { [250, 250, 250] } else { [40, 90, 60] });
        assert_eq!(detector.detect(stripes.view(), DetectOptions::default(), &|| false).unwrap(), []);
        let sexual = moderator.assess(stripes.view(), &|| false).unwrap().sexual;
        assert!((0.0..0.8).contains(&sexual), "{width} x {height}: {sexual}");
    }
}

#[test]
fn pictures_out_of_bounds_are_refused() {
    let refused = |width, height, pixels: &[u8]| RgbImage { width, height, pixels }.check().unwrap_err().to_string();
    let most = MAX_IMAGE_SIDE + 1;
    assert!(refused(0, 5, &[]).starts_with("a picture of 0 x 5 pixels is out of bounds: each side must be 1 to 2048"));
    assert!(refused(1, most, &[0; 3]).contains("out of bounds"));
    assert_eq!(refused(2, 2, &[0; 11]), "the picture has 11 bytes, its size needs 12: 3 a pixel");
}

#[test]
fn an_absent_model_says_how_it_is_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let error = Ocr::load(folder.path()).unwrap_err();
    assert_eq!(error.to_string(), "the model ocr is absent: fetch it with `muster models pull ocr`");
    assert!(matches!(Detector::load(folder.path()), Err(VisionError::Model(_))));
    assert!(matches!(Moderator::load(folder.path()), Err(VisionError::Model(_))));
}

#[test]
fn reading_stops_between_the_detector_and_the_lines() {
    let Some((picture, _)) = page("ocr/page.png") else { return };
    let ocr = ocr();
    let calls = Cell::new(0);
    let after = |most: u32| move |calls: &Cell<u32>| calls.replace(calls.get() + 1) >= most;
    for most in [0, 1, 2] {
        calls.set(0);
        let stop = after(most);
        assert_eq!(ocr.read(picture.view(), &|| stop(&calls)), Err(VisionError::Cancelled), "after {most}");
        assert_eq!(calls.get(), most + 1);
    }
}

#[test]
fn an_english_page_is_read_in_every_direction() {
    let Some((upright, text)) = page("ocr/page.png") else { return };
    let ocr = ocr();
    let expected = error_rate(&read(&ocr, &upright).text, &text);
    // An eighth line is cut off in the picture: what is read of it counts as wrong.
    assert!(expected <= 0.06, "{expected}");
    let turns = [Rotation::ThreeQuarters, Rotation::Half, Rotation::Quarter];
    for (quarters, rotation) in (1..4).zip(turns) {
        let picture = upright.quarter_turned(quarters);
        let page = read(&ocr, &picture);
        let rate = error_rate(&page.text, &text);
        assert_eq!(page.rotation, rotation);
        assert!(rate <= expected + 0.005, "turned by {quarters} quarters: {rate} {}", page.text);
        for line in &page.lines {
            assert!(line.bounds.x + line.bounds.width <= picture.width as f32, "{line:?}");
            assert!(line.bounds.y + line.bounds.height <= picture.height as f32, "{line:?}");
        }
    }
}

/// Reads a whole page. All pages and their variants: `make vision-accuracy`.
fn check_page(file: &str, at_most: f64) {
    let Some((picture, text)) = page(file) else { return };
    let page = read(&ocr(), &picture);
    let rate = error_rate(&page.text, &text);
    assert!(rate <= at_most, "{rate} {}", page.text);
    assert!(!page.script_not_covered);
}

#[test]
fn an_english_page_is_read_without_errors() {
    check_page("ocr/guide-en-p20.png", 0.005);
}

#[test]
fn a_chinese_page_is_read_without_errors() {
    check_page("ocr/guide-zh-CN-p20.png", 0.005);
}

#[test]
fn a_typewritten_page_is_read_with_few_errors() {
    check_page("ocr/typewriter.png", 0.03);
}

#[test]
fn a_script_that_is_not_covered_is_reported() {
    let Some((picture, _)) = page("ocr/guide-ru-p28.png") else { return };
    let ocr = ocr();
    // The upper part has Russian paragraphs; the whole page takes longer and says the same.
    let height = picture.height / 3;
    let bytes = (picture.width * height * 3) as usize;
    let upper = Picture { width: picture.width, height, pixels: picture.pixels[..bytes].to_vec() };
    assert!(read(&ocr, &upper).script_not_covered);
}

#[test]
fn photographs_show_the_person_and_nothing_that_is_not_there() {
    let Some(folder) = cases_folder() else {
        println!("skipped: ../shared/media is absent");
        return;
    };
    let (detector, moderator) = detector_and_moderator();
    for case in read_cases::<PhotoCase>(&folder.join("photos.jsonl")).unwrap() {
        let picture = Picture::open(&folder.join(&case.file)).unwrap();
        let objects = detector.detect(picture.view(), DetectOptions::default(), &|| false).unwrap();
        let labels: Vec<&str> = objects.iter().map(|object| object.label).collect();
        if case.objects.is_empty() || case.objects == ["person"] {
            assert_eq!(labels, case.objects, "{}", case.file);
        }
        let sexual = moderator.assess(picture.view(), &|| false).unwrap().sexual;
        assert_eq!(sexual >= 0.8, case.sexual, "{}: {sexual}", case.file);
    }
}
