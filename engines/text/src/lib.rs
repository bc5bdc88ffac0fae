//! Engines of the family text. Text & language: q167 to q186.

#![warn(missing_docs)]

mod alert_compose;
mod cap_alert;
mod citation_format;
mod entity_extract;
mod geoparse;
mod html_extract;
mod keyword_extract;
mod language_detect;
mod message_triage;
mod near_duplicate;
mod plain_language;
mod readability;
mod regex_extract;
mod sentiment;
mod string_similarity;
mod support;
mod template_render;
mod text_diff;
mod text_normalise;
mod text_statistics;
mod topic_cluster;

muster_engine::family!(
    "text";
    167 language_detect,
    168 readability,
    169 keyword_extract,
    170 sentiment,
    171 string_similarity,
    172 near_duplicate,
    173 text_diff,
    174 entity_extract,
    175 geoparse,
    176 regex_extract,
    177 text_normalise,
    178 plain_language,
    179 text_statistics,
    180 topic_cluster,
    181 message_triage,
    182 cap_alert,
    183 alert_compose,
    184 html_extract,
    185 template_render,
    186 citation_format,
);
