//! Claims that are made with a pod: those of a StatefulSet's number, and those of generic ephemeral volumes.

use std::sync::Arc;

use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::pod::{Pod, PodSpec, Volume};
use replank_model::object::volume::{
    ClaimSource, PersistentVolumeClaim, PersistentVolumeClaimTemplate, VolumeSource,
};
use replank_model::text::{Name, Text};

/// Label with the pod's own name, and with its number.
const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

/// Makes a pod that of a number of a set: labels, and volumes from its own claims.
pub(super) fn number(
    pod: &mut Pod,
    set: &Name,
    templates: &[Arc<PersistentVolumeClaimTemplate>],
    number: i64,
) {
    let name = pod.meta.name.text().clone();
    pod.meta.labels = pod.meta.labels.with(NAME_LABEL, name).with(INDEX_LABEL, number.to_string());
    if !templates.is_empty() {
        let spec = PodSpec::clone(&pod.spec);
        let volumes = volumes(&spec, set, templates, number);
        pod.spec = Arc::new(PodSpec { volumes, ..spec });
    }
}

fn volumes(
    spec: &PodSpec,
    set: &Name,
    templates: &[Arc<PersistentVolumeClaimTemplate>],
    number: i64,
) -> Vec<Volume> {
    let own = templates.iter().map(|template| {
        let source = ClaimSource { claim_name: name(set, &template.meta.name, number), ..Default::default() };
        Volume {
            name: template.meta.name.text().clone(),
            source: VolumeSource { persistent_volume_claim: Some(source), ..VolumeSource::default() },
        }
    });
    let is_claimed =
        |volume: &&Volume| templates.iter().any(|template| *template.meta.name.text() == volume.name);
    own.chain(spec.volumes.iter().filter(|volume| !is_claimed(volume)).cloned()).collect()
}

fn name(set: &Name, template: &Name, number: i64) -> Name {
    Name::from(format!("{template}-{set}-{number}"))
}

/// The claims of a number of a set.
pub(super) fn of_set(
    pod: &Pod,
    set: &Name,
    templates: &[Arc<PersistentVolumeClaimTemplate>],
    number: i64,
) -> Vec<PersistentVolumeClaim> {
    templates.iter().map(|template| claim(pod, name(set, &template.meta.name, number), template)).collect()
}

/// The claims of generic ephemeral volumes, which belong to the pod.
pub(super) fn ephemeral(pod: &Pod) -> Vec<PersistentVolumeClaim> {
    let owner = OwnerReference {
        api_version: Text::from("v1"),
        kind: Text::from("Pod"),
        name: pod.meta.name.clone(),
        uid: pod.meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let with_template = pod.spec.volumes.iter().filter_map(|volume| {
        let template = volume.source.ephemeral.as_ref()?.volume_claim_template.as_ref()?;
        Some((Name::from(format!("{}-{}", pod.meta.name, volume.name)), template))
    });
    with_template
        .map(|(name, template)| {
            let mut claim = claim(pod, name, template);
            claim.meta.owner_references = vec![owner.clone()].into();
            claim
        })
        .collect()
}

fn claim(pod: &Pod, name: Name, template: &PersistentVolumeClaimTemplate) -> PersistentVolumeClaim {
    PersistentVolumeClaim {
        meta: Meta {
            name,
            namespace: pod.meta.namespace.clone(),
            labels: template.meta.labels.clone(),
            annotations: template.meta.annotations.clone(),
            ..Meta::default()
        },
        spec: template.spec.clone(),
        ..PersistentVolumeClaim::default()
    }
}
