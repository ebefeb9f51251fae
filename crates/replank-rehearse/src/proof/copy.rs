//! The simulated copy that changes are made on: its API server takes or refuses them, its controllers and its scheduler follow them up.

use std::collections::BTreeSet;

use replank_apiserver::json::{Method, Request};
use replank_facts::plan::Plan;
use replank_facts::remedy::{Edit, Target, TargetKind, Verb, Write};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::workload::{DaemonSet, StatefulSet};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_model::time::Span;
use replank_model::view::View;
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

use super::ground::Ground;
use crate::complete::complete;

/// After which controllers have looked at every change, and a pod that finds a place has it.
const SETTLED_WITHIN: Span = Span::from_secs(30);
/// How long a rollout may take. What is not over then is judged as it is.
const ROLLED_OUT_WITHIN: Span = Span::from_minutes(30);

/// A rollout in which no pod has become Ready or ceased to be for so long waits for something else.
const STANDS_STILL: Span = Span::from_minutes(5);
/// Events of any step, and for each pod: far more than a rollout of everything takes.
const EVENTS: u64 = 50_000;
const EVENTS_EACH: u64 = 100;
/// Pods that may be there at once, and for each that there was.
const PODS: usize = 200;
const PODS_EACH: usize = 3;

/// Something makes or changes objects without end.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunsAway;

/// A copy of a cluster.
pub(super) struct Copy {
    world: World,
    /// What stands beside the cluster, which is in the world.
    beside: Ground,
    /// Pods that there were.
    pods: usize,
}

impl Copy {
    pub(super) fn of(ground: &Ground) -> Self {
        let mut view = ground.view.clone();
        complete(&mut view);
        define_cron_workflows(&mut view);
        for learnt in &ground.groups {
            view.apply(Delta::Group(learnt.group.clone().into()));
            for instance in &learnt.instances {
                view.apply(Delta::Instance(instance.clone().into()));
            }
        }
        let settings = Settings {
            start: ground.now,
            seed: 1,
            kubelet: KubeletModel::Fake,
            cloud: CloudTimings::default(),
        };
        let mut world = World::new(settings, view);
        world.assume_operators();
        Self { world, beside: ground.beside(), pods: ground.view.pods.len() }
    }

    /// Makes a change.
    ///
    /// # Errors
    /// What the API server answers, or the reader of plans.
    pub(super) fn make(&mut self, edit: &Edit) -> Result<(), String> {
        self.beside.apply(edit)?;
        for write in edit.writes() {
            self.request(&write)?;
        }
        Ok(())
    }

    fn request(&mut self, write: &Write) -> Result<(), String> {
        let method = match write.verb {
            Verb::Create => Method::Post,
            Verb::MergePatch | Verb::StrategicPatch => Method::Patch,
            Verb::Delete => Method::Delete,
        };
        let (_, content_type) = write.verb.method();
        let request = Request {
            method,
            path: write.path.clone(),
            content_type: content_type.to_owned(),
            body: write.body.clone(),
            wire: None,
        };
        let response = self.world.request(|api| api.handle(&request));
        match response.code {
            200..=299 => Ok(()),
            _ => Err(response.body["message"].as_str().unwrap_or("refused").to_owned()),
        }
    }

    /// An object as the API shows it.
    pub(super) fn object(&mut self, target: &Target) -> Option<Value> {
        let request = Request {
            method: Method::Get,
            path: target.path(),
            content_type: String::new(),
            body: Value::Null,
            wire: None,
        };
        let response = self.world.request(|api| api.handle(&request));
        (response.code == 200).then_some(response.body)
    }

    /// The same with the defaults that any write would give it: they are not what a change does.
    pub(super) fn defaulted(&mut self, target: &Target) -> Option<Value> {
        let request = Request {
            method: Method::Patch,
            path: format!("{}?dryRun=All", target.path()),
            content_type: Verb::MergePatch.method().1.to_owned(),
            body: json!({}),
            wire: None,
        };
        let response = self.world.request(|api| api.handle(&request));
        if response.code == 200 { Some(response.body) } else { self.object(target) }
    }

    /// Lets controllers and scheduler follow up what was changed.
    ///
    /// # Errors
    /// That something runs away.
    pub(super) fn settle(&mut self, changed: &BTreeSet<(TargetKind, Key)>) -> Result<(), RunsAway> {
        let start = self.world.now();
        let workloads = workloads(self.world.view(), changed);
        let ready = |world: &World| world.view().pods.unordered().filter(|(_, pod)| pod.is_ready()).count();
        let (mut last, mut moved) = (ready(&self.world), start);
        loop {
            self.pass(SETTLED_WITHIN)?;
            let now = self.world.now();
            if ready(&self.world) != last {
                (last, moved) = (ready(&self.world), now);
            }
            let is_over = now - start >= ROLLED_OUT_WITHIN || now - moved >= STANDS_STILL;
            if is_over || workloads.iter().all(|of| is_rolled_out(self.world.view(), of)) {
                return Ok(());
            }
        }
    }

    /// Lets as much time pass.
    ///
    /// # Errors
    /// That something runs away: a controller that makes pods without end, say.
    pub(super) fn pass(&mut self, span: Span) -> Result<(), RunsAway> {
        let until = self.world.now() + span;
        let most = EVENTS + self.pods as u64 * EVENTS_EACH;
        let begun = self.world.events();
        while self.world.step_until(until) {
            let is_over = self.world.events() - begun > most;
            if is_over || self.world.view().pods.len() > PODS + self.pods * PODS_EACH {
                return Err(RunsAway);
            }
        }
        self.world.run_until(until);
        Ok(())
    }

    /// What is to be done, as it is changed so far.
    pub(super) fn plan(&self) -> Option<&Plan> {
        self.beside.plan.as_ref()
    }

    /// The cluster as it is now: everything there is, less groups, which stand beside it.
    pub(super) fn ground(self) -> Ground {
        let mut view = self.world.view().clone();
        let groups: Vec<GroupName> = view.groups().keys().cloned().collect();
        let instances: Vec<InstanceId> = view.instances().keys().cloned().collect();
        groups.into_iter().for_each(|name| drop(view.apply(Delta::GroupGone(name))));
        instances.into_iter().for_each(|id| drop(view.apply(Delta::InstanceGone(id))));
        Ground { view, now: self.world.now(), ..self.beside }
    }
}

/// `kubectl get` of the usual kinds leaves definitions out; without this one the copy would refuse every change of a CronWorkflow.
fn define_cron_workflows(view: &mut View) {
    let definitions = view.custom_resource_definitions.unordered();
    let is_known = definitions
        .filter(|(_, definition)| definition.spec.names.kind == Text::from("CronWorkflow"))
        .any(|(_, definition)| definition.spec.group == Text::from("argoproj.io"));
    if is_known {
        return;
    }
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "cronworkflows.argoproj.io", "uid": "cronworkflows.argoproj.io"},
        "spec": {"group": "argoproj.io", "scope": "Namespaced",
            "names": {"kind": "CronWorkflow", "plural": "cronworkflows", "singular": "cronworkflow", "listKind": "CronWorkflowList"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true}]}});
    if let Ok(definition) = Object::from_json(definition) {
        view.apply(Delta::Put(definition));
    }
}

/// The workloads that changes set in motion: those that were changed, and those that a changed autoscaler scales.
fn workloads(view: &View, changed: &BTreeSet<(TargetKind, Key)>) -> Vec<(TargetKind, Key)> {
    let scaled = |kind: &TargetKind, key: &Key| match kind {
        TargetKind::HorizontalPodAutoscaler => {
            let target = &view.horizontal_pod_autoscalers.by_key(key)?.spec.scale_target_ref;
            let name = target.name.clone();
            Some((TargetKind::of(&target.kind)?, Key { namespace: key.namespace.clone(), name }))
        }
        TargetKind::Deployment
        | TargetKind::StatefulSet
        | TargetKind::DaemonSet
        | TargetKind::ReplicaSet
        | TargetKind::ReplicationController
        | TargetKind::CronJob
        | TargetKind::CronWorkflow
        | TargetKind::PodDisruptionBudget
        | TargetKind::Node
        | TargetKind::Pod => Some((*kind, key.clone())),
    };
    changed.iter().filter_map(|(kind, key)| scaled(kind, key)).collect()
}

/// As `kubectl rollout status` sees it.
fn is_rolled_out(view: &View, (kind, key): &(TargetKind, Key)) -> bool {
    match kind {
        TargetKind::Deployment => view.deployments.by_key(key).is_none_or(|of| {
            let (wanted, status) = (of.spec.replicas.unwrap_or(1), &of.status);
            status.observed_generation >= of.meta.generation
                && [status.replicas, status.updated_replicas, status.available_replicas] == [wanted; 3]
        }),
        TargetKind::StatefulSet => view.find::<StatefulSet>(key).is_none_or(|of| {
            let (wanted, status) = (of.spec.replicas.unwrap_or(1), &of.status);
            status.observed_generation >= of.meta.generation
                && [status.replicas, status.updated_replicas, status.ready_replicas] == [wanted; 3]
        }),
        TargetKind::DaemonSet => view.find::<DaemonSet>(key).is_none_or(|of| {
            let status = &of.status;
            status.observed_generation >= of.meta.generation
                && status.updated_number_scheduled >= status.desired_number_scheduled
        }),
        TargetKind::ReplicaSet
        | TargetKind::ReplicationController
        | TargetKind::CronJob
        | TargetKind::CronWorkflow
        | TargetKind::PodDisruptionBudget
        | TargetKind::HorizontalPodAutoscaler
        | TargetKind::Node
        | TargetKind::Pod => true,
    }
}
