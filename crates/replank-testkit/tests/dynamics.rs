//! What the simulated control plane does, against what a real one was recorded to do.

use std::process::ExitCode;

use replank_testkit::dynamics::report::{self, Floor};

/// Percent of the scenarios of a group that must pass.
const FLOORS: &[Floor] = &[
    Floor { group: "cronjob", percent: 0 },
    Floor { group: "daemonset", percent: 0 },
    Floor { group: "deployment", percent: 0 },
    Floor { group: "endpointslice", percent: 0 },
    Floor { group: "gc", percent: 0 },
    Floor { group: "hpa", percent: 0 },
    Floor { group: "job", percent: 0 },
    Floor { group: "namespace", percent: 0 },
    Floor { group: "node", percent: 0 },
    Floor { group: "pdb", percent: 0 },
    Floor { group: "preemption", percent: 0 },
    Floor { group: "statefulset", percent: 0 },
];

fn main() -> ExitCode {
    report::main(FLOORS, Some(replank_testkit::requests::run))
}
