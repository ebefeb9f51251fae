//! Leases that show who is alive: kubelets, and the parts of the control plane.
//!
//! Upstream renews each of them every few seconds, for ever. Here they are renewed when somebody looks, so that a cluster that nobody looks at writes
//! nothing.

use replank_model::object::meta::Key;
use replank_model::time::{MicroTime, Span, Time};
use replank_sim::World;
use serde_json::{Value, json};

use crate::controllers::edit;

const GROUP: &str = "coordination.k8s.io";
/// Where kubelets have theirs.
const OF_NODES: &str = "kube-node-lease";
const OF_CONTROL_PLANE: &str = "kube-system";
/// How often a kubelet renews its lease (`nodeLeaseDurationSeconds` of 40, a quarter of it).
const KUBELET: Lasts = Lasts { seconds: 40, renewed: Span::from_secs(10) };
/// How often who leads says so (`--leader-elect-lease-duration`, `--leader-elect-retry-period`).
const LEADER: Lasts = Lasts { seconds: 15, renewed: Span::from_secs(2) };
/// An API server's (pkg/controlplane `IdentityLeaseDurationSeconds`, `IdentityLeaseRenewIntervalPeriod`).
const API_SERVER: Lasts = Lasts { seconds: 3_600, renewed: Span::from_secs(10) };

/// How long a lease lasts, and how often it is renewed.
#[derive(Clone, Copy, Debug)]
struct Lasts {
    seconds: u32,
    renewed: Span,
}

/// Renews what is due, and makes what is missing.
pub(crate) fn renew(world: &mut World) {
    let now = world.now();
    for leader in ["kube-controller-manager", "kube-scheduler"] {
        keep(world, &Key::new(OF_CONTROL_PLANE, leader), LEADER, now, || {
            let mut lease = lease((OF_CONTROL_PLANE, leader), &format!("{leader}_rehearsal"), LEADER);
            lease["spec"]["acquireTime"] = MicroTime(now).to_string().into();
            lease["spec"]["leaseTransitions"] = 0.into();
            lease
        });
    }
    let server = "apiserver-rehearsal";
    keep(world, &Key::new(OF_CONTROL_PLANE, server), API_SERVER, now, || {
        let mut lease = lease((OF_CONTROL_PLANE, server), server, API_SERVER);
        lease["metadata"]["labels"] = json!({"apiserver.kubernetes.io/identity": "kube-apiserver", "kubernetes.io/hostname": "rehearsal"});
        lease
    });
    let nodes: Vec<_> =
        world.view().nodes.sorted().iter().map(|(_, node)| (node.name(), node.meta.uid.clone())).collect();
    for (node, uid) in nodes {
        if !world.has_kubelet(&node) {
            continue;
        }
        let name = node.as_str();
        keep(world, &Key::new(OF_NODES, name), KUBELET, now, || {
            let mut lease = lease((OF_NODES, name), name, KUBELET);
            lease["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}]);
            lease
        });
    }
}

fn lease((namespace, name): (&str, &str), holder: &str, lasts: Lasts) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"namespace": namespace, "name": name},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": lasts.seconds}})
}

/// Renews a lease if it is due, or makes it.
fn keep(world: &mut World, key: &Key, lasts: Lasts, now: Time, make: impl FnOnce() -> Value) {
    world.request(|api| {
        let known = edit::read(api, GROUP, "Lease", key);
        let is_new = known.is_none();
        let mut lease = known.unwrap_or_else(make);
        let renewed = lease["spec"]["renewTime"].as_str().and_then(|text| text.parse::<Time>().ok());
        if renewed.is_some_and(|renewed| now < renewed + lasts.renewed) {
            return;
        }
        lease["spec"]["renewTime"] = MicroTime(now).to_string().into();
        match is_new {
            true => edit::create(api, lease),
            false => edit::update(api, lease),
        }
    });
}
