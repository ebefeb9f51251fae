//! Answers on the wire: bodies and headers.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use hyper::{Response, StatusCode};
use replank_apiserver::ApiError;
use serde_json::Value;
use tokio::sync::mpsc;

/// The media type of JSON.
pub const JSON: &str = "application/json";
/// The media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// A body: all at once, or as it comes.
#[derive(Debug)]
pub enum Body {
    /// All of it, until it has been taken.
    Whole(Option<Bytes>),
    /// Pieces, as they come.
    Stream(mpsc::Receiver<Bytes>),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(pieces) => {
                pieces.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// An answer on the wire.
pub type Answer = Response<Body>;

/// An answer with a body of some media type.
#[must_use]
pub fn whole(code: u16, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    with_body(code, media_type, Body::Whole(Some(body.into())))
}

/// An answer whose body comes piece by piece.
#[must_use]
pub fn stream(media_type: &'static str, pieces: mpsc::Receiver<Bytes>) -> Answer {
    with_body(200, media_type, Body::Stream(pieces))
}

fn with_body(code: u16, media_type: &'static str, body: Body) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    answer
}

/// JSON as the server writes it: one line, with its end.
#[must_use]
pub fn line(value: &Value) -> Bytes {
    let mut text = value.to_string();
    text.push('\n');
    text.into()
}

/// An answer in JSON.
#[must_use]
pub fn json(code: u16, value: &Value) -> Answer {
    whole(code, JSON, line(value))
}

/// A refusal.
#[must_use]
pub fn refusal(error: &ApiError) -> Answer {
    status(error.code, &error.to_status())
}

/// An answer in JSON that may be a Status, whose advice to wait is a header, too.
#[must_use]
pub fn status(code: u16, value: &Value) -> Answer {
    let mut answer = json(code, value);
    let wait = value.pointer("/details/retryAfterSeconds").and_then(Value::as_i64);
    if let Some(seconds) = wait {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// Adds warnings to an answer, as RFC 7234 has them.
pub fn warn(answer: &mut Answer, warnings: &[String]) {
    for warning in warnings {
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            answer.headers_mut().append(WARNING, value);
        }
    }
}
