//! A build without the feature `llm`.

#![cfg(not(feature = "llm"))]

use muster_models::{ChatModel, LocalModel, ModelOptions, ModelStatus};

#[test]
fn reports_the_missing_engine_and_the_remedy() {
    let model = LocalModel::start(ModelOptions::default());
    assert!(matches!(model.status(), ModelStatus::Absent { mend } if mend.contains("build with the feature `llm`")));
    assert_eq!(model.count_text("hello"), None);
}
