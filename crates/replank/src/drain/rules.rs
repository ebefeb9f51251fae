//! The RBAC rules that a verb needs: what a preflight asks for, and what `replank rbac` prints.

use replank_live::Rule;

/// What a person does on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum RbacVerb {
    /// `replank snapshot`, and every command that reads a live cluster.
    Snapshot,
    /// `replank cordon`
    Cordon,
    /// `replank uncordon`
    Uncordon,
    /// `replank drain`
    Drain,
    /// `replank drain --disable-eviction`
    DrainDisableEviction,
    /// `replank drain --singletons surge`
    DrainSurge,
}

const fn rule(group: &'static str, resource: &'static str, verbs: &'static [&'static str]) -> Rule {
    Rule { group, resource, verbs }
}

const SEE: &[&str] = &["list", "watch"];
const READ: &[&str] = &["get", "list", "watch"];

/// Reads of nodes and what is written on them.
const NODES: [Rule; 1] = [rule("", "nodes", &["get", "list", "watch", "patch"])];
const PODS: [Rule; 3] =
    [rule("", "pods", READ), rule("apps", "daemonsets", SEE), rule("policy", "poddisruptionbudgets", SEE)];
const EVICTIONS: [Rule; 1] = [rule("", "pods/eviction", &["create"])];
const DELETIONS: [Rule; 1] = [rule("", "pods", &["delete"])];
const SURGE: [Rule; 8] = [
    rule("apps", "deployments", &["get", "list", "watch", "patch"]),
    rule("apps", "replicasets", SEE),
    rule("apps", "statefulsets", SEE),
    rule("", "replicationcontrollers", SEE),
    rule("", "persistentvolumeclaims", SEE),
    rule("", "persistentvolumes", SEE),
    rule("storage.k8s.io", "storageclasses", SEE),
    rule("scheduling.k8s.io", "priorityclasses", SEE),
];
const NAMESPACES: [Rule; 1] = [rule("", "namespaces", SEE)];

/// Whether a verb changes something.
fn is_write(verb: &&'static str) -> bool {
    matches!(*verb, "create" | "delete" | "patch")
}

impl RbacVerb {
    /// Its rules.
    pub(crate) fn rules(self) -> Vec<Rule> {
        match self {
            Self::Snapshot => replank_live::snapshot_rules(),
            Self::Cordon | Self::Uncordon => NODES.to_vec(),
            Self::Drain => [&NODES[..], &PODS, &EVICTIONS].concat(),
            Self::DrainDisableEviction => [&NODES[..], &PODS, &DELETIONS].concat(),
            Self::DrainSurge => [&NODES[..], &PODS, &EVICTIONS, &SURGE, &NAMESPACES].concat(),
        }
    }

    /// Its rules as far as they are about reading: what a dry run of the client needs.
    pub(crate) fn reads(self) -> Vec<Rule> {
        let is_read = |rule: &Rule| !rule.verbs.iter().all(is_write);
        let reads = self.rules().into_iter().filter(is_read);
        reads
            .map(|rule| if rule.verbs.iter().any(is_write) { Rule { verbs: READ, ..rule } } else { rule })
            .collect()
    }

    /// The name of its ClusterRole.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::Snapshot => "replank-snapshot",
            Self::Cordon => "replank-cordon",
            Self::Uncordon => "replank-uncordon",
            Self::Drain => "replank-drain",
            Self::DrainDisableEviction => "replank-drain-disable-eviction",
            Self::DrainSurge => "replank-drain-surge",
        }
    }

    /// The ClusterRole, as YAML.
    pub(crate) fn manifest(self) -> String {
        let mut text = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {}\nrules:\n",
            self.role()
        );
        for rule in self.rules() {
            text += &format!(
                "- apiGroups: [{:?}]\n  resources: [{:?}]\n  verbs: [{}]\n",
                rule.group,
                rule.resource,
                rule.verbs.join(", ")
            );
        }
        text
    }
}
