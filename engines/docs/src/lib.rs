//! Engines of the family docs. Documents & media: q237 to q247.

#![warn(missing_docs)]

mod picture;
mod svg;

mod barcode;
mod calendar_expand;
mod chart_render;
mod document_render;
mod image_analyse;
mod image_hash;
mod image_inspect;
mod image_transform;
mod map_render;
mod pdf_extract;
mod spreadsheet_convert;

muster_engine::family!(
    "docs";
    237 image_inspect,
    238 image_transform,
    239 image_hash,
    240 image_analyse,
    241 barcode,
    242 chart_render,
    243 map_render,
    244 pdf_extract,
    245 document_render,
    246 calendar_expand,
    247 spreadsheet_convert,
);
