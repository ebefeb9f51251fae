//! Pod Security Standards: what the levels `baseline` and `restricted` allow of a pod, in upstream's words (k8s.io/pod-security-admission).
//!
//! Knows nothing but pods as JSON and labels of namespaces; the server asks it where admission does.

mod baseline;
mod level;
mod registry;
mod restricted;
mod words;

pub(crate) use level::{LevelVersion, Policy};
pub(crate) use registry::violations;
pub(crate) use words::{detail, reason};
