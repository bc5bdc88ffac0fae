//! What the API description says of a request: its example, and which of its objects are closed.

use serde_json::{Map, Value};

/// Follows a reference.
pub fn resolved<'a>(api: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(target) => resolved(api, api.pointer(&target[1..]).unwrap()),
        None => schema,
    }
}

/// The schemas that a value may have: that of a member that may be null is one of several.
fn forms<'a>(api: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolved(api, schema);
    let several = ["oneOf", "anyOf", "allOf"].iter().filter_map(|name| schema[*name].as_array()).flatten();
    std::iter::once(schema).chain(several.flat_map(|form| forms(api, form))).collect()
}

/// Every object of an example, as the path to it, and whether its schema is closed.
pub fn objects(api: &Value, schema: &Value, value: &Value, at: &[String], found: &mut Vec<(Vec<String>, bool)>) {
    let forms = forms(api, schema);
    let below = |name: String| at.iter().cloned().chain([name]).collect::<Vec<_>>();
    match value {
        Value::Object(members) => {
            found.push((at.to_vec(), forms.iter().any(|form| form["additionalProperties"] == false)));
            for (name, value) in members {
                for form in forms.iter().filter_map(|form| form["properties"].get(name)) {
                    objects(api, form, value, &below(name.clone()), found);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for form in forms.iter().filter_map(|form| form.get("items")) {
                    objects(api, form, item, &below(index.to_string()), found);
                }
            }
        }
        _ => {}
    }
}

/// The value with one more member in the object at `path`.
pub fn with_member(value: &Value, path: &[String], name: &str) -> Value {
    let mut whole = value.clone();
    let mut here = &mut whole;
    for step in path {
        here = match here {
            Value::Array(items) => &mut items[step.parse::<usize>().unwrap()],
            object => &mut object[step.as_str()],
        };
    }
    here.as_object_mut().unwrap().insert(name.to_owned(), Value::from(1));
    whole
}

/// An operation of the description.
pub struct Operation<'a> {
    pub path: &'a str,
    pub method: &'a str,
    pub described: &'a Value,
}

/// Every operation, by path and method.
pub fn operations(api: &Value) -> Vec<Operation<'_>> {
    let paths = api["paths"].as_object().unwrap();
    let of = |(path, methods): (&'_ String, &'_ Value)| -> Vec<(String, String)> {
        let methods: &Map<String, Value> = methods.as_object().unwrap();
        methods.keys().map(|method| (path.clone(), method.clone())).collect()
    };
    let names: Vec<(String, String)> = paths.iter().flat_map(of).collect();
    let find = |(path, method): &(String, String)| {
        let (path, methods) = paths.get_key_value(path).unwrap();
        let (method, described) = methods.as_object().unwrap().get_key_value(method).unwrap();
        Operation { path, method, described }
    };
    names.iter().map(find).collect()
}

impl Operation<'_> {
    /// The path with identifiers of nothing in place of its parameters.
    pub fn example(&self) -> String {
        let filled = |part: &str| if part.starts_with('{') { "none".to_owned() } else { part.to_owned() };
        let path: Vec<String> = self.path.split('/').map(filled).collect();
        // A parameter may be a part of a segment, such as `{id}.cap`.
        path.join("/").replace("/q{number}/", "/q1/")
    }

    /// The dialect of its errors, by the schema of its error bodies.
    pub fn is_of_the_agent_platform(&self) -> bool {
        let responses = self.described["responses"].as_object().unwrap();
        responses.values().any(|response| {
            response["content"]["application/json"]["schema"]["$ref"] == "#/components/schemas/ErrorAgent"
        })
    }
}
