//! Lines of a script, and their effect.

use replank_model::time::Time;
use replank_sim::ImageName;
use replank_sim::script::{Origin, Side};
use serde::Serialize;

/// One line of a script, and its effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ScriptEventEntry {
    /// When.
    pub at: Time,
    /// Which file says so.
    pub origin: Origin,
    /// The file's line.
    pub line: usize,
    /// Whose doing it is.
    pub side: Side,
    /// The words behind the moment.
    pub what: String,
    /// Why it had no effect, if it had none.
    pub refused: Option<String>,
}

/// An entry, and what has to be known of it at the end.
#[derive(Clone, Debug)]
pub(super) struct Happened {
    pub(super) entry: ScriptEventEntry,
    /// The image whose fault it is about.
    pub(super) image: Option<ImageName>,
    /// Whether somebody was to drain nodes.
    pub(super) is_drain: bool,
}
