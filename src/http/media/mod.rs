//! Pictures from text, and the pictures that are stored.

pub mod images;
pub mod images_openai;
pub mod images_stored;

crate::route::operations! {
    images::generate,
    images_openai::create,
    images_openai::generate,
    images_stored::list,
    images_stored::get,
    images_stored::delete,
}
