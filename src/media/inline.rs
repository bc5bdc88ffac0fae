//! Pictures of chats that came as URLs: they are fetched here and go to providers as data.

use std::collections::BTreeMap;

use actix_web::HttpRequest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::try_join_all;
use muster_core::{Error, Kind};
use muster_media::{Recognised, recognise};
use muster_providers::{ChatRequest, Content, ContentPart, Image, ImageSource};
use serde_json::Value;

use super::fetch::MAX_BYTES;
use crate::app::App;
use crate::error::HttpError;
use crate::guard::acting;

/// Most different URLs of a chat.
const MAX_LINKS: usize = 16;

/// Replaces the URLs of pictures by the pictures.
///
/// # Errors
/// `Invalid` with the code `url_not_allowed`, `url_failed` or `image_too_large`; `Unavailable` if too many fetches wait.
pub async fn inline_pictures(app: &App, http: &HttpRequest, request: &mut ChatRequest) -> Result<(), HttpError> {
    let urls: Vec<String> = images(request).filter_map(|image| link(&image.source)).map(str::to_owned).collect();
    let mut fetched: BTreeMap<String, Option<ImageSource>> = urls.into_iter().map(|url| (url, None)).collect();
    if fetched.is_empty() {
        return Ok(());
    }
    if fetched.len() > MAX_LINKS {
        let message = format!("a chat may have at most {MAX_LINKS} pictures by URL: send the others as data");
        return Err(HttpError::new(Kind::Invalid, message));
    }
    let by = acting(http)?;
    let pictures = try_join_all(fetched.keys().map(async |url| {
        let fetched = app.media.fetcher.fetch(url, by.id()).await;
        app.metrics.media_fetch(fetched.as_ref().map_or_else(|error| error.word(), |_| "fetched"));
        fetched.map_err(|error| HttpError(error.at(&["body"])))
    }))
    .await?;
    if pictures.iter().map(Vec::len).sum::<usize>() > MAX_BYTES {
        let message = "the pictures of the chat have more than 20 MiB together: scale them down";
        return Err(HttpError(Error::new(Kind::Invalid, message).coded("image_too_large")));
    }
    for (place, picture) in fetched.values_mut().zip(pictures) {
        *place = source(&picture);
    }
    let of = |url: &str| fetched.get(url).and_then(Option::as_ref);
    replace(request, &of);
    Ok(())
}

fn link(source: &ImageSource) -> Option<&str> {
    match source {
        ImageSource::Url(url) => Some(url),
        ImageSource::Data { .. } => None,
    }
}

fn images(request: &ChatRequest) -> impl Iterator<Item = &Image> {
    request.messages.iter().flat_map(|message| message.content.images())
}

fn source(picture: &[u8]) -> Option<ImageSource> {
    let Some(Recognised::Picture(format)) = recognise(picture) else { return None };
    Some(ImageSource::Data { media_type: format.media_type().to_owned(), base64: STANDARD.encode(picture) })
}

fn replace<'a>(request: &mut ChatRequest, of: &dyn Fn(&str) -> Option<&'a ImageSource>) {
    for message in &mut request.messages {
        let Content::Parts(parts) = &mut message.content else { continue };
        for part in parts {
            if let ContentPart::Image(image) = part
                && let Some(data) = link(&image.source).and_then(of)
            {
                image.source = data.clone();
            }
        }
    }
    // The body as it was sent goes to providers with the same API, so that it must say the same.
    if let Some(sent) = &request.verbatim
        && let Ok(mut body) = serde_json::from_slice::<Value>(sent)
    {
        replace_in_body(&mut body, of);
        if let Ok(text) = serde_json::to_vec(&body) {
            request.verbatim = Some(text.into());
        }
    }
}

/// Replaces `messages[].content[].image_url.url`.
fn replace_in_body<'a>(body: &mut Value, of: &dyn Fn(&str) -> Option<&'a ImageSource>) {
    let messages = body.get_mut("messages").and_then(Value::as_array_mut).into_iter().flatten();
    let contents = messages.filter_map(|message| message.get_mut("content")?.as_array_mut());
    for part in contents.flatten() {
        let Some(url) = part.pointer_mut("/image_url/url") else { continue };
        if let Some(ImageSource::Data { media_type, base64 }) = url.as_str().and_then(of) {
            *url = format!("data:{media_type};base64,{base64}").into();
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_providers::{Message, Role};
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_of_a_chat_carry_the_picture_and_other_members_stay() {
        let url = "https://example.org/a.png";
        let part =
            ContentPart::Image(Image { source: ImageSource::Url(url.to_owned()), detail: Some("low".to_owned()) });
        let message = Message { content: Content::Parts(vec![part]), ..Message::text(Role::User, "") };
        let part = json!({ "type": "image_url", "image_url": { "url": url, "detail": "low" } });
        let body = json!({ "own": 1.5, "messages": [{ "role": "system", "content": url }, { "role": "user", "content": [part] }] });
        let verbatim = Some(serde_json::to_vec(&body).unwrap().into());
        let mut request = ChatRequest { messages: vec![message], verbatim, ..ChatRequest::default() };
        let data = source(b"\x89PNG\r\n\x1a\n").unwrap();
        replace(&mut request, &|asked| (asked == url).then_some(&data));
        assert!(images(&request).all(|image| link(&image.source).is_none() && image.detail.as_deref() == Some("low")));
        let sent: Value = serde_json::from_slice(request.verbatim.as_ref().unwrap()).unwrap();
        assert_eq!(sent["messages"][1]["content"][0]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
        assert_eq!((&sent["own"], &sent["messages"][0]["content"]), (&json!(1.5), &json!(url)));
    }
}
