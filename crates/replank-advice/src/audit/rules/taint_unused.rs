//! Taints that nobody tolerates: the nodes cost money and stand idle.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::affinity::Taint;
use replank_model::object::meta::Key;
use replank_model::object::requests;
use replank_model::object::resources::{CPU, MEMORY};
use replank_model::quantity::Quantity;
use replank_model::text::GroupName;
use serde_json::json;

use super::super::engine::{Engine, landed};
use super::super::ground::{Ground, KindId, taint_text};
use super::super::near::nearest;
use super::super::remedy::{toleration_of, yaml};
use super::super::rule::{Finding, ObjectName, Rule, Severity};
use super::super::survey::{Subject, Survey, is_for_everything};
use replank_facts::finding::counted;
use replank_facts::remedy::{Edit, Remedy};
use replank_protocol::provisioner::Provisioner;

/// Taints of control plane nodes (kubeadm): nobody is meant to tolerate them.
const CONTROL_PLANE: [&str; 2] = ["node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"];

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut explained: BTreeSet<KindId> = BTreeSet::new();
    for (taint, kinds) in by_taint(&survey.ground) {
        if CONTROL_PLANE.contains(&&*taint.key) || is_tolerated(survey, taint) {
            continue;
        }
        explained.extend(&kinds);
        findings.push(Finding {
            rule: Rule::TaintUnused,
            severity: Severity::Warning,
            object: ObjectName::new("Taint", Key::cluster(taint_text(taint))),
            reason: format!(
                "only DaemonSets and pods that tolerate everything can use {}: {}",
                survey.ground.places(&kinds),
                idle(survey, &kinds)
            ),
            remedy: remedy(survey, taint, &kinds),
        });
    }
    findings.extend(unreached(survey, &explained));
    findings
}

/// The taints that keep pods off, with the kinds of nodes that have them.
fn by_taint(ground: &Ground) -> Vec<(&Taint, BTreeSet<KindId>)> {
    let mut all: BTreeMap<_, (&Taint, BTreeSet<KindId>)> = BTreeMap::new();
    for (id, kind) in ground.kinds() {
        for taint in kind.taints() {
            let key = (&taint.key, &taint.value, taint.effect);
            all.entry(key).or_insert_with(|| (taint, BTreeSet::new())).1.insert(id);
        }
    }
    all.into_values().collect()
}

/// Whether anything that is not made for all nodes tolerates a taint: a pod, or what pods will be made of.
fn is_tolerated(survey: &Survey<'_>, taint: &Taint) -> bool {
    let scheduled =
        survey.scheduled().flat_map(|subject| &subject.samples).flat_map(|one| &one.pod.spec.tolerations);
    scheduled
        .chain(&survey.spare_tolerations)
        .any(|one| !is_for_everything(one) && one.tolerates(taint, false))
}

/// `8 cpu and 30Gi of 16 cpu and 64Gi are idle`.
fn idle(survey: &Survey<'_>, kinds: &BTreeSet<KindId>) -> String {
    let (mut given, mut used) = ([0, 0], [0, 0]);
    for name in kinds.iter().flat_map(|id| &survey.ground.kind(*id).nodes) {
        if let Some(node) = survey.view.node(name) {
            add(&mut given, &node.status.allocatable);
        }
        for pod in survey.view.sorted_pods_on(name).into_iter().filter(|pod| !pod.is_terminal()) {
            add(&mut used, &requests::of_pod(pod));
        }
    }
    let nodes = counted(survey.ground.nodes_of(kinds), "node");
    format!(
        "{nodes} with {} cpu and {} of memory idle, of {} and {}",
        cpus(given[0] - used[0]),
        gibibytes(given[1] - used[1]),
        cpus(given[0]),
        gibibytes(given[1])
    )
}

fn add(sum: &mut [i64; 2], resources: &replank_model::object::resources::Resources) {
    sum[0] += resources.get(CPU).map_or(0, Quantity::milli_value);
    sum[1] += resources.get(MEMORY).map_or(0, Quantity::value);
}

fn cpus(milli: i64) -> String {
    let milli = milli.max(0);
    match milli % 1_000 / 100 {
        0 => (milli / 1_000).to_string(),
        tenths => format!("{}.{tenths}", milli / 1_000),
    }
}

fn gibibytes(bytes: i64) -> String {
    format!("{}Gi", bytes.max(0) >> 30)
}

/// Nodes that are untainted by a command each; of more it is the group's configuration that has to change.
const UNTAINTED_MAX: usize = 5;

fn remedy(survey: &Survey<'_>, taint: &Taint, kinds: &BTreeSet<KindId>) -> Remedy {
    let mut lines = Vec::new();
    let near = misspelt(survey, taint);
    if !near.is_empty() {
        lines.push(format!("correct the toleration of {}, which is similar; or", near.join(", ")));
    }
    lines.push("tolerate it in the workloads that these nodes are for:".to_owned());
    lines.push(yaml(&json!({"tolerations": [toleration_of(taint)]}), 1));
    let mut remedy = Remedy::default();
    for id in kinds {
        let kind = survey.ground.kind(*id);
        // EKS Auto Mode keeps its nodes as it made them.
        if Provisioner::of(&kind.sample) == Provisioner::AutoMode {
            continue;
        }
        let is_groups = kind.group.as_ref().is_some_and(|group| is_of_group(survey, taint, group));
        if is_groups || kind.nodes.len() > UNTAINTED_MAX {
            // A taint that is taken off by kubectl alone comes back with the next node.
            let whose = kind.group.as_ref().map_or_else(
                || format!("these {} nodes", kind.nodes.len()),
                |group| format!("node group {group}"),
            );
            lines.push(format!("or remove the taint in the configuration of {whose}"));
            continue;
        }
        for node in kind.nodes.iter().filter_map(|name| survey.view.node(name)) {
            let is_same = |one: &Taint| (&one.key, one.effect) == (&taint.key, taint.effect);
            remedy = remedy.then(Edit::Untaint {
                node: node.name(),
                key: taint.key.clone(),
                effect: taint.effect.as_str().into(),
                kept: node.spec.taints.iter().filter(|one| !is_same(one)).map(|one| json!(one)).collect(),
            });
        }
    }
    remedy.note("if nobody needs it any more").look_first(lines.join("\n"))
}

/// Whether most nodes of a group have a taint: then it is the group's, and not put on one by hand.
fn is_of_group(survey: &Survey<'_>, taint: &Taint, group: &GroupName) -> bool {
    let kinds = survey.ground.kinds().filter(|(_, kind)| kind.group.as_ref() == Some(group));
    let (mut with, mut all) = (0, 0);
    for (_, kind) in kinds {
        all += kind.nodes.len();
        with += if kind.taints().any(|one| one == taint) { kind.nodes.len() } else { 0 };
    }
    with * 2 > all
}

/// Workloads with a toleration that may mean this taint.
fn misspelt(survey: &Survey<'_>, taint: &Taint) -> Vec<String> {
    const SHOWN_MAX: usize = 3;
    let mut names = Vec::new();
    for subject in survey.scheduled() {
        let is_near = subject.spec().tolerations.iter().any(|one| {
            let key = one.key == taint.key || nearest(&one.key, [&*taint.key]).is_some();
            let value = one.value == taint.value || nearest(&one.value, [&*taint.value]).is_some();
            !one.key.is_empty() && key && value
        });
        if is_near && names.len() < SHOWN_MAX {
            names.push(subject.name.to_string());
        }
    }
    names
}

/// Nodes whose every taint is tolerated by somebody, and that nobody can use all the same.
fn unreached(survey: &Survey<'_>, explained: &BTreeSet<KindId>) -> Vec<Finding> {
    let is_selective = |subject: &&Subject| !subject.spec().tolerations.iter().any(is_for_everything);
    let users = survey.scheduled().filter(is_selective).flat_map(|subject| &subject.samples);
    let reached: BTreeSet<KindId> = users.flat_map(|sample| landed(&sample.answers)).collect();
    let mut by_taints: BTreeMap<Vec<String>, BTreeSet<KindId>> = BTreeMap::new();
    for (id, kind) in survey.ground.kinds() {
        let taints: Vec<String> = kind.taints().map(taint_text).collect();
        let is_control_plane = kind.taints().any(|taint| CONTROL_PLANE.contains(&&*taint.key));
        let is_spared = kind.taints().all(|taint| {
            survey.spare_tolerations.iter().any(|one| !is_for_everything(one) && one.tolerates(taint, false))
        });
        if !taints.is_empty()
            && !is_control_plane
            && !is_spared
            && !reached.contains(&id)
            && !explained.contains(&id)
        {
            by_taints.entry(taints).or_default().insert(id);
        }
    }
    let finding = |(taints, kinds): (Vec<String>, BTreeSet<KindId>)| Finding {
        rule: Rule::TaintUnused,
        severity: Severity::Info,
        object: ObjectName::new("Taint", Key::cluster(taints.join(","))),
        reason: format!(
            "each taint is tolerated by some workload, but no workload can be scheduled on {}: {}",
            survey.ground.places(&kinds),
            idle(survey, &kinds)
        ),
        remedy: "make the selectors and tolerations of one workload match these nodes, or remove the nodes"
            .to_owned()
            .into(),
    };
    by_taints.into_iter().map(finding).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{daemon_set, found, labelled, node, remedies, service, tainted};
    use super::*;

    fn with(tolerations: &Value, more: Vec<Value>) -> Vec<Value> {
        let nodes =
            vec![node("n", "web", "a"), tainted(node("g", "gpu", "a"), &["dedicated=gpu:NoSchedule"])];
        let agent = daemon_set(
            "agent",
            &["n", "g"],
            &json!({"spec": {"tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}]}}),
        );
        [nodes, agent, service("web", &["n"], &json!({"spec": {"tolerations": tolerations}})), more].concat()
    }

    #[test]
    fn a_taint_that_only_a_daemon_set_tolerates_is_found_with_what_is_idle() {
        let expected = "warning taint-unused Taint dedicated=gpu:NoSchedule: only DaemonSets and pods that tolerate everything can use group gpu (1 node): 1 node with 3.5 cpu and 15Gi of memory idle, of 4 and 16Gi";
        assert_eq!(found(Rule::TaintUnused, with(&json!([]), vec![])), [expected]);
        assert_eq!(found(Rule::TaintUnused, with(&json!([{"operator": "Exists"}]), vec![])), [expected]);
        let remedy =
            remedies(Rule::TaintUnused, with(&json!([{"key": "dedicated", "value": "gpus"}]), vec![]))
                .remove(0);
        assert!(remedy.starts_with("correct the toleration of Deployment shop/web"), "{remedy}");
        assert!(
            remedy.ends_with("or remove the taint in the configuration of node group gpu"),
            "it is the group's: {remedy}"
        );
    }

    #[test]
    fn what_somebody_tolerates_now_or_between_its_runs_is_not_found() {
        let tolerates = json!([{"key": "dedicated", "value": "gpu"}]);
        assert_eq!(found(Rule::TaintUnused, with(&tolerates, vec![])), [""; 0]);
        let template = json!({"spec": {"tolerations": tolerates, "containers": [{"name": "c"}]}});
        let nightly = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": "shop"},
            "spec": {"schedule": "0 1 * * *", "jobTemplate": {"spec": {"template": template}}}});
        assert_eq!(found(Rule::TaintUnused, with(&json!([]), vec![nightly])), [""; 0]);
        let workflow = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "CronWorkflow", "metadata": {"name": "train", "namespace": "shop"},
            "spec": {"workflowSpec": {"templates": [{"name": "t", "tolerations": tolerates}]}}});
        assert_eq!(found(Rule::TaintUnused, with(&json!([]), vec![workflow])), [""; 0]);
    }

    #[test]
    fn fargate_is_left_out_and_nodes_of_auto_mode_are_not_edited() {
        let key = "eks.amazonaws.com/compute-type";
        let taint = ["eks.amazonaws.com/compute-type=fargate:NoSchedule"];
        let fargate = labelled(tainted(node("f", "", "a"), &taint), key, "fargate");
        let own = json!({"spec": {"schedulerName": "fargate-scheduler", "nodeSelector": {"no": "node"}}});
        let objects = [vec![node("n", "web", "a"), fargate], service("web", &["f"], &own)].concat();
        for rule in [Rule::TaintUnused, Rule::FitsNowhere, Rule::SelectorMatchesNothing] {
            assert_eq!(found(rule, objects.clone()), [""; 0]);
        }
        let auto = labelled(tainted(node("n", "web", "a"), &["role=x:NoSchedule"]), key, "auto");
        let remedy = remedies(Rule::TaintUnused, vec![auto, node("m", "web", "a")]).remove(0);
        assert!(remedy.contains("tolerate it") && !remedy.contains("take the taint off"), "{remedy}");
    }

    #[test]
    fn nodes_that_no_workload_reaches_for_other_reasons_are_told() {
        let elsewhere = json!({"spec": {"tolerations": [{"key": "dedicated", "value": "gpu"}], "nodeSelector": {"eks.amazonaws.com/nodegroup": "web"}}});
        let objects = [with(&json!([]), vec![]), service("lost", &["n"], &elsewhere)].concat();
        let found = found(Rule::TaintUnused, objects);
        assert!(
            found.len() == 1
                && found[0].starts_with("info")
                && found[0].contains("but no workload can be scheduled on group gpu"),
            "{found:?}"
        );
    }
}
