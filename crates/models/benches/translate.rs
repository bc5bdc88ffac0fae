//! `cargo bench -p muster-models --bench translate`: words per second and memory of the embedded translator on one
//! thread.

use std::path::{Path, PathBuf};
use std::time::Instant;

use muster_media::marks::{Glossary, TextFormat};
use muster_media::segments::{TextOptions, translate_text};
use muster_models::MediaManifest;
use muster_models::translate::{NeuralSegments, Translator, find_pairs};

type Failure = Box<dyn std::error::Error>;

/// Written for this bench: sentences as they stand in a situation report.
const ENGLISH: &str = "The river has risen by two metres since this morning, and the lower part of the town is under water. \
The school on the hill is open as a shelter for three hundred people. Please bring blankets, medicine and warm clothes. \
The bridge to the north is closed because the water carries trees against it. Two doctors and four nurses work in the sports \
hall, where injured people are treated first. Electricity will be switched off at night so that the repair crews can work \
safely. Do not drink water from the tap before it has boiled for ten minutes.";
const PORTUGUESE: &str = "O rio subiu dois metros desde esta manhã e a parte baixa da cidade está debaixo de água. A escola na \
colina está aberta como abrigo para trezentas pessoas. Tragam cobertores, medicamentos e roupa quente. A ponte para o norte \
está fechada porque a água arrasta árvores contra ela. Dois médicos e quatro enfermeiros trabalham no pavilhão, onde os \
feridos são tratados primeiro. A eletricidade será desligada à noite para que as equipas possam trabalhar em segurança. Não \
bebam água da torneira antes de ela ferver durante dez minutos.";
const PARAGRAPHS: usize = 30;

fn main() -> Result<(), Failure> {
    let folder = std::env::var_os("MUSTER_MODELS_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache"), PathBuf::from);
    let pairs = find_pairs(&folder, &MediaManifest::embedded()?);
    if pairs.is_empty() {
        println!("skipped: no translation model in {}; run `make models`", folder.display());
    }
    for pair in pairs.iter().filter(|pair| matches!(pair.id().as_str(), "en-pt" | "pt-en")) {
        let (before, begin) = (memory_mb("VmRSS:"), Instant::now());
        let translator = Translator::load(pair)?;
        let loaded = begin.elapsed();
        let text = vec![if pair.from == "en" { ENGLISH } else { PORTUGUESE }; PARAGRAPHS].join("\n\n");
        let glossary = Glossary::default();
        let options = TextOptions { format: TextFormat::Text, to: &pair.to, glossary: &glossary };
        let mut engine = NeuralSegments::new(&translator, &|| false);
        translate_text("Hello there.", &options, &mut engine, None, &mut |_| ())?;
        let begin = Instant::now();
        let mut first = None;
        let translated = translate_text(&text, &options, &mut engine, None, &mut |_| {
            first.get_or_insert_with(|| begin.elapsed());
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{}: loaded in {:.2} s; {:.0} words/s ({} segments), first segment after {:.0} ms; {:.0} MB more than before, \
             {:.0} MB at most",
            pair.id(),
            loaded.as_secs_f64(),
            text.split_whitespace().count() as f64 / seconds,
            translated.segments,
            first.unwrap_or_default().as_secs_f64() * 1e3,
            memory_mb("VmRSS:") - before,
            memory_mb("VmHWM:"),
        );
    }
    Ok(())
}

/// A figure of this process in MB; 0 where the system does not state it.
fn memory_mb(field: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}
