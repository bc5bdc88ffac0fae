//! A build without the feature `llm`.

#![cfg(not(feature = "llm"))]

use muster_models::{ChatModel, LocalModel, Options, Status};

#[test]
fn says_that_it_has_no_engine_and_what_helps() {
    let model = LocalModel::start(Options::default());
    assert!(matches!(model.status(), Status::Absent { mend } if mend.contains("build with the feature `llm`")));
    assert_eq!(model.count_text("hello"), None);
}
