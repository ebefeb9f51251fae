//! How a person gives a workload more replicas.

use std::collections::BTreeSet;

use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::object::volume::AccessMode;
use replank_model::object::workload::{
    DeploymentStrategyType, ReplicaSet, ReplicationController, StatefulSet,
};
use replank_model::selector::LabelSelector;
use replank_model::view::Ix;

use super::super::survey::{Subject, Survey};
use replank_facts::remedy::{Edit, Target, TargetKind};
use replank_facts::workload::{Workload, workload_of};
use serde_json::json;

/// The change that gives a workload more replicas, or in words what to do where a program cannot: an autoscaler or an operator would undo a plain
/// scale.
pub(super) fn up(survey: &Survey<'_>, workload: &Workload, replicas: i32) -> Result<Edit, String> {
    let namespace = &workload.key.namespace;
    if let Some((key, maximum)) = autoscaler(survey, workload) {
        let mut spec = json!({"minReplicas": replicas});
        if maximum < replicas {
            spec["maxReplicas"] = json!(replicas);
        }
        let of = Target::new(TargetKind::HorizontalPodAutoscaler, key);
        return Ok(Edit::Patch { of, patch: json!({"spec": spec}) });
    }
    if let Some(operator) = operator(survey, workload) {
        return Err(format!(
            "set {replicas} replicas in {} {namespace}/{}, which owns {workload}",
            operator.kind, operator.name
        ));
    }
    match Target::workload(workload).filter(|_| is_built_in(workload)) {
        Some(of) => Ok(Edit::Scale { of, replicas }),
        None => Err(format!("set {replicas} replicas in {workload}")),
    }
}

/// Why two pods of a workload cannot run at once, as far as its objects tell; an application may forbid it besides.
pub(super) fn runs_alone(survey: &Survey<'_>, workload: &Workload, pod: &Pod) -> Option<String> {
    if let Some(deployment) =
        survey.view.deployments.by_key(&workload.key).filter(|_| &*workload.kind == "Deployment")
        && deployment.spec.strategy.r#type == Some(DeploymentStrategyType::Recreate)
    {
        return Some("its strategy is Recreate".to_owned());
    }
    // Each pod of a StatefulSet has claims of its own.
    let own = |name: &str| &*workload.kind == "StatefulSet" && name.ends_with(pod.meta.name.as_str());
    let claims = pod.spec.volumes.iter().filter_map(|volume| volume.source.persistent_volume_claim.as_ref());
    let mut alone = claims.filter(|source| !own(source.claim_name.as_str())).filter_map(|source| {
        let key = Key { namespace: pod.meta.namespace.clone(), name: source.claim_name.clone() };
        let modes = &survey.view.persistent_volume_claims.by_key(&key)?.spec.access_modes;
        let is_shared =
            |mode: &AccessMode| matches!(mode, AccessMode::ReadWriteMany | AccessMode::ReadOnlyMany);
        (!modes.iter().any(is_shared)).then(|| format!("its volume {key} can be used by one node at a time"))
    });
    alone.next()
}

/// The selector of a workload whose pod template can be changed with `kubectl patch`.
pub(super) fn selector_of<'a>(survey: &'a Survey<'_>, workload: &Workload) -> Option<&'a LabelSelector> {
    match &*workload.kind {
        "Deployment" => survey.view.deployments.by_key(&workload.key)?.spec.selector.as_ref(),
        "StatefulSet" => survey.view.find::<StatefulSet>(&workload.key)?.spec.selector.as_ref(),
        _ => None,
    }
}

/// Whether `kubectl scale` knows the kind, and the disruption controller how many pods it wants.
pub(super) fn is_built_in(workload: &Workload) -> bool {
    matches!(&*workload.kind, "Deployment" | "StatefulSet" | "ReplicaSet" | "ReplicationController")
}

/// Whether the disruption controller can tell how many pods there should be, for all of them.
pub(super) fn is_counted<'a>(subjects: impl IntoIterator<Item = &'a Subject>) -> bool {
    subjects.into_iter().all(|subject| subject.workload.as_ref().is_some_and(is_built_in))
}

/// Pods that a budget will have once its controllers are done: a rolling update may have one more at the moment, an update of another
/// size one less. A budget with a plain number counts what is there now.
pub(super) fn settled(survey: &Survey<'_>, ix: Ix<PodDisruptionBudget>) -> i32 {
    let now = survey.view.pod_disruption_budgets[ix].status.expected_pods;
    let pods = survey.view.pods_of_budget(ix).map(|ix| &survey.view.pods[ix]);
    let workloads: Option<BTreeSet<Workload>> =
        pods.filter(|pod| pod.is_active()).map(|pod| workload_of(survey.view, pod)).collect();
    let wanted =
        workloads.and_then(|all| all.iter().map(|one| one.replicas(survey.view)).sum::<Option<i32>>());
    wanted.filter(|wanted| *wanted > 0).unwrap_or(now)
}

fn autoscaler(survey: &Survey<'_>, workload: &Workload) -> Option<(Key, i32)> {
    let mut scalers = survey.view.horizontal_pod_autoscalers.sorted().into_iter();
    scalers.find_map(|(_, hpa)| {
        let target = &hpa.spec.scale_target_ref;
        let is_its = target.kind == workload.kind
            && target.name == workload.key.name
            && hpa.meta.namespace == workload.key.namespace;
        is_its.then(|| (hpa.meta.key(), hpa.spec.max_replicas))
    })
}

/// Who made a workload and would set its replicas back.
fn operator<'a>(survey: &'a Survey<'_>, workload: &Workload) -> Option<&'a OwnerReference> {
    let view = survey.view;
    let meta: &Meta = match &*workload.kind {
        "Deployment" => &view.deployments.by_key(&workload.key)?.meta,
        "StatefulSet" => &view.find::<StatefulSet>(&workload.key)?.meta,
        "ReplicaSet" => &view.find::<ReplicaSet>(&workload.key)?.meta,
        "ReplicationController" => &view.find::<ReplicationController>(&workload.key)?.meta,
        _ => return None,
    };
    meta.controller()
}
