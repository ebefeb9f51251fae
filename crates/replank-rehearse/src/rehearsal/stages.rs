//! What ran on new nodes while a canary or a wave was watched: a stage that ran nothing has shown nothing.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::drain::is_daemon;
use replank_model::object::pod::Pod;
use replank_model::text::{GroupName, Uid};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::decision::Decision;
use replank_protocol::waiting::{RollWait, Subject, Waiting, WaitingOn};
use replank_sim::workload_of;
use rustc_hash::FxHashMap;
use serde::Serialize;

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
    pods: BTreeMap<Uid, String>,
}

/// Notes them.
#[derive(Debug, Default)]
pub(super) struct Stages {
    /// Pods that are on new nodes, and what they belong to.
    there: FxHashMap<Uid, (GroupName, String)>,
    stages: BTreeMap<(GroupName, Time), Stage>,
}

impl Stages {
    /// A pod is on a new node of a group, or on none any more.
    pub(super) fn pod(&mut self, at: Time, view: &View, pod: &Pod, on: Option<&GroupName>) {
        let Some(group) = on.filter(|_| !pod.is_terminal() && !pod.is_mirror() && !is_daemon(pod)) else {
            self.there.remove(&pod.meta.uid);
            return;
        };
        let of = || match workload_of(view, pod) {
            Some(workload) => format!("{} {}/{}", workload.kind, workload.namespace, workload.name),
            None => format!("Pod {}", pod.meta.key()),
        };
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

    pub(super) fn entries(&self) -> Vec<StageEntry> {
        let mut all: Vec<StageEntry> = self
            .stages
            .iter()
            .map(|((group, until), stage)| StageEntry {
                group: group.clone(),
                wave: stage.wave,
                from: stage.from,
                until: *until,
                pods: stage.pods.len(),
                workloads: stage.pods.values().collect::<BTreeSet<_>>().into_iter().cloned().collect(),
            })
            .collect();
        all.sort_by(|a, b| (a.from, &a.group).cmp(&(b.from, &b.group)));
        all
    }
}
