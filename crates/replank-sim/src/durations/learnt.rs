//! How long things take on a cluster.

use replank_apiserver::draw::{Draws, Purpose};
use replank_facts::batch::past::ran;
use replank_facts::shutdown::stops_after;
use replank_model::object::meta::OwnerReference;
use replank_model::object::pod::Pod;
use replank_model::text::{Text, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::FxHashMap;

use super::limits::{START_DEFAULT, STOP_DEFAULT};
use super::observed;
use super::samples::Samples;
use super::trouble::{Starts, Trouble, Troubles};
use super::workflows;
use super::workload::{Workload, series_of};
use crate::timing::{CloudTimings, Range};

/// What is known of durations.
#[derive(Clone, Debug, Default)]
pub struct Durations {
    pub(super) start: FxHashMap<Workload, Samples>,
    /// The same by the uid of the pods' controller, as it was: most pods are made by one that was there.
    start_by_owner: FxHashMap<Uid, Samples>,
    pub(super) start_of_all: Samples,
    pub(super) run: FxHashMap<Workload, Samples>,
    /// Of Workflows, by the step's place.
    pub(super) steps: FxHashMap<(Workload, Text), Samples>,
    pub(super) join: Samples,
    pub(super) troubles: Troubles,
}

impl Durations {
    /// Learns from everything in a view, as it was at a moment.
    #[must_use]
    pub fn learn(view: &View, now: Time) -> Self {
        let mut durations = Self::default();
        let mut owners: FxHashMap<Uid, Workload> = FxHashMap::default();
        for (_, pod) in view.pods.sorted() {
            let Some(workload) = series_of(view, pod) else { continue };
            // Of a Workflow's pods each may say by itself what it is of; and files written by hand may lack uids.
            let is_one =
                |owner: &&OwnerReference| &*owner.kind != "Workflow" && !owner.uid.as_str().is_empty();
            if let Some(owner) = pod.meta.controller().filter(is_one)
                && !owners.contains_key(&owner.uid)
            {
                owners.insert(owner.uid.clone(), workload.clone());
            }
            if let Some(start) = observed::start_of(pod) {
                durations.start.entry(workload.clone()).or_default().add(start);
                durations.start_of_all.add(start);
            }
            if let Some(run) = ran(pod) {
                if let Some(step) = workflows::step_of(pod) {
                    durations.steps.entry((workload.clone(), step)).or_default().add(run);
                }
                durations.run.entry(workload).or_default().add(run);
            }
        }
        durations.learn_from_jobs(view);
        durations.learn_from_workflows(view);
        for (_, node) in view.nodes.sorted() {
            observed::join_of(node).into_iter().for_each(|join| durations.join.add(join));
        }
        durations.start.values_mut().for_each(Samples::sort);
        durations.run.values_mut().for_each(Samples::sort);
        durations.steps.values_mut().for_each(Samples::sort);
        durations.start_of_all.sort();
        let of_workload = |(owner, workload)| Some((owner, durations.start.get(&workload)?.clone()));
        durations.start_by_owner = owners.into_iter().filter_map(of_workload).collect();
        durations.join.sort();
        let starts = Starts { own: &durations.start, all: &durations.start_of_all };
        durations.troubles = Troubles::find(view, now, &starts);
        durations
    }

    /// From being scheduled to being Ready.
    #[must_use]
    pub fn start(&self, view: &View, pod: &Pod, draws: &Draws) -> Span {
        let draw = draws.draw(pod.meta.uid.as_str(), Purpose::Ready, 0);
        let by_owner = pod.meta.controller().and_then(|owner| self.start_by_owner.get(&owner.uid));
        let by_workload = || self.start.get(&series_of(view, pod)?);
        let own = by_owner.or_else(by_workload).and_then(|samples| samples.draw(draw));
        own.or_else(|| self.start_of_all.draw(draw)).unwrap_or_else(|| START_DEFAULT.draw(draw))
    }

    /// From the order to stop until all containers have ended, should the grace allow it: their hooks, what their settings say, and a
    /// draw for processes of which nothing is known.
    #[must_use]
    pub fn stop(view: &View, pod: &Pod, draws: &Draws) -> Span {
        let own = STOP_DEFAULT.draw(draws.draw(pod.meta.uid.as_str(), Purpose::Stop, 0));
        stops_after(view, pod, own)
    }

    /// How long the cloud takes: new nodes join as the nodes of the snapshot did.
    #[must_use]
    pub fn cloud(&self) -> CloudTimings {
        let mut timings = CloudTimings::default();
        if let Some((low, high)) = self.join.bounds() {
            timings.ready = Range { low, high };
        }
        timings
    }

    /// What keeps a pod from running or from being Ready, if something did in the snapshot.
    pub(crate) fn trouble(&self, pod: &Pod) -> Option<Trouble> {
        self.troubles.of(pod)
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_pod_takes_its_hook_and_then_as_long_as_its_processes() {
        let stop = |container: Value| {
            let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"},
                "spec": {"containers": [container]}});
            let Ok(Object::Pod(pod)) = Object::from_json(pod) else { panic!("a pod") };
            Durations::stop(&View::default(), &pod, &Draws::new(1))
        };
        let plain = stop(json!({"name": "c", "image": "i"}));
        let sleeps =
            |hook: Value| stop(json!({"name": "c", "image": "i", "lifecycle": {"preStop": hook}})) - plain;
        let quarter = Span::from_secs(15);
        assert_eq!(sleeps(json!({"sleep": {"seconds": 15}})), quarter);
        assert_eq!(sleeps(json!({"exec": {"command": ["sleep", "15"]}})), quarter);
        assert_eq!(
            sleeps(json!({"exec": {"command": ["/bin/sh", "-c", "sleep 15 && nginx -s quit"]}})),
            quarter
        );
        assert_eq!(stop(json!({"name": "istio-proxy", "image": "p"})), Span::from_secs(5));
    }
}
