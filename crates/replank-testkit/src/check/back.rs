//! H2: after a roll back no node is left that was made from what failed, but such whose reason is named. Where nodes moved into another
//! group there is no way back.

use std::collections::BTreeMap;

use replank_model::object::cloud::{Instance, LaunchTemplate, LaunchTemplateRef, NodeGroup};
use replank_model::text::{GroupName, NodeName};
use replank_protocol::decision::Decision;
use replank_protocol::waiting::Subject;

use super::truth::Truth;
use super::{Found, Promise, Promised};

/// What each group's nodes were made from before the run.
#[derive(Debug, Default)]
pub(super) struct Former(BTreeMap<GroupName, LaunchTemplate>);

impl Former {
    pub(super) fn begin(promised: &Promised, truth: &Truth) -> Self {
        let rolled = promised.groups.keys().filter_map(|name| truth.groups.get(name));
        Self(rolled.map(|group| (group.name.clone(), made_from(group, &group.current).clone())).collect())
    }

    /// Nodes of the groups that were made from anything else.
    pub(super) fn others(&self, truth: &Truth) -> Vec<NodeName> {
        let alive = truth.instances.values().filter(|one| one.state.is_alive());
        alive.filter(|one| self.is_other(truth, one)).filter_map(|one| one.node.clone()).collect()
    }

    fn is_other(&self, truth: &Truth, instance: &Instance) -> bool {
        let (former, group) = (self.0.get(&instance.group), truth.groups.get(&instance.group));
        former.zip(group).is_some_and(|(former, group)| made_from(group, &instance.template) != former)
    }

    /// The run has gone back.
    pub(super) fn finish(&self, truth: &Truth, last: &Decision, found: &mut Found<'_>) {
        for (name, former) in &self.0 {
            let Some(group) = truth.groups.get(name) else { continue };
            if made_from(group, &group.current) != former {
                found.broken(
                    Promise::H2,
                    format!("group {name} is rolled back, but launches other nodes than before"),
                );
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
