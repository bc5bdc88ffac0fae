//! The embedding model against its reference implementation, and its lifecycle.
//!
//! `fixtures/minilm_reference.json` holds the output of Hugging Face's own tokenizer and BERT;
//! `fixtures/minilm_reference.py` generated it and records the versions.

#![cfg(feature = "embed")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail it")]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::models_dir;
use muster_models::{
    EmbedError, EmbedModel, EmbedOptions, EmbeddingEntry, Embeddings, LocalEmbedder, Manifest, ModelStatus,
};
use serde::Deserialize;

/// Far longer than any answer of these tests on a slow machine, so that a hang becomes a failure.
const TIMEOUT: Duration = Duration::from_secs(120);

#[derive(Deserialize)]
struct Reference {
    sentences: Vec<Sentence>,
    cosines: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Sentence {
    text: String,
    tokens: u32,
    /// The first eight numbers of its vector.
    first: Vec<f32>,
    norm: f32,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("fixtures/minilm_reference.json")).unwrap()
}

fn entry() -> EmbeddingEntry {
    Manifest::embedded().unwrap().embeddings().first().unwrap().clone()
}

/// Returns whether the model's files are present; prints how to get them if not.
fn installed() -> bool {
    let present = entry().is_present(&models_dir());
    if !present {
        eprintln!("skipped: the model `minilm` is not there; run `make models`");
    }
    present
}

fn in_dir(dir: &Path) -> EmbedOptions {
    EmbedOptions { cache_dir: dir.to_owned(), threads: 2, ..EmbedOptions::default() }
}

async fn start() -> Arc<LocalEmbedder> {
    let model = LocalEmbedder::start(in_dir(&models_dir()));
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    model
}

async fn wait_for(model: &LocalEmbedder, matches: impl Fn(&ModelStatus) -> bool) -> ModelStatus {
    let mut changes = model.watch_status();
    let waiting = async { changes.wait_for(|status| matches(status)).await.expect("the model lives").clone() };
    tokio::time::timeout(TIMEOUT, waiting).await.expect("the wanted status in time")
}

async fn embed(model: &LocalEmbedder, texts: &[&str]) -> Result<Embeddings, EmbedError> {
    let texts = texts.iter().map(ToString::to_string).collect();
    tokio::time::timeout(TIMEOUT, model.embed(texts)).await.expect("an answer in time")
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn largest_difference(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[tokio::test]
async fn vectors_match_the_reference() {
    if !installed() {
        return;
    }
    let (model, reference) = (start().await, reference());
    let texts: Vec<&str> = reference.sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let got = embed(&model, &texts).await.unwrap();
    for ((vector, tokens), sentence) in got.vectors.iter().zip(&got.tokens).zip(&reference.sentences) {
        assert_eq!((vector.len(), *tokens), (384, sentence.tokens), "{}", sentence.text);
        let off = largest_difference(vector, &sentence.first);
        assert!(off < 1e-4, "{}: off by {off}", sentence.text);
        assert!((cosine(vector, vector).sqrt() - sentence.norm).abs() < 1e-5);
    }
    for (a, row) in got.vectors.iter().zip(&reference.cosines) {
        let cosines: Vec<f32> = got.vectors.iter().map(|b| cosine(a, b)).collect();
        assert!(largest_difference(&cosines, row) < 1e-4, "{cosines:?} {row:?}");
    }
    let stats = model.stats();
    assert_eq!((stats.texts, stats.tokens, stats.waiting), (10, u64::from(got.total_tokens()), 0));
}

/// Related texts are nearer than unrelated ones, whatever the exact figures.
#[tokio::test]
async fn related_texts_are_near() {
    if !installed() {
        return;
    }
    let model = start().await;
    let texts = [
        "How do I reset my password?",
        "I forgot my login credentials.",
        "The cat sleeps on the sofa.",
        "A kitten is napping on the couch.",
    ];
    let vectors = embed(&model, &texts).await.unwrap().vectors;
    let near = |a: usize, b: usize| cosine(&vectors[a], &vectors[b]);
    let (pairs, others) = ([near(0, 1), near(2, 3)], [near(0, 2), near(0, 3), near(1, 2), near(1, 3)]);
    assert!(pairs.iter().all(|pair| others.iter().all(|other| pair > &(other + 0.3))), "{pairs:?} {others:?}");
}

#[tokio::test]
async fn a_text_has_the_same_vector_alone_and_among_others() {
    if !installed() {
        return;
    }
    let model = start().await;
    let long = "The boats lay in two rows along the wall. ".repeat(20);
    let texts: Vec<String> = (0..40).map(|n| if n % 13 == 0 { long.clone() } else { format!("Boat {n}.") }).collect();
    let together = model.embed(texts.clone()).await.unwrap();
    assert_eq!(together.vectors.len(), texts.len());
    for at in [0, 1, 20, 39] {
        let alone = embed(&model, &[&texts[at]]).await.unwrap();
        let off = largest_difference(&alone.vectors[0], &together.vectors[at]);
        assert!(off < 1e-5, "{at}: {off}");
        assert_eq!(alone.tokens[0], together.tokens[at]);
    }
}

#[tokio::test]
async fn texts_that_are_too_long_are_rejected_by_index_and_not_truncated() {
    if !installed() {
        return;
    }
    let model = start().await;
    // "boat" is one piece; 254 of them and the two special tokens are the maximum of the model card.
    let (most, more) = ("boat ".repeat(254), "boat ".repeat(255));
    assert_eq!(embed(&model, &[&most]).await.unwrap().tokens, [256]);
    let refused = embed(&model, &["ok", &more, &more]).await.unwrap_err();
    assert_eq!(refused, EmbedError::TooLong { index: 1, tokens: 257, most: 256 });
    assert!(refused.to_string().contains("input 1"));
    assert_eq!(embed(&model, &["", "ok"]).await.unwrap().tokens, [2, 3]);
}

#[tokio::test]
async fn missing_files_are_reported_and_found_once_present() {
    let dir = tempfile::tempdir().unwrap();
    let model = LocalEmbedder::start(in_dir(dir.path()));
    let status = wait_for(&model, |status| matches!(status, ModelStatus::Absent { .. })).await;
    assert!(
        matches!(&status, ModelStatus::Absent { mend } if mend.contains("muster models pull minilm")),
        "{status:?}"
    );
    assert!(matches!(embed(&model, &["a"]).await, Err(EmbedError::Absent { .. })));
    // Known before the files are present.
    let info = model.info();
    assert_eq!((info.id.as_str(), info.dimensions, info.max_tokens), ("minilm", 384, 256));
    assert_eq!(info.sha256, entry().files[0].sha256);
    if !installed() {
        return;
    }
    for file in &entry().files {
        fs::copy(file.path(&models_dir()), file.path(dir.path())).unwrap();
    }
    model.reload();
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    assert_eq!(embed(&model, &["a"]).await.unwrap().vectors.len(), 1);
    // Unchanged files: serving continues. Requests made from now on wait for the check.
    model.reload();
    assert!(embed(&model, &["a"]).await.is_ok());
    assert_eq!(model.stats().restarts, 0);
}

#[tokio::test]
async fn files_with_another_hash_are_rejected() {
    let dir = tempfile::tempdir().unwrap();
    for file in &entry().files {
        // The right length, all zeros.
        fs::File::create(file.path(dir.path())).unwrap().set_len(file.bytes).unwrap();
    }
    let model = LocalEmbedder::start(in_dir(dir.path()));
    let status = wait_for(&model, |status| matches!(status, ModelStatus::Failed { .. })).await;
    let ModelStatus::Failed { why, mend } = status else { unreachable!() };
    assert!(why.contains("sha256") && why.contains("53aa51172d142c89"), "{why}");
    assert!(mend.contains("muster models pull minilm"), "{mend}");
    assert!(matches!(embed(&model, &["a"]).await, Err(EmbedError::Failed { .. })));
}

#[tokio::test]
async fn a_panic_fails_the_running_batch_and_the_engine_restarts() {
    if !installed() {
        return;
    }
    let model = start().await;
    model.inject_panic();
    let died = embed(&model, &["a"]).await;
    assert!(matches!(&died, Err(EmbedError::Failed { why }) if why.contains("injected")), "{died:?}");
    // Sent while the engine is down, answered after the restart.
    assert!(embed(&model, &["a"]).await.is_ok());
    assert_eq!((model.stats().restarts, model.status()), (1, ModelStatus::Ready));
}

#[tokio::test]
async fn an_engine_that_keeps_crashing_reports_failure() {
    if !installed() {
        return;
    }
    let model = start().await;
    for _ in 0..6 {
        model.inject_panic();
        assert!(embed(&model, &["a"]).await.is_err());
    }
    wait_for(&model, |status| matches!(status, ModelStatus::Failed { .. })).await;
    assert!(matches!(embed(&model, &["a"]).await, Err(EmbedError::Failed { .. })));
    // The operator need not wait for the next retry.
    model.reload();
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    assert!(embed(&model, &["a"]).await.is_ok());
}

#[tokio::test]
async fn a_cancelled_request_frees_its_queue_place_and_a_full_queue_is_reported() {
    if !installed() {
        return;
    }
    let model = LocalEmbedder::start(EmbedOptions { queue: 64, threads: 1, ..in_dir(&models_dir()) });
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    let long = "boat ".repeat(250);
    let many = || model.embed(vec![long.clone(); 64]);
    let first = many();
    assert!(matches!(many().await, Err(EmbedError::Busy { retry_after }) if retry_after >= Duration::from_secs(1)));
    assert!(matches!(model.embed(vec![String::new(); 65]).await, Err(EmbedError::TooMany { texts: 65, most: 64 })));
    drop(first);
    assert_eq!(embed(&model, &["a"]).await.unwrap().tokens, [3]);
    let stats = model.stats();
    assert!(stats.texts < 64, "what nobody waits for is not computed: {stats:?}");
}
