//! Shapes that only the description of the API names: fields that are read by hand and take more than one form, and
//! bodies that hold another's fields.

use std::collections::BTreeMap;

use utoipa::openapi::schema::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::openapi::{OpenApi, RefOr};
use utoipa::{Modify, PartialSchema, ToSchema};

/// A text, or a list of parts or blocks.
pub enum TextOrParts {}

/// A word, or an object.
pub enum WordOrObject {}

/// An object, or a list of objects.
pub enum ObjectOrObjects {}

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

impl PartialSchema for ObjectOrObjects {
    fn schema() -> RefOr<Schema> {
        one_of([of(Type::Object), list(of(Type::Object))])
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
impl ToSchema for ObjectOrObjects {}
impl ToSchema for TextOrTexts {}
impl ToSchema for Inputs {}

/// Says a flattened body as one object: not every reader puts `allOf` together.
pub struct Flattened;

impl Modify for Flattened {
    fn modify(&self, api: &mut OpenApi) {
        let Some(components) = &mut api.components else { return };
        let known = &components.schemas;
        let flattened =
            known.iter().filter_map(|(name, schema)| Some((name.clone(), flattened(schema, known)?.into())));
        let flattened: Vec<(String, RefOr<Schema>)> = flattened.collect();
        components.schemas.extend(flattened);
    }
}

/// `None` where it is no `allOf` of objects.
fn flattened(schema: &RefOr<Schema>, known: &BTreeMap<String, RefOr<Schema>>) -> Option<Object> {
    let RefOr::T(Schema::AllOf(all)) = schema else { return None };
    let mut whole = ObjectBuilder::new().schema_type(Type::Object).description(all.description.clone()).build();
    for part in &all.items {
        let part = match part {
            RefOr::Ref(named) => known.get(named.ref_location.rsplit('/').next()?)?,
            part @ RefOr::T(_) => part,
        };
        let RefOr::T(Schema::Object(part)) = part else { return None };
        whole.properties.extend(part.properties.clone());
        whole.required.extend(part.required.clone());
    }
    Some(whole)
}
