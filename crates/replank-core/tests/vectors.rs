//! The scheduler and the horizontal pod autoscaler against what those of Kubernetes 1.36.2 themselves answered and did.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

mod vectors {
    pub(crate) mod hpa;
    mod recorded;
    pub(crate) mod scheduler;
}

use std::process::ExitCode;

use replank_testkit::recordings::{self, Coverage, Kind};

fn main() -> ExitCode {
    recordings::main("replank-core", |kind| match kind {
        Kind::Scheduler(_) => Coverage::Checked(vectors::scheduler::check),
        Kind::Hpa => Coverage::Checked(vectors::hpa::check),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-model")
        }
    })
}
