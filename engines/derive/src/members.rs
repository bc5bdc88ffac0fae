//! Members of a struct, and the attributes of members and variants.

use syn::ext::IdentExt;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, LitStr, Result, Type};

use crate::units;

/// A member of a struct.
pub(crate) struct Member<'a> {
    pub(crate) ident: &'a Ident,
    /// The type; of an `Option` what it holds.
    pub(crate) kind: &'a Type,
    pub(crate) optional: bool,
    pub(crate) wire: String,
    /// Spelling of the unit that was taken off the name.
    pub(crate) unit: Option<&'static str>,
    pub(crate) skip: bool,
    /// Whether it is no part of the shape.
    pub(crate) extra: bool,
}

/// The attribute `#[wire(…)]`.
#[derive(Default)]
pub(crate) struct Wire {
    pub(crate) name: Option<String>,
    pub(crate) case: Option<LitStr>,
    pub(crate) skip: bool,
    pub(crate) extra: bool,
}

impl Wire {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut wire = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("wire")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    wire.name = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("case") {
                    wire.case = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("skip") {
                    wire.skip = true;
                } else if meta.path.is_ident("extra") {
                    wire.extra = true;
                } else {
                    return Err(meta.error("known are `name`, `case`, `skip` and `extra`"));
                }
                Ok(())
            })?;
        }
        Ok(wire)
    }
}

/// Reads the members of a struct; two with one name are an error.
pub(crate) fn members(item: &DeriveInput) -> Result<Vec<Member<'_>>> {
    let Data::Struct(data) = &item.data else {
        return Err(Error::new_spanned(&item.ident, "only a struct with named members has a reader and a writer"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(&item.ident, "the members need names: they are those of the catalogue"));
    };
    let mut members: Vec<Member<'_>> = Vec::new();
    for field in &fields.named {
        let Some(ident) = &field.ident else { continue };
        let attribute = Wire::read(&field.attrs)?;
        let name = ident.unraw().to_string();
        let (wire, unit) = match attribute.name {
            Some(name) => (name, None),
            None => {
                let (wire, unit) = units::split(&name);
                (wire.to_owned(), unit)
            }
        };
        if members.iter().any(|member| member.wire == wire && !member.skip) && !attribute.skip {
            return Err(Error::new_spanned(ident, format!("another member is `{wire}` on the wire already")));
        }
        let (kind, optional) = match option(&field.ty) {
            Some(kind) => (kind, true),
            None => (&field.ty, false),
        };
        members.push(Member { ident, kind, optional, wire, unit, skip: attribute.skip, extra: attribute.extra });
    }
    Ok(members)
}

/// Returns what an `Option` holds.
fn option(kind: &Type) -> Option<&Type> {
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Option")?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(syn::GenericArgument::Type(kind)) => Some(kind),
        _ => None,
    }
}
