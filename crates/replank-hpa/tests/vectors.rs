//! The horizontal pod autoscaler against what that of Kubernetes 1.36.2 itself did.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

mod vectors {
    pub(crate) mod hpa;
    mod recorded;
}

use std::process::ExitCode;

use replank_oracle::recordings::{self, Coverage, Kind};

fn main() -> ExitCode {
    recordings::main("replank-hpa", |kind| match kind {
        Kind::Scheduler(_) => Coverage::NotHere("replank-schedule"),
        Kind::Hpa => Coverage::Checked(vectors::hpa::check),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-model")
        }
    })
}
