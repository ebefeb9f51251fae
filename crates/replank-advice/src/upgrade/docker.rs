//! Pods that talk to the Docker of their node: builders of images, agents, log shippers of old.
//!
//! Dockershim went with 1.24, and EKS's machine images of 1.24 and later run containerd alone ("Amazon EKS ended support for
//! Dockershim"): there is no socket any more. A mount without a type makes an empty directory of that name, with type Socket
//! the pod does not start (core/v1 HostPathType).

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::object::workload::{DaemonSet, Deployment, StatefulSet};
use replank_model::text::Text;
use replank_model::view::View;

use super::minor::Minor;
use replank_facts::groups::{GroupBy, group_of};

/// First version whose kubelets do not speak to Docker.
pub const GONE_SINCE: Minor = Minor(24);

/// Where its socket has been, and that of dockershim.
const SOCKETS: [&str; 4] =
    ["/var/run/docker.sock", "/run/docker.sock", "/var/run/dockershim.sock", "/run/dockershim.sock"];

/// What the name of a runtime begins with (`status.nodeInfo.containerRuntimeVersion`).
const DOCKER: &str = "docker://";

/// Workloads, and pods of nobody, that mount the socket, with the path, if nodes of a group have a Docker (or may have: not all
/// of them say what they run). In whichever group their pods are now, the next ones may land there.
#[must_use]
pub fn users(view: &View, group: &Text, by: &GroupBy) -> Vec<(&'static str, Key, String)> {
    let mut found: BTreeMap<(&'static str, Key), String> = BTreeMap::new();
    let nodes: Vec<&Node> = view
        .nodes
        .unordered()
        .map(|(_, node)| &**node)
        .filter(|node| group_of(node, by).is_some_and(|of| *of.text() == *group))
        .collect();
    // Where all of them run something else already, nobody talks to it.
    let has_other = |node: &&Node| {
        let runtime = &node.status.node_info.container_runtime_version;
        !runtime.is_empty() && !runtime.starts_with(DOCKER)
    };
    if !nodes.is_empty() && nodes.iter().all(has_other) {
        return Vec::new();
    }
    let mut look = |kind: &'static str, key: Key, spec: &PodSpec| {
        if let Some(path) = socket(spec) {
            found.insert((kind, key), path.to_owned());
        }
    };
    for (_, one) in view.table::<Deployment>().sorted() {
        look("Deployment", one.meta.key(), &one.spec.template.spec);
    }
    for (_, one) in view.table::<StatefulSet>().sorted() {
        look("StatefulSet", one.meta.key(), &one.spec.template.spec);
    }
    for (_, one) in view.table::<DaemonSet>().sorted() {
        look("DaemonSet", one.meta.key(), &one.spec.template.spec);
    }
    for (_, pod) in view.table::<Pod>().sorted() {
        if pod.meta.controller().is_none() {
            look("Pod", pod.meta.key(), &pod.spec);
        }
    }
    found.into_iter().map(|((kind, key), path)| (kind, key, path)).collect()
}

fn socket(spec: &PodSpec) -> Option<&str> {
    let paths = spec.volumes.iter().filter_map(|volume| volume.source.host_path.as_ref());
    paths.map(|host| &*host.path).find(|path| SOCKETS.contains(&path.trim_end_matches('/')))
}
