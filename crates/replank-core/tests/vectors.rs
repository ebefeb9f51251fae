//! The scheduler against what kube-scheduler 1.36.2 itself answered.
//!
//! `REPLANK_VECTORS` names another directory of recordings.

mod vectors {
    pub(crate) mod scheduler;
}

use std::process::ExitCode;

use replank_testkit::recordings::{self, Coverage, Kind};

fn main() -> ExitCode {
    recordings::main("replank-core", |kind| match kind {
        Kind::Scheduler(_) => Coverage::Checked(vectors::scheduler::check),
        Kind::Hpa => Coverage::NotHere("not yet covered"),
        Kind::Quantity | Kind::IntStr | Kind::LabelSelector | Kind::Version | Kind::Validation => {
            Coverage::NotHere("replank-model")
        }
    })
}
