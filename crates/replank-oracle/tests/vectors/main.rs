//! The value types of replank-model against what Kubernetes 1.36.2's own code answered (apimachinery, called directly).
//!
//! Each check rebuilds a case's whole line with our answers and compares it field by field, so that no recorded field
//! goes unseen. `REPLANK_VECTORS` names another directory of recordings.

mod intstr;
mod labelselector;
mod objects;
mod quantity;
mod validation;
mod version;

use replank_oracle::recordings::{self, Coverage, Kind};

#[test]
fn answers_are_as_recorded() {
    recordings::check("replank-oracle", |kind| match kind {
        Kind::Quantity => Coverage::Checked(quantity::check),
        Kind::IntStr => Coverage::Checked(intstr::check),
        Kind::LabelSelector => Coverage::Checked(labelselector::check),
        Kind::Version => Coverage::Checked(version::check),
        Kind::Definition | Kind::Yaml => Coverage::NotHere("replank-lifecycle"),
        Kind::Validation => Coverage::Checked(validation::check),
        Kind::Hpa | Kind::Scheduler(_) => Coverage::NotHere("not of this crate"),
    });
}
