//! Engines of the family text. Text & language: q167 to q186.

#![warn(missing_docs)]

mod language_detect;
mod string_similarity;
mod template_render;

muster_engine::family!(
    "text";
    167 language_detect,
    171 string_similarity,
    185 template_render,
);
