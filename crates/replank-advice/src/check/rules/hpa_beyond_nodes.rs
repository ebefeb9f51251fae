//! Autoscalers whose maximum is more than all nodes hold that there may be.
//!
//! Every group whose maximum is told is filled up with empty nodes, their DaemonSet pods on them, and the replicas that an autoscaler may still
//! add are placed one after the other, with everything else where it is. Each autoscaler is looked at alone: that two of them are at
//! their maximum at once is another question. Without a word about maxima there is nothing to be said.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::delta::Delta;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, Text, Zone};
use replank_model::view::View;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_core::scale::{Facts, Group, Groups, Options, Template};
use replank_facts::fresh::DaemonFactories;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};
use replank_facts::room::Room;
use replank_facts::workload::workload_of;
use serde_json::json;

/// Nodes that are added at most: the largest cluster that Kubernetes is made for.
const NODES_MAX: u32 = 5_000;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    if survey.facts.is_empty() || survey.view.horizontal_pod_autoscalers.is_empty() {
        return Vec::new();
    }
    let full = Full::of(survey);
    let mut room = Room::load(&full.view, BTreeSet::new());
    let autoscalers = survey.view.horizontal_pod_autoscalers.sorted();
    autoscalers.into_iter().filter_map(|(_, hpa)| look(survey, &full, &mut room, hpa)).collect()
}

/// A cluster in which every group that may grow has grown.
struct Full {
    view: View,
    /// Groups and what they may grow to, in words.
    maxima: String,
}

impl Full {
    fn of(survey: &Survey<'_>) -> Self {
        let options = Options::default();
        let groups = Groups::of(survey.view, &survey.options.group_by, survey.facts, &options);
        let is_told = |name: &GroupName| {
            survey.facts.iter().any(|facts: &Facts| facts.name == *name && facts.size.is_some())
        };
        let factories = Arc::new(DaemonFactories::of(survey.view));
        let mut view = survey.view.clone();
        let mut maxima = Vec::new();
        for group in groups.all.iter().filter(|group| is_told(&group.name)) {
            maxima.push(format!("{} {}", group.name, group.size.max));
            fill(&mut view, group, &Template::of(group, &options, &factories));
        }
        Self { view, maxima: maxima.join(", ") }
    }
}

fn fill(view: &mut View, group: &Group, template: &Template) {
    let mut count: Vec<(u32, &Zone)> = group.zones.iter().map(|zone| (of_zone(group, zone), zone)).collect();
    let missing = group.size.max.saturating_sub(group.len()).min(NODES_MAX);
    for number in 0..missing {
        // An Auto Scaling group launches where it has the fewest.
        let Some(least) = count.iter_mut().min() else { return };
        least.0 += 1;
        let fresh = template.fresh(least.1, number);
        let name = fresh.node.name();
        view.apply(Delta::from(fresh.node));
        if let Some(csi) = template.csi_node(&name) {
            view.apply(Delta::from(csi));
        }
        for daemon in fresh.daemons {
            let mut daemon = Pod::clone(&daemon);
            daemon.node = Some(name.clone());
            view.apply(Delta::from(daemon));
        }
    }
}

fn of_zone(group: &Group, zone: &Zone) -> u32 {
    group.nodes.get(zone).map_or(0, |nodes| u32::try_from(nodes.len()).unwrap_or(u32::MAX))
}

fn look(survey: &Survey<'_>, full: &Full, room: &mut Room, hpa: &HorizontalPodAutoscaler) -> Option<Finding> {
    let pods = pods_of(survey.view, hpa);
    let model = pods.first()?;
    let placed = pods.iter().filter(|pod| pod.node.is_some()).count();
    let maximum = usize::try_from(hpa.spec.max_replicas).unwrap_or(0);
    let (fits, why) = fitting(full, room, model, maximum.saturating_sub(placed))?;
    let (target, without) = (&hpa.spec.scale_target_ref, maximum - placed - fits);
    let meta = &hpa.meta;
    Some(Finding {
        rule: Rule::HpaBeyondNodes,
        severity: Severity::Warning,
        object: ObjectName::new("HorizontalPodAutoscaler", meta.key()),
        reason: format!(
            "{} {} may have {maximum} replicas, and {without} of them are unschedulable when every group is at its maximum ({}): {why}",
            target.kind, target.name, full.maxima
        ),
        remedy: Remedy::edit(Edit::Patch {
            of: Target::new(TargetKind::HorizontalPodAutoscaler, meta.key()),
            patch: json!({"spec": {"maxReplicas": placed + fits}}),
        })
        .look_first("raise the maximum of a group that these pods may run in, or lower the autoscaler's maximum to what fits"),
    })
}

/// How many more pods like one find a place, and why the next does not; nothing where all do.
fn fitting(full: &Full, room: &mut Room, model: &Arc<Pod>, wanted: usize) -> Option<(usize, Text)> {
    let mut search = room.search(&full.view);
    (0..wanted).find_map(|number| search.find_beside(model, number).err().map(|why| (number, why)))
}

/// The pods that an autoscaler's target has, as far as they are there to stay; those without a node come last.
fn pods_of(view: &View, hpa: &HorizontalPodAutoscaler) -> Vec<Arc<Pod>> {
    let target = &hpa.spec.scale_target_ref;
    let is_of = |pod: &Pod| {
        workload_of(view, pod).is_some_and(|workload| {
            workload.kind == target.kind
                && workload.key.name == target.name
                && workload.key.namespace == hpa.meta.namespace
        })
    };
    let all = view.pods.sorted().into_iter().map(|(_, pod)| pod);
    let mut pods: Vec<Arc<Pod>> = all.filter(|pod| pod.is_active() && is_of(pod)).cloned().collect();
    pods.sort_by_key(|pod| pod.node.is_none());
    pods
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found_beside, node, service};
    use super::*;
    use replank_facts::group_facts::read as read_facts;

    fn groups(max: u32) -> Vec<Facts> {
        let answer = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "web", "MinSize": 0, "MaxSize": max, "DesiredCapacity": 1,
            "AvailabilityZones": ["a"], "Instances": [], "Tags": []}]});
        read_facts(&answer).expect("an answer")
    }

    fn cluster(maximum: i32) -> Vec<Value> {
        let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": maximum}});
        let big = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}});
        // Agents take a whole core of every node of four: three pods fit.
        let agent = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "shop", "uid": "agent"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}}});
        [vec![node("n", "a"), hpa, agent], service("web", &["n", "n"], &big)].concat()
    }

    #[test]
    fn a_maximum_that_no_node_is_for_is_found() {
        // Two pods and room for two more on the node, three on each of the two that may come.
        assert_eq!(
            found_beside(Rule::HpaBeyondNodes, &groups(3), cluster(12)),
            [
                "warning hpa-beyond-nodes HorizontalPodAutoscaler shop/web: Deployment web may have 12 replicas, and 2 of them are unschedulable when every group is at its maximum (web 3): 0/3 nodes are available: 3 Insufficient cpu."
            ]
        );
        assert_eq!(found_beside(Rule::HpaBeyondNodes, &groups(3), cluster(10)), [""; 0]);
        assert_eq!(found_beside(Rule::HpaBeyondNodes, &groups(4), cluster(12)), [""; 0]);
    }

    #[test]
    fn without_maxima_nothing_is_said() {
        assert_eq!(found_beside(Rule::HpaBeyondNodes, &[], cluster(500)), [""; 0]);
    }
}
