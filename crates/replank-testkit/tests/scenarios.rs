//! One file of `scenarios/`, one story: what Replank does, compared with what it is expected to do.

use std::process::ExitCode;

fn main() -> ExitCode {
    replank_testkit::scenario::main()
}
