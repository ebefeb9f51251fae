//! One recorded scheduling cycle, every field of it.

use std::sync::Arc;

use anyhow::{Context, bail};
use replank_model::admission::admit_pod;
use replank_model::delta::Delta;
use replank_model::object::Projector;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::time::Time;
use replank_model::view::View;
use replank_oracle::plain_scheduler::{self, Settings};
use replank_oracle::recordings::{Differences, differences};
use replank_schedule::{Explanation, Failure, FeatureGates, Gate, Options, Plugin, Scheduler, Verdict};
use serde_json::{Map, Value, json};

use crate::differential::compare;
use crate::recorded::{pod, typed};

/// Lists of a cluster, with the kind of their objects.
const LISTS: [(&str, &str, &str); 14] = [
    ("namespaces", "v1", "Namespace"),
    ("nodes", "v1", "Node"),
    ("pods", "v1", "Pod"),
    ("services", "v1", "Service"),
    ("replicaSets", "apps/v1", "ReplicaSet"),
    ("statefulSets", "apps/v1", "StatefulSet"),
    ("replicationControllers", "v1", "ReplicationController"),
    ("persistentVolumes", "v1", "PersistentVolume"),
    ("persistentVolumeClaims", "v1", "PersistentVolumeClaim"),
    ("storageClasses", "storage.k8s.io/v1", "StorageClass"),
    ("csiNodes", "storage.k8s.io/v1", "CSINode"),
    ("csiDrivers", "storage.k8s.io/v1", "CSIDriver"),
    ("csiStorageCapacities", "storage.k8s.io/v1", "CSIStorageCapacity"),
    ("volumeAttachments", "storage.k8s.io/v1", "VolumeAttachment"),
];

pub(crate) fn check(line: &str) -> anyhow::Result<Differences> {
    let case: Value = serde_json::from_str(line)?;
    let mut found = admission(&case)?;
    let view = view(&case["cluster"])?;
    let pod = pod(&case["pod"])?;
    let options = Options { gates: gates(&case["featureGates"])? };
    let mut scheduler = Scheduler::load_with(&view, options.clone());
    let explanation = scheduler.explain(&view, &pod);
    let ours = expectation(&explanation);
    let mut recorded = case["expect"].clone();
    if let Value::Object(members) = &mut recorded {
        members.remove("preemption");
    }
    found.extend(deep_differences("", &recorded, &ours));
    // The plain scheduler, to which the engine is compared elsewhere, is held to the recordings too; and the short way to
    // the best nodes must come out where asking every node does.
    let compare_numbers = options.gates.is_on(Gate::TaintTolerationComparisonOperators);
    let settings = Settings { compare_numbers, ..Settings::default() };
    let plain = plain_scheduler::explain(&view, &pod, &settings);
    found.extend(compare::all_differences(&mut scheduler, &view, &pod, &plain));
    if let Value::Array(recorded) = &case["expect"]["preemption"] {
        found.extend(preemption(&mut scheduler, &view, &pod, &explanation, recorded));
    }
    Ok(found)
}

/// Every way in which preemption can come out must be one of those recorded.
fn preemption(
    scheduler: &mut Scheduler,
    view: &View,
    pod: &Arc<Pod>,
    explanation: &Explanation,
    recorded: &[Value],
) -> Differences {
    let mut found = Differences::new();
    for draw in 0..12 {
        let preemption = scheduler.preempt(view, pod, draw);
        let words = explanation.message().unwrap_or_default();
        let gap = if preemption.message.is_empty() { "" } else { " " };
        let code = match (&preemption.nominated, &explanation.rejected) {
            (Some(_), _) => "Success",
            (None, Some(rejected)) if rejected.plugin != Plugin::DynamicResources => "Error",
            (None, Some(_) | None) => "Unschedulable",
        };
        let mut victims: Vec<String> = Vec::new();
        // What is on its way out already is not deleted again.
        let is_leaving = |key: &&Key| view.pods.by_key(key).is_some_and(|pod| pod.is_terminating());
        let all = preemption.nominated.iter().flat_map(|nominated| &nominated.victims);
        victims.extend(all.filter(|key| !is_leaving(key)).map(ToString::to_string));
        victims.sort();
        let ours = json!({
            "code": code,
            "nominatedNode": preemption.nominated.as_ref().map_or("", |nominated| nominated.node.as_str()),
            "victims": victims,
            "message": preemption.message,
            "fitErrorWithPreemption": format!("{words}{gap}{}", preemption.message),
        });
        if !recorded.contains(&ours) {
            found.push(format!("preemption, draw {draw}: recorded {recorded:?}, ours {ours}"));
        }
    }
    found.dedup();
    found
}

fn gates(recorded: &Value) -> anyhow::Result<FeatureGates> {
    let mut gates = FeatureGates::default();
    for (name, on) in recorded.as_object().into_iter().flatten() {
        gates.set(name.parse()?, on.as_bool().context("a gate is on or off")?);
    }
    Ok(gates)
}

fn view(cluster: &Value) -> anyhow::Result<View> {
    let mut projector = Projector::default();
    let mut view = View::default();
    for (list, objects) in cluster.as_object().context("a cluster has lists")? {
        let known = LISTS.iter().chain(&[("podDisruptionBudgets", "policy/v1", "PodDisruptionBudget")]);
        let Some((_, api_version, kind)) = known.into_iter().find(|(name, _, _)| name == list) else {
            bail!("what are {list}?");
        };
        for object in objects.as_array().context("a list is a list")? {
            view.apply(Delta::Put(projector.object(typed(object, api_version, kind))?));
        }
    }
    Ok(view)
}

/// What we say, in the form of the recordings.
fn expectation(explanation: &Explanation) -> Value {
    let mut ours = Map::new();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let names =
        |plugins: &[replank_schedule::Plugin]| sorted(plugins.iter().map(ToString::to_string).collect());
    if let Some(rejected) = &explanation.rejected {
        let reasons: Vec<String> = rejected.reasons.iter().map(ToString::to_string).collect();
        ours.insert(
            "preFilterRejected".into(),
            json!({"plugin": rejected.plugin.name(), "code": rejected.code.name(), "reasons": reasons}),
        );
    }
    if let Some(narrowed) = &explanation.narrowed {
        ours.insert("preFilterNodes".into(), json!(narrowed));
    }
    let nodes: Map<String, Value> =
        explanation.nodes.iter().map(|(name, of)| (name.to_string(), verdict(of))).collect();
    ours.insert("nodes".into(), Value::Object(nodes));
    ours.insert("feasibleCount".into(), json!(explanation.feasible()));
    ours.insert("skippedFilters".into(), json!(names(&explanation.skipped_filters)));
    ours.insert("skippedScores".into(), json!(names(&explanation.skipped_scores)));
    let best = explanation.best();
    if !best.is_empty() {
        ours.insert("best".into(), json!(best));
    }
    if let Some(message) = explanation.message() {
        let list = if explanation.nodes.is_empty() { "scheduleError" } else { "fitError" };
        ours.insert(list.into(), json!(message));
    }
    if let Some(error) = &explanation.error {
        ours.insert("scoreError".into(), json!(error.to_string()));
        // A single node is taken without scoring it.
        if explanation.feasible() > 1 {
            ours.insert("scheduleError".into(), json!(error.to_string()));
        }
    }
    Value::Object(ours)
}

fn verdict(verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Fits(None) => json!({"feasible": true}),
        Verdict::Fits(Some(scores)) => {
            let by_plugin: Map<String, Value> =
                scores.by_plugin.iter().map(|(plugin, score)| (plugin.to_string(), json!(score))).collect();
            json!({"feasible": true, "scores": by_plugin, "total": scores.total})
        }
        Verdict::Fails { first, all } => {
            let mut value = failure(first);
            value["feasible"] = json!(false);
            if !all.is_empty() {
                value["allFailures"] = all.iter().map(failure).collect();
            }
            value
        }
    }
}

fn failure(failure: &Failure) -> Value {
    let reasons: Vec<String> = failure.reasons.iter().map(ToString::to_string).collect();
    json!({"plugin": failure.plugin.name(), "code": failure.code.name(), "reasons": reasons})
}

/// The step from the submitted pod to the stored one.
fn admission(case: &Value) -> anyhow::Result<Differences> {
    let mut pod = case.get("podSubmitted").context("a case has podSubmitted")?.clone();
    // Only a gated pod carries the time of its admission.
    let admitted = case.pointer("/pod/status/conditions/0/lastTransitionTime");
    let now = admitted.map_or(Ok(Time::from_millis(0)), |time| serde_json::from_value(time.clone()))?;
    admit_pod(&mut pod, now);
    Ok(deep_differences("pod", &case["pod"], &pod))
}

fn deep_differences(path: &str, recorded: &Value, ours: &Value) -> Differences {
    match (recorded, ours) {
        (Value::Object(theirs), Value::Object(mine)) => theirs
            .keys()
            .chain(mine.keys().filter(|key| !theirs.contains_key(*key)))
            .flat_map(|key| deep_differences(&format!("{path}.{key}"), &recorded[key], &ours[key]))
            .collect(),
        (theirs, mine) if theirs == mine => Differences::new(),
        (theirs, mine) => differences(&json!({ path: theirs }), &json!({ path: mine })),
    }
}
