//! Node groups: which there are, and which a plan means.

use replank_core::nodes_to_replace;
use replank_facts::groups::{self, GroupBy, LearntGroup, group_of};
use replank_facts::plan::RunOptions;
use replank_facts::plan::{ChosenBy, Plan, nearest};
use replank_model::object::node::LABEL_EKS_NODEGROUP;
use replank_model::text::{GroupName, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::{Assumption, Source};

use crate::failure::Failure;
use crate::report::words::count;

/// Groups that a message lists.
const LISTED_MAX: usize = 20;

/// Groups, and what makes them.
pub(super) struct Grouped {
    pub(super) groups: Vec<LearntGroup>,
    pub(super) by: GroupBy,
    /// What had to be assumed: of labels that new nodes lack, and of a group that the snapshot does not show.
    pub(super) assumptions: Vec<Assumption>,
}

/// The groups that a label makes.
pub(crate) fn of_label(view: &View, label: &Text) -> Vec<LearntGroup> {
    groups::from_nodes(view, &GroupBy::Label(label.clone()))
}

/// The groups of a snapshot, those of the plan among them.
///
/// Nodes that a plan chooses by a selector are in their groups by label where all of them have it; else they are
/// one group that has the plan's name.
pub(super) fn choose(view: &View, plan: &Plan, label: &Text, now: Time) -> Result<Grouped, Failure> {
    let mut grouped = choose_shown(view, plan, label)?;
    let options = RunOptions { started: now, group_by: grouped.by.clone() };
    let by_hand = groups::labels_by_hand(view, &grouped.by);
    grouped.assumptions.extend(by_hand.into_iter().map(|(group, labels)| Assumption {
        about: format!("labels of new nodes of {group}"),
        value: format!(
            "{} set as soon as a node has joined, as on its other nodes: kubelets refuse to set {}",
            labels.join(", "),
            if labels.len() == 1 { "it" } else { "them" },
        ),
        source: Source::Default,
    }));
    let moving = nodes_to_replace(view, plan, &options).len();
    if let Some(target) = groups::assumed_target(&grouped.groups, plan, moving, &grouped.by) {
        grouped.assumptions.push(Assumption {
            about: format!("node group {}, which has no nodes in the snapshot", target.group.name),
            value: format!(
                "created empty before the roll, with the zones and instance types of the first group that nodes leave, maximum size {}",
                target.group.size.max
            ),
            source: Source::Default,
        });
        grouped.groups.push(target);
    }
    Ok(grouped)
}

fn choose_shown(view: &View, plan: &Plan, label: &Text) -> Result<Grouped, Failure> {
    let known = of_label(view, label);
    let by = GroupBy::Label(label.clone());
    match &plan.nodes.by {
        ChosenBy::Groups(wanted) => {
            let is_pool = |name: &GroupName| {
                let mut claims = view.node_claims.unordered().map(|(_, claim)| claim);
                claims.any(|claim| claim.pool().is_some_and(|pool| pool == name.text()))
            };
            let is_known = |name: &GroupName| known.iter().any(|group| group.group.name == *name);
            let unknown = wanted.iter().find(|name| !is_known(name) && !is_pool(name));
            unknown.map_or(Ok(()), |name| Err(no_such(name, &known, label)))?;
            Ok(Grouped { groups: known, by, assumptions: Vec::new() })
        }
        ChosenBy::Selector(selector) => {
            let nodes = view.nodes.sorted();
            let mut chosen =
                nodes.iter().filter(|(_, node)| selector.matches(|key| node.meta.labels.value(key)));
            let is_grouped = chosen.clone().all(|(_, node)| group_of(node, &by).is_some());
            if chosen.next().is_none() {
                return Err(Failure::usage_message("the plan's selector matches no node of the snapshot")
                    .next("list the nodes' labels: kubectl get nodes --show-labels"));
            }
            if is_grouped {
                return Ok(Grouped { groups: known, by, assumptions: Vec::new() });
            }
            let by = GroupBy::Selector(GroupName::new(plan.name.clone()), selector.clone());
            Ok(Grouped { groups: groups::from_nodes(view, &by), by, assumptions: Vec::new() })
        }
    }
}

fn no_such(name: &GroupName, known: &[LearntGroup], label: &Text) -> Failure {
    let meant = nearest(name.as_str(), known.iter().map(|group| group.group.name.as_str()));
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    Failure::usage_message(format!("node group {name:?} is not in the snapshot"))
        .next(format!("{meant}{}", there_are(known, label)))
}

/// `there are batch (8 nodes) and web (16 nodes)`
pub(super) fn there_are(known: &[LearntGroup], label: &Text) -> String {
    if known.is_empty() {
        let other = if **label == *LABEL_EKS_NODEGROUP { "another label" } else { "another label than this" };
        return format!(
            "no node has the label {label}, which identifies node groups: pass {other} with --group-label, or select nodes with a selector in a plan"
        );
    }
    let mut names: Vec<String> = known
        .iter()
        .take(LISTED_MAX)
        .map(|group| format!("{} ({})", group.group.name, count(group.instances.len(), "node")))
        .collect();
    if known.len() > LISTED_MAX {
        names.push(format!("{} more", known.len() - LISTED_MAX));
    }
    format!("by the label {label} there are {}", names.join(", "))
}
