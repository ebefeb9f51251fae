//! How results write spans.

use replank_model::time::Span;
use serde::Serializer;

/// A span as whole milliseconds.
pub(crate) fn millis<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_i64(span.as_millis())
}
