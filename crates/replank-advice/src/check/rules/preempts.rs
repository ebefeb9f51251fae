//! Pods that move and find room only where the scheduler makes it: pods of lower priority go for them.
//!
//! Every old node is taken as full and has given way to a new one, and the pods that move are placed, the most important first, as the scheduler's queue has them. A roll evicts no pod that has
//! no room, so it waits where this would happen; whoever evicts all the same (`kubectl drain`, an interruption, a node that dies) has these pods preempted, their disruption budgets or not.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_facts::drain::{Fate, Otherwise};
use replank_facts::places::Places;
use replank_facts::plan::Target;
use replank_model::object::cloud::NodeGroup;
use replank_model::object::pod::Pod;
use replank_model::text::Zone;
use replank_protocol::provisioner::Provisioner;

use super::super::finding::{Finding, ObjectName, Rule, Severity, pods, workload_or_pod};
use super::super::survey::{Subject, Survey};

/// Pods that are named in one finding.
const NAMED_MAX: usize = 5;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut movers = movers(survey);
    let highest = movers.iter().map(|subject| priority(&subject.pod)).max();
    let lowest =
        survey.view.pods.unordered().filter(|(_, pod)| pod.is_active()).map(|(_, pod)| priority(pod)).min();
    // Where all are equal, nobody gives way to anybody.
    if highest.is_none_or(|highest| lowest.is_none_or(|lowest| highest <= lowest)) {
        return Vec::new();
    }
    // As the scheduler's queue has them.
    movers.sort_by_key(|subject| (Reverse(priority(&subject.pod)), subject.pod.meta.key()));
    let nothing = Target::default();
    let target = survey.plan.map_or(&nothing, |plan| &plan.target);
    let groups = survey.groups_renewed();
    let alone = survey.replaced_alone();
    let grown = groups.iter().map(|group| (*group, zones(survey, group)));
    let grown = grown.chain(alone.iter().map(|group| (group, group.zones.clone())));
    let mut places = Places::with_all_replaced(survey.view, grown, target, survey.nodes.clone());
    let mut gone: BTreeMap<ObjectName, (BTreeSet<String>, usize)> = BTreeMap::new();
    for mover in movers {
        if let Some(nomination) = places.move_or_preempt(&mover.pod) {
            let object = workload_or_pod(mover.workload.as_ref(), &mover.pod);
            let known = gone.entry(object).or_default();
            known.0.extend(nomination.victims.iter().map(ToString::to_string));
            known.1 += nomination.violations;
        }
    }
    gone.into_iter().map(|(object, (victims, violations))| finding(object, &victims, violations)).collect()
}

/// What moves, in no order.
fn movers<'s>(survey: &'s Survey<'_>) -> Vec<&'s Subject> {
    let moves = |subject: &&Subject| match subject.fate {
        Fate::Plain(otherwise) | Fate::Batch { otherwise, .. } => {
            otherwise == Otherwise::Moves && !subject.ends()
        }
        Fate::Unrecorded | Fate::Finished | Fate::Leaving { .. } | Fate::Stays => false,
    };
    // Karpenter launches what its pods need.
    let is_replaced = |subject: &&Subject| {
        let node = subject.pod.node.as_ref().and_then(|name| survey.view.node(name));
        node.is_some_and(|node| survey.group_of(node).is_some() || !Provisioner::of(node).keeps_its_nodes())
    };
    survey.subjects.iter().filter(moves).filter(is_replaced).collect()
}

fn priority(pod: &Pod) -> i32 {
    pod.spec.priority.unwrap_or(0)
}

/// Zones in which a group has a new node for each old one.
fn zones(survey: &Survey<'_>, group: &Arc<NodeGroup>) -> Vec<Zone> {
    let moves_here = survey.plan.is_some_and(|plan| plan.target.lands_in(&group.name));
    let old = survey
        .node_objects()
        .filter(|node| moves_here || survey.group_of(node).as_ref() == Some(&group.name));
    let zones = old.enumerate().filter_map(|(number, node)| {
        let own = node.zone().map(|zone| Zone::new(zone.clone())).filter(|zone| group.zones.contains(zone));
        own.or_else(|| group.zones.get(number % group.zones.len().max(1)).cloned())
    });
    zones.collect()
}

fn finding(object: ObjectName, victims: &BTreeSet<String>, violations: usize) -> Finding {
    let mut names: Vec<&str> = victims.iter().map(String::as_str).take(NAMED_MAX).collect();
    let more = victims.len().saturating_sub(NAMED_MAX);
    let more_text = format!("{more} more");
    if more > 0 {
        names.push(&more_text);
    }
    let budgets = match violations {
        0 => String::new(),
        1 => ", one of them against its disruption budget".to_owned(),
        many => format!(", {many} of them against their disruption budgets"),
    };
    Finding {
        rule: Rule::Preempts,
        severity: Severity::Warning,
        object,
        reason: format!(
            "no room is left for all of its pods once every node is replaced: evicted all the same, they preempt {} of lower priority{budgets}: {}",
            pods(victims.len()),
            names.join(", ")
        ),
        remedy: "kubectl get priorityclasses   # give the pods that must not go the same priority, or make room: more or larger nodes, lower requests"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found_under, node, service};
    use super::*;

    /// `web` of this priority runs on the node that goes, and may run on the one that stays besides, which is full of `batch`.
    fn found_here(priority: i32, cpu: &str) -> Vec<String> {
        let mut stays = node("stays", "a");
        stays["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = json!("other");
        stays["metadata"]["labels"]["disk"] = json!("fast");
        let request = |cpu: &str, priority: i32, more: serde_json::Value| {
            let mut spec = json!({"priority": priority, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]});
            spec.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            json!({"spec": spec})
        };
        let web = service("web", &["n"], &request("1", priority, json!({"nodeSelector": {"disk": "fast"}})));
        let low = service("low", &["stays"], &request(cpu, 0, json!({})));
        found_under(Rule::Preempts, |_| {}, [vec![node("n", "a"), stays], web, low].concat())
    }

    #[test]
    fn what_would_have_to_give_way_is_named() {
        let told = found_here(1000, "3500m");
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("warning preempts Deployment shop/web: no room is left"), "{told:?}");
        assert!(
            told[0].contains("preempt 1 pod of lower priority") && told[0].contains("shop/low"),
            "{told:?}"
        );
    }

    #[test]
    fn where_there_is_room_or_nobody_is_weaker_nothing_is_said() {
        assert_eq!(found_here(1000, "500m"), [""; 0], "there is room");
        assert_eq!(found_here(0, "3500m"), [""; 0], "nobody is weaker");
    }
}
