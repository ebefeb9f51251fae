//! The scheduler against what that of Kubernetes 1.36.2 itself answered.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

mod differential;
mod recorded;
mod scheduler;

use replank_oracle::recordings::{self, Coverage, Kind};

#[test]
fn answers_are_as_recorded() {
    recordings::check("replank-schedule", |kind| match kind {
        Kind::Definition | Kind::Yaml => Coverage::NotHere("replank-lifecycle"),
        Kind::Scheduler(_) => Coverage::Checked(scheduler::check),
        Kind::Hpa => Coverage::NotHere("replank-hpa"),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-oracle")
        }
    });
}
