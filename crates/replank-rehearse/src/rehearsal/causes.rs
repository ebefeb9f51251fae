//! What keeps nodes, grouped: one entry for each thing that a person would have to change.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::finding::Severity;
use replank_facts::workload::workload_of;
use replank_model::object::cloud::UpdateError;
use replank_model::object::meta::Key;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::{GroupName, NodeName};
use replank_model::view::{Ix, View};
use replank_protocol::waiting::{PodWait, RollEnd, RollWait, RunEnd, Subject, Waiting, WaitingOn};

use super::holders::{HELD, NO_TIME};
use super::ids::STOPS;
use super::result::Cause;
use super::unready;
use crate::finding_entry::FindingEntry;

/// Groups what blocks; a finding about the same object is named with its remedy.
pub(super) fn causes(view: &View, blocking: &[Waiting], findings: &[FindingEntry]) -> Vec<Cause> {
    let mut grouped: BTreeMap<(&'static str, String), Grouped> = BTreeMap::new();
    for waiting in blocking.iter().filter(|waiting| keeps_something(waiting)) {
        let object = object_of(view, waiting);
        let group = grouped.entry((waiting.on.kind(), object)).or_insert_with(|| Grouped {
            reason: waiting.on.reason().to_string(),
            nodes: BTreeSet::new(),
            pods: BTreeSet::new(),
        });
        group.nodes.extend(not_emptied(view, waiting));
        match &waiting.what {
            Subject::Pod(pod) => {
                group.pods.insert(pod.clone());
                group.nodes.extend(node_of(view, pod));
            }
            Subject::Node(node) => {
                group.nodes.insert(node.to_string());
            }
            Subject::Run
            | Subject::Group(_)
            | Subject::Bounds(_)
            | Subject::Instance(_)
            | Subject::Object(_)
            | Subject::Message(_) => {}
        }
    }
    let mut causes: Vec<Cause> = grouped
        .into_iter()
        .map(|((kind, object), group)| {
            let related = names(view, kind, &object, &group);
            let finding = explaining(findings, kind, &related);
            // What uses the budget up is nearer to the cause than its numbers.
            let unready =
                (kind == BUDGET).then(|| unready::under_the_budgets_of(view, &group.pods)).flatten();
            let reason = match unready {
                Some(unready) => format!("{}; {unready}", group.reason),
                None => group.reason,
            };
            Cause {
                nodes: group.nodes.into_iter().collect(),
                pods: group.pods.len(),
                kind,
                related,
                reason,
                finding: finding.map(|finding| finding.id),
                finding_object: finding.map(|finding| finding.object.clone()),
                remedy: finding.map(|finding| finding.remedy.clone()),
                object,
            }
        })
        .collect();
    // A health gate that halted the run, or the end of its time, explains why the others are left.
    let run = Subject::Run.to_string();
    causes.sort_by_key(|cause| (cause.object != run, usize::MAX - cause.nodes.len(), cause.object.clone()));
    causes
}

/// The order of what waits is that of the causes it belongs to: a list of the one tells the same first as a list of the other.
pub(super) fn in_order<'w>(view: &View, causes: &[Cause], waiting: &[&'w Waiting]) -> Vec<&'w Waiting> {
    let place = |waiting: &Waiting| {
        let (kind, object) = (waiting.on.kind(), object_of(view, waiting));
        causes.iter().position(|cause| cause.kind == kind && cause.object == object).unwrap_or(causes.len())
    };
    let mut all = waiting.to_vec();
    all.sort_by_cached_key(|waiting| place(waiting));
    all
}

/// Whether a blocked run went as far as the plan lets it: some nodes are replaced, and what is left is kept by what is on it. Where capacity, a
/// deadline, or the health of pods ended the run, more might have been done.
pub(super) fn went_as_far_as_it_goes(blocking: &[Waiting]) -> bool {
    let is_kept = |waiting: &Waiting| match (&waiting.what, &waiting.on) {
        (_, WaitingOn::RunEnd(RunEnd::Halted { .. } | RunEnd::Stalled { .. })) => true,
        (Subject::Bounds(_), _) => true,
        (_, WaitingOn::Roll(RollWait::Available { .. } | RollWait::ZoneMinimum { .. })) => false,
        // Its pods may fit on other new nodes than there are. A pod that fits on none is named itself.
        (Subject::Node(_), WaitingOn::Pod(PodWait::Room { .. })) => false,
        (Subject::Pod(_) | Subject::Node(_), WaitingOn::Pod(_) | WaitingOn::PodEnd(_)) => true,
        (Subject::Node(_), WaitingOn::Roll(_) | WaitingOn::RollEnd(_)) => true,
        (
            Subject::Run
            | Subject::Group(_)
            | Subject::Instance(_)
            | Subject::Pod(_)
            | Subject::Node(_)
            | Subject::Object(_)
            | Subject::Message(_),
            _,
        ) => false,
    };
    blocking.iter().all(is_kept)
}

/// The finding that tells of a reason, about one of the objects that it has to do with; the gravest first.
fn explaining<'f>(
    findings: &'f [FindingEntry],
    kind: &str,
    objects: &BTreeSet<String>,
) -> Option<&'f FindingEntry> {
    findings.iter().find(|finding| objects.contains(&finding.object) && tells_of(kind).contains(&finding.id))
}

/// What a reason has to do with: what would have to be changed, the pods and their budgets, the nodes and, where they want room, their groups.
fn names(view: &View, kind: &str, object: &str, group: &Grouped) -> BTreeSet<String> {
    let pods = group.pods.iter().filter_map(|pod| view.pods.find(pod));
    let budgets = pods.flat_map(|pod| view.budgets_of(pod));
    let budgets = budgets
        .map(|budget| format!("PodDisruptionBudget {}", view.pod_disruption_budgets[*budget].meta.key()));
    let owners = group.pods.iter().filter_map(|pod| workload_of(view, view.pods.by_key(pod)?));
    let owners = owners.map(|workload| workload.to_string());
    let pods = group.pods.iter().map(|pod| format!("Pod {pod}"));
    let nodes = group.nodes.iter().map(|node| format!("Node {node}"));
    let instances = view.instances().values().filter(|instance| {
        kind == "room" && instance.node.as_ref().is_some_and(|node| group.nodes.contains(node.as_str()))
    });
    let groups = instances.map(|instance| format!("NodeGroup {}", instance.group));
    let not_emptied: BTreeSet<NodeName> = match kind {
        UPDATE_FAILED => group.nodes.iter().map(|node| NodeName::from(node.as_str())).collect(),
        _ => BTreeSet::new(),
    };
    let groups = groups.chain(on_nodes(view, &not_emptied));
    budgets.chain(owners).chain(pods).chain(nodes).chain(groups).chain([object.to_owned()]).collect()
}

/// The kind of a wait for a disruption budget whose pods are counted.
const BUDGET: &str = "budget";

/// The kind of an update of EKS's own that failed.
const UPDATE_FAILED: &str = "updateFailed";

/// The nodes that EKS could not empty in time, where that made its update fail.
fn not_emptied(view: &View, waiting: &Waiting) -> BTreeSet<String> {
    let WaitingOn::RollEnd(RollEnd::UpdateFailed { errors, .. }) = &waiting.on else {
        return BTreeSet::new();
    };
    let failed = errors.iter().filter(|error| &*error.code == UpdateError::POD_EVICTION_FAILURE);
    let named = failed.flat_map(|error| &error.resources).map(ToString::to_string);
    named.filter(|name| view.node(&NodeName::from(name.as_str())).is_some()).collect()
}

/// The rules whose findings tell of a reason, by its kind.
fn tells_of(kind: &str) -> &'static [&'static str] {
    match kind {
        BUDGET => &[
            "pdb-never-allows",
            "pdb-unready",
            "pdb-waits-for-batch",
            "pdb-selects-all",
            "pdb-daemon-pods",
            "other-scheduler",
        ],
        "budgetUncounted" => &["pdb-not-counted", "pdb-never-allows"],
        "budgets" => &["pdb-several"],
        "batch" | "batchOver" => {
            &["waits-in-vain", "pdb-waits-for-batch", "batch-unprotected", "rerun-unsafe", "cron-soon"]
        }
        "unrecorded" => &["result-unrecorded"],
        "room" => {
            &["no-room", "zone-bound", "placed-apart", "host-port", "pinned-to-group", "hpa-beyond-nodes"]
        }
        "terminating" | "stuck" => &["stuck-before", "long-grace", "node-not-ready"],
        "restart" | "skipped" => &["singleton", "pdb-never-allows", "waits-in-vain", "batch-unprotected"],
        "refused" => &["bare-pod", "local-storage", "rerun-unsafe"],
        "cameBack" => &["tolerates-everything"],
        "notReady" | "noInstance" => &["node-not-ready"],
        "suspended" => &["suspended-process"],
        "leftover" => &["leftover"],
        "managedBy" => &["left-to-provisioner"],
        "doNotDisrupt" => &["kept-node"],
        UPDATE_FAILED => &[
            "pdb-never-allows",
            "pdb-unready",
            "pdb-not-counted",
            "pdb-several",
            "pdb-waits-for-batch",
            "pdb-slow",
            "other-scheduler",
        ],
        "capacity" | "instanceLate" => &["image-version", "suspended-process"],
        _ => &[],
    }
}

/// Rules that a simulation does not judge: nothing in it refuses what they tell of.
const NOT_SIMULATED: [&str; 5] =
    ["version-skew", "old-image", "image-release", "webhook-backend", "group-parity"];

/// The rule whose findings of a DaemonSet are about settings of the VPC CNI plugin, which is not simulated.
const OF_PLUGIN: &str = "pod-security-groups";

/// Finds what stopped the roll and no finding tells of. What the plan skips, and what others replace, is as it should be; what another node holds is told with what
/// keeps that node.
/// `group_of_new` tells the group of a node that only the rehearsal has: no command shows that one.
pub(super) fn find(
    causes: &mut [Cause],
    findings: &mut Vec<FindingEntry>,
    group_of_new: impl Fn(&NodeName) -> Option<GroupName>,
) {
    const MEANT: [&str; 3] = ["skipped", "managedBy", "doNotDisrupt"];
    for cause in causes.iter_mut() {
        let is_told = MEANT.contains(&cause.kind) || cause.kind == HELD || NO_TIME.contains(&cause.kind);
        if cause.finding.is_some() || cause.nodes.is_empty() || is_told {
            continue;
        }
        let entry = FindingEntry::of_rehearsal(STOPS, &cause.object, &cause.reason);
        let node = cause.object.strip_prefix("Node ").map(NodeName::from);
        let entry = match node.and_then(|node| group_of_new(&node)) {
            Some(group) => entry.with_remedy(format!(
                "a new node that exists only in the rehearsal: check the image and the kubelet settings of group {group}'s new nodes"
            )),
            None => entry,
        };
        cause.finding = Some(STOPS);
        cause.finding_object = Some(cause.object.clone());
        cause.remedy = (!entry.remedy.is_empty()).then(|| entry.remedy.clone());
        findings.push(entry);
    }
}

/// Has the severity of findings agree with what the roll did: what stopped it is blocking, and what it got past is not. A finding about pods on
/// nodes that are left may be right though something else stopped the roll first.
pub(super) fn agree(
    view: &View,
    findings: &mut [FindingEntry],
    causes: &[Cause],
    left: Option<&BTreeSet<NodeName>>,
) {
    let on_left = left.map(|left| on_nodes(view, left));
    for finding in findings.iter_mut() {
        let is_cause = causes.iter().any(|cause| {
            cause.finding == Some(finding.id) && cause.finding_object.as_ref() == Some(&finding.object)
        });
        let is_blocking = finding.severity == Severity::Blocking;
        let is_passed = on_left.as_ref().is_some_and(|objects| !objects.contains(&finding.object));
        if is_cause && !is_blocking {
            finding.severity = Severity::Blocking;
            finding.reason.push_str("; the rehearsed roll stops at it");
        } else if !is_cause && is_blocking && is_passed && !NOT_SIMULATED.contains(&finding.id) {
            finding.severity = Severity::Warning;
            finding.reason.push_str("; the rehearsed roll gets past it");
        }
        if finding.id == OF_PLUGIN && finding.object.starts_with("DaemonSet ") {
            finding.reason.push_str(
                "; the rehearsal does not show this: it assumes that new nodes have as many branch interfaces as the nodes of their group have now, and that probes succeed",
            );
        }
    }
    findings.sort_by_key(|finding| finding.severity);
}

/// What has to do with nodes: they themselves, their groups, the pods on them, their workloads and budgets.
fn on_nodes(view: &View, nodes: &BTreeSet<NodeName>) -> BTreeSet<String> {
    let mut objects: BTreeSet<String> = nodes.iter().map(|node| format!("Node {node}")).collect();
    if !nodes.is_empty() {
        objects.extend(view.groups().keys().map(|group| format!("NodeGroup {group}")));
    }
    for pod in nodes.iter().flat_map(|node| view.sorted_pods_on(node)) {
        objects.insert(format!("Pod {}", pod.meta.key()));
        objects.extend(workload_of(view, pod).map(|workload| workload.to_string()));
        let budgets = view.pods.find(&pod.meta.key()).map_or(&[][..], |ix| view.budgets_of(ix));
        let key = |budget: &Ix<PodDisruptionBudget>| view.pod_disruption_budgets[*budget].meta.key();
        objects.extend(budgets.iter().map(|budget| format!("PodDisruptionBudget {}", key(budget))));
    }
    objects
}

struct Grouped {
    reason: String,
    nodes: BTreeSet<String>,
    pods: BTreeSet<Key>,
}

/// That the run has ended says nothing of why nodes are left, and neither does what it leaves behind.
pub(super) fn keeps_something(waiting: &Waiting) -> bool {
    let is_the_end = matches!(waiting.on, WaitingOn::RunEnd(RunEnd::Halted { .. } | RunEnd::Stalled { .. }));
    !is_the_end && !matches!(waiting.what, Subject::Bounds(_))
}

/// What would have to be changed: the budget, the workload, or what waits.
fn object_of(view: &View, waiting: &Waiting) -> String {
    let budget = |key: &Key| format!("PodDisruptionBudget {key}");
    let workload = |key: &Key| {
        let pod = view.pods.by_key(key);
        let workload = pod.and_then(|pod| workload_of(view, pod));
        workload.map_or_else(|| format!("Pod {key}"), |workload| workload.to_string())
    };
    match (&waiting.what, &waiting.on) {
        (
            _,
            WaitingOn::Pod(
                PodWait::Budget { budget: key, .. } | PodWait::BudgetUncounted { budget: key, .. },
            ),
        ) => budget(key),
        (_, WaitingOn::Pod(PodWait::Room { pod, .. })) | (Subject::Pod(pod), _) => workload(pod),
        // As findings name them.
        (Subject::Group(name) | Subject::Bounds(name), _) => format!("NodeGroup {name}"),
        (Subject::Node(name), _) => format!("Node {name}"),
        (what @ (Subject::Run | Subject::Instance(_) | Subject::Object(_) | Subject::Message(_)), _) => {
            what.to_string()
        }
    }
}

fn node_of(view: &View, pod: &Key) -> Option<String> {
    Some(view.pods.by_key(pod)?.node.as_ref()?.to_string())
}

#[cfg(test)]
mod tests {
    use replank_facts::finding::{Finding, ObjectName};
    use replank_model::time::Time;

    use super::*;

    fn waiting(what: Subject, on: impl Into<WaitingOn>) -> Waiting {
        Waiting { what, on: on.into() }
    }

    fn by_budget(pod: &str) -> Waiting {
        let budget = Key::new("shop", "web");
        waiting(Subject::Pod(Key::new("shop", pod)), PodWait::Budget { budget, healthy: 2, needed: 2 })
    }

    #[test]
    fn what_one_change_would_free_is_one_cause_with_its_finding() {
        let finding = Finding {
            rule: (),
            severity: Severity::Blocking,
            object: ObjectName::new("PodDisruptionBudget", Key::new("shop", "web")),
            reason: "it never allows an eviction".to_owned(),
            remedy: "kubectl -n shop patch pdb web".into(),
        };
        let findings = [FindingEntry::untried("pdb-never-allows", &finding)];
        let halted = waiting(Subject::Run, RunEnd::Halted { at: Time::from_millis(0) });
        let all = [halted, by_budget("a"), by_budget("b")];
        let causes = causes(&View::default(), &all, &findings);
        let [cause] = causes.as_slice() else { panic!("one budget keeps both: {causes:?}") };
        assert_eq!((&*cause.object, cause.pods), ("PodDisruptionBudget shop/web", 2));
        assert_eq!(cause.finding, Some("pdb-never-allows"));
        assert_eq!(cause.remedy.as_deref(), Some("kubectl -n shop patch pdb web"));
        assert!(went_as_far_as_it_goes(&all));
    }

    fn found(id: &'static str, severity: Severity, kind: &str, key: Key) -> FindingEntry {
        let object = ObjectName::new(kind, key);
        let finding = Finding { rule: (), severity, object, reason: "why".to_owned(), remedy: "look".into() };
        FindingEntry::untried(id, &finding)
    }

    #[test]
    fn what_blocks_is_told_in_one_order_and_the_end_of_the_time_first() {
        let view = View::default();
        let on_node = |name: &str| waiting(Subject::Node(name.into()), RollWait::NoInstance);
        let all = [
            on_node("a"),
            by_budget("a"),
            on_node("b"),
            by_budget("b"),
            waiting(Subject::Run, RunEnd::Deadline { at: Time::from_millis(0) }),
        ];
        let causes = causes(&view, &all, &[]);
        let of_causes: Vec<&str> = causes.iter().map(|cause| &*cause.object).collect();
        assert_eq!(of_causes, ["run", "Node a", "Node b", "PodDisruptionBudget shop/web"]);
        let told: Vec<String> = in_order(&view, &causes, &all.iter().collect::<Vec<_>>())
            .into_iter()
            .map(|waiting| waiting.what.to_string())
            .collect();
        assert_eq!(told, ["run", "node a", "node b", "pod shop/a", "pod shop/b"]);
        // What no cause tells of comes last.
        let of_one = causes_without(&causes, "Node a");
        let told = in_order(&view, &of_one, &[&all[0], &all[2]]);
        assert_eq!(told, [&all[2], &all[0]]);
    }

    fn causes_without(causes: &[Cause], object: &str) -> Vec<Cause> {
        causes.iter().filter(|cause| cause.object != object).cloned().collect()
    }

    #[test]
    fn a_finding_that_was_made_of_a_cause_says_more_only_of_another() {
        let all = [waiting(Subject::Node("web-1".into()), RollWait::NoInstance)];
        let (mut findings, mut own) = (Vec::new(), causes(&View::default(), &all, &[]));
        find(&mut own, &mut findings, |_| None);
        let [own] = own.as_slice() else { panic!("one node is left: {own:?}") };
        assert_eq!((own.finding, own.further_finding()), (Some(STOPS), None));
        // What another node holds is told with what keeps that one.
        let held = Cause { object: "Node web-2".to_owned(), kind: HELD, ..own.clone() };
        assert_eq!(held.further_finding(), Some((STOPS, "Node web-1")));
        let told = Cause { finding: Some("node-not-ready"), ..own.clone() };
        assert_eq!(told.further_finding(), Some(("node-not-ready", "Node web-1")));
    }

    #[test]
    fn no_command_shows_a_node_that_only_the_rehearsal_has() {
        let remedy = |is_new: bool| {
            let all = [waiting(
                Subject::Node("web-1".into()),
                RollWait::BadCondition { condition: "MemoryPressure".into() },
            )];
            let (mut findings, mut own) = (Vec::new(), causes(&View::default(), &all, &[]));
            find(&mut own, &mut findings, |_| is_new.then(|| GroupName::from("web")));
            assert_eq!(own[0].remedy.as_deref(), Some(&*findings[0].remedy));
            findings.remove(0).remedy
        };
        assert_eq!(remedy(false), "kubectl get node web-1 -o yaml");
        let new = remedy(true);
        assert!(new.contains("the image and the kubelet settings of group web's new nodes"), "{new}");
        assert!(!new.contains("kubectl"), "{new}");
    }

    #[test]
    fn a_rehearsal_says_that_it_does_not_show_what_a_plugin_is_told() {
        let of = |kind, key| found("pod-security-groups", Severity::Warning, kind, key);
        let mut found =
            vec![of("NodeGroup", Key::cluster("web")), of("DaemonSet", Key::new("kube-system", "aws-node"))];
        agree(&View::default(), &mut found, &[], None);
        let is_shown: Vec<bool> =
            found.iter().map(|one| !one.reason.contains("does not show this")).collect();
        assert_eq!(is_shown, [true, false], "{found:?}");
    }

    #[test]
    fn severity_follows_what_the_roll_did() {
        let web = || Key::new("shop", "web");
        let mut findings = vec![
            found("pdb-never-allows", Severity::Blocking, "PodDisruptionBudget", Key::new("shop", "other")),
            found("pdb-unready", Severity::Warning, "PodDisruptionBudget", web()),
            found("version-skew", Severity::Blocking, "NodeGroup", Key::cluster("web")),
        ];
        let left = BTreeSet::from([NodeName::from("web-1")]);
        let all = [by_budget("a"), waiting(Subject::Node("web-1".into()), RollWait::NoInstance)];
        let mut causes = causes(&View::default(), &all, &findings);
        find(&mut causes, &mut findings, |_| None);
        agree(&View::default(), &mut findings, &causes, Some(&left));
        let told: Vec<String> = findings
            .iter()
            .map(|one| format!("{} {} {}: {}", one.severity, one.id, one.object, one.reason))
            .collect();
        assert_eq!(
            told,
            [
                "blocking pdb-unready PodDisruptionBudget shop/web: why; the rehearsed roll stops at it",
                "blocking version-skew NodeGroup web: why",
                "blocking stops-the-roll Node web-1: the cloud to list its instance",
                "warning pdb-never-allows PodDisruptionBudget shop/other: why; the rehearsed roll gets past it",
            ]
        );
        let mut kept = vec![found("pdb-never-allows", Severity::Blocking, "PodDisruptionBudget", web())];
        agree(&View::default(), &mut kept, &[], None);
        assert_eq!(kept[0].severity, Severity::Blocking, "nobody knows which nodes are left");
    }

    #[test]
    fn a_run_that_lacked_nodes_or_time_did_not_go_as_far_as_it_could() {
        let node = Subject::Node("web-1".into());
        for short in [
            waiting(node, RollWait::Available { ready: 3, needed: 3 }),
            waiting(
                Subject::Node("web-2".into()),
                PodWait::Room { pod: Key::new("shop", "a"), message: "0/3 nodes are available".into() },
            ),
            waiting(Subject::Run, RunEnd::Deadline { at: Time::from_millis(0) }),
            waiting(Subject::Group("web".into()), RollWait::Turn { nodes: 1, active: 0, limit: 1 }),
        ] {
            assert!(!went_as_far_as_it_goes(&[by_budget("a"), short.clone()]), "{short}");
        }
    }
}
