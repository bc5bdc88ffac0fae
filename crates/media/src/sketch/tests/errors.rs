//! Data files that are missing or broken.

use crate::sketch::{SketchError, Sketcher};

const PICTURES: &[u8] = br##"{"size":32,"pictures":{"\ud83d\udc18":"<path fill=\"#999999\" d=\"M2 2h28v28H2z\"/>"}}"##;
const NAMES: &[u8] = br#"{"en":{"\ud83d\udc18":["elephant","animal"]}}"#;

#[test]
fn missing_and_broken_files_are_told_apart() {
    assert!(Sketcher::open(PICTURES, NAMES).is_ok());
    assert!(matches!(Sketcher::open(b"", NAMES), Err(SketchError::Pictures(_))));
    assert!(matches!(Sketcher::open(&PICTURES[..40], NAMES), Err(SketchError::Pictures(_))));
    assert!(matches!(Sketcher::open(br#"{"size":32,"pictures":{}}"#, NAMES), Err(SketchError::NoPictures)));
    assert!(matches!(Sketcher::open(br#"{"size":0,"pictures":{}}"#, NAMES), Err(SketchError::PictureSize(_))));
    assert!(matches!(Sketcher::open(PICTURES, b""), Err(SketchError::Names(_))));
    assert!(matches!(Sketcher::open(PICTURES, b"{}"), Err(SketchError::NoNames)));
    assert!(matches!(Sketcher::open(PICTURES, br#"{"en":[1]}"#), Err(SketchError::Names(_))));
}

#[test]
fn a_broken_drawing_is_an_error_of_its_own() {
    let pictures = br#"{"size":32,"pictures":{"\ud83d\udc18":"<path"}}"#;
    let sketcher = Sketcher::open(pictures, NAMES).unwrap();
    let prompt = crate::sketch::Prompt { text: "elephant", ..Default::default() };
    assert!(matches!(sketcher.draw(&prompt), Err(SketchError::Drawing(_))));
}
