//! The horizontal pod autoscaler against what that of Kubernetes 1.36.2 itself did.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

mod hpa;
mod recorded;

use replank_oracle::recordings::{self, Coverage, Kind};

#[test]
fn answers_are_as_recorded() {
    recordings::check("replank-hpa", |kind| match kind {
        Kind::Definition | Kind::Yaml => Coverage::NotHere("replank-lifecycle"),
        Kind::Scheduler(_) => Coverage::NotHere("replank-schedule"),
        Kind::Hpa => Coverage::Checked(hpa::check),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-oracle")
        }
    });
}
