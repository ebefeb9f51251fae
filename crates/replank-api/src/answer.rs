//! Answers on the wire: bodies and headers.

use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use hyper::body::{Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY, WARNING};
use hyper::{Response, StatusCode};
use replank_apiserver::ApiError;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::wire;

/// The media type of JSON.
pub const JSON: &str = "application/json";
/// The media type of plain text.
pub const TEXT: &str = "text/plain; charset=utf-8";

/// A body: all at once, or as it comes.
#[derive(Debug)]
pub enum Body {
    /// All of it, until it has been taken.
    Whole(Option<Bytes>),
    /// Pieces that are there, and how many bytes they are together.
    Pieces(std::vec::IntoIter<Bytes>, u64),
    /// Pieces, as they come.
    Stream(mpsc::Receiver<Bytes>),
    /// The same, and something that is kept until the last has been sent.
    Lasting(mpsc::Receiver<Bytes>, Box<dyn Any + Send + Sync>),
}

impl Body {
    /// Keeps something until the body has been sent, where that takes as long as somebody listens.
    #[must_use]
    pub fn keeping(self, kept: impl Any + Send + Sync) -> Self {
        match self {
            Self::Stream(pieces) => Self::Lasting(pieces, Box::new(kept)),
            Self::Lasting(pieces, before) => Self::Lasting(pieces, Box::new((before, kept))),
            Self::Whole(_) | Self::Pieces(..) => self,
        }
    }
}

/// Small pieces are handed on together, about so many bytes at once: as much as a few TLS records hold.
const CHUNK_LEN: usize = 64 * 1024;

/// The next few pieces as one.
fn chunk(pieces: &mut std::vec::IntoIter<Bytes>, left: &mut u64) -> Option<Bytes> {
    let first = pieces.next()?;
    if first.len() >= CHUNK_LEN {
        *left -= first.len() as u64;
        return Some(first);
    }
    let mut chunk = BytesMut::with_capacity(CHUNK_LEN);
    chunk.put_slice(&first);
    while let Some(next) = pieces.as_slice().first().filter(|next| chunk.len() + next.len() <= CHUNK_LEN) {
        chunk.put_slice(next);
        pieces.next();
    }
    *left -= chunk.len() as u64;
    Some(chunk.freeze())
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
            Self::Pieces(pieces, left) => {
                Poll::Ready(chunk(pieces, left).map(|bytes| Ok(Frame::data(bytes))))
            }
            Self::Stream(pieces) | Self::Lasting(pieces, _) => {
                pieces.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.is_none(),
            Self::Pieces(_, left) => *left == 0,
            Self::Stream(_) | Self::Lasting(..) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Pieces(_, left) => SizeHint::with_exact(*left),
            Self::Stream(_) | Self::Lasting(..) => SizeHint::default(),
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

/// An answer whose body is put together from pieces.
#[must_use]
pub fn pieces(code: u16, media_type: &'static str, pieces: Vec<Bytes>) -> Answer {
    let len = pieces.iter().map(|piece| piece.len() as u64).sum();
    with_body(code, media_type, Body::Pieces(pieces.into_iter(), len))
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

/// An answer in gzip, if it is long enough and all there.
pub(crate) async fn compressed(mut answer: Answer) -> Answer {
    if answer.headers().contains_key(CONTENT_ENCODING) {
        return answer;
    }
    let taken = std::mem::replace(answer.body_mut(), Body::Whole(None));
    let pieces: Vec<Bytes> = match taken {
        Body::Whole(Some(bytes)) if bytes.len() as u64 > wire::GZIP_THRESHOLD => vec![bytes],
        Body::Pieces(pieces, length) if length > wire::GZIP_THRESHOLD => pieces.collect(),
        short @ (Body::Whole(_) | Body::Pieces(..) | Body::Stream(_) | Body::Lasting(..)) => {
            *answer.body_mut() = short;
            return answer;
        }
    };
    // It takes a while: others are answered meanwhile.
    let work = tokio::task::spawn_blocking(move || (wire::compress(&pieces), pieces));
    let Ok((compressed, pieces)) = work.await else { return answer };
    *answer.body_mut() = match compressed {
        Some(bytes) => {
            let headers = answer.headers_mut();
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
            Body::Whole(Some(bytes))
        }
        None => {
            let length = pieces.iter().map(|piece| piece.len() as u64).sum();
            Body::Pieces(pieces.into_iter(), length)
        }
    };
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

/// Adds a warning before those that are there.
pub fn warn_first(answer: &mut Answer, warning: &[String]) {
    let headers = answer.headers_mut();
    let others: Vec<HeaderValue> = headers.get_all(WARNING).iter().cloned().collect();
    headers.remove(WARNING);
    warn(answer, warning);
    for other in others {
        answer.headers_mut().append(WARNING, other);
    }
}
