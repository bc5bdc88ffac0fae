//! Scenes that are supplied as JSON.

use crate::sketch::{MAX_DRAWN, Quality, Scene, SceneError, Size, SketchError};

use super::SKETCHER;

fn scene(json: &str) -> Scene {
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_scene_in_json_is_drawn_with_emoji_and_names_alike() {
    let by_name = scene(r#"{"setting":"beach","figures":[{"picture":"elephant","count":2,"colour":"blue"}]}"#);
    let by_emoji = scene(r#"{"setting":"beach","figures":[{"picture":"🐘","count":2,"colour":"blue"}]}"#);
    let draw = |scene| SKETCHER.render(scene, Size::Square, Quality::Standard, 1).unwrap();
    let drawing = draw(&by_name);
    assert_eq!(drawing.png, draw(&by_emoji).png);
    assert_eq!(
        drawing.revised_prompt,
        "Flat illustration: 2 × blue elephant; setting: beach; time: day; weather: clear."
    );
}

#[test]
fn a_scene_beyond_its_bounds_is_refused() {
    let crowd = format!(r#"{{"figures":[{}]}}"#, [r#"{"picture":"🐘","count":9}"#; 5].join(","));
    let long = format!(r#"{{"figures":[{}]}}"#, [r#"{"picture":"🐘"}"#; 17].join(","));
    let cases = [
        (crowd.as_str(), SceneError::Drawn(45)),
        (long.as_str(), SceneError::Figures(17)),
        (r#"{"figures":[{"picture":"🐘","count":0}]}"#, SceneError::Count { figure: 0, count: 0 }),
        (
            r#"{"figures":[{"picture":"zebra crossing"}]}"#,
            SceneError::Picture { figure: 0, picture: "zebra crossing".to_owned() },
        ),
        (r#"{"figures":[{"picture":"🇧🇷"}]}"#, SceneError::Picture { figure: 0, picture: "🇧🇷".to_owned() }),
        (r#"{"figures":[{"picture":"🐘","relation":{"place":"on","to":0}}]}"#, SceneError::Relation(0)),
        (r#"{"figures":[{"picture":"🐘","relation":{"place":"on","to":3}}]}"#, SceneError::Relation(0)),
    ];
    assert_eq!(MAX_DRAWN, 40);
    for (json, expected) in cases {
        match SKETCHER.render(&scene(json), Size::Square, Quality::Standard, 1) {
            Err(SketchError::Scene(error)) => assert_eq!(error, expected),
            other => panic!("{json}: {other:?}"),
        }
    }
}

#[test]
fn unknown_fields_and_words_are_refused() {
    for json in [
        r#"{"figurs":[]}"#,
        r#"{"setting":"mars"}"#,
        r#"{"figures":[{"picture":"🐘","size":3}]}"#,
        r#"{"figures":[{"picture":"🐘","count":-1}]}"#,
    ] {
        assert!(serde_json::from_str::<Scene>(json).is_err(), "{json}");
    }
}

#[test]
fn the_schema_names_the_words_that_the_form_reads() {
    let schema = Scene::schema();
    let settings = schema.pointer("/properties/setting/enum").unwrap().as_array().unwrap();
    for setting in settings {
        let scene = serde_json::json!({ "setting": setting });
        assert!(serde_json::from_value::<Scene>(scene).is_ok(), "{setting}");
    }
    assert_eq!(settings.len(), 12);
}
