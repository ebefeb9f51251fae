//! One file of `scenarios/scale/`, one story of the autoscaler: what it decides, compared with what it is expected to decide.

use std::process::ExitCode;

fn main() -> ExitCode {
    replank_testkit::scale::main()
}
