//! Answers of paths that are no resources: laid out as upstream lays them out, with the headers that caches read.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, VARY};
use ring::digest::{SHA512, digest};
use serde::Serialize;

use super::ask::Ask;
use crate::answer::{self, Answer, JSON, TEXT};

/// Tells browsers that the type is what it says; Go's http.Error sets it.
const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// An answer in JSON, in the order of the fields of what is written.
pub(crate) fn json(ask: &Ask<'_>, value: &impl Serialize) -> Answer {
    if ask.is_for_people() {
        return laid_out(value);
    }
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    answer::whole(200, JSON, text)
}

/// An answer in JSON that is laid out for people, whoever asks.
pub(crate) fn laid_out(value: &impl Serialize) -> Answer {
    answer::whole(200, JSON, serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Plain text, as Go's http.Error writes it.
pub(crate) fn text(code: u16, words: impl Into<String>) -> Answer {
    let mut answer = answer::whole(code, TEXT, words.into());
    answer.headers_mut().insert(NOSNIFF, HeaderValue::from_static("nosniff"));
    answer
}

/// A path that leads nowhere.
pub(crate) fn not_found() -> Answer {
    text(404, "404 page not found\n")
}

/// The tag of a body: SHA-512 in capital hexadecimal digits.
pub(crate) fn tag(body: &[u8]) -> String {
    let hash = digest(&SHA512, body);
    hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect()
}

/// A header, where its text can be one.
pub(crate) fn set(answer: &mut Answer, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        answer.headers_mut().insert(name, value);
    }
}

/// An answer that a client may keep until its tag changes; none of it where the client has it.
pub(crate) fn tagged(
    ask: &Ask<'_>,
    media_type: &'static str,
    tag: &str,
    cache: &'static str,
    body: bytes::Bytes,
) -> Answer {
    let quoted = format!("\"{tag}\"");
    let mut answer = match ask.has_tag(&quoted) {
        true => {
            let mut answer = answer::whole(304, media_type, bytes::Bytes::new());
            answer.headers_mut().remove(CONTENT_TYPE);
            answer
        }
        false => answer::whole(200, media_type, body),
    };
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    answer.headers_mut().insert(VARY, HeaderValue::from_static("Accept"));
    set(&mut answer, ETAG, &quoted);
    answer
}
