//! A description by rules: size, light, colours, objects and text, and no claim beyond them.

use std::collections::BTreeMap;

use muster_media::Rgb;
use muster_media::colours::{ColourShare, shares};
use muster_media::measure::measure;

use super::result::{DetectedA, FactsA, ReadA, thousandth};

/// Least share of a colour that is named.
const COLOUR: f64 = 0.05;
/// Colours of the sentence.
const COLOURS: usize = 3;
/// Kinds of objects of the sentence.
const OBJECTS: usize = 6;
/// Characters of the text in the sentence.
const TEXT: usize = 200;

/// Measures a picture, which was sent with these sides. Takes some ten milliseconds.
pub fn facts(picture: &Rgb, (width, height): (u32, u32)) -> Option<FactsA> {
    let measures = measure(&picture.luma()?);
    let share = |found: ColourShare| ColourShare { share: thousandth(found.share), ..found };
    Some(FactsA {
        shape: match width.cmp(&height) {
            std::cmp::Ordering::Greater => "landscape",
            std::cmp::Ordering::Less => "portrait",
            std::cmp::Ordering::Equal => "square",
        },
        brightness: thousandth(measures.brightness),
        contrast: thousandth(measures.contrast),
        sharpness: measures.sharpness.map(thousandth),
        blank: measures.blank,
        colours: shares(picture, COLOUR).into_iter().map(share).collect(),
        objects: None,
        text: None,
    })
}

/// Adds what models found.
pub fn add(facts: &mut FactsA, objects: Option<DetectedA>, page: Option<ReadA>) {
    facts.objects = objects.map(|found| {
        let mut counts = BTreeMap::new();
        for object in found.objects {
            *counts.entry(object.label).or_insert(0) += 1;
        }
        counts
    });
    facts.text = page.map(|page| page.text);
}

/// The sentence in English.
pub fn sentence(facts: &FactsA, (width, height): (u32, u32)) -> String {
    let light = match facts.brightness {
        brightness if brightness < 0.2 => "dark",
        brightness if brightness < 0.4 => "dim",
        brightness if brightness < 0.7 => "of medium brightness",
        _ => "bright",
    };
    let mut parts = vec![format!("A {} picture of {width} by {height} pixels, {light}", facts.shape)];
    if facts.blank {
        parts.push("of one shade".to_owned());
    }
    let colours: Vec<&str> = facts.colours.iter().take(COLOURS).map(|found| found.colour.name()).collect();
    if !colours.is_empty() {
        parts.push(format!("mostly {}", list(&colours)));
    }
    let mut sentence = parts.join(", ");
    sentence.push('.');
    if let Some(objects) = facts.objects.as_ref().filter(|objects| !objects.is_empty()) {
        let mut objects: Vec<(&String, &usize)> = objects.iter().collect();
        objects.sort_by(|a, b| b.1.cmp(a.1));
        let named: Vec<String> =
            objects.iter().take(OBJECTS).map(|(label, count)| format!("{label} ({count})")).collect();
        sentence.push_str(&format!(" Objects found: {}.", named.join(", ")));
    }
    let text = facts.text.as_deref().map(str::trim).filter(|text| !text.is_empty());
    if let Some(text) = text {
        let short: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TEXT).collect();
        let more = if text.chars().count() > TEXT { "…" } else { "" };
        sentence.push_str(&format!(" Text found: “{short}{more}”."));
    }
    sentence
}

fn list(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::vision::result::{BoxA, ObjectA};

    #[test]
    fn the_sentence_claims_what_was_measured_and_no_more() {
        let mut pixels = [255, 255, 255].repeat(60);
        pixels.extend([0, 0, 255].repeat(40));
        let picture = Rgb::new(10, 10, pixels).unwrap();
        let mut facts = facts(&picture, (2_000, 1_000)).unwrap();
        let plain = sentence(&facts, (2_000, 1_000));
        assert_eq!(plain, "A landscape picture of 2000 by 1000 pixels, of medium brightness, mostly white and blue.");
        let object = |label: &str| ObjectA {
            label: label.to_owned(),
            score: 0.9,
            r#box: BoxA { x: 0.0, y: 0.0, width: 1.0, height: 1.0 },
        };
        let objects = DetectedA { objects: vec![object("dog"), object("person"), object("person")] };
        let page = ReadA { text: "EXIT\nNOW".to_owned(), lines: Vec::new(), rotation: Some(0) };
        add(&mut facts, Some(objects), Some(page));
        let whole = sentence(&facts, (2_000, 1_000));
        assert!(whole.ends_with(" Objects found: person (2), dog (1). Text found: “EXIT NOW”."), "{whole}");
    }
}
