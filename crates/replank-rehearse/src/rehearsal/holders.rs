//! Nodes that were never begun: nothing on them kept them, but what another node holds that cannot go on, or the end of the time.
//!
//! A node whose drain has come to a standstill gives its place to the next, and its share of the surge, where the next can use it. What is left then has a node
//! before it that takes the place of a Ready one; that one is named, with what keeps it and the finding that tells of that.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::text::{GroupName, NodeName};
use replank_model::view::View;

use super::result::Cause;

/// The kind of a cause that is another node.
pub(super) const HELD: &str = "held";
/// Reasons that a group has too few Ready nodes for the next to be begun.
const TOO_FEW: [&str; 2] = ["available", "zoneMinimum"];
/// Reasons that the run had no more time.
pub(super) const NO_TIME: [&str; 2] = ["deadline", "windows"];

/// Names what kept the nodes that are left and were never begun, where it is not on them. `was_begun` says which of those that are left were.
pub(super) fn name(
    view: &View,
    causes: &mut Vec<Cause>,
    left: &BTreeSet<NodeName>,
    was_begun: impl Fn(&NodeName) -> bool,
) {
    let named: BTreeSet<&str> = causes
        .iter()
        .filter(|cause| !TOO_FEW.contains(&cause.kind))
        .flat_map(|cause| &cause.nodes)
        .map(String::as_str)
        .collect();
    let unnamed: Vec<&NodeName> = left.iter().filter(|name| !named.contains(name.as_str())).collect();
    if let Some(at) = causes.iter().position(|cause| NO_TIME.contains(&cause.kind)) {
        causes[at].nodes = unnamed.iter().map(ToString::to_string).collect();
        // More time would have helped none of the nodes that are left: what keeps each is named.
        if unnamed.is_empty() && causes.len() > 1 {
            causes.remove(at);
        }
        return;
    }
    let idle = unnamed.into_iter().filter(|name| !was_begun(name));
    let groups = groups(view);
    let mut waiting: BTreeMap<&GroupName, Vec<&NodeName>> = BTreeMap::new();
    for name in idle {
        groups.get(name).into_iter().for_each(|group| waiting.entry(*group).or_default().push(name));
    }
    for (group, idle) in waiting {
        let begun = left.iter().filter(|name| groups.get(name) == Some(&group) && was_begun(name));
        let mut holders = begun.filter_map(|name| Some((name, keeping(causes, name)?)));
        let Some((holder, keeps)) = holders.next() else { continue };
        let others = match holders.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason =
            format!("more Ready nodes: node {holder}{others}, begun before, cannot go on: {}", keeps.reason);
        let nodes: Vec<String> = idle.iter().map(ToString::to_string).collect();
        let held = Cause {
            object: format!("Node {holder}"),
            kind: HELD,
            related: BTreeSet::from([format!("Node {holder}")]),
            reason,
            pods: 0,
            finding: None,
            finding_object: None,
            remedy: None,
            nodes,
        };
        for cause in causes.iter_mut().filter(|cause| TOO_FEW.contains(&cause.kind)) {
            cause.nodes.retain(|name| !held.nodes.contains(name));
        }
        causes.retain(|cause| !TOO_FEW.contains(&cause.kind) || !cause.nodes.is_empty());
        causes.push(held);
    }
}

/// Has each cause that is another node point to the finding about what keeps that node.
pub(super) fn tie(causes: &mut [Cause]) {
    for at in 0..causes.len() {
        if causes[at].kind != HELD {
            continue;
        }
        let holder = causes[at].object.trim_start_matches("Node ").into();
        let Some(keeps) = keeping(causes, &holder).cloned() else { continue };
        let held = &mut causes[at];
        held.finding = keeps.finding;
        held.finding_object = keeps.finding_object;
        held.remedy = keeps.remedy;
    }
}

/// What keeps a node that was begun.
fn keeping<'c>(causes: &'c [Cause], node: &NodeName) -> Option<&'c Cause> {
    causes.iter().find(|cause| cause.kind != HELD && cause.nodes.iter().any(|name| name == node.as_str()))
}

fn groups(view: &View) -> BTreeMap<&NodeName, &GroupName> {
    let instances = view.instances().values();
    instances.filter_map(|instance| Some((instance.node.as_ref()?, &instance.group))).collect()
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::cloud::{
        HealthStatus, Instance, InstanceState, LaunchTemplateRef, Lifecycle, Market,
    };

    use super::*;

    fn instance(name: &str, group: &str) -> Instance {
        Instance {
            id: format!("i-{name}").into(),
            group: group.into(),
            zone: "a".into(),
            state: InstanceState::Running,
            template: LaunchTemplateRef { id: "lt-1".into(), version: 1 },
            launched: None,
            node: Some(name.into()),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        }
    }

    fn cause(kind: &'static str, object: &str, nodes: &[&str]) -> Cause {
        Cause {
            object: object.to_owned(),
            kind,
            related: BTreeSet::new(),
            reason: format!("the reason {kind}"),
            nodes: nodes.iter().map(ToString::to_string).collect(),
            pods: 0,
            finding: (kind == "budget").then_some("pdb-unready"),
            finding_object: None,
            remedy: None,
        }
    }

    fn told(causes: &[Cause]) -> Vec<String> {
        let told = |cause: &Cause| {
            format!("{} {} {:?} {:?}: {}", cause.kind, cause.object, cause.nodes, cause.finding, cause.reason)
        };
        causes.iter().map(told).collect()
    }

    /// Nodes `a-1` to `a-3` and `b-1`, each in the group that its name begins with; `a-1` was begun.
    fn named(mut causes: Vec<Cause>) -> Vec<Cause> {
        let names = ["a-1", "a-2", "a-3", "b-1"];
        let instances = names.iter().map(|name| instance(name, &name[..1]));
        let view: View = instances.map(|one: Instance| Delta::Instance(one.into())).collect();
        let left = names.iter().map(|name| NodeName::from(*name)).collect();
        name(&view, &mut causes, &left, |name| name.as_str() == "a-1");
        tie(&mut causes);
        causes
    }

    #[test]
    fn what_was_never_begun_is_held_by_the_node_before_it() {
        let budget = cause("budget", "PodDisruptionBudget shop/web", &["a-1"]);
        let too_few = cause("available", "Node a-2", &["a-2"]);
        assert_eq!(
            told(&named(vec![budget, too_few])),
            [
                r#"budget PodDisruptionBudget shop/web ["a-1"] Some("pdb-unready"): the reason budget"#,
                r#"held Node a-1 ["a-2", "a-3"] Some("pdb-unready"): more Ready nodes: node a-1, begun before, cannot go on: the reason budget"#,
            ]
        );
    }

    #[test]
    fn where_nobody_was_begun_too_few_nodes_are_the_reason() {
        let too_few = cause("available", "Node b-1", &["b-1"]);
        let causes = named(vec![too_few]);
        assert_eq!(told(&causes), [r#"available Node b-1 ["b-1"] None: the reason available"#]);
    }

    #[test]
    fn what_the_time_did_not_reach_is_kept_by_the_time() {
        let budget = cause("budget", "PodDisruptionBudget shop/web", &["a-1"]);
        let causes = named(vec![budget, cause("windows", "run", &[])]);
        assert_eq!(
            told(&causes)[1],
            r#"windows run ["a-2", "a-3", "b-1"] None: the reason windows"#,
            "{causes:?}"
        );
    }
}
