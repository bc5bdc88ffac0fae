//! What a chat model answers, by the schema of its task.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::prompt::CATEGORIES;
use super::result::{BoxA, DetectedA, LineA, ModeratedA, ObjectA, ReadA, joined, thousandth};
use super::run::{THRESHOLD, VisionRequest};
use super::{VisionResult, VisionTask};

/// A result, of which a description still lacks the facts.
#[derive(Debug)]
pub enum SeenResult {
    Done(VisionResult),
    Described(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rectangle {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Objects {
    objects: Vec<SeenObject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenObject {
    label: String,
    score: f64,
    r#box: Rectangle,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lines {
    lines: Vec<SeenLine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenLine {
    text: String,
    r#box: Rectangle,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scores {
    scores: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    description: String,
}

/// Longest text of an object or a line.
const MAX_TEXT: usize = 2_000;

/// Reads an answer; `None` if it breaks the schema.
pub(super) fn read(request: &VisionRequest, content: &str) -> Option<SeenResult> {
    let content = content.trim();
    let sides = request.upright.sides;
    let done = match request.task {
        VisionTask::Detect => {
            let seen: Objects = serde_json::from_str(content).ok()?;
            let mut objects = seen.objects.into_iter().map(|seen| seen.placed(sides)).collect::<Option<Vec<_>>>()?;
            objects.retain(|object| object.score >= request.min_score.unwrap_or(0.0));
            objects.sort_by(|a, b| b.score.total_cmp(&a.score));
            objects.truncate(request.max_results);
            VisionResult::Detected(DetectedA { objects })
        }
        VisionTask::Ocr => {
            let seen: Lines = serde_json::from_str(content).ok()?;
            let lines = seen.lines.into_iter().map(|seen| seen.placed(sides)).collect::<Option<Vec<_>>>()?;
            VisionResult::Read(ReadA { text: joined(&lines), lines, rotation: None })
        }
        VisionTask::Moderate => {
            let seen: Scores = serde_json::from_str(content).ok()?;
            let complete = CATEGORIES.iter().all(|name| seen.scores.contains_key(*name));
            if !complete || seen.scores.len() != CATEGORIES.len() || !seen.scores.values().all(|score| is_share(*score))
            {
                return None;
            }
            VisionResult::Moderated(moderated(seen.scores, Vec::new()))
        }
        VisionTask::Describe => {
            let seen: Description = serde_json::from_str(content).ok()?;
            let fits = !seen.description.trim().is_empty() && seen.description.chars().count() <= 4 * MAX_TEXT;
            return fits.then_some(SeenResult::Described(seen.description));
        }
    };
    Some(SeenResult::Done(done))
}

/// Categories by their scores.
pub(super) fn moderated(scores: BTreeMap<String, f64>, not_assessed: Vec<String>) -> ModeratedA {
    let categories: BTreeMap<String, bool> =
        scores.iter().map(|(name, score)| (name.clone(), *score >= THRESHOLD)).collect();
    let scores = scores.into_iter().map(|(name, score)| (name, thousandth(score))).collect();
    let flagged = categories.values().any(|flagged| *flagged);
    ModeratedA { flagged, categories, scores, not_assessed, threshold: THRESHOLD }
}

fn is_share(number: f64) -> bool {
    (0.0..=1.0).contains(&number)
}

impl Rectangle {
    fn placed(&self, (width, height): (u32, u32)) -> Option<BoxA> {
        let fits = [self.x, self.y, self.width, self.height].into_iter().all(is_share);
        let pixels = |share: f64, side: u32| (share * f64::from(side)).round();
        fits.then(|| BoxA {
            x: pixels(self.x, width),
            y: pixels(self.y, height),
            width: pixels(self.width.min(1.0 - self.x), width),
            height: pixels(self.height.min(1.0 - self.y), height),
        })
    }
}

impl SeenObject {
    fn placed(self, sides: (u32, u32)) -> Option<ObjectA> {
        let fits = is_share(self.score) && (1..=100).contains(&self.label.chars().count());
        Some(ObjectA { r#box: self.r#box.placed(sides).filter(|_| fits)?, label: self.label, score: self.score })
    }
}

impl SeenLine {
    fn placed(self, sides: (u32, u32)) -> Option<LineA> {
        let fits = self.text.chars().count() <= MAX_TEXT;
        Some(LineA { r#box: self.r#box.placed(sides).filter(|_| fits)?, text: self.text, score: None, angle: None })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_media::{Format, Rgb};

    use super::*;
    use crate::media::picture::Upright;

    fn request(task: VisionTask) -> VisionRequest {
        let picture = Arc::new(Rgb::new(1, 1, vec![0; 3]).unwrap());
        let upright = Upright { picture, sides: (200, 100), format: Format::Png, bytes: 9, oriented: false, frames: 1 };
        VisionRequest { upright, task, model: None, language: None, min_score: None, max_results: 1, question: None }
    }

    #[test]
    fn boxes_of_chats_are_placed_and_the_best_objects_kept() {
        let content = r#"{"objects": [
            {"label": "cat", "score": 0.5, "box": {"x": 0, "y": 0, "width": 1, "height": 1}},
            {"label": "dog", "score": 0.9, "box": {"x": 0.5, "y": 0.1, "width": 0.75, "height": 0.2}}]}"#;
        let Some(SeenResult::Done(VisionResult::Detected(found))) = read(&request(VisionTask::Detect), content) else {
            panic!("an answer of the schema is read")
        };
        let place = BoxA { x: 100.0, y: 10.0, width: 100.0, height: 20.0 };
        assert_eq!(found.objects, [ObjectA { label: "dog".to_owned(), score: 0.9, r#box: place }]);
    }

    #[test]
    fn an_answer_that_breaks_the_schema_is_malformed() {
        for (task, content) in [
            (VisionTask::Detect, "no JSON"),
            (VisionTask::Detect, r#"{"objects": [{"label": "cat", "score": 0.5}]}"#),
            (
                VisionTask::Detect,
                r#"{"objects": [{"label": "cat", "score": 2, "box": {"x": 0, "y": 0, "width": 1, "height": 1}}]}"#,
            ),
            (
                VisionTask::Detect,
                r#"{"objects": [{"label": "cat", "score": 1, "box": {"x": 0, "y": 0, "width": 640, "height": 1}}]}"#,
            ),
            (VisionTask::Ocr, r#"{"lines": ["a"]}"#),
            (VisionTask::Moderate, r#"{"scores": {"sexual": 0.1}}"#),
            (VisionTask::Describe, r#"{"description": " "}"#),
            (VisionTask::Describe, r#"{"description": "A cat.", "more": 1}"#),
        ] {
            assert!(read(&request(task), content).is_none(), "{content}");
        }
    }
}
