//! Draws sixteen prompts in eight languages into one picture, and lists beside it what each one shows.
//!
//! `cargo run --release -p muster-media --example contact_sheet -- <folder of data files> <folder to write to>` writes
//! `contact-sheet.png` and `contact-sheet.md`. A third argument names a file of other prompts, one a line.

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

const ABOUT: &str = "# Contact sheet of muster-sketch-1

![Sixteen illustrations in four rows](contact-sheet.png)

Illustrations that the embedded renderer `muster-sketch-1` draws by rules, without a model or a provider: the words of a
prompt are matched with the names that CLDR gives to emoji, and the flat pictures of these emoji are placed in a scene.
The same prompt and seed give the same bytes. The sheet and this page are written by

```sh
cargo run --release -p muster-media --example contact_sheet -- models-cache docs/media
```

where `models-cache` holds `pictures.json` and `picture-names.json`, which `make models` fetches. From left to right, row
by row: the prompt, the language in which it was read, what was drawn, and the words that were not drawn (`unmatched` of
an answer).

| prompt | read as | drawn | not drawn |
|---|---|---|---|
";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(data), Some(target)) = (arguments.next(), arguments.next()) else {
        return Err("usage: contact_sheet <folder of data files> <folder to write to> [file of prompts]".into());
    };
    let prompts = match arguments.next() {
        Some(file) => std::fs::read_to_string(file)?.lines().map(str::to_owned).collect(),
        None => PROMPTS.map(str::to_owned).to_vec(),
    };
    let read = |name: &str| std::fs::read(Path::new(&data).join(name));
    let sketcher = Sketcher::open(&read("pictures.json")?, &read("picture-names.json")?)?;
    let side = |cells: u32| cells * (CELL + GAP) - GAP;
    let rows = u32::try_from(prompts.len())?.div_ceil(COLUMNS).max(1);
    let mut sheet = image::RgbImage::from_pixel(side(COLUMNS), side(rows), image::Rgb([255, 255, 255]));
    let mut list = String::from(ABOUT);
    for (index, text) in (0..).zip(&prompts) {
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
