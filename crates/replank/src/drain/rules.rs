//! The RBAC rules that a verb needs: what a preflight asks for, and what `replank rbac` prints.

use replank_live::Rule;
use replank_protocol::record::NAMESPACE;

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
    /// `replank roll`
    Roll,
    /// `replank roll` of a plan with `singletons: surge`
    RollSurge,
    /// `replank handle`
    Handle,
    /// `replank autoscale`
    Autoscale,
    /// `replank handle --autoscale`
    HandleAutoscale,
    /// `replank migrate deployment/… --apply` and `--cancel`
    Migrate,
    /// `replank migrate deployment/… --to-rollout --apply`
    MigrateRollout,
    /// `replank migrate statefulset/… --apply`
    MigrateStatefulset,
    /// `replank migrate daemonset/… --apply`
    MigrateDaemonset,
    /// `replank migrate replicaset/… --apply`
    MigrateReplicaset,
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

/// What a roll writes, and reads once more where an answer is lost.
const ROLLED: [Rule; 4] = [
    rule("", "nodes", &["get", "list", "watch", "patch"]),
    rule("", "pods", READ),
    rule("", "pods/eviction", &["create"]),
    rule("karpenter.sh", "nodeclaims", &["get", "list", "watch", "delete"]),
];
/// What is written for interruptions: a pod whose budget refuses is deleted when no time is left.
const HANDLED: [Rule; 3] = [
    rule("", "nodes", &["get", "list", "watch", "patch"]),
    rule("", "pods", &["get", "list", "watch", "delete"]),
    rule("", "pods/eviction", &["create"]),
];
/// What is written when the number of nodes changes.
const SCALED: [Rule; 3] = [
    rule("", "nodes", &["get", "list", "watch", "patch"]),
    rule("", "pods", READ),
    rule("", "pods/eviction", &["create"]),
];
/// Where the expander's priorities are.
const PRIORITIES: [Rule; 1] = [rule("", "configmaps", &["get"])];
/// In the namespace of its Lease, where the expander's priorities usually are, too.
const SCALED_HELD: [Rule; 2] = [
    rule("", "configmaps", &["get"]),
    rule("coordination.k8s.io", "leases", &["create", "delete", "get", "patch"]),
];
/// In the namespace of its Lease.
const HELD: [Rule; 1] = [rule("coordination.k8s.io", "leases", &["create", "delete", "get", "patch"])];
const RESTARTED: [Rule; 1] = [rule("apps", "deployments", &["get", "list", "watch", "patch"])];
/// In the namespace of its record.
const RECORDED: [Rule; 2] = [
    rule("", "configmaps", &["create", "delete", "get", "list", "patch", "watch"]),
    rule("coordination.k8s.io", "leases", &["create", "delete", "get", "patch"]),
];

/// What a migration writes in the namespace of its object: its record, and the object itself, which goes and comes again.
const WRITTEN: &[&str] = &["create", "delete", "get", "patch"];
const MIGRATION: Rule = rule("", "configmaps", &["create", "delete", "get", "list", "patch", "watch"]);
/// A deletion or creation alone: kinds without a twin and a size that is changed.
const REPLACED: &[&str] = &["create", "delete", "get"];
const FOLLOWS: Rule = rule("autoscaling", "horizontalpodautoscalers", &["get", "patch"]);
const DEPLOYMENTS_MOVED: [Rule; 3] = [MIGRATION, rule("apps", "deployments", WRITTEN), FOLLOWS];
const HANDED_OVER: [Rule; 4] = [
    MIGRATION,
    rule("apps", "deployments", &["create", "get", "patch"]),
    rule("argoproj.io", "rollouts", WRITTEN),
    FOLLOWS,
];
const STATEFUL_SETS_MOVED: [Rule; 2] = [MIGRATION, rule("apps", "statefulsets", REPLACED)];
const DAEMON_SETS_MOVED: [Rule; 2] = [MIGRATION, rule("apps", "daemonsets", REPLACED)];
const REPLICA_SETS_MOVED: [Rule; 2] = [MIGRATION, rule("apps", "replicasets", REPLACED)];

/// What the rehearsal before a roll and the roll itself see.
fn seen() -> Vec<Rule> {
    let all = replank_live::snapshot_rules().into_iter();
    all.map(|rule| Rule { verbs: SEE, ..rule }).collect()
}

/// Rules, each resource once: the first stands.
fn once(rules: Vec<Rule>) -> Vec<Rule> {
    let mut all: Vec<Rule> = Vec::new();
    for rule in rules {
        if !all.iter().any(|known| (known.group, known.resource) == (rule.group, rule.resource)) {
            all.push(rule);
        }
    }
    all
}

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
            Self::Roll => once([&ROLLED[..], &seen()].concat()),
            // What is written for the number of nodes is part of what is written for interruptions.
            Self::Handle | Self::HandleAutoscale => once([&HANDLED[..], &seen()].concat()),
            Self::Autoscale => once([&SCALED[..], &seen()].concat()),
            Self::RollSurge => once([&ROLLED[..], &RESTARTED, &seen()].concat()),
            Self::Migrate
            | Self::MigrateRollout
            | Self::MigrateStatefulset
            | Self::MigrateDaemonset
            | Self::MigrateReplicaset => seen(),
        }
    }

    /// Rules that it needs in one namespace: that of a run's record, or of the object that is migrated.
    pub(crate) fn of_namespace(self) -> &'static [Rule] {
        match self {
            Self::Roll | Self::RollSurge => &RECORDED,
            Self::Handle => &HELD,
            Self::Autoscale | Self::HandleAutoscale => &SCALED_HELD,
            Self::Migrate => &DEPLOYMENTS_MOVED,
            Self::MigrateRollout => &HANDED_OVER,
            Self::MigrateStatefulset => &STATEFUL_SETS_MOVED,
            Self::MigrateDaemonset => &DAEMON_SETS_MOVED,
            Self::MigrateReplicaset => &REPLICA_SETS_MOVED,
            Self::Snapshot
            | Self::Cordon
            | Self::Uncordon
            | Self::Drain
            | Self::DrainDisableEviction
            | Self::DrainSurge => &[],
        }
    }

    /// Rules that it needs in a namespace that is named, where its Lease is elsewhere.
    pub(crate) fn of_named(self) -> &'static [Rule] {
        match self {
            Self::Autoscale => &PRIORITIES,
            Self::HandleAutoscale => &HELD,
            Self::Snapshot
            | Self::Cordon
            | Self::Uncordon
            | Self::Drain
            | Self::DrainDisableEviction
            | Self::DrainSurge
            | Self::Roll
            | Self::RollSurge
            | Self::Handle
            | Self::Migrate
            | Self::MigrateRollout
            | Self::MigrateStatefulset
            | Self::MigrateDaemonset
            | Self::MigrateReplicaset => &[],
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
            Self::Roll => "replank-roll",
            Self::RollSurge => "replank-roll-surge",
            Self::Handle => "replank-handle",
            Self::Autoscale => "replank-autoscale",
            Self::HandleAutoscale => "replank-handle-autoscale",
            Self::Migrate => "replank-migrate",
            Self::MigrateRollout => "replank-migrate-rollout",
            Self::MigrateStatefulset => "replank-migrate-statefulset",
            Self::MigrateDaemonset => "replank-migrate-daemonset",
            Self::MigrateReplicaset => "replank-migrate-replicaset",
        }
    }

    /// The ClusterRole, and the Roles of namespaces where it needs some, as YAML.
    pub(crate) fn manifest(self, namespace: Option<&str>) -> String {
        let head = |kind: &str, place: &str| {
            format!(
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {}\n{place}rules:\n",
                self.role()
            )
        };
        let mut text = head("ClusterRole", "") + &listed(&self.rules());
        for (namespace, rules) in self.roles(namespace) {
            let place = format!("  namespace: {namespace}\n");
            text += &format!("---\n{}{}", head("Role", &place), listed(rules));
        }
        text
    }

    /// Its Roles, each with its namespace: the one that is asked for, or that of a run's record or of an object without a namespace.
    pub(super) fn roles(self, asked: Option<&str>) -> Vec<(&str, &'static [Rule])> {
        let usual = match self {
            Self::Migrate
            | Self::MigrateRollout
            | Self::MigrateStatefulset
            | Self::MigrateDaemonset
            | Self::MigrateReplicaset => "default",
            Self::Snapshot
            | Self::Cordon
            | Self::Uncordon
            | Self::Drain
            | Self::DrainDisableEviction
            | Self::DrainSurge
            | Self::Roll
            | Self::RollSurge
            | Self::Handle
            | Self::Autoscale
            | Self::HandleAutoscale => NAMESPACE,
        };
        if self.of_namespace().is_empty() {
            return Vec::new();
        }
        if self.of_named().is_empty() {
            return vec![(asked.unwrap_or(usual), self.of_namespace())];
        }
        let named = asked.filter(|asked| *asked != usual).map(|asked| (asked, self.of_named()));
        [(usual, self.of_namespace())].into_iter().chain(named).collect()
    }
}

fn listed(rules: &[Rule]) -> String {
    let one = |rule: &Rule| {
        format!(
            "- apiGroups: [{:?}]\n  resources: [{:?}]\n  verbs: [{}]\n",
            rule.group,
            rule.resource,
            rule.verbs.join(", ")
        )
    };
    rules.iter().map(one).collect()
}
