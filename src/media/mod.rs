//! Vision, images and translation: which engine serves a request.

pub mod translate;
