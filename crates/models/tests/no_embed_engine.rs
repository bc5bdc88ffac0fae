//! A build without the feature `embed`.

#![cfg(not(feature = "embed"))]

use muster_models::{EmbedError, EmbedModel, EmbedOptions, LocalEmbedder, Status};

#[tokio::test]
async fn says_that_it_has_no_engine_and_what_helps() {
    let model = LocalEmbedder::start(EmbedOptions::default());
    let helps = |mend: &str| mend.contains("build with the feature `embed`");
    assert!(matches!(model.status(), Status::Absent { mend } if helps(&mend)));
    let refused = model.embed(vec!["a".to_owned()]).await;
    assert!(matches!(refused, Err(EmbedError::Absent { mend }) if helps(&mend)));
    assert_eq!(model.info().dimensions, 384);
}
