//! Add-ons whose tolerations and selectors do not go with the taints of the nodes.
//!
//! As shipped, CoreDNS and the controllers of CSI drivers tolerate `CriticalAddonsOnly` (and CoreDNS the control plane's taint),
//! no role of one's own; agents such as aws-node, kube-proxy and ebs-csi-node tolerate everything (EKS user guide "Amazon EKS
//! add-ons"; amazon-vpc-cni-k8s, aws-ebs-csi-driver).

use std::collections::BTreeSet;

use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::node::Node;
use replank_model::text::GroupName;
use serde_json::json;

use super::super::engine::{Answer, Engine};
use super::super::ground::{KindId, taint_text};
use super::super::remedy::{Change, configure, keep_off, own_tolerations, patch, second_home, toleration_of};
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::exposed::refusals;
use replank_facts::finding::{counted, pods};
use replank_facts::remedy::{AddonPods, EksAddon, Remedy, Target};
use replank_facts::taints::is_passing;
use replank_schedule::{Plugin, predicate};

const CRITICAL: &str = "CriticalAddonsOnly";
const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
const MASTER: &str = "node-role.kubernetes.io/master";

/// Agents that belong on every node, with what a node lacks without them, and how EKS is told to let them tolerate everything.
const AGENTS: [(&str, &str, EksAddon); 4] = [
    ("aws-node", "pods get no IP addresses", EksAddon::VpcCni),
    ("kube-proxy", "Services are unreachable", EksAddon::KubeProxy),
    ("ebs-csi-node", "EBS volumes cannot be mounted", EksAddon::EbsCsi),
    ("efs-csi-node", "EFS volumes cannot be mounted", EksAddon::EfsCsi),
];

/// Taints that an agent takes off when it runs, with the agent (README files of the CSI drivers, Cilium's documentation).
const STARTUP: [(&str, &str); 3] = [
    ("ebs.csi.aws.com/agent-not-ready", "ebs-csi-node"),
    ("efs.csi.aws.com/agent-not-ready", "efs-csi-node"),
    ("node.cilium.io/agent-not-ready", "cilium"),
];

pub(super) fn find(survey: &Survey<'_>, engine: &mut Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in survey.services().filter(|subject| subject.system.is_some()) {
        findings.extend(one_home(survey, engine, subject));
        findings.extend(pool(survey, engine, subject));
        findings.extend(master(survey, subject));
    }
    for subject in survey.subjects.iter().filter(|subject| subject.is_daemon()) {
        findings.extend(agent(survey, subject));
    }
    findings.extend(startup(survey));
    findings
}

fn finding(subject: &Subject, severity: Severity, reason: String, remedy: Remedy) -> Finding {
    Finding { rule: Rule::AddonPlacement, severity, object: subject.name.clone(), reason, remedy }
}

fn name(subject: &Subject) -> &'static str {
    subject.system.as_ref().map_or("it", |system| system.told())
}

/// All nodes that take it are of one group, and taints are why. Spot and autoscaled groups are the matter of other rules.
fn one_home(survey: &Survey<'_>, engine: &mut Engine, subject: &Subject) -> Option<Finding> {
    let ground = &survey.ground;
    let lands = subject.lands();
    let groups: BTreeSet<Option<&GroupName>> =
        lands.iter().map(|id| ground.kind(*id).group.as_ref()).collect();
    let all: BTreeSet<Option<&GroupName>> = ground.kinds().map(|(_, kind)| kind.group.as_ref()).collect();
    let [Some(group)] = groups.into_iter().collect::<Vec<_>>()[..] else { return None };
    let is_told_elsewhere = |id: &KindId| ground.kind(*id).is_spot() || ground.kind(*id).scaler.is_some();
    if all.len() < 2 || lands.iter().any(is_told_elsewhere) {
        return None;
    }
    let others: Vec<KindId> = ground.kinds().map(|(id, _)| id).filter(|id| !lands.contains(id)).collect();
    let by_taint = |id: &KindId| match &subject.samples[0].answers[id.0] {
        Answer::Fails(failures) => failures.iter().all(|failure| failure.plugin == Plugin::TaintToleration),
        Answer::Lands => false,
    };
    // Its own selector may want that group: then it is as it should be.
    if !others.iter().all(by_taint) {
        return None;
    }
    let nodes = ground.nodes_of(&lands);
    let is_untainted = lands.iter().all(|id| ground.kind(*id).taints().next().is_none());
    let why = if is_untainted { ", the only group without a taint" } else { "" };
    let avoid: BTreeSet<KindId> = ground.kinds().map(|(id, _)| id).filter(is_told_elsewhere).collect();
    let remedy = match second_home(survey, engine, subject, &avoid) {
        Some((change, more)) => patch(survey, subject, &change.to_json()).look_first(format!(
            "for example, so that it can also be scheduled in {}:",
            ground.places(&more)
        )),
        None => "add a second group of on-demand nodes that it fits on".into(),
    };
    Some(finding(
        subject,
        if nodes < 2 { Severity::Warning } else { Severity::Info },
        format!(
            "can land in group {group} ({}) only{why}; while that group is full, rolling or gone, it is unschedulable: {}",
            counted(nodes, "node"),
            refusals(ground, subject, &others)
        ),
        remedy,
    ))
}

/// There are nodes kept for add-ons, and it cannot get there, or is elsewhere.
fn pool(survey: &Survey<'_>, engine: &mut Engine, subject: &Subject) -> Option<Finding> {
    let ground = &survey.ground;
    let pool: BTreeSet<KindId> = ground
        .kinds()
        // What the cluster needs is not sent to nodes that go at two minutes' notice.
        .filter(|(_, kind)| kind.taints().any(|taint| &*taint.key == CRITICAL) && !kind.is_spot())
        .map(|(id, _)| id)
        .collect();
    let taint =
        pool.first().and_then(|id| ground.kind(*id).taints().find(|taint| &*taint.key == CRITICAL))?;
    let lands = subject.lands();
    let sits: usize =
        subject.sits(ground).iter().filter(|(id, _)| !pool.contains(id)).map(|(_, count)| count).sum();
    let elsewhere = || ground.kinds().map(|(id, _)| id).filter(|id| !pool.contains(id)).collect();
    if !lands.is_disjoint(&pool) {
        if sits == 0 {
            return None;
        }
        let remedy = match keep_off(survey, engine, subject, &elsewhere()) {
            Some(change) => patch(survey, subject, &change.to_json()),
            None => Remedy::look(format!(
                "give these nodes a label of their own, and select it in {}",
                subject.name
            )),
        };
        return Some(finding(
            subject,
            Severity::Info,
            format!(
                "{} of {} of {} run elsewhere, although there are nodes for add-ons, {} with the taint {}: it tolerates the taint, but nothing in its spec selects these nodes",
                sits,
                pods(subject.nodes().count()),
                name(subject),
                ground.places(&pool),
                taint_text(taint)
            ),
            remedy,
        ));
    }
    let tolerates = subject.spec().tolerations.iter().any(|one| one.tolerates(taint, false));
    // A selector that leads elsewhere is meant so.
    if tolerates || !subject.spec().node_selector.iter().all(|(key, _)| key.starts_with("kubernetes.io/")) {
        return None;
    }
    let mut tolerations = own_tolerations(&subject.samples[0].pod);
    tolerations.push(toleration_of(taint));
    let change = Change { selector: Vec::new(), tolerations: Some(tolerations) };
    Some(finding(
        subject,
        Severity::Info,
        format!(
            "there are nodes for add-ons, {}, and {} does not tolerate {}",
            ground.places(&pool),
            name(subject),
            taint_text(taint)
        ),
        patch(survey, subject, &change.to_json()),
    ))
}

/// It tolerates the control plane's taint by its former name.
fn master(survey: &Survey<'_>, subject: &Subject) -> Option<Finding> {
    let former = Taint::new(MASTER, TaintEffect::NoSchedule);
    let present = Taint::new(CONTROL_PLANE, TaintEffect::NoSchedule);
    let has =
        |taint: &Taint| survey.ground.kinds().any(|(_, kind)| kind.taints().any(|one| one.key == taint.key));
    let tolerations = &subject.spec().tolerations;
    let tolerates = |taint: &Taint| tolerations.iter().any(|one| one.tolerates(taint, false));
    if !has(&present) || has(&former) || !tolerates(&former) || tolerates(&present) {
        return None;
    }
    let mut own = own_tolerations(&subject.samples[0].pod);
    own.retain(|one| &*one.key != MASTER);
    own.push(toleration_of(&present));
    let change = Change { selector: Vec::new(), tolerations: Some(own) };
    Some(finding(
        subject,
        Severity::Warning,
        format!(
            "{} tolerates {MASTER}, a taint that control plane nodes no longer have since 1.25: they have {CONTROL_PLANE}",
            name(subject)
        ),
        patch(survey, subject, &change.to_json()),
    ))
}

/// An agent that belongs on every node does not tolerate the taints of some.
fn agent(survey: &Survey<'_>, subject: &Subject) -> Option<Finding> {
    let (_, loss, addon) = AGENTS.iter().find(|(name, ..)| subject.name.key.name == *name)?;
    let pod = &subject.samples[0].pod;
    let mut kinds = BTreeSet::new();
    let mut taints = BTreeSet::new();
    for (id, kind) in survey.ground.kinds() {
        let lasting: Vec<Taint> =
            kind.sample.spec.taints.iter().filter(|taint| !is_passing(taint)).cloned().collect();
        // Selectors (Linux, no Fargate) are meant so.
        if predicate::spec_matches(&pod.spec, None, &kind.sample)
            && let Some(taint) = predicate::untolerated_taint(&pod.spec.tolerations, &lasting, false)
        {
            kinds.insert(id);
            taints.insert(taint_text(taint));
        }
    }
    if kinds.is_empty() {
        return None;
    }
    let taints: Vec<String> = taints.into_iter().collect();
    let everything = json!({"tolerations": [{"operator": "Exists"}]});
    let remedy = match Target::workload_named(&subject.name.kind, &subject.name.key) {
        Some(of) => {
            let members = if *addon == EksAddon::EbsCsi {
                json!({"tolerateAllTaints": true})
            } else {
                everything.clone()
            };
            let patch = json!({"spec": {"template": {"spec": everything}}});
            configure(survey, *addon, &addon.values_of(AddonPods::Agent, members), of, patch)
        }
        None => patch(survey, subject, &everything),
    };
    Some(finding(
        subject,
        Severity::Warning,
        format!(
            "{} does not tolerate {}: without it {loss} in {}",
            subject.name.key.name,
            taints.join(", "),
            survey.ground.places(&kinds)
        ),
        remedy,
    ))
}

/// Ready nodes on which the taint is still there that an agent takes off when it runs.
fn startup(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (key, agent) in STARTUP {
        let is_waiting = |node: &&std::sync::Arc<Node>| {
            node.is_ready() && node.spec.taints.iter().any(|taint| &*taint.key == key)
        };
        let nodes: Vec<_> =
            survey.view.nodes.sorted().into_iter().map(|(_, node)| node).filter(is_waiting).collect();
        let Some(first) = nodes.first() else { continue };
        let without = nodes.iter().filter(|node| {
            !survey
                .view
                .sorted_pods_on(&node.name())
                .iter()
                .any(|pod| pod.meta.name.as_str().starts_with(agent) && pod.is_ready())
        });
        let without = without.count();
        findings.push(Finding {
            rule: Rule::AddonPlacement,
            severity: Severity::Warning,
            object: super::super::rule::ObjectName::new("Taint", replank_model::object::meta::Key::cluster(key)),
            reason: format!(
                "{} that are Ready still have the startup taint, {without} of them without a Ready pod of {agent}, which removes it; the first is {}",
                counted(nodes.len(), "node"),
                first.meta.name
            ),
            remedy: format!("kubectl get pods -A -o wide --field-selector spec.nodeName={} | grep {agent}", first.meta.name).into(),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{daemon_set, found, node, remedies, service, spot, tainted};
    use super::*;

    fn coredns(nodes: &[&str], tolerations: &Value) -> Vec<Value> {
        let spec = json!({"spec": {"tolerations": tolerations, "containers": [{"name": "coredns", "image": "eks/coredns:v1.12.4"}]}});
        service("coredns", nodes, &spec)
    }

    fn shipped() -> Value {
        json!([{"key": "CriticalAddonsOnly", "operator": "Exists"}, {"key": CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}])
    }

    #[test]
    fn an_add_on_that_only_the_untainted_group_takes_is_told_with_a_second_home() {
        let nodes = || {
            vec![
                node("i", "infra", "a"),
                node("j", "infra", "b"),
                tainted(node("m", "master", "a"), &["role=master:NoSchedule"]),
            ]
        };
        let objects = || [nodes(), coredns(&["i", "j"], &shipped())].concat();
        assert_eq!(
            found(Rule::AddonPlacement, objects()),
            [
                "info addon-placement Deployment shop/coredns: can land in group infra (2 nodes) only, the only group without a \
                 taint; while that group is full, rolling or gone, it is unschedulable: master (taint role=master:NoSchedule)"
            ]
        );
        let remedy = remedies(Rule::AddonPlacement, objects()).remove(0);
        assert!(
            remedy.starts_with(
                "for example, so that it can also be scheduled in group master (1 node):\nwhere EKS manages the add-on coredns, add to its configuration values"
            ),
            "{remedy}"
        );
        let chosen = json!({"spec": {"nodeSelector": {"eks.amazonaws.com/nodegroup": "infra"}, "containers": [{"name": "c", "image": "coredns"}]}});
        let meant = [nodes(), service("coredns", &["i"], &chosen)].concat();
        assert_eq!(found(Rule::AddonPlacement, meant), [""; 0], "it asks for that group");
    }

    #[test]
    fn nodes_kept_for_add_ons_are_to_be_used() {
        let nodes = || {
            vec![
                node("n", "web", "a"),
                tainted(node("s", "system", "a"), &["CriticalAddonsOnly=true:NoSchedule"]),
            ]
        };
        let strays = [nodes(), coredns(&["n", "s"], &shipped())].concat();
        assert_eq!(
            found(Rule::AddonPlacement, strays.clone()),
            [
                "info addon-placement Deployment shop/coredns: 1 of 2 pods of CoreDNS run elsewhere, although there are nodes for add-ons, group system (1 node) with the taint CriticalAddonsOnly=true:NoSchedule: it tolerates the taint, but nothing in its spec selects these nodes"
            ]
        );
        assert!(
            remedies(Rule::AddonPlacement, strays)[0].starts_with("give these nodes a label of their own"),
            "their group's name would pin it"
        );
        let locked = found(Rule::AddonPlacement, [nodes(), coredns(&["n", "n"], &json!([]))].concat());
        assert!(
            locked
                .iter()
                .any(|one| one.ends_with("CoreDNS does not tolerate CriticalAddonsOnly=true:NoSchedule")),
            "{locked:?}"
        );
        assert_eq!(
            found(Rule::AddonPlacement, [nodes(), coredns(&["s", "s"], &shipped())].concat()),
            [""; 0]
        );
    }

    #[test]
    fn no_remedy_sends_an_add_on_to_spot_nodes() {
        let cheap = tainted(spot("s", "cheap", "a"), &["CriticalAddonsOnly=true:NoSchedule"]);
        for tolerations in [shipped(), json!([])] {
            let nodes = vec![node("n", "web", "a"), node("m", "web", "b"), cheap.clone()];
            let objects = [nodes, coredns(&["n", "m"], &tolerations)].concat();
            for rule in [Rule::AddonPlacement, Rule::FitsNowhere, Rule::OnSpot] {
                for remedy in remedies(rule, objects.clone()) {
                    assert!(!remedy.contains("SPOT"), "{remedy}");
                    assert!(!remedy.contains(r#""key":"CriticalAddonsOnly","operator":"Equal""#), "{remedy}");
                }
            }
        }
        // Where only spot nodes would take it, that is said and not done.
        let selects = json!({"spec": {"tolerations": [], "containers": [{"name": "coredns", "image": "eks/coredns:v1.12.4"}]}});
        let full = |node: Value| tainted(node, &["dedicated=gpu:NoSchedule"]);
        let nodes = vec![full(spot("g", "gpu", "a"))];
        let told = remedies(Rule::FitsNowhere, [nodes, service("coredns", &["", ""], &selects)].concat());
        assert!(
            told.iter().all(|remedy| !remedy.contains("kubectl") && !remedy.contains("aws ")),
            "{told:?}"
        );
        assert!(!told.is_empty());
    }

    #[test]
    fn agents_that_a_taint_keeps_off_are_found() {
        let nodes = || vec![node("n", "web", "a"), tainted(node("s", "gpu", "a"), &["gpu=true:NoSchedule"])];
        let agent = daemon_set("ebs-csi-node", &["n"], &json!({}));
        let told = found(Rule::AddonPlacement, [nodes(), agent].concat());
        assert_eq!(
            told,
            [
                "warning addon-placement DaemonSet kube-system/ebs-csi-node: ebs-csi-node does not tolerate gpu=true:NoSchedule: without it \
                 EBS volumes cannot be mounted in group gpu (1 node)"
            ]
        );
        let all = daemon_set(
            "ebs-csi-node",
            &["n", "s"],
            &json!({"spec": {"tolerations": [{"operator": "Exists"}]}}),
        );
        assert_eq!(found(Rule::AddonPlacement, [nodes(), all].concat()), [""; 0]);
    }

    #[test]
    fn a_startup_taint_that_stays_is_found() {
        let stuck = tainted(node("n", "web", "a"), &["ebs.csi.aws.com/agent-not-ready:NoExecute"]);
        let told = found(Rule::AddonPlacement, vec![stuck.clone()]);
        assert!(
            told.len() == 1
                && told[0].contains("1 node that are Ready still have the startup taint, 1 of them without"),
            "{told:?}"
        );
        let mut joining = stuck;
        joining["status"]["conditions"] = json!([]);
        assert_eq!(found(Rule::AddonPlacement, vec![joining]), [""; 0]);
    }

    #[test]
    fn the_control_planes_former_taint_is_told_where_there_is_a_control_plane() {
        let control = tainted(node("c", "cp", "a"), &["node-role.kubernetes.io/control-plane:NoSchedule"]);
        let former = json!([{"key": MASTER, "operator": "Exists", "effect": "NoSchedule"}]);
        let with = |nodes: Vec<Value>| {
            let found = found(Rule::AddonPlacement, [nodes, coredns(&["n", "n"], &former)].concat());
            found.iter().filter(|one| one.contains("no longer have since 1.25")).count()
        };
        assert_eq!(with(vec![node("n", "web", "a"), control]), 1);
        assert_eq!(with(vec![node("n", "web", "a")]), 0);
    }
}
