//! What the autoscaler would do.

use replank_core::scale::{Down, Groups, Up};
use replank_facts::coverage::Coverage;
use replank_model::time::Time;
use replank_model::view::View;

/// What would be done now.
#[derive(Debug)]
pub(crate) struct Simulated {
    /// What was read, in a few words.
    pub(crate) name: String,
    /// When it was.
    pub(crate) now: Time,
    /// Where the settings come from.
    pub(crate) settings: String,
    /// The cluster.
    pub(crate) view: View,
    /// Its groups.
    pub(crate) groups: Groups,
    /// What is added.
    pub(crate) up: Up,
    /// What is taken away.
    pub(crate) down: Down,
    /// What of the cluster could be seen.
    pub(crate) coverage: Coverage,
}
