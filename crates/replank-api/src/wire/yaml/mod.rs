//! YAML, both ways, as sigs.k8s.io/yaml has it: what a scalar means is decided where snapshots are read, too.

mod read;
mod write;

pub(super) use read::read;
pub(crate) use write::write;
