//! Draws sixteen prompts in eight languages into one picture, and lists beside it what each one shows.
//!
//! `cargo run --release -p muster-media --example contact_sheet -- <folder of data files> <folder to write to>` writes
//! `contact-sheet.png` and `contact-sheet.md`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use image::imageops::{FilterType, overlay, resize};
use muster_media::sketch::{Prompt, Sketcher};

/// Pixels a side of one picture on the sheet, and of the gap between two.
const CELL: u32 = 272;
const GAP: u32 = 6;
const COLUMNS: u32 = 4;

const PROMPTS: [&str; 16] = [
    "Three red cars and an elephant beside a house",
    "A black cat on a chair under the moon",
    "Um cachorro azul e duas galinhas na praia ao pôr do sol",
    "Cinco peixes amarelos e uma baleia no mar",
    "Un cheval blanc et trois fleurs rouges dans la forêt, sous la pluie",
    "Un lapin et un hérisson dans la neige",
    "Ein grüner Drache und ein Ritter vor den Bergen",
    "Zwei Kinder und ein Hund im Park, drei Luftballons",
    "Красная лошадь и две собаки под дождём",
    "Медведь и сова в лесу ночью",
    "沙漠里的两只骆驼和一棵仙人掌",
    "城市夜晚的红色汽车和机器人",
    "桜と三匹の猫、富士山",
    "海で青い魚とタコとカニ",
    "جمل أحمر وثلاثة أرانب في الصحراء عند الغروب",
    "हाथी और दो मोर जंगल में",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(data), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("usage: contact_sheet <folder of data files> <folder to write to>".into());
    };
    let read = |name: &str| std::fs::read(Path::new(&data).join(name));
    let sketcher = Sketcher::open(&read("pictures.json")?, &read("picture-names.json")?)?;
    let side = COLUMNS * CELL + (COLUMNS - 1) * GAP;
    let mut sheet = image::RgbImage::from_pixel(side, side, image::Rgb([255, 255, 255]));
    let mut list = String::from(
        "# Contact sheet of muster-sketch-1\n\nFrom left to right, row by row: the prompt, what was drawn, what was not.\n\n\
         | prompt | read as | drawn | not drawn |\n|---|---|---|---|\n",
    );
    for (index, text) in (0..).zip(PROMPTS) {
        let drawing = sketcher.draw(&Prompt { text, ..Prompt::default() })?;
        let picture = image::load_from_memory(&drawing.png)?.to_rgb8();
        let small = resize(&picture, CELL, CELL, FilterType::Triangle);
        let (column, row) = (index % COLUMNS, index / COLUMNS);
        overlay(&mut sheet, &small, i64::from(column * (CELL + GAP)), i64::from(row * (CELL + GAP)));
        writeln!(
            list,
            "| {text} | {} | {} | {} |",
            drawing.language,
            drawing.revised_prompt,
            drawing.unmatched.join(", ")
        )?;
    }
    let target = Path::new(&target);
    let file = std::io::BufWriter::new(std::fs::File::create(target.join("contact-sheet.png"))?);
    let encoder = image::codecs::png::PngEncoder::new_with_quality(
        file,
        image::codecs::png::CompressionType::Best,
        image::codecs::png::FilterType::Adaptive,
    );
    sheet.write_with_encoder(encoder)?;
    std::fs::write(target.join("contact-sheet.md"), list)?;
    Ok(())
}
