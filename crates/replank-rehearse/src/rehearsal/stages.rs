//! What ran on new nodes while a canary or a wave was watched: a stage that ran nothing has shown nothing.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::drain::is_daemon;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, Uid};
use replank_model::time::Time;
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{RollWait, Subject, Waiting, WaitingOn};
use rustc_hash::FxHashMap;
use serde::Serialize;

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
    pods: BTreeMap<Uid, Of>,
}

/// What a pod belongs to: it is named where a stage is told of.
#[derive(Clone, Debug)]
enum Of {
    /// The workload of this number.
    Workload(u32),
    /// Nothing but itself.
    Pod(Key),
}

impl Of {
    fn name(&self, served: &Served) -> String {
        match self {
            Self::Workload(number) => {
                let workload = served.name(*number);
                format!("{} {}/{}", workload.kind, workload.namespace, workload.name)
            }
            Self::Pod(key) => format!("Pod {key}"),
        }
    }
}

/// Notes them.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Pods that are on new nodes, and what they belong to.
    there: FxHashMap<Uid, (GroupName, Of)>,
    stages: BTreeMap<(GroupName, Time), Stage>,
}

impl Stages {
    /// A pod is on a new node of a group, or on none any more; `number` is asked for its workload's.
    pub(super) fn pod(
        &mut self,
        at: Time,
        pod: &Pod,
        on: Option<&GroupName>,
        number: impl FnOnce() -> Option<u32>,
    ) {
        let Some(group) = on.filter(|_| !pod.is_terminal() && !pod.is_mirror() && !is_daemon(pod)) else {
            self.there.remove(&pod.meta.uid);
            return;
        };
        let of = || number().map_or_else(|| Of::Pod(pod.meta.key()), Of::Workload);
        let (_, of) = self.there.entry(pod.meta.uid.clone()).or_insert_with(|| (group.clone(), of()));
        let open = self.stages.iter_mut().filter(|((of, until), _)| of == group && *until >= at);
        for (_, stage) in open {
            stage.pods.entry(pod.meta.uid.clone()).or_insert_with(|| of.clone());
        }
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
            let there = self.there.iter().filter(|(_, (of, _))| of == group);
            let pods = there.map(|(uid, (_, of))| (uid.clone(), of.clone()));
            self.stages.entry((group.clone(), until)).or_insert_with(|| Stage {
                wave,
                from: at,
                pods: pods.collect(),
            });
        }
    }

    pub(super) fn entries(&self, served: &Served) -> Vec<StageEntry> {
        let names =
            |stage: &Stage| -> BTreeSet<String> { stage.pods.values().map(|of| of.name(served)).collect() };
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
