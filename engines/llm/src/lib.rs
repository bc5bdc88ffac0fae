//! Engines of the family llm. LLM & retrieval: q156 to q166.

#![warn(missing_docs)]

mod answer_grounding;
mod embed;
mod hashing;
mod model_gateway;
mod rerank;
mod retrieve;
mod structured_extract;
mod summarise;
mod text_chunk;
mod text_classify;
mod token_cost;
mod tokens;
mod translate;

muster_engine::family!(
    "llm";
    156 embed,
    157 retrieve,
    158 rerank,
    159 model_gateway,
    160 text_classify,
    161 summarise,
    162 structured_extract,
    163 answer_grounding,
    164 token_cost,
    165 translate,
    166 text_chunk,
);
