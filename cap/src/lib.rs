//! The Common Alerting Protocol 1.2: documents read, checked, written. Pure; knows nobody.
