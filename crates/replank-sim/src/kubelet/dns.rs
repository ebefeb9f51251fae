//! What becomes of pods that start on a node where no name is resolved.
//!
//! Nothing is resolved in a rehearsal, so it is assumed that every pod looks a name up when its containers start. What it does then is read off its spec: one with
//! a readiness probe waits, and the probe tells; one without ends, for else nobody would learn of it. CoreDNS ends, as its plugin `loop` has it where the node's
//! resolver leads back to it (coredns.io/plugins/loop). What runs has resolved what it needs.

use replank_model::object::pod::Pod;
use replank_model::time::Span;

/// After two attempts of five seconds each (resolv.conf(5): `timeout`, `attempts`).
pub(super) const GIVES_UP: Span = Span::from_secs(10);

/// Whether a pod waits for the name that it looks up; else it ends.
pub(super) fn is_waited_for(pod: &Pod) -> bool {
    let is_coredns = pod.meta.labels.value("k8s-app") == Some("kube-dns");
    !is_coredns && pod.spec.containers.iter().any(|container| container.readiness_probe.is_some())
}
