//! Ports of the host.
//!
//! Sources (Kubernetes 1.36): `GetHostPorts` in `pkg/scheduler/util/utils.go`, `HostPortInfo` in kube-scheduler
//! `framework/types.go`.

use replank_model::object::pod::{Container, ContainerPort, PodSpec, RestartPolicy};
use replank_model::text::Text;

/// The address that stands for all addresses.
const ANY: &str = "0.0.0.0";

/// One port of the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Port {
    pub(super) address: Text,
    pub(super) protocol: Text,
    pub(super) number: i32,
}

impl Port {
    fn of(port: &ContainerPort) -> Self {
        let or =
            |text: &Text, default: &str| if text.is_empty() { Text::from(default) } else { text.clone() };
        Self { address: or(&port.host_ip, ANY), protocol: or(&port.protocol, "TCP"), number: port.host_port }
    }

    /// Whether both cannot be had at once on one node.
    pub(super) fn conflicts(&self, other: &Self) -> bool {
        self.number == other.number
            && self.protocol == other.protocol
            && (self.address == other.address || &*self.address == ANY || &*other.address == ANY)
    }
}

/// The ports of the host that a pod takes for as long as it runs.
pub(super) fn of(spec: &PodSpec) -> Box<[Port]> {
    let stays = |container: &&Container| container.restart_policy == Some(RestartPolicy::Always);
    let containers = spec.init_containers.iter().filter(stays).chain(&spec.containers);
    containers
        .flat_map(|container| &container.ports)
        .filter(|port| port.host_port > 0)
        .map(Port::of)
        .collect()
}
