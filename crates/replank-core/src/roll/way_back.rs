//! When a halt is followed by a way back.

use replank_facts::plan::OnFailure;
use replank_protocol::mark::Halt;

/// Whether what the run has done is taken back.
pub(crate) fn goes_back(why: Halt, on_failure: OnFailure) -> bool {
    match why {
        Halt::Undone => true,
        Halt::Cancelled => false,
        Halt::Hopeless | Halt::Stalled { .. } | Halt::Deadline | Halt::Unhealthy(_) => {
            on_failure == OnFailure::Rollback
        }
    }
}
