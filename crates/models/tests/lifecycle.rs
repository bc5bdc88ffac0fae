//! Loading, rejection of wrong files, and recovery of the engine.

#![cfg(feature = "llm")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail it")]

mod common;

use std::fs::{self, File};

use common::{answer, endless, installed, models_dir, next, options, request_of, start, wait_for};
use muster_models::{ChatModel, GenerateEvent, LocalModel, Manifest, ModelError, ModelOptions, ModelStatus, Selection};

fn in_dir(dir: &tempfile::TempDir, selection: Selection) -> ModelOptions {
    ModelOptions {
        selection,
        cache_dir: dir.path().to_owned(),
        threads: 1,
        context_per_slot: 256,
        ..ModelOptions::default()
    }
}

#[tokio::test]
async fn a_missing_file_is_absent_with_the_command_that_fixes_it() {
    let dir = tempfile::tempdir().unwrap();
    let model = LocalModel::start(in_dir(&dir, Selection::Auto));
    let status = wait_for(&model, |status| matches!(status, ModelStatus::Absent { .. })).await;
    assert!(matches!(&status, ModelStatus::Absent { mend } if mend.contains("make models")), "{status:?}");
    assert!(
        matches!(model.generate(request_of("hello", 1)), Err(ModelError::Absent { mend }) if mend.contains("make models"))
    );
    assert_eq!(model.count_text("hello"), None);
}

#[tokio::test]
async fn a_file_with_another_hash_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = Manifest::embedded().unwrap();
    let small = manifest.get("small").unwrap();
    // The right length, all zeros.
    File::create(small.path(dir.path())).unwrap().set_len(small.bytes).unwrap();
    let model = LocalModel::start(in_dir(&dir, Selection::Id("small".to_owned())));
    let status = wait_for(&model, |status| matches!(status, ModelStatus::Failed { .. })).await;
    let ModelStatus::Failed { why, mend } = status else { unreachable!() };
    assert!(why.contains("sha256") && why.contains(&small.sha256), "{why}");
    assert!(mend.contains("muster models pull small"), "{mend}");
    assert!(matches!(model.generate(request_of("hello", 1)), Err(ModelError::Failed { .. })));
}

#[tokio::test]
async fn a_file_that_is_not_a_model_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("notes.gguf");
    fs::write(&path, b"GGUF, or so it says").unwrap();
    let model = LocalModel::start(in_dir(&dir, Selection::Path(path)));
    let status = wait_for(&model, |status| matches!(status, ModelStatus::Failed { .. })).await;
    assert!(matches!(&status, ModelStatus::Failed { why, .. } if why.contains("notes.gguf")), "{status:?}");
}

#[tokio::test]
async fn files_that_appear_later_are_picked_up() {
    if !installed("small") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let model = LocalModel::start(in_dir(&dir, Selection::Auto));
    wait_for(&model, |status| matches!(status, ModelStatus::Absent { .. })).await;
    let manifest = Manifest::embedded().unwrap();
    let small = manifest.get("small").unwrap();
    fs::copy(small.path(&models_dir()), small.path(dir.path())).unwrap();
    model.reload();
    let reported = wait_for(&model, |status| !matches!(status, ModelStatus::Absent { .. })).await;
    assert!(matches!(reported, ModelStatus::Loading { .. } | ModelStatus::Ready), "{reported:?}");
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    assert_eq!((model.info().id.as_str(), model.info().context), ("small", 256));
    assert!(answer(&model, request_of("What is the capital of Australia?", 32)).await.text.contains("Canberra"));
}

#[tokio::test]
async fn a_reload_loads_a_changed_file_after_running_requests_only() {
    if !installed("small") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let manifest = Manifest::embedded().unwrap();
    let path = manifest.get("small").unwrap().path(dir.path());
    fs::copy(manifest.get("small").unwrap().path(&models_dir()), &path).unwrap();
    let model = start(in_dir(&dir, Selection::Auto)).await;
    let mut running = model.generate(endless(200)).unwrap();
    assert!(matches!(next(&mut running).await, Some(GenerateEvent::Delta(_))));

    model.reload();
    assert!(
        common::read(model.generate(request_of("hello", 4)).unwrap()).await.is_ok(),
        "an unchanged file is served on"
    );

    let later = fs::metadata(&path).unwrap().modified().unwrap() + std::time::Duration::from_secs(2);
    File::options().write(true).open(&path).unwrap().set_modified(later).unwrap();
    model.reload();
    wait_for(&model, |status| matches!(status, ModelStatus::Loading { .. })).await;
    assert!(matches!(model.generate(request_of("hello", 4)), Err(ModelError::Loading { .. })));
    assert_eq!(common::read(running).await.unwrap().usage.completion, 200, "what ran has ended by itself");
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
    assert!(answer(&model, request_of("What is the capital of Australia?", 32)).await.text.contains("Canberra"));
}

#[tokio::test]
async fn any_gguf_of_a_chat_model_can_be_named_by_path() {
    if !installed("small") {
        return;
    }
    let path = Manifest::embedded().unwrap().get("small").unwrap().path(&models_dir());
    let model = start(ModelOptions { selection: Selection::Path(path), ..options("small") }).await;
    assert_eq!(model.info().id, "local");
    assert!(model.count_text("hello").is_some());
}

#[tokio::test]
async fn a_panic_fails_running_requests_and_the_engine_restarts() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    let mut running: Vec<_> = (0..4).map(|_| model.generate(endless(900)).unwrap()).collect();
    for generation in &mut running {
        assert!(matches!(next(generation).await, Some(GenerateEvent::Delta(_))));
    }
    let waiting = model.generate(request_of("What is the capital of Australia?", 32)).unwrap();
    model.inject_panic();
    for generation in running {
        assert!(matches!(common::read(generation).await, Err(ModelError::Failed { .. })));
    }
    // Waiting requests are served after the restart.
    assert!(common::read(waiting).await.unwrap().text.contains("Canberra"));
    assert_eq!(model.stats().restarts, 1);
    assert_eq!(model.status(), ModelStatus::Ready);
}

#[tokio::test]
async fn an_engine_that_keeps_crashing_reports_failure() {
    if !installed("small") {
        return;
    }
    let model = start(options("small")).await;
    for death in 1..=6 {
        model.inject_panic();
        wait_for(&model, |_| model.stats().restarts == death).await;
        if death < 6 {
            wait_for(&model, |status| *status == ModelStatus::Ready).await;
        }
    }
    wait_for(&model, |status| matches!(status, ModelStatus::Failed { .. })).await;
    assert!(matches!(model.generate(request_of("hello", 1)), Err(ModelError::Failed { .. })));
    // The operator need not wait for the next retry.
    model.reload();
    wait_for(&model, |status| !matches!(status, ModelStatus::Failed { .. })).await;
    wait_for(&model, |status| *status == ModelStatus::Ready).await;
}
