//! stub
pub fn description() -> serde_json::Value { serde_json::json!({}) }
