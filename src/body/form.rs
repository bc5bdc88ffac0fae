//! Bodies of `multipart/form-data` (RFC 7578): a file and texts, read as the JSON body that says the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use serde_json::{Map, Value};

/// Which parts of a form are not texts.
#[derive(Debug, Clone, Copy)]
pub struct FormFields {
    /// Parts whose bytes are passed on as base64.
    pub files: &'static [&'static str],
    /// Parts that are numbers.
    pub numbers: &'static [&'static str],
}

/// Most parts of a form.
const MAX_PARTS: usize = 32;
/// Most bytes of the head of a part.
const MAX_HEAD: usize = 4_096;
/// Longest boundary (RFC 2046, section 5.1.1).
const MAX_BOUNDARY: usize = 70;

/// Returns the boundary of a content type; `None` if it is not that of a form, or has none.
pub fn boundary(content_type: &str) -> Option<&str> {
    let (essence, parameters) = content_type.split_once(';')?;
    if !essence.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let named =
        |parameter: &str| parameter.split('=').next().unwrap_or_default().trim().eq_ignore_ascii_case("boundary");
    let (_, value) = parameters.split(';').find(|parameter| named(parameter))?.split_once('=')?;
    let value = value.trim().trim_matches('"');
    (1..=MAX_BOUNDARY).contains(&value.len()).then_some(value)
}

/// Reads a form as a JSON object.
///
/// # Errors
/// What is wrong with its structure.
pub fn to_json(body: &[u8], boundary: &str, fields: &FormFields) -> Result<Value, String> {
    let mut object = Map::new();
    for (name, content) in parts(body, boundary)? {
        let value = if fields.files.contains(&name.as_str()) {
            Value::String(file(content))
        } else {
            let text = std::str::from_utf8(content).map_err(|_| format!("the part `{name}` is not UTF-8"))?;
            let number = || serde_json::from_str::<serde_json::Number>(text.trim()).ok().map(Value::Number);
            let number = if fields.numbers.contains(&name.as_str()) { number() } else { None };
            number.unwrap_or_else(|| text.into())
        };
        if object.contains_key(&name) {
            return Err(format!("the part `{name}` is there twice"));
        }
        object.insert(name, value);
    }
    Ok(Value::Object(object))
}

/// A file as base64. A part that holds a URL, a data URL or base64 itself is left as it is: forms of browsers send texts
/// so.
fn file(content: &[u8]) -> String {
    let is_link = |text: &&str| {
        let start = text.trim_start().get(..8).unwrap_or_default().to_ascii_lowercase();
        ["http://", "https://", "data:"].iter().any(|scheme| start.starts_with(scheme))
    };
    match std::str::from_utf8(content).ok().filter(is_link) {
        Some(link) => link.to_owned(),
        None => STANDARD.encode(content),
    }
}

/// The parts by name, with their content.
fn parts<'a>(body: &'a [u8], boundary: &str) -> Result<Vec<(String, &'a [u8])>, String> {
    let opening = format!("--{boundary}");
    let delimiter = format!("\r\n--{boundary}");
    let begins = "the form does not begin with its boundary".to_owned();
    let mut rest = match body.strip_prefix(opening.as_bytes()) {
        Some(rest) => rest,
        // A preamble is passed over.
        None => after(body, delimiter.as_bytes()).ok_or(begins)?,
    };
    let finder = memmem::Finder::new(delimiter.as_bytes());
    let mut parts = Vec::new();
    loop {
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        if parts.len() == MAX_PARTS {
            return Err(format!("the form has more than {MAX_PARTS} parts"));
        }
        let head_begins = after(rest, b"\r\n").ok_or("a boundary is not followed by a line end")?;
        // A part without any header begins with the empty line.
        let (head, content) = match head_begins.strip_prefix(b"\r\n") {
            Some(content) => (&[][..], content),
            None => {
                let window = head_begins.get(..MAX_HEAD).unwrap_or(head_begins);
                let end = memmem::find(window, b"\r\n\r\n").ok_or("the head of a part has no end")?;
                (window.get(..end).unwrap_or_default(), head_begins.get(end + 4..).unwrap_or_default())
            }
        };
        let end = finder.find(content).ok_or("the form is cut off: its last boundary is missing")?;
        let name = name(head).ok_or("a part has no name: send Content-Disposition: form-data; name=\"…\"")?;
        parts.push((name, content.get(..end).unwrap_or_default()));
        rest = content.get(end + delimiter.len()..).unwrap_or_default();
    }
}

fn after<'a>(bytes: &'a [u8], what: &[u8]) -> Option<&'a [u8]> {
    let at = memmem::find(bytes, what)?;
    bytes.get(at + what.len()..)
}

/// The name of a part.
fn name(head: &[u8]) -> Option<String> {
    let head = std::str::from_utf8(head).ok()?;
    let line = head
        .split("\r\n")
        .find(|line| line.get(..20).is_some_and(|start| start.eq_ignore_ascii_case("content-disposition:")))?;
    line.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case("name").then(|| value.trim().trim_matches('"').to_owned())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const FIELDS: FormFields = FormFields { files: &["image"], numbers: &["min_score"] };

    fn read(body: &str) -> Result<Value, String> {
        to_json(body.as_bytes(), "AaB03x", &FIELDS)
    }

    #[test]
    fn boundaries_are_read_as_rfc_2046_writes_them() {
        assert_eq!(boundary("multipart/form-data; boundary=AaB03x"), Some("AaB03x"));
        assert_eq!(boundary("Multipart/Form-Data;charset=utf-8; Boundary=\"a b\""), Some("a b"));
        assert_eq!(boundary("multipart/mixed; boundary=x"), None);
        assert_eq!(boundary("multipart/form-data"), None);
        assert_eq!(boundary(&format!("multipart/form-data; boundary={}", "x".repeat(71))), None);
    }

    #[test]
    fn files_are_base64_numbers_numbers_and_the_rest_texts() {
        let form = "--AaB03x\r\nContent-Disposition: form-data; name=\"task\"\r\n\r\ndetect\r\n\
            --AaB03x\r\ncontent-disposition: form-data; name=\"min_score\"\r\n\r\n0.5\r\n\
            --AaB03x\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\n42\r\n\
            --AaB03x\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\nfoo\r\n\r\nbar\r\n\
            --AaB03x--\r\n";
        let expected =
            json!({ "task": "detect", "min_score": 0.5, "question": "42", "image": STANDARD.encode("foo\r\n\r\nbar") });
        assert_eq!(read(form), Ok(expected));
        let link =
            "--AaB03x\r\nContent-Disposition: form-data; name=image\r\n\r\nhttps://example.org/a.png\r\n--AaB03x--";
        assert_eq!(read(link), Ok(json!({ "image": "https://example.org/a.png" })));
    }

    #[test]
    fn a_broken_form_says_what_is_wrong() {
        for (form, why) in [
            ("", "does not begin"),
            ("--AaB03x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb", "cut off"),
            ("--AaB03x\r\n\r\nb\r\n--AaB03x--", "has no name"),
            ("--AaB03x\r\nContent-Disposition: form-data; name=\"a\"", "has no end"),
            (
                "--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\n2\r\n--AaB03x--",
                "twice",
            ),
        ] {
            let refused = read(form).unwrap_err();
            assert!(refused.contains(why), "{form}: {refused}");
        }
        let many = "--AaB03x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n".repeat(33);
        assert!(read(&format!("{many}--AaB03x--")).unwrap_err().contains("more than 32"));
    }

    proptest! {
        #[test]
        fn any_bytes_give_an_object_or_an_error(parts in proptest::collection::vec("(--AaB03x|\r\n|--|name=a|Content-Disposition: form-data; |x|\"){0,6}", 0..8)) {
            if let Ok(value) = read(&parts.concat()) {
                prop_assert!(value.is_object());
            }
        }
    }
}
