//! H2: after a roll back no node is left that was made from what failed, but such whose reason is named. Where nodes moved into another
//! group, none is left there that was launched since, and each group has as many as before.

use std::collections::BTreeMap;

use replank_model::object::cloud::{Instance, LaunchTemplate, LaunchTemplateRef, NodeGroup};
use replank_model::text::{GroupName, NodeName};
use replank_protocol::decision::Decision;
use replank_protocol::waiting::Subject;

use super::promised::Family;
use super::truth::Truth;
use super::{Found, Promise, Promised};

/// What each group's nodes were made from before the run.
#[derive(Debug, Default)]
pub(super) struct Former {
    made_from: BTreeMap<GroupName, LaunchTemplate>,
    /// Where nodes move into another group.
    family: Option<Family>,
}

impl Former {
    pub(super) fn begin(promised: &Promised, truth: &Truth) -> Self {
        let family = promised.family.clone();
        let landing = family.as_ref().map(|family| &family.landing);
        let rolled = promised.groups.keys().chain(landing).filter_map(|name| truth.groups.get(name));
        let made = rolled.map(|group| (group.name.clone(), made_from(group, &group.current).clone()));
        Self { made_from: made.collect(), family }
    }

    /// Nodes of the groups that were made from anything else.
    pub(super) fn others(&self, truth: &Truth) -> Vec<NodeName> {
        let alive = truth.instances.values().filter(|one| one.state.is_alive());
        alive.filter(|one| self.is_other(truth, one)).filter_map(|one| one.node.clone()).collect()
    }

    fn is_other(&self, truth: &Truth, instance: &Instance) -> bool {
        if let Some(family) = &self.family {
            return instance.group == family.landing && !family.settled.contains(&instance.id);
        }
        let (former, group) = (self.made_from.get(&instance.group), truth.groups.get(&instance.group));
        former.zip(group).is_some_and(|(former, group)| made_from(group, &instance.template) != former)
    }

    /// The run has gone back.
    pub(super) fn finish(&self, truth: &Truth, last: &Decision, found: &mut Found<'_>) {
        for (name, former) in &self.made_from {
            let Some(group) = truth.groups.get(name) else { continue };
            if made_from(group, &group.current) != former {
                found.broken(
                    Promise::H2,
                    format!("group {name} is rolled back, but launches other nodes than before"),
                );
            }
        }
        for (name, before) in self.family.iter().flat_map(|family| &family.before) {
            let is_said = super::size::says_bounds(last, None, name);
            let size = truth.groups.get(name).map(|group| group.size);
            if size != Some(*before) && !is_said {
                let what = format!("the run is rolled back, but group {name} is {size:?}, and was {before}");
                found.broken(Promise::H2, what);
            }
        }
        let alive = truth.instances.values().filter(|one| one.state.is_alive());
        for instance in alive.filter(|one| self.is_other(truth, one)) {
            let is_named = last.waiting.iter().any(|waiting| match &waiting.what {
                Subject::Node(name) => Some(name) == instance.node.as_ref(),
                Subject::Instance(id) => *id == instance.id,
                Subject::Run
                | Subject::Group(_)
                | Subject::Bounds(_)
                | Subject::Pod(_)
                | Subject::Object(_)
                | Subject::Message(_) => false,
            });
            if !is_named {
                let (id, node) = (&instance.id, &instance.node);
                found.broken(Promise::H2, format!("the run is rolled back, but {id} ({node:?}) is left"));
            }
        }
    }
}

fn made_from<'g>(group: &'g NodeGroup, version: &LaunchTemplateRef) -> &'g LaunchTemplate {
    &group.templates[version]
}
