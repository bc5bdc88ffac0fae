//! Shapes that only the description of the API names: fields that are read by hand and take more than one form.

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A text, or a list of parts or blocks.
pub enum TextOrParts {}

/// A word, or an object.
pub enum WordOrObject {}

/// A text, or several.
pub enum TextOrTexts {}

/// A text or its tokens, or several.
pub enum Inputs {}

fn of(kind: Type) -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(kind).into()
}

fn list(items: RefOr<Schema>) -> RefOr<Schema> {
    ArrayBuilder::new().items(items).into()
}

fn one_of(forms: impl IntoIterator<Item = RefOr<Schema>>) -> RefOr<Schema> {
    forms.into_iter().fold(OneOfBuilder::new(), OneOfBuilder::item::<RefOr<Schema>>).into()
}

impl PartialSchema for TextOrParts {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), list(of(Type::Object))])
    }
}

impl PartialSchema for WordOrObject {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), of(Type::Object)])
    }
}

impl PartialSchema for TextOrTexts {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::String), list(of(Type::String))])
    }
}

impl PartialSchema for Inputs {
    /// The two lists of numbers and of texts have no empty form in common: an empty input is refused.
    fn schema() -> RefOr<Schema> {
        let filled = |items| ArrayBuilder::new().items(items).min_items(Some(1)).into();
        let tokens = || filled(of(Type::Integer));
        one_of([of(Type::String), filled(of(Type::String)), tokens(), filled(tokens())])
    }
}

impl ToSchema for TextOrParts {}
impl ToSchema for WordOrObject {}
impl ToSchema for TextOrTexts {}
impl ToSchema for Inputs {}
