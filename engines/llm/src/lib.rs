//! Engines of the family llm. LLM & retrieval: q156 to q166.

#![warn(missing_docs)]

mod answer_grounding;
mod hashing;
mod rerank;
mod retrieve;
mod text_chunk;
mod token_cost;
mod tokens;
mod translate;

muster_engine::family!(
    "llm";
    157 retrieve,
    158 rerank,
    163 answer_grounding,
    164 token_cost,
    165 translate,
    166 text_chunk,
);
