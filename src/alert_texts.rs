//! Texts of an alert in requests: of its publication, of its change, and of the verbs that end it.

use muster_core::Millis;
use muster_network::incident::AlertTexts;
use muster_request::Request;

/// Texts of a CAP message. What is left out follows from the incident or from the words for the occasion.
#[derive(Debug, Default, Request)]
#[request(schema = AlertTexts, example = { "headline": "All clear for the lower town" })]
pub struct TextsBody {
    /// Language of the texts, such as `de-DE`; that of the alert by default, `en-US` for the first message.
    language: Option<String>,
    audience: Option<String>,
    /// Headline, 1 to 200 characters.
    headline: Option<String>,
    description: Option<String>,
    instruction: Option<String>,
    /// End of validity, RFC 3339.
    #[request(schema = String)]
    expires: Option<Millis>,
    /// Address of further information, `https://…`.
    web: Option<String>,
    contact: Option<String>,
}

impl From<TextsBody> for AlertTexts {
    fn from(body: TextsBody) -> Self {
        let TextsBody { language, audience, headline, description, instruction, expires, web, contact } = body;
        Self {
            language,
            audience: audience.map(Some),
            headline,
            description: description.map(Some),
            instruction: instruction.map(Some),
            expires,
            web: web.map(Some),
            contact: contact.map(Some),
        }
    }
}
