//! A page as Tesseract returns it: tab-separated values, a line an element of the page.

/// Level of a word in the first column; lines are at the level above.
const WORD: &str = "5";
const LINE: &str = "4";

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct TesseractLine {
    /// The text, never empty.
    pub text: String,
    /// Mean confidence of its words by their length, 0 to 1.
    pub score: f32,
    /// Left edge, top edge, width and height in pixels of the picture.
    pub bounds: [u32; 4],
}

/// The text of a picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TesseractPage {
    /// Lines in reading order, joined by line feeds.
    pub text: String,
    /// The lines.
    pub lines: Vec<TesseractLine>,
    /// Names of the data that it was read with, joined by `+`.
    pub data: String,
}

/// A line that is being put together.
#[derive(Debug, Default)]
struct OpenLine<'a> {
    bounds: [u32; 4],
    words: Vec<&'a str>,
    weighed: f32,
    letters: f32,
}

impl TesseractPage {
    /// Reads the output. Elements that are no words or lines, and malformed ones, are passed over.
    pub(super) fn parse(output: &str, data: &str) -> Self {
        let mut lines = Vec::new();
        let mut open = OpenLine::default();
        for row in output.lines() {
            // level, page, block, paragraph, line, word, left, top, width, height, confidence, text
            let columns: Vec<&str> = row.splitn(12, '\t').collect();
            let [level, _, _, _, _, _, left, top, width, height, confidence, text] = columns.as_slice() else {
                continue;
            };
            if *level == LINE {
                lines.extend(std::mem::take(&mut open).finish());
                open.bounds = [left, top, width, height].map(|number| number.parse().unwrap_or_default());
            } else if *level == WORD && !text.trim().is_empty() {
                let letters = text.trim().chars().count() as f32;
                let confidence = confidence.parse::<f32>().unwrap_or_default().clamp(0.0, 100.0);
                open.words.push(text.trim());
                open.weighed += letters * confidence / 100.0;
                open.letters += letters;
            }
        }
        lines.extend(open.finish());
        let text: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
        Self { text: text.join("\n"), lines, data: data.to_owned() }
    }
}

impl OpenLine<'_> {
    fn finish(self) -> Option<TesseractLine> {
        let score = self.weighed / self.letters;
        (!self.words.is_empty()).then(|| TesseractLine { text: self.words.join(" "), score, bounds: self.bounds })
    }
}
