//! Engines of the family docs. Documents & media: q237 to q247.

#![warn(missing_docs)]

mod document_render;

muster_engine::family!(
    "docs";
    245 document_render,
);
