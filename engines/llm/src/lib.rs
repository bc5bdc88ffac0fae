//! Engines of the family llm. LLM & retrieval: q156 to q166.

#![warn(missing_docs)]

mod translate;

muster_engine::family!(
    "llm";
    165 translate,
);
