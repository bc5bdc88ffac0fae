//! The languages of interface A.

use actix_web::web;
use muster_media::languages::{Language, by_code};
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::error::sets::{CallErrors, InterfaceA};
use crate::guard::{Guarded, ModelsA};
use crate::media::translate::{Way, ways};

/// A way to translate to or from English.
#[derive(Debug, Serialize, ToSchema)]
pub struct LanguageWay {
    /// `neural`, `model` or `rules`.
    pub method: &'static str,
    /// Whether its translations were measured as drafts only.
    pub draft: bool,
}

/// A language that requests may name.
#[derive(Debug, Serialize, ToSchema)]
pub struct LanguageA {
    /// ISO 639-1 code.
    pub code: &'static str,
    /// English name.
    pub name: &'static str,
    /// Name in the language itself.
    pub native: &'static str,
    /// ISO 15924 code of its script.
    pub script: &'static str,
    /// Whether it is written from right to left.
    pub rtl: bool,
    /// Whether a text in it is recognised without `from`.
    pub detected: bool,
    /// Whether names of things are translated to and from it by the dictionary, in any pair.
    pub dictionary: bool,
    /// How it is translated to English at present, in the order in which it is tried; empty: not at all.
    pub to_english: Vec<LanguageWay>,
    /// How it is translated from English at present, in the order in which it is tried; empty: not at all.
    pub from_english: Vec<LanguageWay>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LanguageListA {
    /// Always true.
    pub success: bool,
    pub languages: Vec<LanguageA>,
    /// Number of languages with a way to and from English, English included.
    pub translated: usize,
    /// RFC 3339, UTC.
    pub timestamp: String,
}

/// List languages
///
/// Returns the 84 languages that requests may name, and how each is translated to and from English at present. Pairs of two
/// other languages go through English where no engine knows them.
#[utoipa::path(get, path = "/api/languages", tag = "interface A", operation_id = "list_languages",
    responses((status = 200, description = "The languages", body = LanguageListA), CallErrors<InterfaceA>))]
pub async fn list(_: Guarded<ModelsA>, app: web::Data<App>) -> web::Json<LanguageListA> {
    let translators = app.translators.clone();
    let dictionary = web::block({
        let translators = translators.clone();
        move || muster_media::languages::languages().iter().map(|language| translators.names(&language.code)).collect()
    });
    let dictionary: Vec<bool> = dictionary.await.unwrap_or_default();
    let ways = ways(&translators, &app.live()).await;
    let detected = translators.detects();
    let translated = ways.iter().filter(|(_, to, from)| !to.is_empty() && !from.is_empty()).count();
    let described = ways.into_iter().zip(dictionary.into_iter().chain(std::iter::repeat(false)));
    let described = described.filter_map(|((code, to, from), names)| {
        let language: &'static Language = by_code(code)?;
        Some(LanguageA {
            code,
            name: &language.english,
            native: &language.native,
            script: &language.script,
            rtl: language.rtl,
            detected,
            dictionary: names,
            to_english: listed(&to),
            from_english: listed(&from),
        })
    });
    let languages: Vec<LanguageA> = described.collect();
    let translated = if translated == 0 { 0 } else { translated + 1 };
    web::Json(LanguageListA { success: true, languages, translated, timestamp: app.clock.now().rfc3339() })
}

fn listed(ways: &[Way]) -> Vec<LanguageWay> {
    ways.iter().map(|way| LanguageWay { method: way.engine.name(), draft: way.draft }).collect()
}
