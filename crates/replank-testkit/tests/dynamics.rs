//! What the simulated control plane does, against what a real one was recorded to do. Every scenario and every request must pass.

use std::process::ExitCode;

use replank_testkit::dynamics::report;

fn main() -> ExitCode {
    report::main(Some(replank_testkit::requests::run))
}
