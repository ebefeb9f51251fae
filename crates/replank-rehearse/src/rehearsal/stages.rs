//! What ran on new nodes while a canary or a wave was watched: a stage that ran nothing has shown nothing.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::drain::is_daemon;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::GroupName;
use replank_model::time::Time;
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{RollWait, Subject, Waiting, WaitingOn};
use serde::Serialize;

use super::by_slot::BySlot;
use super::numbered::Numbered;
use super::served::Served;

/// A canary's soak or a wave's bake.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StageEntry {
    /// The group.
    pub group: GroupName,
    /// Which wave; none for a canary.
    pub wave: Option<u32>,
    /// When it began to be watched.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// Pods that were on new nodes meanwhile, those of DaemonSets aside.
    pub pods: usize,
    /// What they belong to: kind, namespace and name, sorted.
    pub workloads: Vec<String>,
}

/// A stage, as it is noted.
#[derive(Debug)]
struct Stage {
    wave: Option<u32>,
    from: Time,
    /// What they belong to, by the pods' numbers.
    pods: BTreeMap<u32, Of>,
}

/// What a pod belongs to: it is named where a stage is told of.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// The workload of this number.
    Workload(u32),
    /// Nothing but itself: its place among such pods.
    Pod(u32),
}

/// A pod that is on a new node.
#[derive(Clone, Copy, Debug)]
struct There {
    /// Its number among all that ever were.
    pod: u32,
    /// The number of its node's group.
    group: usize,
    of: Of,
}

/// Notes them.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Pods that are on new nodes, by slot.
    there: BySlot<Option<There>>,
    /// How many have been.
    pods: u32,
    /// Those that belong to nothing.
    alone: Vec<Key>,
    groups: Numbered<GroupName, ()>,
    stages: BTreeMap<(GroupName, Time), Stage>,
}

impl Stages {
    /// The pod in a slot is on a new node of a group, or on none any more; `number` is asked for its workload's.
    pub(super) fn pod(
        &mut self,
        at: Time,
        (slot, pod): (u32, &Pod),
        on: Option<&GroupName>,
        number: impl FnOnce() -> Option<u32>,
    ) {
        let Some(group) = on.filter(|_| !pod.is_terminal() && !pod.is_mirror() && !is_daemon(pod)) else {
            if self.there.get(slot).is_some() {
                *self.there.at_mut(slot) = None;
            }
            return;
        };
        let There { pod: numbered, of, .. } = self
            .there
            .get(slot)
            .unwrap_or_else(|| self.come(slot, group, number().ok_or_else(|| pod.meta.key())));
        let open = self.stages.iter_mut().filter(|((of, until), _)| of == group && *until >= at);
        for (_, stage) in open {
            stage.pods.insert(numbered, of);
        }
    }

    /// A pod has come to a new node; it is of a workload, or it is named.
    fn come(&mut self, slot: u32, group: &GroupName, of: Result<u32, Key>) -> There {
        let of = match of {
            Ok(workload) => Of::Workload(workload),
            Err(name) => {
                self.alone.push(name);
                Of::Pod(u32::try_from(self.alone.len() - 1).expect("fewer pods than 2^32"))
            }
        };
        let there = There { pod: self.pods, group: self.groups.number_or_insert(group, || ()), of };
        self.pods += 1;
        *self.there.at_mut(slot) = Some(there);
        there
    }

    pub(super) fn decided(&mut self, at: Time, decision: &Decision) {
        // Groups come before all else but the run, and may be few among hundreds.
        let of_groups = |waiting: &&Waiting| matches!(waiting.what, Subject::Run | Subject::Group(_));
        for waiting in decision.waiting.iter().take_while(of_groups) {
            let (WaitingOn::Roll(on), Subject::Group(group)) = (&waiting.on, &waiting.what) else { continue };
            let (wave, until) = if let RollWait::Soak { until } = on {
                (None, *until)
            } else if let RollWait::Bake { wave, until } = on {
                (Some(*wave), *until)
            } else {
                continue;
            };
            let number = self.groups.number_or_insert(group, || ());
            let there = self.there.all().flatten().filter(|there| there.group == number);
            let pods = there.map(|there| (there.pod, there.of));
            self.stages.entry((group.clone(), until)).or_insert_with(|| Stage {
                wave,
                from: at,
                pods: pods.collect(),
            });
        }
    }

    pub(super) fn entries(&self, served: &Served) -> Vec<StageEntry> {
        let name = |of: &Of| match of {
            Of::Workload(number) => {
                let workload = served.name(*number);
                format!("{} {}/{}", workload.kind, workload.namespace, workload.name)
            }
            Of::Pod(place) => format!("Pod {}", self.alone[*place as usize]),
        };
        let names = |stage: &Stage| -> BTreeSet<String> { stage.pods.values().map(&name).collect() };
        let mut all: Vec<StageEntry> = self
            .stages
            .iter()
            .map(|((group, until), stage)| StageEntry {
                group: group.clone(),
                wave: stage.wave,
                from: stage.from,
                until: *until,
                pods: stage.pods.len(),
                workloads: names(stage).into_iter().collect(),
            })
            .collect();
        all.sort_by(|a, b| (a.from, &a.group).cmp(&(b.from, &b.group)));
        all
    }
}
