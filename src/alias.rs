//! Alternative paths of interface B: clients use a base URL with `/v1`, without it, or `/openai/v1`.

use actix_web::dev::ServiceRequest;
use actix_web::http::Uri;
use actix_web::http::uri::PathAndQuery;

/// First path segments that interface B serves under `/v1`.
const SERVED: [&str; 7] = ["/chat/completions", "/embeddings", "/images", "/messages", "/models", "/responses", "/v1"];

/// Returns the path under `/v1` of an alternative path, or `None` if the path is not one.
fn canonical(path: &str) -> Option<String> {
    let served = |path: &str| {
        SERVED
            .iter()
            .any(|prefix| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    let inner = path.strip_prefix("/openai").filter(|rest| served(rest)).unwrap_or(path);
    if inner.starts_with("/v1") {
        return (inner != path).then(|| inner.to_owned());
    }
    served(inner).then(|| format!("/v1{inner}"))
}

/// Rewrites the path of a request to the one that routes, dialects and metrics use.
pub fn resolve(request: &mut ServiceRequest) {
    let Some(path) = canonical(request.path()) else { return };
    let uri = request.uri();
    let target = uri.query().map_or_else(|| path.clone(), |query| format!("{path}?{query}"));
    let Ok(target) = PathAndQuery::try_from(target) else { return };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(target);
    if let Ok(uri) = Uri::from_parts(parts) {
        request.match_info_mut().get_mut().update(&uri);
        request.head_mut().uri = uri;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alias_has_one_canonical_path() {
        for (alias, address) in [
            ("/chat/completions", "/v1/chat/completions"),
            ("/openai/v1/chat/completions", "/v1/chat/completions"),
            ("/openai/chat/completions", "/v1/chat/completions"),
            ("/models", "/v1/models"),
            ("/models/a/b", "/v1/models/a/b"),
            ("/openai/v1/models", "/v1/models"),
            ("/embeddings", "/v1/embeddings"),
            ("/responses", "/v1/responses"),
            ("/images/generate", "/v1/images/generate"),
            ("/openai/v1/images/generations", "/v1/images/generations"),
            ("/messages/count_tokens", "/v1/messages/count_tokens"),
        ] {
            assert_eq!(canonical(alias).as_deref(), Some(address), "{alias}");
        }
    }

    #[test]
    fn other_paths_are_unchanged() {
        for path in ["/v1/models", "/api/models", "/", "/openai", "/openai/v2/models", "/modelsx", "/metrics", "/v1"] {
            assert_eq!(canonical(path), None, "{path}");
        }
    }
}
