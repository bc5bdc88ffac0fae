//! q241: QR codes.

mod contents;
mod find;

use std::fmt::Write;

use fast_qr::ECL;
use fast_qr::qr::{QRBuilder, QRCode};
use image::ExtendedColorType;
use muster_engine::prelude::*;

use crate::picture;

/// Most bytes of a code: version 40, level L, bytes (ISO/IEC 18004, table 7).
const MAX_TEXT: usize = 2_953;
/// Light modules around a code (section 5.3.8).
const QUIET: usize = 4;

#[derive(Input)]
pub struct Input {
    operation: Operation,
    text: Option<String>,
    image: Option<Bytes>,
    ecc: Level,
    output: Form,
    scale: usize,
}

#[derive(Clone, Copy, Words)]
enum Operation {
    Encode,
    Decode,
}

/// Correction of errors.
#[derive(Clone, Copy, Words)]
enum Level {
    #[wire(name = "L")]
    L,
    #[wire(name = "M")]
    M,
    #[wire(name = "Q")]
    Q,
    #[wire(name = "H")]
    H,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Form {
    Svg,
    Png,
}

#[derive(Default, Output)]
pub struct Output {
    svg: Option<String>,
    image: Option<Bytes>,
    version: Option<usize>,
    modules: Option<usize>,
    codes: Vec<Code>,
    parsed: Option<Value>,
}

#[derive(Output)]
struct Code {
    text: String,
    corners: Vec<Vec<f64>>,
    ecc: &'static str,
}

/// Makes a code, or finds those of a picture.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    match input.operation {
        Operation::Encode => {
            let text = input.text.as_deref().filter(|text| !text.is_empty());
            let text =
                text.ok_or_else(|| Failure::invalid(&["text"], "is required to encode, and must not be empty"))?;
            encode(text, input.ecc, input.output, input.scale)
        }
        Operation::Decode => {
            let image = input.image.ok_or_else(|| Failure::invalid(&["image"], "is required to decode"))?;
            let (version, codes) = find::codes(&image.0, cx)?;
            let parsed = codes.iter().find_map(|code| contents::parse(&code.text));
            Ok(Output { version, modules: version.map(|version| 17 + 4 * version), codes, parsed, ..Output::default() })
        }
    }
}

fn encode(text: &str, ecc: Level, form: Form, scale: usize) -> Result<Output, Failure> {
    let level = match ecc {
        Level::L => ECL::L,
        Level::M => ECL::M,
        Level::Q => ECL::Q,
        Level::H => ECL::H,
    };
    let too_long = || {
        let word = ecc.word();
        Failure::too_large(format!("text: does not fit a QR code with ecc {word}: shorten it, or choose a lower ecc"))
    };
    if text.len() > MAX_TEXT {
        return Err(too_long());
    }
    let code = QRBuilder::new(text).ecl(level).build().map_err(|_| too_long())?;
    let (svg, image) = match form {
        Form::Svg => (Some(svg(&code, text, scale)), None),
        Form::Png => (None, Some(Bytes(png(&code, scale)?))),
    };
    let parsed = contents::parse(text);
    // 17 modules, and 4 for each version.
    let version = code.size.checked_sub(17).map(|modules| modules / 4);
    Ok(Output { svg, image, version, modules: Some(code.size), codes: Vec::new(), parsed })
}

fn is_dark(code: &QRCode, row: usize, column: usize) -> bool {
    row < code.size
        && column < code.size
        && code.data.get(row * code.size + column).is_some_and(|module| module.value())
}

/// A path of runs of dark modules on white.
fn svg(code: &QRCode, text: &str, scale: usize) -> String {
    let side = code.size + 2 * QUIET;
    let mut path = String::new();
    for row in 0..code.size {
        let mut column = 0;
        while column < code.size {
            let run = (column..code.size).take_while(|at| is_dark(code, row, *at)).count();
            if run > 0 {
                // Writing to a string does not fail.
                let _ = write!(path, "M{} {}h{run}v1h-{run}z", column + QUIET, row + QUIET);
            }
            column += run.max(1);
        }
    }
    let pixels = side * scale;
    let title = crate::svg::escaped(text, 200);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{pixels}\" height=\"{pixels}\" viewBox=\"0 0 {side} {side}\" \
         shape-rendering=\"crispEdges\" role=\"img\"><title>{title}</title><path fill=\"#fff\" d=\"M0 0h{side}v{side}H0z\"/>\
         <path d=\"{path}\"/></svg>"
    )
}

fn png(code: &QRCode, scale: usize) -> Result<Vec<u8>, Failure> {
    let side = (code.size + 2 * QUIET) * scale;
    let mut pixels = Vec::with_capacity(side * side);
    for row in 0..side {
        for column in 0..side {
            let module = |at: usize| (at / scale).checked_sub(QUIET);
            let dark = module(row).zip(module(column)).is_some_and(|(row, column)| is_dark(code, row, column));
            pixels.push(if dark { 0 } else { 255 });
        }
    }
    let pixel_side = u32::try_from(side).unwrap_or(u32::MAX);
    picture::png(&pixels, pixel_side, pixel_side, ExtendedColorType::L8)
}
