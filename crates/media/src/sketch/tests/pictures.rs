//! Finished pictures, decoded by another library.

use crate::sketch::{Prompt, Quality, Size, Warning};

use super::SKETCHER;

#[test]
fn the_same_prompt_seed_and_size_give_the_same_bytes() {
    let prompt = |seed| Prompt { text: "three dogs and a tree in the rain", seed: Some(seed), ..Prompt::default() };
    let first = SKETCHER.draw(&prompt(7)).unwrap();
    let again = SKETCHER.draw(&prompt(7)).unwrap();
    let other = SKETCHER.draw(&prompt(8)).unwrap();
    assert_eq!(first.png, again.png);
    assert_ne!(first.png, other.png);
}

#[test]
fn without_a_seed_the_answer_names_one_that_gives_the_picture_again() {
    let text = "a red car";
    let first = SKETCHER.draw(&Prompt { text, ..Prompt::default() }).unwrap();
    let again = SKETCHER.draw(&Prompt { text, seed: Some(first.seed), ..Prompt::default() }).unwrap();
    assert_eq!(first.png, again.png);
}

#[test]
fn pictures_have_the_size_that_was_asked_for() {
    for size in Size::ALL {
        for quality in [Quality::Standard, Quality::Hd] {
            let drawing = SKETCHER.draw(&Prompt { text: "a cat", size, quality, ..Prompt::default() }).unwrap();
            let decoded = image::load_from_memory_with_format(&drawing.png, image::ImageFormat::Png).unwrap();
            assert_eq!((decoded.width(), decoded.height()), (size.width(), size.height()));
            assert_eq!(decoded.color(), image::ColorType::Rgb8);
        }
    }
}

#[test]
fn a_text_field_says_that_it_is_a_procedural_illustration() {
    let png = SKETCHER.draw(&Prompt { text: "a cat", ..Prompt::default() }).unwrap().png;
    let field: &[u8] = b"tEXtDescription\0procedural illustration";
    assert!(png.windows(field.len()).any(|bytes| bytes == field));
}

#[test]
fn words_that_match_nothing_are_a_poster() {
    let poster = SKETCHER.draw(&Prompt { text: "Quintessential zeitgeist", ..Prompt::default() }).unwrap();
    let blank = SKETCHER.draw(&Prompt { text: "𒀀𒀁𒀂", ..Prompt::default() }).unwrap();
    assert_eq!(poster.warnings, [Warning::Poster]);
    assert_eq!(blank.warnings, [Warning::Poster, Warning::ScriptWithoutGlyphs]);
    // The poster's letters are there: many more light pixels than a picture without letters has.
    let light = |png: &[u8]| {
        let pixels = image::load_from_memory(png).unwrap().to_rgb8();
        pixels.pixels().filter(|pixel| pixel.0.iter().all(|channel| *channel > 215)).count()
    };
    assert!(light(&poster.png) > 20_000, "{}", light(&poster.png));
    assert!(light(&blank.png) < 2_000, "{}", light(&blank.png));
}

#[test]
fn a_figure_changes_the_pixels_where_it_is_placed() {
    let scene = |text: &str| SKETCHER.plan(text, Some("en")).unwrap().scene;
    let with = scene("an elephant in a meadow");
    let without = scene("in a meadow");
    let pixels = |scene| {
        let drawing = SKETCHER.render(scene, Size::Square, Quality::Standard, 3).unwrap();
        image::load_from_memory(&drawing.png).unwrap().to_rgb8()
    };
    let (with_pixels, without_pixels) = (pixels(&with), pixels(&without));
    let area = SKETCHER.layout(&with, Size::Square, 3).unwrap().front[0].area;
    let (x, y) = ((area.x + area.width / 2.0) as u32, (area.y + area.height / 2.0) as u32);
    assert_ne!(with_pixels.get_pixel(x, y), without_pixels.get_pixel(x, y));
    assert_eq!(with_pixels.get_pixel(5, 5), without_pixels.get_pixel(5, 5));
}

#[test]
fn a_poster_says_which_letters_it_lacks() {
    let about = |text: &str| {
        let drawing = SKETCHER.draw(&Prompt { text, ..Prompt::default() }).unwrap();
        (drawing.revised_prompt, drawing.unmatched, drawing.warnings.contains(&Warning::ScriptWithoutGlyphs))
    };
    let (revised, unmatched, lacking) = about("zeitgeist кванты");
    assert_eq!(revised, "A poster of the words; no picture was found for them.");
    assert_eq!((unmatched, lacking), (vec!["zeitgeist".to_owned(), "кванты".to_owned()], false));
    let (revised, unmatched, lacking) = about("𒀀𒀁𒀂");
    assert!(revised.starts_with("A poster without words") && lacking && !unmatched.is_empty(), "{unmatched:?}");
    let (revised, _, lacking) = about("zeitgeist 𒀀𒀁𒀂");
    assert!(revised.contains("without the letters") && lacking, "{revised}");
}
