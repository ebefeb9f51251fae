//! Names, labels and volumes by which a StatefulSet's pods are told apart (`stateful_set_utils.go`).

use std::sync::Arc;

use replank_model::object::meta::Meta;
use replank_model::object::pod::{Pod, PodSpec, PodTemplate, Volume};
use replank_model::object::volume::{
    ClaimSource, PersistentVolumeClaim, PersistentVolumeClaimTemplate, VolumeSource,
};
use replank_model::object::workload::StatefulSet;
use replank_model::text::Name;

use crate::controllers::pods;

/// Label with the pod's own name.
const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
/// Label with the pod's number.
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";
/// Label with the revision that the pod was made from.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";

/// Set's name and number in a pod's name.
fn parts(name: &str) -> Option<(&str, i64)> {
    let (parent, number) = name.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: i32 = number.parse().ok().filter(|_| is_number)?;
    Some((parent, i64::from(number)))
}

/// The name of the set that a pod's name speaks of.
pub(super) fn parent(pod: &Pod) -> Option<&str> {
    parts(pod.meta.name.as_str()).map(|(parent, _)| parent)
}

/// The number of a pod.
pub(super) fn ordinal(pod: &Pod) -> Option<i64> {
    parts(pod.meta.name.as_str()).map(|(_, number)| number)
}

/// First number of a set.
pub(super) fn first(set: &StatefulSet) -> i64 {
    set.spec.ordinals.as_ref().map_or(0, |ordinals| i64::from(ordinals.start))
}

/// Whether a number is one of those that the set wants.
pub(super) fn is_wanted(set: &StatefulSet, ordinal: i64) -> bool {
    let first = first(set);
    ordinal >= first && ordinal < first + i64::from(set.spec.replicas.unwrap_or(1))
}

/// A pod of a set, not yet stored.
pub(super) fn new_pod(set: &StatefulSet, template: &PodTemplate, revision: &str, ordinal: i64) -> Pod {
    let mut pod = pods::from_template(set, template);
    let name = Name::from(format!("{}-{ordinal}", set.meta.name));
    pod.meta.labels = pod
        .meta
        .labels
        .with(NAME_LABEL, name.text().clone())
        .with(INDEX_LABEL, ordinal.to_string())
        .with(REVISION_LABEL, revision);
    pod.spec = Arc::new(own_spec(set, &template.spec, &name, ordinal));
    pod.meta = Meta { name, ..pod.meta };
    pod
}

fn own_spec(set: &StatefulSet, spec: &PodSpec, name: &Name, ordinal: i64) -> PodSpec {
    let mut spec = spec.clone();
    spec.hostname = name.text().clone();
    spec.subdomain = set.spec.service_name.text().clone();
    let templates = &set.spec.volume_claim_templates;
    if !templates.is_empty() {
        let is_claimed =
            |volume: &Volume| templates.iter().any(|claim| *claim.meta.name.text() == volume.name);
        let mut volumes: Vec<Volume> = templates
            .iter()
            .map(|claim| {
                let claim_name = claim_name(set, &claim.meta.name, ordinal);
                let source = ClaimSource { claim_name, ..ClaimSource::default() };
                Volume {
                    name: claim.meta.name.text().clone(),
                    source: VolumeSource { persistent_volume_claim: Some(source), ..VolumeSource::default() },
                }
            })
            .collect();
        volumes.extend(spec.volumes.iter().filter(|volume| !is_claimed(volume)).cloned());
        spec.volumes = volumes;
    }
    spec
}

/// Name of the claim that a pod has for a template.
pub(super) fn claim_name(set: &StatefulSet, template: &Name, ordinal: i64) -> Name {
    Name::from(format!("{template}-{}-{ordinal}", set.meta.name))
}

/// The claim of one number for a template, not yet stored.
pub(super) fn new_claim(
    set: &StatefulSet,
    template: &PersistentVolumeClaimTemplate,
    ordinal: i64,
) -> PersistentVolumeClaim {
    let own = set.spec.selector.iter().flat_map(|selector| selector.match_labels.iter());
    let own = own.map(|(key, value)| (key.clone(), value.clone()));
    PersistentVolumeClaim {
        meta: Meta {
            name: claim_name(set, &template.meta.name, ordinal),
            namespace: set.meta.namespace.clone(),
            labels: template.meta.labels.pairs().iter().cloned().chain(own).collect(),
            annotations: template.meta.annotations.clone(),
            ..Meta::default()
        },
        spec: template.spec.clone(),
        ..PersistentVolumeClaim::default()
    }
}

/// The pod with the labels that say who it is.
pub(super) fn with_identity(pod: &Pod) -> Option<Pod> {
    let name = pod.meta.name.text();
    if pod.meta.labels.get(NAME_LABEL) == Some(name) {
        return None;
    }
    let number = ordinal(pod)?;
    let mut pod = pod.clone();
    pod.meta.labels = pod.meta.labels.with(NAME_LABEL, name.clone()).with(INDEX_LABEL, number.to_string());
    Some(pod)
}
