use serde_json::json;

use super::super::parameter::accept;
use super::*;

fn filled(parameters: &[&str], task: &str) -> Accepted {
    let parameters: Vec<Parameter> = parameters.iter().map(|text| Parameter::parse(text).unwrap()).collect();
    let mut accepted = accept(&parameters, Value::Null);
    from_text(&parameters, &mut accepted, task, Millis::parse_rfc3339("2026-11-26T10:00:00Z"));
    accepted
}

/// With units, as the check of the catalogue gives them.
fn with_units(parameters: &[(&str, &str)], task: &str) -> Value {
    let parameters: Vec<Parameter> = parameters
        .iter()
        .map(|(text, unit)| Parameter { unit: (*unit).to_owned(), ..Parameter::parse(text).unwrap() })
        .collect();
    let mut accepted = accept(&parameters, Value::Null);
    from_text(&parameters, &mut accepted, task, Millis::parse_rfc3339("2026-11-26T10:00:00Z"));
    Value::Object(accepted.params)
}

#[test]
fn a_task_that_is_an_object_provides_its_params() {
    let accepted = filled(&["a:integer:required", "b:any:required"], r#"{"params": {"a": 3, "b": [1]}}"#);
    assert_eq!(Value::Object(accepted.params), json!({ "a": 3, "b": [1] }));
    assert!(accepted.missing.is_empty());
}

#[test]
fn a_block_labelled_with_a_name_provides_that_text() {
    let task = "Review this.\n```patch\n--- a\n+++ b\n```\nand\n```source\nfn f() {}\n```\n";
    let accepted = filled(&["patch:string:required", "source:string:required"], task);
    assert_eq!(Value::Object(accepted.params), json!({ "patch": "--- a\n+++ b\n", "source": "fn f() {}\n" }));
}

#[test]
fn the_only_block_provides_the_only_missing_text() {
    let accepted = filled(&["config:string:required"], "Check it:\n```yaml\na: 1\n```");
    assert_eq!(Value::Object(accepted.params), json!({ "config": "a: 1\n" }));
}

#[test]
fn a_block_of_json_provides_the_only_param_that_it_fits() {
    let task = "Zone:\n```json\n{\"type\":\"Point\",\"coordinates\":[8,47]}\n```";
    let accepted = filled(&["zone:geometry:required", "rows:array<number>:required"], task);
    assert_eq!(Value::Object(accepted.params), json!({ "zone": { "type": "Point", "coordinates": [8, 47] } }));
    let accepted = filled(&["a:geometry:required", "b:geometry:required"], task);
    assert_eq!(accepted.missing, ["a", "b"], "two parameters fit");
}

#[test]
fn prose_and_invalid_values_provide_nothing() {
    for task in ["Check my configuration", "{\"a\": \"three\"}", "```\n{\"a\": null}\n```", "```a\nnever closed"] {
        assert_eq!(filled(&["a:integer:required"], task).missing, ["a"], "{task}");
    }
}

#[test]
fn tables_are_read_by_their_columns() {
    let parameters = [
        "teams:array<{id=string,lat?=number,skills?=array<string>}>:required",
        "tasks:array<{id=string,priority=number}>:required",
    ];
    let task = "Teams\n\n| id | skills | lat |\n|---|---|---:|\n| T1 | dive, boat | 47.1 |\n| T2 |  | |\n\n\
                ```csv\nid,priority\na,2\nb,1.5\n```\n";
    let params = filled(&parameters, task).params;
    assert_eq!(params["teams"], json!([{ "id": "T1", "skills": ["dive", "boat"], "lat": 47.1 }, { "id": "T2" }]));
    assert_eq!(params["tasks"], json!([{ "id": "a", "priority": 2.0 }, { "id": "b", "priority": 1.5 }]));
}

#[test]
fn a_column_is_converted_to_the_unit_of_its_member() {
    let track = "track:array<{id=string,wind=number[kt]}>:required";
    let task = "| id | wind (m/s) |\n|--|--|\n| a | 50 |\n";
    assert_eq!(filled(&[track], task).params["track"], json!([{ "id": "a", "wind": 97.1922246220 }]));
    let task = "| id | wind (people) |\n|--|--|\n| a | 50 |\n";
    assert_eq!(filled(&[track], task).missing, ["track"], "a unit that does not convert");
}

#[test]
fn lists_provide_texts_documents_and_numbers() {
    let messages = "messages:array<{id=string,text=string,time?=datetime}>:required";
    let task = "Sort these:\n1. Help, water in the house\n2. Road closed\n";
    let wanted = json!([{ "id": "1", "text": "Help, water in the house" }, { "id": "2", "text": "Road closed" }]);
    assert_eq!(filled(&[messages], task).params["messages"], wanted);
    assert_eq!(filled(&["notes:array<string>:required"], "- one\n- two\n").params["notes"], json!(["one", "two"]));
    let numbers = filled(&["values:array<number>:required"], "The values: 3, 4.5, -2 and more").params;
    assert_eq!(numbers["values"], json!([3, 4.5, -2]));
    let two = filled(
        &["costs:array<number>:required", "benefits:array<number>:required"],
        "Costs: 100, 20\nBenefits: 0, 150\n",
    );
    assert_eq!(Value::Object(two.params), json!({ "costs": [100, 20], "benefits": [0, 150] }));
    let two = filled(&["costs:array<number>:required", "benefits:array<number>:required"], "We have 100, 20, 30.");
    assert_eq!(two.missing, ["costs", "benefits"], "it may be either");
}

#[test]
fn numbers_are_read_beside_the_name_and_converted() {
    for (text, wanted) in [
        ("Rainfall of 80 mm on it", json!(80)),
        ("rainfall: 3 inches", json!(76.2)),
        ("rainfall_mm = 12", json!(12)),
        ("a 50 mm rainfall", json!(50)),
        ("rainfall (mm): 7.5", json!(7.5)),
    ] {
        assert_eq!(with_units(&[("rainfall_mm:number:required", "mm")], text)["rainfall_mm"], wanted, "{text}");
    }
}

/// Each of these must provide no value.
#[test]
fn what_has_two_readings_is_not_read() {
    for text in [
        "rainfall of 80",
        "rainfall of 80 mm, later rainfall of 90 mm",
        "rainfall of 80 km",
        "rainfall over 80 mm",
        "rainfall of 20 to 80 mm",
        "80 mm of snow. The rainfall is unknown",
        "rainfall 80 mm/month",
        "no rainfall. Wind 80 mm",
        "rainfall 3,5 mm",
    ] {
        let params = with_units(&[("rainfall_mm:number:required", "mm")], text);
        assert_eq!(params, json!({}), "{text}");
    }
}

#[test]
fn the_longer_name_takes_a_value() {
    let parameters = [("time:datetime:required", ""), ("target_time:datetime:required", "")];
    let text = "time 2026-11-21 03:00 UTC, target time 2026-11-21 09:00 UTC";
    let wanted = json!({ "time": "2026-11-21T03:00:00Z", "target_time": "2026-11-21T09:00:00Z" });
    assert_eq!(with_units(&parameters, text), wanted);
    let parameters = [("height:number:required", "m"), ("breach_height_m:number:required", "m")];
    assert_eq!(with_units(&parameters, "breach height 30 m"), json!({ "breach_height_m": 30 }));
}

#[test]
fn positions_days_and_words_of_an_enum_are_read() {
    let parameters = [("site:latlon:required", "deg"), ("date:date:required", "")];
    let wanted = json!({ "site": { "lat": 47.3769, "lon": 8.5417 }, "date": "2026-11-27" });
    assert_eq!(with_units(&parameters, "At 47.3769, 8.5417 tomorrow"), wanted);
    let two = [("site_a:latlon:required", ""), ("site_b:latlon:required", "")];
    let text = "site A at 47.3769, 8.5417, site B at 46.9480, 7.4474";
    let wanted = json!({ "site_a": { "lat": 47.3769, "lon": 8.5417 }, "site_b": { "lat": 46.948, "lon": 7.4474 } });
    assert_eq!(with_units(&two, text), wanted);
    assert_eq!(with_units(&two, "at 47.3769, 8.5417"), json!({}), "it may be either");
    let sex = [("sex:enum(female|male):required", ""), ("age:number:required", "yr")];
    assert_eq!(with_units(&sex, "A 54-year-old woman"), json!({ "sex": "female", "age": 54 }));
    assert_eq!(with_units(&sex, "a man, his wife is female"), json!({}));
    let pressure = [("systolic:number:required", "mmHg"), ("diastolic:number:required", "mmHg")];
    assert_eq!(with_units(&pressure, "BP 120/80, pulse 70"), json!({ "systolic": 120, "diastolic": 80 }));
}

#[test]
fn a_parameter_with_a_default_is_read_only_where_it_is_named() {
    let parameters =
        ["path:string:\".\"", "depth:integer:3", "search:string:null", "output_format:enum(tree|json):\"tree\""];
    let params = filled(&parameters, "Map src/http/ to a depth of 5 and search for `TODO`.").params;
    assert_eq!(
        Value::Object(params),
        json!({ "path": "src/http/", "depth": 5, "search": "TODO", "output_format": "tree" })
    );
    let params = filled(&parameters, "Map it; 5 people look at json and/or trees.").params;
    assert_eq!(Value::Object(params), json!({ "path": ".", "depth": 3, "search": null, "output_format": "tree" }));
}

#[test]
fn the_value_before_a_name_counts_where_that_after_it_is_of_another_kind() {
    let people = [("occupants:integer:required", "")];
    assert_eq!(with_units(&people, "A gym for 350 occupants, 31 °C"), json!({ "occupants": 350 }));
    let days = [("people:integer:required", ""), ("days:integer:7", "d")];
    assert_eq!(with_units(&days, "410 people for 10 days"), json!({ "people": 410, "days": 10 }));
    let climate = ["climate:enum(warm|cold|temperate):\"temperate\""];
    assert_eq!(filled(&climate, "They stay in a cold climate.").params["climate"], "cold");
    assert_eq!(filled(&climate, "It is not a cold country.").params["climate"], "temperate");
}

#[test]
fn a_position_is_a_point_where_a_shape_is_asked_for() {
    let point = json!({ "type": "Point", "coordinates": [9.7, 46.1] });
    assert_eq!(filled(&["zone:geometry:required"], "The dam at 46.1000, 9.7000 fails").params["zone"], point);
    let two = ["zone:geometry:required", "site:latlon:required"];
    assert_eq!(filled(&two, "At 46.1000, 9.7000").missing, ["zone"], "a position is rather a position");
}

#[test]
fn columns_of_numbers_are_a_map_where_a_record_has_one() {
    let options = "options:array<{id=string,values=map<number>}>:required";
    let criteria = "criteria:array<{id=string,weight?=number,benefit=boolean}>:required";
    let task = "| id | km | hours |\n|---|---|---|\n| north | 120 | 4 |\n| coast | 180 | |\n\nCriteria\n\n\
                | id | weight | benefit |\n|---|---|---|\n| km | 0.4 | no |\n| hours | 0.6 | no |\n";
    let params = filled(&[options, criteria], task).params;
    let wanted = json!([{ "id": "north", "values": { "km": 120.0, "hours": 4.0 } }, { "id": "coast", "values": { "km": 180.0 } }]);
    assert_eq!(params["options"], wanted);
    assert_eq!(params["criteria"][1], json!({ "id": "hours", "weight": 0.6, "benefit": false }));
    assert_eq!(filled(&[options], "| id | name |\n|---|---|\n| a | x |\n").missing, ["options"], "no numbers");
}

#[test]
fn a_unit_in_brackets_stands_before_a_list() {
    let residuals = ["residuals:array<number>:[]"];
    assert_eq!(filled(&residuals, "Residuals (mg/L): 0.4, 0.1, 0.5").params["residuals"], json!([0.4, 0.1, 0.5]));
    assert_eq!(filled(&residuals, "Numbers (mg/L): 0.4, 0.1, 0.5").params["residuals"], json!([]));
}

#[test]
fn hostile_texts_end_soon() {
    let parameters =
        ["a:number:required", "b:array<{id=string,text=string}>:required", "c:date:required", "a_b:string:null"];
    for text in [
        "a ".repeat(200_000),
        "| a |\n|---|\n".repeat(50_000),
        "- a\n".repeat(100_000),
        "```\n".repeat(100_000),
        "a: 1, ".repeat(60_000),
        "1,".repeat(300_000),
        "é".repeat(300_000),
    ] {
        filled(&parameters, &text);
    }
}

/// A parameter with the words of a catalogue.
fn said(parameter: &str, words: &[&str], task: &str) -> Value {
    let mut parameter = Parameter::parse(parameter).unwrap();
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    parameter.add_words(&words).unwrap();
    let name = parameter.name.clone();
    let parameters = [parameter];
    let mut accepted = accept(&parameters, Value::Null);
    let found = from_text(&parameters, &mut accepted, task, None);
    if found.is_empty() { Value::Null } else { accepted.params.remove(&name).unwrap_or_default() }
}

#[test]
fn phrases_give_booleans_where_a_sentence_states_or_denies_them() {
    let diabetes = |task| said("diabetes:boolean:false", &["true=diabetes", "true=diabetic"], task);
    for (task, wanted) in [
        ("A diabetic man of 61.", json!(true)),
        ("Hypertension and diabetes since 2010.", json!(true)),
        ("He does not smoke and has diabetes.", json!(true)),
        ("No diabetes.", json!(false)),
        ("She denies fever, cough or diabetes.", json!(false)),
        ("Diabetes: no", json!(false)),
        ("No fever, diabetes since 2010.", Value::Null),
        ("No fever, no cough, diabetes since 2010.", json!(true)),
        ("He is at risk of diabetes.", Value::Null),
        ("His father had diabetes.", Value::Null),
        ("Is it diabetes?", Value::Null),
        ("If diabetes is found, call.", Value::Null),
        ("He is diabetic. No diabetes in the notes.", Value::Null),
        ("A man with a prediabetes clinic visit.", Value::Null),
    ] {
        assert_eq!(diabetes(task), wanted, "{task}");
    }
    let oxygen = |task| said("oxygen:boolean:false", &["true=on oxygen", "false=room air"], task);
    assert_eq!(oxygen("SpO2 91 % on room air"), json!(false));
    assert_eq!(oxygen("on oxygen, 2 L"), json!(true));
}

#[test]
fn phrases_give_words_of_an_enum_numbers_and_maps() {
    let state = |task| said("consciousness:enum(A|C|V):\"A\"", &["C=new confusion", "V=responds to voice"], task);
    assert_eq!(state("She has new confusion."), json!("C"));
    assert_eq!(state("No new confusion."), Value::Null, "a denied phrase names no other word");
    let ecg = |task| said("ecg:integer:null", &["0=normal ecg", "2=st depression"], task);
    assert_eq!(ecg("Normal ECG at 10:00"), json!(0));
    assert_eq!(ecg("normal ECG first, then ST depression"), Value::Null, "two values");
    let ais = |task| said("ais:map<integer>:{}", &["head=head", "chest=chest"], task);
    assert_eq!(ais("AIS head 4, chest 3"), json!({ "head": 4, "chest": 3 }));
    assert_eq!(ais("Pain in the chest and head"), Value::Null);
    let wells = |task| {
        said(
            "criteria:map<boolean>:{}",
            &["immobilised=bed rest", "malignancy=cancer", "haemoptysis=haemoptysis"],
            task,
        )
    };
    assert_eq!(
        wells("Bed rest after surgery; no haemoptysis or cancer"),
        json!({ "immobilised": true, "haemoptysis": false, "malignancy": false })
    );
    let nodule =
        |task| said("features:map<any>:{}", &["diameter_mm=nodule#", "spiculated=spiculated", "age=aged#"], task);
    assert_eq!(
        nodule("A 1.5 cm nodule, spiculated, in a woman aged 65"),
        json!({ "diameter_mm": 15, "spiculated": true, "age": 65 })
    );
    assert_eq!(
        nodule("No cancer, an 18 mm nodule, spiculated 3 times in the notes"),
        json!({ "diameter_mm": 18, "spiculated": true }),
        "a denial ends where another thing begins, and a number is not what is stated"
    );
    assert_eq!(nodule("A nodule."), Value::Null, "a number is needed");
    let signs = |task| {
        let words = ["eyes:sunken=sunken eyes", "thirst:eager=drinks eagerly", "thirst:unable=unable to drink"];
        said("signs:{eyes=enum(normal|sunken),thirst=enum(eager|unable)}:null", &words, task)
    };
    assert_eq!(signs("Sunken eyes, drinks eagerly"), json!({ "eyes": "sunken", "thirst": "eager" }));
    assert_eq!(signs("Sunken eyes, not unable to drink"), Value::Null, "a record lacks a member");
}

#[test]
fn phrases_that_say_no_value_of_the_parameter_are_mistakes() {
    let mut parameter = Parameter::parse("sex:enum(female|male):required").unwrap();
    assert!(parameter.add_words(&["woman=woman".to_owned()]).unwrap_err().contains("not a value"));
}

/// Conversion factors of the AMA Manual of Style, 11th edition, 17.5: creatinine 88.4, bilirubin 17.1, glucose 0.0555,
/// cholesterol 0.0259, urea nitrogen 0.357.
#[test]
fn amounts_of_an_analyte_are_converted_to_its_mass() {
    for (parameter, unit, task, wanted) in [
        ("creatinine", "mg/dL", "creatinine 88.4 µmol/L", 1.0),
        ("baseline_creatinine", "mg/dL", "baseline creatinine 88.4 µmol/L", 1.0),
        ("bilirubin", "mg/dL", "bilirubin 17.1 µmol/L", 1.0),
        ("glucose", "mg/dL", "glucose 5.55 mmol/L", 100.0),
        ("total_cholesterol", "mg/dL", "total cholesterol 5.18 mmol/L", 200.0),
        ("bun", "mg/dL", "BUN 7.14 mmol/L", 20.0),
        ("urea", "mmol/L", "urea 42 mg/dL", 6.993),
    ] {
        let found = with_units(&[(&format!("{parameter}:number:required"), unit)], task);
        let found = found[parameter].as_f64().unwrap_or_else(|| panic!("{task}"));
        assert!((found - wanted).abs() <= 0.002 * wanted, "{task}: {found}");
    }
    assert_eq!(with_units(&[("sodium:number:required", "mg/dL")], "sodium 140 mmol/L"), json!({}), "no molar mass");
    assert_eq!(with_units(&[("wbc:number:required", "1e9/L")], "WBC 14.2 x10^9/L"), json!({ "wbc": 14.2 }));
}

#[test]
fn texts_that_show_what_they_are_need_no_line_of_their_own() {
    let digest = "615c46b39130a04a08da04163542ce7ce1164fa4b35408efb43aac0a8a9f7ae5";
    let task = format!("Check it. SHA-256: {digest}. Cron: 0 4 * * 1-5, please.");
    assert_eq!(said("expected_sha256:string:null", &["sha-256"], &task), json!(digest));
    assert_eq!(said("deadline_cron:string:null", &[], &task), json!("0 4 * * 1-5"));
    assert_eq!(said("timezone:string:\"UTC\"", &[], "Each night, timezone Europe/Rome."), json!("Europe/Rome"));
    for task in ["Call 1 2 3 4 5", "1 2 3 * 5 6", "Rate: 3 * 4"] {
        assert_eq!(said("deadline_cron:string:null", &[], task), Value::Null, "{task}");
    }
    let found = with_units(&[("payload_bytes:integer:20", "bytes")], "We send payload bytes 51 bytes");
    assert_eq!(found["payload_bytes"], 51);
    let mut payload = Parameter::parse("payload_bytes:integer:20").unwrap();
    payload.unit = "bytes".to_owned();
    payload.add_words(&["payload".to_owned()]).unwrap();
    let parameters = [payload];
    let mut accepted = accept(&parameters, Value::Null);
    from_text(&parameters, &mut accepted, "A payload of 51 bytes, 3 times an hour", None);
    assert_eq!(accepted.params["payload_bytes"], 51);
}

#[test]
fn a_table_or_list_is_taken_for_a_parameter_with_a_default_only_under_its_name() {
    let parameters = ["demand:array<{id=string,weight=number}>:required", "roads:array<{from=string,to=string}>:null"];
    let demand = "Demand\n\n```csv\nid,weight\na,2\n```\n";
    let roads = "```csv\nfrom,to\na,b\n```\n";
    let wanted = json!({ "demand": [{ "id": "a", "weight": 2.0 }], "roads": [{ "from": "a", "to": "b" }] });
    let params = filled(&parameters, &format!("{demand}\nRoads:\n\n{roads}")).params;
    assert_eq!(Value::Object(params), wanted);
    assert_eq!(filled(&parameters, &format!("{demand}\nStreets:\n\n{roads}")).params["roads"], Value::Null);
    let lines = ["lines:array<string>:[]"];
    assert_eq!(filled(&lines, "What is new?\n\nLines:\n```log\na b\nc\n```\n").params["lines"], json!(["a b", "c"]));
    assert_eq!(filled(&lines, "What is new?\n\nLines:\n- a\n- c\n").params["lines"], json!(["a", "c"]));
    assert_eq!(filled(&lines, "What is new?\n\n```log\na b\nc\n```\n").params["lines"], json!([]));
}

#[test]
fn a_percentage_is_a_share_where_one_is_wanted() {
    let rate = |most: Option<f64>, task: &str| {
        let mut parameter = Parameter::parse("discount_rate:number:0.04").unwrap();
        parameter.range.most = most;
        let parameters = [parameter];
        let mut accepted = accept(&parameters, Value::Null);
        from_text(&parameters, &mut accepted, task, None);
        accepted.params["discount_rate"].clone()
    };
    assert_eq!(rate(Some(1.0), "Discount rate: 7 %"), json!(0.07));
    assert_eq!(rate(Some(1.0), "Discount rate: 0.07"), json!(0.07));
    assert_eq!(rate(None, "Discount rate: 7 %"), json!(0.04), "it may be any number");
}

#[test]
fn a_text_from_the_instruction_is_without_what_other_params_took() {
    let claim = ["claim:string:\"$task\"", "sources:array<{id=string,text=string}>:required"];
    let claim: Vec<Parameter> = claim.iter().map(|text| Parameter::parse(text).unwrap()).collect();
    let task = "Bleach cures cholera.\n\nSources:\n- Never drink bleach.\n- Use rehydration solution.\n";
    assert_eq!(remainder(&claim, "claim", task), "Bleach cures cholera.");
    let task = "Bleach cures cholera.\n\n```sources\n[{\"id\": \"a\", \"text\": \"Never.\"}]\n```\nPlease check.";
    assert_eq!(remainder(&claim, "claim", task), "Bleach cures cholera.\n\nPlease check.");
    let mut to = Parameter::parse("to:string:required").unwrap();
    to.add_words(&["fr=to French".to_owned()]).unwrap();
    let parameters = [Parameter::parse("text:string:\"$task\"").unwrap(), to];
    for (task, wanted) in [
        ("Translate to French: Evacuate now. Call 112.", "Evacuate now. Call 112."),
        ("Evacuate now, he said to French tourists.", "Evacuate now, he said to French tourists."),
        ("to: fr", "to: fr"),
    ] {
        assert_eq!(remainder(&parameters, "text", task), wanted);
    }
}
