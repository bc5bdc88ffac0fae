//! Images and translation of interfaces A and B.

pub mod images;
pub mod images_openai;
pub mod images_stored;
mod languages;
mod translate;
mod vision;

use crate::route::operations;

operations! {
    vision::see,
    translate::translate,
    languages::list,
    images::generate,
    images_openai::create,
    images_openai::generate,
    images_stored::list,
    images_stored::get,
    images_stored::delete,
}
