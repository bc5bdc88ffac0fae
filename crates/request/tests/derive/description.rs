//! Schemas, parameters and examples.

use super::*;

#[test]
fn the_schema_has_the_bounds_and_the_documentation() {
    let schema = serde_json::to_value(Route::schema()).unwrap();
    assert_eq!(Route::name(), "RoutePlan");
    assert_eq!(schema["description"], "A route that is to be taken.");
    assert_eq!(schema["required"], json!(["type", "retries"]));
    let properties = &schema["properties"];
    assert_eq!(
        properties["type"],
        json!({ "type": "string", "description": "How it is called.", "minLength": 1, "maxLength": 5 })
    );
    let speed = &properties["speed"];
    assert_eq!((&speed["minimum"], &speed["maximum"], &speed["default"]), (&json!(1), &json!(60), &json!(50)));
    assert_eq!(properties["retries"]["maximum"], 5);
    assert_eq!((&properties["points"]["minItems"], &properties["points"]["maxItems"]), (&json!(1), &json!(60)));
    let direction = &properties["direction"];
    assert_eq!(direction, &json!({ "type": ["string", "null"], "enum": ["up", "down", null] }));
    assert_eq!(properties["reason"]["description"], "Why it is done.");
    assert!(properties.get("fast").is_none());
    let mut named = Vec::new();
    Route::schemas(&mut named);
    let named: BTreeMap<_, _> = named.into_iter().collect();
    assert_eq!(named.keys().collect::<Vec<_>>(), ["Label", "Waypoint"]);
    let lat = &serde_json::to_value(&named["Waypoint"]).unwrap()["properties"]["lat"];
    assert_eq!((&lat["minimum"], &lat["maximum"]), (&json!(-90), &json!(90)));
}

#[test]
fn the_example_is_made_of_those_of_the_fields() {
    let example = Value::Object(Route::example());
    assert_eq!(example, json!({ "type": "boat", "speed": 7, "reason": "storm" }));
    assert_eq!(serde_json::to_value(Route::schema()).unwrap()["examples"], json!([example]));
    assert_eq!(Value::Object(Deep::example()), json!({ "alpha": 3 }));
}

#[test]
fn the_parameters_of_a_query_have_the_bounds() {
    let parameters = RouteQuery::into_params(|| None);
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(names, ["direction", "states", "tilt", "active", "limit", "cursor"]);
    let is_query = |parameter: &Parameter| matches!(parameter.parameter_in, ParameterIn::Query);
    assert!(parameters.iter().all(is_query));
    let direction = serde_json::to_value(&parameters[0]).unwrap();
    assert_eq!(direction["schema"]["enum"], json!(["up", "down"]));
    let limit = serde_json::to_value(&parameters[4]).unwrap();
    assert_eq!((&limit["required"], &limit["schema"]["default"]), (&json!(false), &json!(50)));
    assert_eq!((&limit["schema"]["minimum"], &limit["schema"]["maximum"]), (&json!(1), &json!(200)));
}

#[test]
fn a_flattened_member_may_be_required() {
    let error = CallRequest::from_json(&json!({ "retries": 1, "reason": null })).unwrap_err();
    assert_eq!(failures(&error), [("missing", "body.reason".to_owned(), "is required")]);
    let schema = serde_json::to_value(CallRequest::schema()).unwrap();
    assert_eq!(schema["required"], json!(["retries", "reason"]));
    assert_eq!(schema["properties"]["reason"]["type"], "string");
    let read = CallRequest::from_json(&json!({ "retries": 1, "reason": "drill", "number": 112 })).map(Call::from);
    let audit = Audit { reason: Some("drill".to_owned()), retries: 1 };
    assert_eq!(read, Ok(Call { audit, number: Some(112) }));
}

proptest! {
    #[test]
    fn a_number_is_read_exactly_within_its_range(speed: i64) {
        let read = Route::from_json(&with("speed", speed.into()));
        prop_assert_eq!(read.is_ok(), (1..=60).contains(&speed));
        let text = speed.to_string();
        let read = PageQuery::from_query(&query(&[("limit", &text)]));
        prop_assert_eq!(read.is_ok(), (1..=200).contains(&speed));
    }

    #[test]
    fn a_text_is_read_exactly_within_its_length(text: String) {
        let read = Route::from_json(&with("type", text.as_str().into()));
        prop_assert_eq!(read.is_ok(), (1..=5).contains(&text.chars().count()) && !text.contains('\0'));
    }

    #[test]
    fn no_query_is_refused_without_a_place(pairs in prop::collection::vec(("limit|tilt|x", "[0-9.a-]{0,3}"), 0..6)) {
        if let Err(rejection) = RouteQuery::from_query(&pairs) {
            prop_assert!(rejection.fields.iter().all(|field| field.loc.len() == 2));
        }
    }
}
