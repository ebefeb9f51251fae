//! What pods of one origin have in common.

use replank_facts::workload;
use replank_model::object::meta::OwnerReference;
use replank_model::object::pod::Pod;
use replank_model::text::{Namespace, Text};
use replank_model::view::View;

/// What pods of one origin have in common: namespace, kind and name of the workload that a person would name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Namespace.
    pub namespace: Namespace,
    /// Kind: Deployment, StatefulSet, CronJob, Workflow…
    pub kind: Text,
    /// Name.
    pub name: Text,
}

impl From<workload::Workload> for Workload {
    fn from(workload: workload::Workload) -> Self {
        let workload::Workload { kind, key } = workload;
        Self { namespace: key.namespace, kind, name: key.name.text().clone() }
    }
}

/// See [`workload::series_of`].
#[must_use]
pub fn series_of(view: &View, pod: &Pod) -> Option<Workload> {
    workload::series_of(view, pod).map(Workload::from)
}

pub(super) fn top_of(
    namespace: &Namespace,
    kind: &str,
    name: &str,
    above: Option<&OwnerReference>,
) -> Workload {
    match above {
        Some(above) => Workload {
            namespace: namespace.clone(),
            kind: above.kind.clone(),
            name: above.name.text().clone(),
        },
        None => Workload { namespace: namespace.clone(), kind: Text::from(kind), name: Text::from(name) },
    }
}
