//! Entries that are not English are found by text.

use serde_json::json;

use super::world::{found, key, put, search, server, store};

#[tokio::test]
async fn entries_of_many_languages_are_found_by_text() {
    let muster = server();
    let client = key(&muster).await;
    for (name, value) in [
        ("de", "Die Feuerwehr hat die gefährdeten Häuser am Flussufer rechtzeitig geräumt."),
        ("ru", "Спасатели вовремя эвакуировали жителей затопленных домов на берегу реки."),
        ("zh", "消防队及时疏散了河岸边被洪水淹没的房屋里的居民。"),
        ("ar", "أخلت فرق الإطفاء المنازل المهددة على ضفة النهر في الوقت المناسب."),
        ("fr", "Les pompiers ont évacué à temps les maisons menacées au bord de la rivière."),
        ("ja", "消防隊は川岸の浸水した家屋から住民を避難させました。"),
        ("en", "The fire brigade cleared the houses on the river bank in time."),
    ] {
        put(&client, name, value).await;
    }
    for (q, name) in [
        ("Feuerwehr", "de"),
        ("Haus am Flussufer geräumt", "de"),
        ("HÄUSER", "de"),
        ("спасатели", "ru"),
        ("эвакуировали жителей", "ru"),
        ("затопленные дома", "ru"),
        ("洪水", "zh"),
        ("疏散居民", "zh"),
        ("الإطفاء", "ar"),
        ("المنازل المهددة", "ar"),
        ("maison menacée", "fr"),
        ("避難", "ja"),
        ("houses river", "en"),
    ] {
        assert_eq!(found(&client, q).await.first().map(String::as_str), Some(name), "{q}");
    }
}

#[tokio::test]
async fn an_explicit_language_is_used() {
    let muster = server();
    let client = key(&muster).await;
    store(&client, &json!({ "key": "k", "value": "Häuser", "language": "de" })).await;
    assert_eq!(found(&client, "Häuser").await, ["k"]);
    let wrong = client.post(super::world::STORE, &json!({ "key": "k", "value": "v", "language": "klingon" })).await;
    assert_eq!(super::world::places(&wrong), ["body.language"]);
}

#[tokio::test]
async fn text_that_is_written_in_two_ways_is_one_text() {
    let muster = server();
    let client = key(&muster).await;
    // Composed and decomposed forms of the same letters (Unicode, UAX #15).
    put(&client, "k", "caf\u{e9} na\u{ef}ve").await;
    assert_eq!(found(&client, "cafe\u{301}").await, ["k"]);
    let hit = search(&client, &[("q", "nai\u{308}ve")]).await;
    assert_eq!(hit["results"][0]["key"], "k");
}
