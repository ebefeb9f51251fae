//! Which instances can be protected from scale-in.

use replank_model::object::cloud::{Instance, Lifecycle};

/// Whether Auto Scaling changes the protection of an instance: of one that is on its way in or out it does not.
pub(super) fn can_change(instance: &Instance) -> bool {
    match instance.lifecycle {
        Lifecycle::InService | Lifecycle::Standby => instance.state.is_alive(),
        Lifecycle::Pending
        | Lifecycle::PendingWait
        | Lifecycle::PendingProceed
        | Lifecycle::Terminating
        | Lifecycle::TerminatingWait
        | Lifecycle::TerminatingProceed
        | Lifecycle::Terminated
        | Lifecycle::Detached
        | Lifecycle::Warmed => false,
    }
}
