//! Rows of a section in the order and with the columns in which people read them.

use muster_engines::grammar::{Member, Prim, Type};
use serde_json::{Map, Value, json};

use super::reference::{Reference, Scope, is_empty};
use super::rows::SectionRow;

/// How the rows of a section are arranged.
#[derive(Debug, Default)]
pub struct Arrangement {
    /// Rows of the same key, whose members are added.
    join: Option<Reference>,
    /// Member of a row that is the key of the joined rows' `id`, and by which `order` lists them.
    key: String,
    order: Option<RowOrder>,
    /// Members in order; empty for all.
    columns: Vec<String>,
    /// Names of the columns of rows that are lists.
    header: Option<Reference>,
    /// Labels of the items whose numbers the value lists.
    labels: Option<Reference>,
    /// Whether addresses are written so that they are no links.
    defang: bool,
    /// Time zone in which times are written, with their days of the week.
    zone: Option<Reference>,
}

#[derive(Debug)]
enum RowOrder {
    /// Keys in order.
    Keys(Reference),
    /// A member of the rows, whether the largest is first, and the words of an enum in their order.
    Member { name: String, descending: bool, words: Vec<String> },
}

impl Arrangement {
    /// Reads a row for values of a type. Returns the arrangement and the type of its rows.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with it; mistakes of references are reported by `resolve`.
    pub(super) fn parse(
        row: &SectionRow,
        kind: Type,
        resolve: &mut dyn FnMut(&str) -> Option<(Reference, Type)>,
    ) -> Result<(Self, Type), String> {
        let mut arrangement = Self { key: row.key.clone().unwrap_or_else(|| "id".to_owned()), ..Self::default() };
        arrangement.defang = row.defang;
        if let Some(zone) = &row.zone {
            arrangement.zone = resolve(zone).map(|(reference, _)| reference);
        }
        if let Some(labels) = &row.labels {
            arrangement.labels = resolve(labels).map(|(reference, _)| reference);
            return Ok((arrangement, Type::Prim(Prim::Any)));
        }
        if let Some(header) = &row.header {
            let lists = matches!(&kind, Type::Array(item) if matches!(**item, Type::Array(_)));
            if !lists {
                return Err(format!("{kind} has no lists that a header names"));
            }
            arrangement.header = resolve(header).map(|(reference, _)| reference);
            return Ok((arrangement, Type::Prim(Prim::Any)));
        }
        let mut members = match &kind {
            Type::Array(item) => match &**item {
                Type::Record(members) => Some(members.clone()),
                Type::Prim(Prim::String) if row.join.is_some() => Some(vec![member(&arrangement.key)]),
                Type::Prim(Prim::Any | Prim::Finding) => None,
                _ => return Err(format!("{kind} has no rows to arrange")),
            },
            Type::Prim(Prim::Any) => None,
            _ => return Err(format!("{kind} has no rows to arrange")),
        };
        if let Some(join) = &row.join
            && let Some((reference, of)) = resolve(join)
        {
            if let (Some(members), Type::Array(item)) = (&mut members, &of)
                && let Type::Record(others) = &**item
            {
                let fresh: Vec<Member> =
                    others.iter().filter(|other| members.iter().all(|own| own.name != other.name)).cloned().collect();
                members.extend(fresh.into_iter().filter(|other| other.name != "id"));
            }
            arrangement.join = Some(reference);
        }
        let has = |name: &str| members.as_ref().is_none_or(|members| members.iter().any(|member| member.name == name));
        arrangement.order = match row.order.as_deref() {
            Some(text) if text.starts_with('$') => resolve(text).map(|(reference, _)| RowOrder::Keys(reference)),
            Some(text) => {
                let name = text.strip_prefix('-').unwrap_or(text);
                let of_rows = members.iter().flatten().find(|member| member.name == name);
                let words = match of_rows.map(|member| &member.kind) {
                    Some(Type::Enum(words)) => words.clone(),
                    _ => Vec::new(),
                };
                Some(RowOrder::Member { name: name.to_owned(), descending: text.starts_with('-'), words })
            }
            None => None,
        };
        let ordered = if let Some(RowOrder::Member { name, .. }) = &arrangement.order { Some(name) } else { None };
        if let Some(unknown) = row.columns.iter().chain(ordered).find(|name| !has(name)) {
            return Err(format!("its rows have no {unknown}"));
        }
        if arrangement.join.is_some() && !has(&arrangement.key) {
            return Err(format!("its rows have no {} to join by", arrangement.key));
        }
        arrangement.columns.clone_from(&row.columns);
        if row.columns.is_empty() {
            let kind = members.map_or(kind, |members| Type::Array(Box::new(Type::Record(members))));
            return Ok((arrangement, kind));
        }
        let column = |name: &String| {
            let known = members.iter().flatten().find(|member| member.name == *name);
            known.cloned().unwrap_or_else(|| member(name))
        };
        let members = row.columns.iter().map(column).collect();
        Ok((arrangement, Type::Array(Box::new(Type::Record(members)))))
    }

    /// Returns the value with its rows arranged; anything but rows as it is.
    pub(super) fn apply(&self, value: Value, scope: &Scope<'_>) -> Value {
        if let Some(header) = self.header.as_ref().filter(|_| !is_empty(&value)) {
            let (columns, mut rows) = (header.value(scope), value);
            // A table may have its header as its first row.
            if let Value::Array(rows) = &mut rows
                && rows.first() == Some(&columns)
            {
                rows.remove(0);
            }
            return json!({ "columns": columns, "rows": rows });
        }
        if let Some(labels) = &self.labels {
            return labelled(value, labels.value(scope).as_array().map(Vec::as_slice).unwrap_or_default());
        }
        let Value::Array(items) = value else { return value };
        let key = |row: &Map<String, Value>, name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        let joined = self.join.as_ref().map(|join| join.value(scope));
        let others: Vec<&Map<String, Value>> =
            joined.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_object).collect();
        let by_id: std::collections::HashMap<String, &Map<String, Value>> =
            others.iter().filter_map(|other| Some((key(other, "id")?, *other))).collect();
        let row = |item: Value| {
            let mut row = match item {
                Value::Object(row) => row,
                Value::String(id) if self.join.is_some() => Map::from_iter([(self.key.clone(), Value::String(id))]),
                other => return other,
            };
            // Rows of a list may be numbered.
            let numbered = row.get(&self.key).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
            let numbered = numbered.and_then(|at| others.get(at));
            if let Some(other) = key(&row, &self.key).and_then(|id| by_id.get(&id)).or(numbered) {
                for (name, value) in other.iter().filter(|(name, _)| *name != "id") {
                    row.entry(name.clone()).or_insert_with(|| value.clone());
                }
            }
            Value::Object(row)
        };
        let mut rows: Vec<Value> = items.into_iter().map(row).collect();
        match &self.order {
            Some(RowOrder::Keys(reference)) => {
                let keys = reference.value(scope);
                let keys: Vec<&str> = keys.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
                let place: std::collections::HashMap<&str, usize> =
                    keys.iter().enumerate().map(|(at, key)| (*key, at)).collect();
                let at =
                    |row: &Value| row.get(&self.key).and_then(Value::as_str).and_then(|key| place.get(key)).copied();
                rows.sort_by_key(|row| at(row).unwrap_or(usize::MAX));
            }
            Some(RowOrder::Member { name, descending, words }) => {
                let place = |row: &Value| {
                    let word = row.get(name).and_then(Value::as_str)?;
                    words.iter().position(|one| one == word)
                };
                rows.sort_by(|a, b| {
                    let order = match (place(a), place(b)) {
                        (Some(a), Some(b)) => a.cmp(&b),
                        _ => compare(a.get(name), b.get(name)),
                    };
                    if *descending { order.reverse() } else { order }
                });
            }
            None => {}
        }
        if !self.columns.is_empty() {
            for row in rows.iter_mut().filter_map(Value::as_object_mut) {
                row.retain(|name, _| self.columns.contains(name));
            }
            // Without the other members rows may be the same.
            let mut seen = std::collections::HashSet::new();
            rows.retain(|row| seen.insert(row.to_string()));
        }
        if self.defang {
            rows.iter_mut().for_each(|row| each_text(row, &defang));
        }
        let zone = self.zone.as_ref().map(|zone| zone.value(scope));
        if let Some(zone) = zone.as_ref().and_then(Value::as_str).and_then(|name| jiff::tz::TimeZone::get(name).ok()) {
            rows.iter_mut().for_each(|row| each_text(row, &|text| localise(text, &zone)));
        }
        rows.into()
    }
}

/// Replaces numbers of items by the items' labels.
fn labelled(value: Value, labels: &[Value]) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| labelled(item, labels)).collect(),
        Value::Number(number) => {
            let at = number.as_u64().and_then(|at| usize::try_from(at).ok());
            at.and_then(|at| labels.get(at)).cloned().unwrap_or(Value::Number(number))
        }
        other => other,
    }
}

/// Calls `change` with each text of a value.
fn each_text(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(entries) => entries.values_mut().for_each(|entry| each_text(entry, change)),
        _ => {}
    }
}

/// Writes a time in a time zone: "Mon 2026-11-30 09:00 +01:00".
fn localise(text: &mut String, zone: &jiff::tz::TimeZone) {
    if text.contains('T')
        && let Ok(time) = text.parse::<jiff::Timestamp>()
    {
        *text = time.to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M %:z").to_string();
    }
}

/// Writes an address so that no program makes a link of it.
fn defang(text: &mut String) {
    if text.contains('.') && !text.contains(char::is_whitespace) && !text.contains("[.]") {
        let scheme = text.replacen("http", "hxxp", usize::from(text.starts_with("http")));
        *text = scheme.replace('.', "[.]");
    }
}

fn member(name: &str) -> Member {
    Member { name: name.to_owned(), kind: Type::Prim(Prim::Any), optional: true, unit: String::new() }
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> std::cmp::Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default())
        }
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a.cmp(b),
        _ => std::cmp::Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use muster_engines::grammar::parse_type;
    use serde_json::json;

    use super::*;

    fn arranged(row: &str, kind: &str, value: Value) -> Result<(Value, Type), String> {
        let row: SectionRow = toml::from_str(&format!("title = \"t\"\nfrom = \"$task\"\n{row}")).unwrap();
        let messages = parse_type("array<{id=string,text=string}>").unwrap();
        let (arrangement, kind) = Arrangement::parse(&row, parse_type(kind).unwrap(), &mut |text| {
            Some((Reference::parse(text).unwrap(), messages.clone()))
        })?;
        let params = json!({ "messages": [{ "id": "a", "text": "road closed" }, { "id": "b", "text": "help" }],
            "queue": ["b", "a"], "zone": "Europe/Zurich" });
        let params = params.as_object().unwrap().clone();
        let scope = Scope { task: "", now: String::new(), params: &params, outputs: Default::default() };
        Ok((arrangement.apply(value, &scope), kind))
    }

    #[test]
    fn rows_are_joined_ordered_and_reduced_to_columns() {
        let rows = json!([{ "id": "a", "urgency": 2, "x": 1 }, { "id": "b", "urgency": 5, "x": 2 }]);
        let kind = "array<{id=string,urgency=integer,x=number[m]}>";
        let row = "join = \"$params.messages\"\norder = \"$params.queue\"\ncolumns = [\"urgency\", \"text\", \"id\"]";
        let (value, kind_after) = arranged(row, kind, rows.clone()).unwrap();
        assert_eq!(
            value,
            json!([{ "id": "b", "urgency": 5, "text": "help" }, { "id": "a", "urgency": 2, "text": "road closed" }])
        );
        let wanted = parse_type("array<{urgency=integer,text=string,id=string}>").unwrap();
        assert_eq!(kind_after, wanted, "columns in the order in which they are named");
        let (value, _) = arranged("order = \"-urgency\"", kind, rows).unwrap();
        assert_eq!(value[0]["id"], "b");
        let triage = json!([{ "id": "a", "state": "minor" }, { "id": "b", "state": "immediate" }]);
        let (value, _) =
            arranged("order = \"state\"", "array<{id=string,state=enum(immediate|delayed|minor)}>", triage).unwrap();
        assert_eq!(value[0]["id"], "b", "words of an enum have its order");
        let (value, _) = arranged("join = \"$params.messages\"", "array<string>", json!(["b", "z"])).unwrap();
        assert_eq!(value, json!([{ "id": "b", "text": "help" }, { "id": "z" }]), "a list of keys becomes rows");
    }

    #[test]
    fn rows_are_joined_by_their_number() {
        let row = "join = \"$params.messages\"\nkey = \"index\"\ncolumns = [\"index\", \"text\"]";
        let (value, _) = arranged(row, "array<{index=integer}>", json!([{ "index": 1 }, { "index": 9 }])).unwrap();
        assert_eq!(value, json!([{ "index": 1, "text": "help" }, { "index": 9 }]));
    }

    #[test]
    fn lists_have_the_names_of_a_header() {
        let row = "header = \"$params.queue\"";
        let (value, _) = arranged(row, "array<array<any>>", json!([[1, 2]])).unwrap();
        assert_eq!(value, json!({ "columns": ["b", "a"], "rows": [[1, 2]] }));
        assert_eq!(arranged(row, "array<array<any>>", json!([])).unwrap().0, json!([]));
        assert!(arranged(row, "array<string>", json!([])).unwrap_err().contains("no lists"));
    }

    #[test]
    fn numbers_have_labels_and_addresses_are_no_links() {
        let (value, _) = arranged("labels = \"$params.queue\"", "array<array<integer>>", json!([[0, 1], [7]])).unwrap();
        assert_eq!(value, json!([["b", "a"], [7]]));
        let kind = "array<{id=string,value=string,count=integer}>";
        let row = "columns = [\"value\", \"count\"]\ndefang = true";
        let rows = json!([{ "id": "1", "value": "https://x.org/a.b", "count": 1 }, { "id": "2", "value": "https://x.org/a.b", "count": 1 }]);
        let (value, _) = arranged(row, kind, rows).unwrap();
        assert_eq!(value, json!([{ "value": "hxxps://x[.]org/a[.]b", "count": 1 }]), "the same row once");
        // 30 November 2026 is a Monday; Zurich is an hour ahead of UTC in winter.
        let rows = json!([{ "id": "1", "value": "2026-11-30T08:00:00Z", "count": 1 }]);
        let (value, _) = arranged("zone = \"$params.zone\"", kind, rows).unwrap();
        assert_eq!(value[0]["value"], "Mon 2026-11-30 09:00 +01:00");
    }

    #[test]
    fn mistakes_in_arrangements_are_found() {
        let kind = "array<{id=string,urgency=integer}>";
        for (row, kind, wanted) in [
            ("columns = [\"urgent\"]", kind, "its rows have no urgent"),
            ("order = \"-urgent\"", kind, "its rows have no urgent"),
            ("join = \"$params.messages\"\nkey = \"task\"", kind, "its rows have no task to join by"),
            ("columns = [\"a\"]", "number", "has no rows to arrange"),
        ] {
            let mistake = arranged(row, kind, json!([])).unwrap_err();
            assert!(mistake.contains(wanted), "{mistake}");
        }
    }
}
