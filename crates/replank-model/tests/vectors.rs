//! The value types against what Kubernetes 1.36.2's own code answered (apimachinery, called directly).
//!
//! Each check rebuilds a case's whole line with our answers and compares it field by field, so that no recorded field
//! goes unseen. `REPLANK_VECTORS` names another directory of recordings.

mod vectors {
    pub(crate) mod intstr;
    pub(crate) mod labelselector;
    pub(crate) mod quantity;
    pub(crate) mod validation;
    pub(crate) mod version;
}

use std::process::ExitCode;

use replank_oracle::recordings::{self, Coverage, Kind};

fn main() -> ExitCode {
    recordings::main("replank-model", |kind| match kind {
        Kind::Quantity => Coverage::Checked(vectors::quantity::check),
        Kind::IntStr => Coverage::Checked(vectors::intstr::check),
        Kind::LabelSelector => Coverage::Checked(vectors::labelselector::check),
        Kind::Version => Coverage::Checked(vectors::version::check),
        Kind::Validation => Coverage::Checked(vectors::validation::check),
        Kind::Hpa | Kind::Scheduler(_) => Coverage::NotHere("not of this crate"),
    })
}
