//! S3 of instances: what a run protects from scale-in is written on its group before, is no more so at its end, and what somebody else has protected stays so.

use std::collections::BTreeSet;

use replank_model::text::InstanceId;
use replank_protocol::command::{Effect, GroupEffect};
use replank_protocol::decision::End;
use replank_sim::Sent;

use super::truth::Truth;
use super::{Found, Promise};

/// How the tag begins that says that an instance is protected for a run.
const TAG: &str = "replank.dev/protected-";

/// Instances that runs protect.
#[derive(Debug, Default)]
pub(super) struct Protections {
    ours: BTreeSet<InstanceId>,
    /// Those that they have protected at any time: that the end of it is asked for twice changes nothing.
    ever: BTreeSet<InstanceId>,
}

impl Protections {
    /// Something was done.
    pub(super) fn executed(&mut self, truth: &Truth, sent: &Sent, found: &mut Found<'_>) {
        let Effect::Group(GroupEffect::ProtectInstance { instance, group, is_protected }) =
            &sent.command.effect
        else {
            return;
        };
        if !is_protected {
            self.ours.remove(instance);
            if !self.ever.contains(instance) {
                found.broken(Promise::S3, format!("another actor's protection of {instance} is ended"));
            }
            return;
        }
        let tag = format!("{TAG}{instance}");
        let group = truth.groups.get(&group.node_group);
        if group.is_none_or(|group| !group.tags.contains_key(&tag)) {
            found.broken(Promise::S3, format!("{instance} is protected from scale-in, and no tag says so"));
        }
        self.ours.insert(instance.clone());
        self.ever.insert(instance.clone());
    }

    /// The run is over.
    pub(super) fn finish(&self, truth: &Truth, end: &End, found: &mut Found<'_>) {
        if matches!(end, End::Refused(_)) {
            return;
        }
        let left = self.ours.iter().filter_map(|id| truth.instances.get(id));
        for instance in left.filter(|one| one.is_protected && one.is_counted()) {
            let what = format!("the run is over, but {} stays protected from scale-in", instance.id);
            found.broken(Promise::S3, what);
        }
    }
}
