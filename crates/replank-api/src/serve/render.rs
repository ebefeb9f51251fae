//! Answers in the encoding that was agreed on.

use std::sync::Arc;

use hyper::header::{HeaderValue, RETRY_AFTER};
use replank_apiserver::ApiError;
use serde_json::Value;

use crate::answer::{self, Answer};
use crate::mirror::Stored;
use crate::read::{self, Encode, Listed, Shaped, ShapedWatch};
use crate::route::Target;
use crate::wire::{self, Accepted, Encoding, Media, Shape};

/// Writes answers in the encoding that was agreed on.
#[derive(Clone, Debug)]
pub(super) struct Renderer {
    accepted: Accepted,
    shaped: Shaped,
}

impl Renderer {
    pub(super) fn new(accepted: Accepted, shaped: Shaped) -> Self {
        Self { accepted, shaped }
    }

    /// A refusal.
    pub(super) fn refusal(&self, error: &ApiError) -> Answer {
        refusal(error, self.accepted.status)
    }

    /// An object, or a Status with its advice to wait.
    pub(super) fn value(&self, code: u16, target: &Target, value: Value) -> Answer {
        if value.get("kind").and_then(Value::as_str) == Some("Status") {
            return status(code, &value, self.accepted.status);
        }
        match self.shaped.object(target, value) {
            Ok(value) => written(code, &value, self.accepted.media),
            Err(error) => self.refusal(&error),
        }
    }

    /// An object that is stored.
    pub(super) fn stored(&self, code: u16, target: &Target, stored: &Stored) -> Answer {
        let media = self.accepted.media;
        match (media.encoding, media.shape) {
            (Encoding::Json | Encoding::Protobuf, Shape::Object) if target.older.is_some() => {
                written(code, &read::value(target, stored), media)
            }
            (Encoding::Json, Shape::Object) if !media.is_pretty => {
                answer::whole(code, answer::JSON, read::json::object(target, stored))
            }
            (Encoding::Protobuf, Shape::Object) => {
                answer::whole(code, media.encoding.media_type(), read::proto::object(target, stored))
            }
            (Encoding::Json | Encoding::Yaml, _) | (Encoding::Protobuf, _) => {
                self.value(code, target, read::value(target, stored))
            }
        }
    }

    /// A list.
    pub(super) async fn list(&self, target: &Target, listed: &Listed) -> Answer {
        let media = self.accepted.media;
        match (media.encoding, media.shape) {
            (Encoding::Json | Encoding::Protobuf, Shape::Object) if target.older.is_some() => {
                written(200, &read::list_value(target, listed), media)
            }
            (Encoding::Json, Shape::Object) if !media.is_pretty => {
                answer::pieces(200, answer::JSON, read::json::list(target, listed).await)
            }
            (Encoding::Protobuf, Shape::Object) => {
                answer::whole(200, media.encoding.media_type(), read::proto::list(target, listed).await)
            }
            (Encoding::Json | Encoding::Yaml, _) | (Encoding::Protobuf, _) => {
                if media.encoding == Encoding::Json
                    && !media.is_pretty
                    && let Some(pieces) = self.shaped.pieces(target, listed).await
                {
                    return answer::pieces(200, answer::JSON, pieces);
                }
                match self.shaped.list(target, listed) {
                    Ok(value) => written(200, &value, media),
                    Err(error) => self.refusal(&error),
                }
            }
        }
    }

    /// How a watch is written, and its media type.
    pub(super) fn watch(&self, target: &Target) -> (Arc<dyn Encode>, &'static str) {
        let Media { encoding, shape, .. } = self.accepted.media;
        if target.older.is_some() && shape == Shape::Object {
            return (Arc::new(read::Converted), Encoding::Json.stream_type());
        }
        let encode: Arc<dyn Encode> = match (encoding, shape) {
            (Encoding::Json | Encoding::Yaml, Shape::Object) => Arc::new(read::Json),
            (Encoding::Protobuf, Shape::Object) => Arc::new(read::Protobuf),
            (encoding, Shape::Table(_) | Shape::Metadata(_) | Shape::MetadataList(_)) => {
                Arc::new(ShapedWatch::new(self.shaped.clone(), encoding))
            }
        };
        (encode, encoding.stream_type())
    }

    /// Whether an answer is JSON as the cache has it.
    pub(super) fn is_cached_json(&self) -> bool {
        let media = self.accepted.media;
        media.encoding == Encoding::Json && media.shape == Shape::Object && !media.is_pretty
    }
}

/// A refusal, in an encoding or as indented JSON.
pub(super) fn refusal(error: &ApiError, media: Option<Media>) -> Answer {
    status(error.code, &error.to_status(), media)
}

fn status(code: u16, value: &Value, media: Option<Media>) -> Answer {
    let indented = Media { encoding: Encoding::Json, shape: Shape::Object, is_pretty: true };
    let mut answer = written(code, value, media.unwrap_or(indented));
    let wait = value.pointer("/details/retryAfterSeconds").and_then(Value::as_i64);
    if let Some(seconds) = wait {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

fn written(code: u16, value: &Value, media: Media) -> Answer {
    match media.encoding {
        Encoding::Json if media.is_pretty => answer::whole(code, answer::JSON, format!("{value:#}")),
        Encoding::Json => answer::json(code, value),
        Encoding::Yaml => answer::whole(code, media.encoding.media_type(), wire::yaml(value)),
        Encoding::Protobuf => match wire::proto(value) {
            Some(bytes) => answer::whole(code, media.encoding.media_type(), bytes),
            None => answer::json(code, value),
        },
    }
}
