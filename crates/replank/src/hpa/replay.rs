//! From arguments to replays: the cluster, its autoscalers, the load, and what is tried.

use std::sync::Arc;

use replank_apiserver::json::{Address, Effect};
use replank_apiserver::{Api, ApiError};
use replank_core::scale::Autoscaler;
use replank_facts::coverage::{Coverage, Question};
use replank_facts::groups::GroupBy;

use replank_model::delta::Delta;
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, HorizontalPodAutoscalerStatus};
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_rehearse::replay::{Moment, Replay, Rule, Says, Told, steps};
use replank_sim::load::Load;
use replank_sim::{CloudTimings, Durations, KubeletModel, Settings, World};
use serde_json::json;

use super::args::HpaSimulateArgs;
use super::input::{self, Tried};
use super::trace::Trace;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::printer::Printer;
use crate::rehearse::groups;
use crate::snapshot::{self, Cluster, Origin};

/// Between two moments that are looked at: finer than metrics come, so that no spell of too much load is missed.
pub(super) const STEP: Span = Span::from_secs(5);
/// Without a snapshot pods begin at nothing: so long the first load is met before it is looked at.
const WARM_UP: Span = Span::from_minutes(20);
/// When a replay begins that nothing gives a time.
const BEGINNING: Time = Time::from_millis(1_767_225_600_000);

/// What is replayed, once for each variant.
#[derive(Debug)]
pub(super) struct Stage {
    view: View,
    /// What is called a cluster: the snapshot, or the manifest.
    pub(super) name: String,
    begin: Time,
    start: Time,
    pub(super) length: Span,
    loads: Vec<Load>,
    /// Who keeps the number of nodes to what is needed, where somebody does.
    autoscaler: Option<Autoscaler>,
    /// What of the cluster could be seen.
    pub(super) coverage: Coverage,
    /// What had to be assumed.
    pub(super) assumed: Vec<String>,
}

/// One variant of the autoscalers.
#[derive(Debug)]
pub(super) struct Variant {
    /// `as it is`, or the file that is tried.
    pub(super) name: String,
    /// The autoscalers, as they are in it.
    pub(super) autoscalers: Vec<HorizontalPodAutoscaler>,
    /// How things were, every [`STEP`].
    pub(super) moments: Vec<Moment>,
    /// What the autoscalers told while the load was replayed.
    pub(super) told: Vec<Told>,
    /// How they stand at the end, in the order of the autoscalers.
    pub(super) statuses: Vec<HorizontalPodAutoscalerStatus>,
}

impl Stage {
    /// Reads everything.
    pub(super) fn set(args: &HpaSimulateArgs, printer: &mut Printer) -> Result<Self, Failure> {
        // Small files first: their mistakes are found in no time, and a large snapshot takes a while.
        let trace = Trace::read(&args.load)?;
        let objects = match &args.manifest {
            Some(path) => input::manifest(path, &args.namespace)?,
            None => Vec::new(),
        };
        let mut assumed = Vec::new();
        // Without a snapshot there is no cluster at all, unless a live one is asked for.
        let origin = match args.snapshots.is_empty() && !args.live.is_asked_for() {
            true => None,
            false => Origin::of(&args.snapshots, &args.live)?,
        };
        let mut stage = if let Some(origin) = origin {
            Self::copy(args, origin, printer)?
        } else {
            if args.manifest.is_none() {
                return Err(Failure::usage_message("no autoscaler for the load").next(
                    "pass -f MANIFEST with a HorizontalPodAutoscaler and its scale target, or a snapshot",
                ));
            }
            assumed
                .push("no snapshot: pods are scheduled at once, on one node with unlimited room".to_owned());
            Self::bare(args.manifest.as_deref().map(input::name).unwrap_or_default(), args.now)
        };
        let named: Vec<Key> =
            objects.iter().filter(|object| is_autoscaler(object)).map(|object| object.meta().key()).collect();
        if !objects.is_empty() {
            stage.apply(&objects)?;
        }
        let all: Vec<Arc<HorizontalPodAutoscaler>> = stage
            .view
            .horizontal_pod_autoscalers
            .sorted()
            .into_iter()
            .map(|(_, hpa)| hpa.clone())
            .filter(|hpa| named.is_empty() || named.contains(&hpa.meta.key()))
            .collect();
        if all.is_empty() {
            return Err(Failure::usage_message(format!("no HorizontalPodAutoscaler in {}", stage.name))
                .next("pass one with -f"));
        }
        let known: Vec<&HorizontalPodAutoscaler> = all.iter().map(|hpa| &**hpa).collect();
        stage.loads = trace.loads(&known, stage.start)?;
        stage.length = trace.length();
        stage.assumed.extend(assumed);
        let next = "add its manifest to the file of -f, or pass a snapshot that has it";
        trace.has_targets(&stage.loads, &stage.view, next)?;
        Ok(stage)
    }

    /// A cluster without end.
    fn bare(name: String, now: Option<Time>) -> Self {
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": "node", "uid": "node", "labels": {"kubernetes.io/hostname": "node"}},
            "status": {"allocatable": {"cpu": "1000000", "memory": "1Pi", "ephemeral-storage": "1Pi", "pods": "1000000"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}});
        let node = Object::from_json(node).expect("it is written out above");
        let view = std::iter::once(Delta::Put(node)).collect();
        let start = now.unwrap_or(BEGINNING + WARM_UP);
        Self {
            view,
            name,
            begin: start - WARM_UP,
            start,
            length: Span::ZERO,
            loads: Vec::new(),
            autoscaler: None,
            coverage: Coverage::default(),
            assumed: Vec::new(),
        }
    }

    /// The cluster of a snapshot.
    fn copy(args: &HpaSimulateArgs, origin: Origin<'_>, printer: &mut Printer) -> Result<Self, Failure> {
        let snapshot::Input { sources, name, .. } = origin.read(printer)?;
        let Cluster { mut view, now, older, coverage } =
            snapshot::read_at(sources, &args.read, args.now, Question::PodAutoscaler, printer)?;
        let by = GroupBy::Label(args.read.group_label.clone());
        let mut learnt = groups::of_label(&view, &args.read.group_label);
        let scaled = args.scaled.apply((&view, &by), None, &mut learnt, !args.no_autoscaler, printer)?;
        for learnt in learnt {
            view.apply(Delta::Group(learnt.group.into()));
            for instance in learnt.instances {
                view.apply(Delta::Instance(instance.into()));
            }
        }
        Ok(Self {
            view,
            name,
            begin: now,
            start: now,
            length: Span::ZERO,
            loads: Vec::new(),
            autoscaler: scaled.autoscaler,
            coverage,
            assumed: older
                .iter()
                .chain(&scaled.assumptions)
                .map(|one| format!("{}: {}", one.about, one.value))
                .collect(),
        })
    }

    /// Creates the objects of the manifest, or puts them in the place of the cluster's, as the API server would.
    fn apply(&mut self, objects: &[Object]) -> Result<(), Failure> {
        for object in objects {
            let namespace = Key::new("", object.meta().namespace.as_str());
            if !namespace.name.is_empty() && self.view.namespaces.by_key(&namespace).is_none() {
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": namespace.name.as_str(), "uid": namespace.name.as_str()}});
                self.view.apply(Delta::Put(Object::from_json(namespace).map_err(Failure::internal)?));
            }
        }
        let settings = Settings {
            start: self.begin,
            seed: 1,
            kubelet: KubeletModel::Fake,
            cloud: CloudTimings::default(),
        };
        let mut world = World::new(settings, self.view.clone());
        for object in objects {
            world.request(|api| put(api, object)).map_err(|error| {
                let name = format!("{} would be rejected", object.reference());
                Failure::usage(anyhow::Error::new(error).context(name)).next("correct the manifest of -f")
            })?;
        }
        self.view = world.view().clone();
        Ok(())
    }

    /// The autoscalers that meet a load.
    fn autoscalers(&self) -> Vec<HorizontalPodAutoscaler> {
        let mut keys: Vec<&Key> = self.loads.iter().map(|load| &load.hpa).collect();
        keys.sort();
        keys.dedup();
        let found = keys.into_iter().filter_map(|key| self.view.find::<HorizontalPodAutoscaler>(key));
        found.map(|hpa| HorizontalPodAutoscaler::clone(hpa)).collect()
    }

    /// Whether rules can be told to the autoscalers.
    pub(super) fn bears(&self, rules: &[Rule]) -> Result<(), Failure> {
        for (rule, hpa) in
            rules.iter().flat_map(|rule| self.autoscalers().into_iter().map(move |hpa| (rule, hpa)))
        {
            let (most, name) = (hpa.spec.max_replicas, hpa.meta.key());
            if matches!(rule.says, Says::MinReplicas(count) if count > most) {
                return Err(Failure::usage_message(format!(
                    "--min-replicas: {rule}, but {name} has maxReplicas {most}"
                ))
                .next("pass fewer replicas, or raise maxReplicas"));
            }
        }
        Ok(())
    }

    /// The loads of an autoscaler.
    pub(super) fn loads_of<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = &'a Load> {
        self.loads.iter().filter(move |load| load.hpa == *key)
    }

    /// When the load begins.
    pub(super) fn start(&self) -> Time {
        self.start
    }

    /// Replays the load on the autoscalers as they are, or with what is tried. Nothing if somebody wants no more of it.
    pub(super) fn replay(
        &self,
        tried: Tried<'_>,
        seed: u64,
        interrupt: &Interrupt,
    ) -> Result<Option<Variant>, Failure> {
        let mut view = self.view.clone();
        let mut autoscalers = self.autoscalers();
        if let Tried::Fields(attempt) = tried {
            for hpa in &mut autoscalers {
                *hpa = attempt.on(hpa)?;
                view.apply(Delta::from(hpa.clone()));
            }
        }
        let durations = Arc::new(Durations::learn(&view, self.begin));
        let cloud = durations.cloud();
        let settings = Settings { start: self.begin, seed, kubelet: KubeletModel::Learnt(durations), cloud };
        let mut replay = Replay::new(settings, view, self.loads.clone());
        if let Some(autoscaler) = &self.autoscaler {
            replay = replay.with_autoscaler(autoscaler.clone());
        }
        if let Tried::Rules(rules) = tried {
            replay = replay.with_rules(rules.to_vec());
        }
        let mut moments = Vec::new();
        for at in steps(self.start, self.start + self.length, STEP) {
            if interrupt.is_pressed() {
                return Ok(None);
            }
            moments.push(replay.advance(at));
        }
        let mut told = replay.told();
        told.retain(|told| told.last >= self.start);
        let name = match tried {
            Tried::AsItIs => "as it is".to_owned(),
            Tried::Fields(attempt) => attempt.name.clone(),
            Tried::Rules(_) => "with rules by the hour".to_owned(),
        };
        let view = replay.world().view();
        let status = |hpa: &HorizontalPodAutoscaler| view.find::<HorizontalPodAutoscaler>(&hpa.meta.key());
        let statuses = autoscalers.iter().filter_map(status).map(|hpa| hpa.status.clone()).collect();
        Ok(Some(Variant { name, autoscalers, moments, told, statuses }))
    }
}

fn put(api: &mut Api, object: &Object) -> Result<(), ApiError> {
    let (value, meta) = (render(object), object.meta());
    match api.apply_json(value.clone()) {
        Err(error) if error.reason == "AlreadyExists" => {
            let resource = api.resource_type(object.api_version(), object.kind_name())?;
            let address = Address::new(resource, Some(meta.namespace.clone()), Some(meta.name.clone()));
            api.update_json(&address, value, Effect::Real).map(|_| ())
        }
        created => created.map(|_| ()),
    }
}

fn is_autoscaler(object: &Object) -> bool {
    matches!(object, Object::HorizontalPodAutoscaler(_))
}
