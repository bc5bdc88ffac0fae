//! Assignability of types.

use super::{Member, Prim, Type, finding, latlon};

/// Returns `None` if a value of `from` may be used where `to` is expected, otherwise why not. `any` is compatible in
/// both directions: it is checked at run time.
pub fn assignable(from: &Type, to: &Type) -> Option<String> {
    problem(from, to, "")
}

fn problem(from: &Type, to: &Type, path: &str) -> Option<String> {
    if from == to || *from == Type::Prim(Prim::Any) || *to == Type::Prim(Prim::Any) {
        return None;
    }
    match (from, to) {
        (Type::Prim(Prim::Finding), _) => problem(&finding(), to, path),
        (Type::Prim(Prim::LatLon), _) => problem(&latlon(), to, path),
        (_, Type::Prim(Prim::LatLon)) => problem(from, &latlon(), path),
        (Type::Prim(Prim::Integer), Type::Prim(Prim::Number))
        | (Type::Enum(_) | Type::Prim(Prim::Datetime | Prim::Date), Type::Prim(Prim::String)) => None,
        (Type::Enum(has), Type::Enum(wants)) => {
            let extra: Vec<_> = has.iter().filter(|value| !wants.contains(value)).cloned().collect();
            (!extra.is_empty()).then(|| format!("{path}: {} is not accepted", extra.join(", ")))
        }
        (Type::Array(from), Type::Array(to)) | (Type::Map(from), Type::Map(to)) => {
            problem(from, to, &format!("{path}[]"))
        }
        (Type::Record(members), Type::Map(to)) => {
            members.iter().find_map(|member| problem(&member.kind, to, &format!("{path}.{}", member.name)))
        }
        (Type::Record(has), Type::Record(wants)) => wants.iter().find_map(|want| member(has, want, path)),
        _ => Some(format!("{}: {from} is not {to}", if path.is_empty() { "value" } else { path })),
    }
}

fn member(has: &[Member], want: &Member, path: &str) -> Option<String> {
    let path = format!("{path}.{}", want.name);
    match has.iter().find(|member| member.name == want.name) {
        None if want.optional => None,
        None => Some(format!("{path}: is missing")),
        Some(found) if found.optional && !want.optional => Some(format!("{path}: may be missing")),
        Some(found) => problem(&found.kind, &want.kind, &path),
    }
}
