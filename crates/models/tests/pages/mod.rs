//! Open cases of OCR and photographs, read from the folder `shared/media` beside the repository, and the measure of OCR.
//! Shared by the tests, the example and the benchmark of vision.
#![allow(dead_code, reason = "each program that includes this uses a part")]

use std::path::{Path, PathBuf};

use muster_models::RgbImage;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;

pub type Failure = Box<dyn std::error::Error>;

/// A page with its text.
#[derive(Debug, Deserialize)]
pub struct PageCase {
    pub file: String,
    pub lang: String,
    pub kind: String,
    pub text: String,
}

/// A photograph with the objects in plain sight.
#[derive(Debug, Deserialize)]
pub struct PhotoCase {
    pub file: String,
    pub objects: Vec<String>,
    pub sexual: bool,
}

/// A decoded picture.
#[derive(Debug, Clone)]
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub pixels: Vec<u8>,
}

impl Picture {
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let image = image::ImageReader::open(path)?.decode()?.into_rgb8();
        Ok(Self { width: image.width(), height: image.height(), pixels: image.into_raw() })
    }

    pub fn view(&self) -> RgbImage<'_> {
        RgbImage { width: self.width, height: self.height, pixels: &self.pixels }
    }

    fn buffer(&self) -> image::RgbImage {
        image::RgbImage::from_raw(self.width, self.height, self.pixels.clone()).unwrap_or_default()
    }

    fn of(buffer: image::RgbImage) -> Self {
        Self { width: buffer.width(), height: buffer.height(), pixels: buffer.into_raw() }
    }

    /// Turned clockwise by quarters.
    pub fn quarter_turned(&self, quarters: u32) -> Self {
        (0..quarters).fold(self.clone(), |picture, _| Self::of(image::imageops::rotate90(&picture.buffer())))
    }

    /// Turned clockwise by some degrees on white, its size grown to hold it.
    pub fn turned(&self, degrees: f32) -> Self {
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let (w, h) = (self.width as f32, self.height as f32);
        let (width, height) = (w * cosine.abs() + h * sine.abs(), w * sine.abs() + h * cosine.abs());
        let source = self.buffer();
        let turned = image::RgbImage::from_fn(width as u32, height as u32, |x, y| {
            let (x, y) = (x as f32 - width / 2.0, y as f32 - height / 2.0);
            let (x, y) = (x * cosine + y * sine + w / 2.0, y * cosine - x * sine + h / 2.0);
            image::imageops::interpolate_bilinear(&source, x, y).unwrap_or(image::Rgb([255; 3]))
        });
        Self::of(turned)
    }

    /// Through a JPEG of this quality, 1 to 100.
    pub fn compressed(&self, quality: u8) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&self.buffer())?;
        Ok(Self::of(image::load_from_memory(&bytes)?.into_rgb8()))
    }

    /// Blurred by this standard deviation in pixels.
    pub fn blurred(&self, deviation: f32) -> Self {
        Self::of(image::imageops::blur(&self.buffer(), deviation))
    }

    /// Halved in both directions.
    pub fn halved(&self) -> Self {
        let filter = image::imageops::FilterType::Triangle;
        Self::of(image::imageops::resize(&self.buffer(), self.width / 2, self.height / 2, filter))
    }
}

/// Folder of the cases: `MUSTER_MEDIA_CASES`, else `../shared/media` of the repository. Absent on other machines.
pub fn cases_folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/media");
    let folder = std::env::var_os("MUSTER_MEDIA_CASES").map_or_else(beside, PathBuf::from);
    folder.join("ocr.jsonl").is_file().then_some(folder)
}

/// Folder of the models.
pub fn models_folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache");
    std::env::var_os("MUSTER_MODELS_DIR").map_or_else(beside, PathBuf::from)
}

pub fn read_cases<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Vec<T>, Failure> {
    let text = std::fs::read_to_string(path)?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

/// Character error rate: edit distance over length, without white space, in compatibility forms, quotes and dashes plain.
pub fn error_rate(found: &str, expected: &str) -> f64 {
    let (found, expected) = (squeezed(found), squeezed(expected));
    distance(&found, &expected) as f64 / expected.len().max(1) as f64
}

/// F1 of the words, in any order.
pub fn word_f1(found: &str, expected: &str) -> f64 {
    let words = |text: &str| {
        let text: String = text.nfkc().collect::<String>().to_lowercase();
        let mut words: Vec<String> = text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(String::from)
            .collect();
        words.sort();
        words
    };
    let (found, mut expected) = (words(found), words(expected));
    let total = found.len() + expected.len();
    let mut both = 0;
    for word in found {
        if let Ok(at) = expected.binary_search(&word) {
            expected.remove(at);
            both += 1;
        }
    }
    2.0 * f64::from(both) / total.max(1) as f64
}

fn squeezed(text: &str) -> Vec<char> {
    let plain = |letter: char| match letter {
        '’' | '‘' => Some('\''),
        '“' | '”' | '„' => Some('"'),
        '–' | '—' => Some('-'),
        '•' | '·' => None,
        other => Some(other),
    };
    text.nfkc().filter(|letter| !letter.is_whitespace()).filter_map(plain).collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (above, y) in row.iter_mut().skip(1).zip(b) {
            let next = (*above + 1).min(left + 1).min(diagonal + usize::from(x != y));
            (diagonal, left) = (*above, next);
            *above = next;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
