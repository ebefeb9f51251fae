//! Events of `events.k8s.io`: what `v1` requires of a new one (`pkg/apis/core/validation/events.go`).

use super::{Hold, Note, Work};
use crate::table::Gvk;
use crate::tree::Tree;

/// What says who saw it first under the old API; `v1` refuses it in what is written.
const DEPRECATED: [&str; 4] =
    ["deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"];

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    for key in ["action", "reason", "reportingController", "reportingInstance", "eventTime"] {
        if object.get(key).and_then(Tree::as_text).is_none() {
            return Err(Hold::Absent { path: key.to_owned(), why: "v1 requires it of every event" });
        }
    }
    match object.text_at(&["type"]) {
        Some("Normal" | "Warning") => {}
        Some(says) => {
            let needed = "v1 allows only Normal and Warning";
            return Err(Hold::NoCounterpart { path: "type".to_owned(), says: says.to_owned(), needed });
        }
        None => {
            return Err(Hold::Absent { path: "type".to_owned(), why: "v1 requires Normal or Warning" });
        }
    }
    for key in DEPRECATED {
        if object.take(key).is_some() {
            work.note(Note::Dropped { path: key.to_owned(), why: "v1 does not accept it from clients" });
        }
    }
    if let Some(series) = object.get_mut("series")
        && series.take("state").is_some()
    {
        work.note(Note::Dropped { path: "series.state".to_owned(), why: "it is not used" });
    }
    Ok(())
}
