//! Answers of paths that are no resources: laid out as upstream lays them out, with the headers that caches read.

use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, VARY};
use replank_apiserver::ApiError;
use ring::digest::{SHA512, digest};
use serde::Serialize;

use super::ask::Ask;
use crate::answer::{self, Answer, JSON, TEXT};
use crate::wire::{self, Encoding};

/// Tells browsers that the type is what it says; Go's http.Error sets it.
const NOSNIFF: HeaderName = HeaderName::from_static("x-content-type-options");

/// What a client takes of what can be written.
enum Form {
    Json,
    Yaml,
}

/// The first form that a client takes; the refusal where it takes none.
fn form(ask: &Ask<'_>) -> Result<Form, ApiError> {
    let mut is_shaped = false;
    for media in ask.accepts() {
        let form = match media.name.as_str() {
            "*/*" | "application/*" | "application/json" | "application/vnd.kubernetes.protobuf" => {
                Form::Json
            }
            "application/yaml" => Form::Yaml,
            _ => continue,
        };
        if media.parameter("as").is_none() {
            return Ok(form);
        }
        is_shaped = true;
    }
    let types = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
    let is_group = ask.path.trim_matches('/').split('/').count() == 2 && ask.path.starts_with("/apis/");
    // A group is written without go-restful, which looks at the types of its routes first.
    Err(match is_shaped || is_group {
        true => ApiError::not_acceptable(&format!("only the following media types are accepted: {types}")),
        false => {
            let why = format!("406: Not Acceptable\n\nAvailable representations: {types}");
            ApiError::unrouted(406, "NotAcceptable", &why)
        }
    })
}

/// A refusal in the form that a client takes.
pub(crate) fn refusal(ask: &Ask<'_>, error: &ApiError) -> Answer {
    match form(ask) {
        Ok(Form::Yaml) => {
            answer::whole(error.code, Encoding::Yaml.media_type(), wire::yaml(&error.to_status()))
        }
        Ok(Form::Json) | Err(_) => answer::refusal(error),
    }
}

/// An answer in the form that a client takes: JSON in the order of the fields of what is written, or YAML.
pub(crate) fn json(ask: &Ask<'_>, value: &impl Serialize) -> Answer {
    match form(ask) {
        Ok(Form::Json) => {}
        Ok(Form::Yaml) => {
            let value = serde_json::to_value(value).unwrap_or_default();
            return answer::whole(200, Encoding::Yaml.media_type(), wire::yaml(&value));
        }
        Err(error) => return answer::refusal(&error),
    }
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
