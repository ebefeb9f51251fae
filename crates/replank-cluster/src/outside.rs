//! Kubelets that clients run: of the nodes that clients make.
//!
//! A Node object is no machine. One that comes over the wire has no simulated kubelet, as it has none in a real cluster: it becomes Ready, and its pods run,
//! when a client says so, and it is lost when nothing is heard of it. Signs of life are a renewed Lease and another status.

use replank_model::object::Object;
use replank_model::text::NodeName;
use replank_model::view::Change;

/// Namespace of the leases that kubelets renew.
const LEASES: &str = "kube-node-lease";

/// What a client's write says of a kubelet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// A node was made.
    Made(NodeName),
    /// Its kubelet is alive.
    Heard(NodeName),
}

/// What changes that a client has made say of kubelets.
pub(crate) fn signs(changes: &[Change]) -> Vec<Sign> {
    changes.iter().filter_map(sign).collect()
}

fn sign(change: &Change) -> Option<Sign> {
    let Change::Object { old, new, .. } = change else { return None };
    match (old, new.as_ref()?) {
        (None, Object::Node(node)) => Some(Sign::Made(node.name())),
        (Some(Object::Node(old)), Object::Node(node)) if old.status != node.status => {
            Some(Sign::Heard(node.name()))
        }
        (_, Object::Other(lease)) if &*lease.kind == "Lease" && lease.meta.namespace.as_str() == LEASES => {
            Some(Sign::Heard(NodeName::from(lease.meta.name.text().clone())))
        }
        _ => None,
    }
}
