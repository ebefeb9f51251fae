//! Pods that fit on no node that stays and on no new one, by the scheduler's judgement.
//!
//! Old nodes are taken as full; of every group that is rolled, or that nodes move into, one empty new node of each zone and
//! shape is added, and of every Karpenter pool that the plan names. A node of no known group is replaced by one that is like it. A pod that
//! finds no place then, with everything else where it is, will find none in the roll either.
//!
//! Where a plan allows no surge, a new node comes only when an old one is gone. Then one old node at least has to be emptied onto the nodes
//! that stay; if none can be, the roll does not begin.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::{NodeGroup, NodeProfile};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, NodeName, Text, Zone};

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::{Subject, Survey};
use super::change::surge_per_zone;
use replank_facts::drain::{Fate, Otherwise};
use replank_facts::places::Places;
use replank_facts::plan::{OldNodes, Target};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let nothing = Target::default();
    let target = survey.plan.map_or(&nothing, |plan| &plan.target);
    let mut groups = survey.groups_renewed();
    let pools = survey.pools_renewed();
    groups.extend(&pools);
    let alone = of_each_kind(&survey.replaced_alone());
    groups.extend(&alone);
    let mut places = Places::with_groups(survey.view, groups.into_iter(), target, survey.nodes.clone());
    let mut known = BTreeMap::new();
    let mut findings: BTreeMap<ObjectName, (Finding, usize)> = BTreeMap::new();
    let mut housed = Vec::new();
    for subject in survey.subjects.iter().filter(|subject| moves(subject)) {
        let Some(message) = places.obstacle_of_kind(&mut known, &subject.pod) else {
            housed.push(subject);
            continue;
        };
        let object = workload_or_pod(subject.workload.as_ref(), &subject.pod);
        let known = findings.entry(object.clone()).or_insert_with(|| (finding(object, subject, &message), 0));
        known.1 += 1;
    }
    let counted = findings.into_values().map(|(mut finding, count)| {
        if count > 1 {
            finding.reason = format!("{}: {}", pods(count), finding.reason);
        }
        finding
    });
    counted.chain(without_surge(survey, &housed)).collect()
}

/// What new nodes of a group are like, as far as it can be ordered: the rest is compared.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'g> {
    zones: &'g [Zone],
    labels: &'g [(Text, Text)],
}

/// One group of each kind of node: where many are alike, one new node tells as much as all of them.
fn of_each_kind(groups: &[Arc<NodeGroup>]) -> Vec<Arc<NodeGroup>> {
    let mut known: BTreeMap<Kind<'_>, Vec<&NodeProfile>> = BTreeMap::new();
    let mut all = Vec::new();
    for group in groups {
        let profile = group.profile();
        let alike = known.entry(Kind { zones: &group.zones, labels: profile.labels.pairs() }).or_default();
        if !alike.contains(&profile) {
            alike.push(profile);
            all.push(group.clone());
        }
    }
    all
}

/// That no old node of groups without a surge can be emptied first, though all pods have a place once there are new nodes.
fn without_surge(survey: &Survey<'_>, movers: &[&Subject]) -> Option<Finding> {
    let plan = survey.plan.filter(|plan| plan.target.group.is_none())?;
    let external = plan.external();
    // Old nodes take pods then.
    if external.is_some_and(|external| external.old_nodes == OldNodes::Avoid) {
        return None;
    }
    let has_surge =
        |group: &&Arc<NodeGroup>| plan.budget.allowance(group.size.desired, group.zones.len()).surge > 0;
    let (with, without): (Vec<_>, Vec<_>) = survey.groups_renewed().into_iter().partition(has_surge);
    let group = without.first()?;
    let mut places = Places::with_groups(survey.view, with.into_iter(), &plan.target, survey.nodes.clone());
    let mut known = BTreeMap::new();
    let mut held: BTreeMap<&NodeName, (Key, Text)> = BTreeMap::new();
    for subject in movers {
        let Some(node) = subject.pod.node.as_ref().filter(|node| !held.contains_key(node)) else { continue };
        if let Some(message) = places.obstacle_of_kind(&mut known, &subject.pod) {
            held.insert(node, (subject.pod.meta.key(), message));
        }
    }
    let is_without = |name: &GroupName| without.iter().any(|group| group.name == *name);
    let nodes = survey.node_objects().filter(|node| survey.group_of(node).as_ref().is_some_and(is_without));
    let names: Vec<NodeName> = nodes.map(|node| node.name()).collect();
    let (pod, message) = held.get(names.first()?)?;
    if names.iter().any(|name| !held.contains_key(name)) {
        return None;
    }
    let zones = group.zones.len().max(1);
    let (why, remedy) = match external {
        Some(_) => (
            "somebody else launches new nodes (provider: external), all old ones are cordoned",
            "# have a node added to the group before the run, or set external.oldNodes: avoid"
                .to_owned()
                .into(),
        ),
        None => (
            "budget.surge is 0, so a new node is launched only after an old one is gone",
            surge_per_zone(u32::try_from(zones).unwrap_or(u32::MAX)),
        ),
    };
    Some(Finding {
        rule: Rule::NoRoom,
        severity: Severity::Blocking,
        object: ObjectName::new("NodeGroup", Key::cluster(group.name.as_str())),
        reason: format!(
            "{why}, and none of {} can be drained onto the remaining nodes: pod {pod}, for example, is unschedulable: {message}",
            names.len()
        ),
        remedy,
    })
}

fn moves(subject: &Subject) -> bool {
    match subject.fate {
        Fate::Plain(otherwise) | Fate::Batch { otherwise, .. } => {
            otherwise == Otherwise::Moves && !subject.ends()
        }
        Fate::Unrecorded | Fate::Finished | Fate::Leaving { .. } | Fate::Stays => false,
    }
}

fn finding(object: ObjectName, subject: &Subject, message: &str) -> Finding {
    Finding {
        rule: Rule::NoRoom,
        severity: Severity::Blocking,
        object,
        reason: format!(
            "unschedulable on the remaining nodes and on a new one; counting old nodes as full: {message}"
        ),
        remedy: format!(
            "kubectl -n {ns} get pod {pod} -o jsonpath='{{.spec.nodeSelector}} {{.spec.affinity}} {{.spec.tolerations}}'   # make \
             them fit the new nodes, or lower requests that no node can meet",
            ns = subject.pod.meta.namespace,
            pod = subject.pod.meta.name
        ).into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, found_under, merge, node, service};
    use super::*;

    #[test]
    fn without_a_surge_one_node_has_to_be_emptied_first() {
        let two = || vec![node("n", "a"), node("m", "b")];
        let mut other = node("stays", "a");
        other["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("other");
        let under =
            |surge: i32, objects| found_under(Rule::NoRoom, |plan| plan.budget.surge = surge.into(), objects);
        let everywhere = || [two(), service("web", &["n", "m"], &json!({}))].concat();
        let none = under(0, everywhere());
        assert!(
            none.len() == 1
                && none[0].starts_with(
                    "blocking no-room NodeGroup web: budget.surge is 0, so a new node is launched only"
                )
                && none[0].contains("none of 2 can be drained"),
            "{none:?}"
        );
        assert_eq!(under(1, everywhere()), [""; 0]);
        assert_eq!(under(0, [everywhere(), vec![other]].concat()), [""; 0], "there is a node that stays");
        let first_is_empty = [two(), service("web", &["m", "m"], &json!({}))].concat();
        assert_eq!(under(0, first_is_empty), [""; 0], "an empty one is replaced first");
    }

    #[test]
    fn a_pod_that_no_new_node_can_take_is_found_with_the_schedulers_words() {
        let picky = json!({"spec": {"nodeSelector": {"disk": "fast"}}});
        let found_here =
            found(Rule::NoRoom, [vec![node("n", "a")], service("web", &["n", "n"], &picky)].concat());
        assert_eq!(found_here.len(), 1);
        assert!(
            found_here[0].starts_with(
                "blocking no-room Deployment shop/web: 2 pods: unschedulable on the remaining nodes and on a new one; "
            ) && found_here[0].contains("0/2 nodes are available")
                && found_here[0].ends_with(" (counting 1 empty new node)"),
            "{found_here:?}"
        );
    }

    #[test]
    fn a_node_of_no_group_is_replaced_by_one_that_is_like_it() {
        let alone = |name: &str, labels: Value| {
            let mut alone = node(name, "a");
            let known = alone["metadata"]["labels"].as_object_mut().expect("labels");
            known.remove("eks.amazonaws.com/nodegroup");
            merge(&mut alone, json!({"metadata": {"labels": labels}}));
            alone
        };
        let nodes =
            || vec![alone("n", json!({"disk": "fast"})), alone("m", json!({})), alone("o", json!({}))];
        let with =
            |extra: Value| found(Rule::NoRoom, [nodes(), service("web", &["n", "m", "o"], &extra)].concat());
        assert_eq!(with(json!({})), [""; 0], "each has a place on its like");
        assert_eq!(with(json!({"spec": {"nodeSelector": {"disk": "fast"}}})), [""; 0]);
        let nowhere = with(json!({"spec": {"nodeSelector": {"disk": "slow"}}}));
        // Two of the three are alike.
        assert!(
            nowhere.len() == 1 && nowhere[0].contains("(counting 2 empty new nodes"),
            "no node is like that: {nowhere:?}"
        );
    }

    #[test]
    fn a_pod_that_fills_a_node_fits_on_a_new_one() {
        let big = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}]}});
        assert_eq!(
            found(Rule::NoRoom, [vec![node("n", "a")], service("web", &["n"], &big)].concat()),
            [""; 0]
        );
        let bigger =
            json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "5"}}}]}});
        assert_eq!(
            found(Rule::NoRoom, [vec![node("n", "a")], service("web", &["n"], &bigger)].concat()).len(),
            1
        );
    }
}
