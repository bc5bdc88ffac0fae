//! A build without the feature `embed`.

#![cfg(not(feature = "embed"))]

use muster_models::{EmbedError, EmbedModel, EmbedOptions, LocalEmbedder, ModelStatus};

#[tokio::test]
async fn reports_the_missing_engine_and_the_remedy() {
    let model = LocalEmbedder::start(EmbedOptions::default());
    let helps = |mend: &str| mend.contains("build with the feature `embed`");
    assert!(matches!(model.status(), ModelStatus::Absent { mend } if helps(&mend)));
    let refused = model.embed(vec!["a".to_owned()]).await;
    assert!(matches!(refused, Err(EmbedError::Absent { mend }) if helps(&mend)));
    assert_eq!(model.info().dimensions, 384);
}
