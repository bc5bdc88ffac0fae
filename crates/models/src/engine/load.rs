//! Resolves a selection and loads the model into memory.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use llama_cpp_2::llama_backend::LlamaBackend;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::model::params::LlamaModelParams;
use llama_cpp_2::{LogOptions, send_logs_to_tracing};

use super::prompt::PromptTokenizer;
use super::shared::Shared;
use crate::chat::{ModelInfo, ModelStatus};
use crate::manifest::{Manifest, ModelEntry};
use crate::memory;
use crate::plan::{CacheShape, context_per_slot};
use crate::resolve::{Target, resolve};
use crate::verify::{VerifyError, verify};

/// Share of the reported progress that covers verification of the file, in percent.
const CHECK_SHARE: u8 = 90;

/// A loaded model with its metadata.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) model: Arc<LlamaModel>,
    pub(super) prompter: PromptTokenizer,
    pub(super) info: ModelInfo,
    file: FileMark,
    /// Bytes of memory that were required to be free and that the model now uses.
    claimed: u64,
    /// Unique per load.
    pub(super) epoch: u64,
}

/// Identifies a version of a file at its path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileMark {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl FileMark {
    fn of(path: &Path) -> Option<Self> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(Self { path: path.to_owned(), bytes: metadata.len(), modified: metadata.modified().ok() })
    }
}

/// Why nothing was loaded.
pub(super) enum LoadError {
    Stopped,
    /// Retrying is pointless until the operator acts.
    Wrong(ModelStatus),
}

/// Global state of llama.cpp, initialised once per process; its log is forwarded to tracing.
pub(super) fn backend() -> Result<&'static LlamaBackend, String> {
    static BACKEND: OnceLock<Result<LlamaBackend, String>> = OnceLock::new();
    let backend = BACKEND.get_or_init(|| {
        send_logs_to_tracing(LogOptions::default());
        LlamaBackend::init().map_err(|error| error.to_string())
    });
    backend.as_ref().map_err(Clone::clone)
}

/// Returns whether the selection still resolves to the loaded file.
pub(super) fn is_current(shared: &Shared, ready: &Ready) -> bool {
    let options = &shared.options;
    let available = memory::available().map(|bytes| bytes.saturating_add(ready.claimed));
    let target = Manifest::embedded()
        .ok()
        .and_then(|manifest| resolve(&options.selection, &manifest, &options.cache_dir, available).ok());
    target.and_then(|target| FileMark::of(&target.path)).is_some_and(|mark| mark == ready.file)
}

/// Selects, verifies and loads the file and reports progress.
pub(super) fn load(shared: &Shared, epoch: u64) -> Result<Ready, LoadError> {
    let options = &shared.options;
    let wrong = |why: String, mend: &str| LoadError::Wrong(ModelStatus::Failed { why, mend: mend.to_owned() });
    let manifest =
        Manifest::embedded().map_err(|error| wrong(error.to_string(), "this is a fault of the build: report it"))?;
    let target = resolve(&options.selection, &manifest, &options.cache_dir, memory::available())
        .map_err(|mend| LoadError::Wrong(ModelStatus::Absent { mend }))?;
    check(shared, &target)?;
    let gone = || wrong(format!("{} is gone", target.path.display()), "put the file back and reload");
    let file = FileMark::of(&target.path).ok_or_else(gone)?;
    let mend_file = "choose a GGUF file of a chat model, or run `make models` to fetch one";
    let model = read(&target.path).map_err(|why| wrong(why, mend_file))?;
    let model = Arc::new(model);
    let refuse = |why: String| wrong(format!("{}: {why}", target.path.display()), mend_file);
    let prompter = PromptTokenizer::new(Arc::clone(&model)).map_err(refuse)?;
    let info = info(shared, &target, &model);
    let claimed = target.entry.as_ref().map_or(0, |entry| entry.min_free_memory);
    Ok(Ready { model, prompter, info, file, claimed, epoch })
}

fn check(shared: &Shared, target: &Target) -> Result<(), LoadError> {
    let Some(entry) = &target.entry else { return Ok(()) };
    let progress = |percent: u8| {
        let percent = u8::try_from(u16::from(percent) * u16::from(CHECK_SHARE) / 100).unwrap_or(CHECK_SHARE);
        shared.set_status(ModelStatus::Loading { percent });
        !shared.is_stopping()
    };
    verify(&target.path, entry, progress).map_err(|error| match error {
        VerifyError::Stopped => LoadError::Stopped,
        error => LoadError::Wrong(ModelStatus::Failed { why: error.to_string(), mend: mend_wrong_file(entry) }),
    })
}

fn mend_wrong_file(entry: &ModelEntry) -> String {
    format!("the file is damaged or another: delete it and run `muster models pull {}`", entry.id)
}

/// The file is memory-mapped, not copied: its pages are shared and can be dropped by the system.
fn read(path: &Path) -> Result<LlamaModel, String> {
    let parameters = LlamaModelParams::default().with_use_mmap(true);
    LlamaModel::load_from_file(backend()?, path, &parameters).map_err(|error| format!("{}: {error}", path.display()))
}

fn info(shared: &Shared, target: &Target, model: &LlamaModel) -> ModelInfo {
    let options = &shared.options;
    let heads = u64::from(model.n_head()).max(1);
    let head_size = u64::try_from(model.n_embd()).unwrap_or(0) / heads;
    let shape = CacheShape { layers: model.n_layer().into(), kv_heads: model.n_head_kv().into(), head_size };
    let slots = u32::try_from(options.slots).unwrap_or(u32::MAX);
    let context = context_per_slot(options.context_per_slot, model.n_ctx_train(), slots, shape, memory::available());
    let file_name = || target.path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    match &target.entry {
        Some(entry) => ModelInfo {
            id: entry.id.clone(),
            name: entry.name.clone(),
            context,
            max_tokens: entry.max_tokens.min(context),
        },
        None => ModelInfo {
            id: "local".to_owned(),
            name: model.meta_val_str("general.name").unwrap_or_else(|_| file_name()),
            context,
            max_tokens: (context / 2).max(1),
        },
    }
}
