//! The groups of a snapshot as a simulated cloud is to have them: with the bounds, tags and zones that the cloud's own answers tell, and those that have
//! no node, which no dump of Kubernetes objects shows.

use replank_model::labels::TextMap;
use replank_model::object::cloud::{GroupKind, GroupSize, NodeGroup, Ways};
use replank_model::view::View;

use super::group::{Assumed, Bounds, Group, Groups, Origin};
use super::options::Options;
use super::tags::BadTag;
use replank_facts::group_facts::Facts;
use replank_facts::groups::{GroupBy, LearntGroup};

/// The maximum of a simulated group of which nobody told one: EKS' quota for nodes of a managed node group.
pub const SIMULATED_MAX: u32 = 450;

/// What groups were given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactsApplied {
    /// What is said of groups, under the names by which nodes show them.
    pub facts: Vec<Facts>,
    /// What was assumed of groups that the autoscaler may change.
    pub assumed: Vec<Assumed>,
    /// Tags that cannot be read.
    pub bad_tags: Vec<BadTag>,
}

/// Gives groups what is said of them, and adds those without nodes. Where `grows` is set, groups of which nobody said how large they may be may grow
/// to [`SIMULATED_MAX`]; else they stay within what the snapshot shows.
pub fn apply_facts(
    groups: &mut Vec<LearntGroup>,
    view: &View,
    by: &GroupBy,
    facts: &[Facts],
    options: &Options,
    grows: bool,
) -> FactsApplied {
    let known = Groups::of(view, by, facts, options);
    let facts = Groups::names_of(view, by, facts);
    for learnt in groups.iter_mut() {
        let group = &mut learnt.group;
        let present = group.size.desired;
        let told = facts.iter().find(|facts| facts.name == group.name);
        if let Some(told) = told {
            group.tags = tags(told);
            group.ways = ways(told);
            group.zones.extend(told.zones.iter().cloned());
            group.zones.sort();
            group.zones.dedup();
            owned(group, told);
        }
        let size = known.get(&group.name).filter(|known| known.bounds != Bounds::Assumed);
        let size = size.map(|known| known.size).or(told.and_then(|told| told.size));
        match size {
            Some(size) => {
                group.size =
                    GroupSize { min: size.min.min(present), max: size.max.max(present), desired: present };
            }
            None if grows => {
                group.size = GroupSize { min: 0, max: present.max(SIMULATED_MAX), desired: present }
            }
            None => {}
        }
    }
    let empty = known.all.iter().filter(|group| group.origin == Origin::Computed);
    groups.extend(empty.map(|group| LearntGroup { group: made(group, &facts), instances: Vec::new() }));
    groups.sort_by(|a, b| a.group.name.cmp(&b.group.name));
    FactsApplied { facts, assumed: known.assumed, bad_tags: known.bad_tags }
}

fn tags(told: &Facts) -> TextMap {
    told.tags.iter().cloned().collect()
}

fn ways(told: &Facts) -> Ways {
    Ways { is_launch_suspended: told.is_suspended, ..Ways::default() }
}

/// A group without nodes.
fn made(group: &Group, facts: &[Facts]) -> NodeGroup {
    let told = facts.iter().find(|facts| facts.name == group.name);
    let size = GroupSize { max: group.size.max.min(SIMULATED_MAX.max(group.size.desired)), ..group.size };
    let mut made = NodeGroup {
        tags: told.map(tags).unwrap_or_default(),
        ways: told.map(ways).unwrap_or_default(),
        ..NodeGroup::new(group.name.clone(), size, group.zones.clone(), group.template.clone())
    };
    if let Some(told) = told {
        owned(&mut made, told);
    }
    made
}

/// Who owns its Auto Scaling group, and how that is called.
fn owned(group: &mut NodeGroup, told: &Facts) {
    if let Some(name) = &told.auto_scaling {
        group.auto_scaling_group = name.clone();
    }
    match told.kind {
        GroupKind::SelfManaged => {}
        GroupKind::EksManaged => *group = group.clone().managed_by_eks(),
    }
}
