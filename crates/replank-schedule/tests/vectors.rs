//! The scheduler against what that of Kubernetes 1.36.2 itself answered.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

mod vectors {
    mod recorded;
    pub(crate) mod scheduler;
}

use std::process::ExitCode;

use replank_oracle::recordings::{self, Coverage, Kind};

fn main() -> ExitCode {
    recordings::main("replank-schedule", |kind| match kind {
        Kind::Scheduler(_) => Coverage::Checked(vectors::scheduler::check),
        Kind::Hpa => Coverage::NotHere("replank-hpa"),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-model")
        }
    })
}
