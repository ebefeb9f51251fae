//! ReplicaSets: as many pods as wanted (pkg/controller/replicaset).

use std::sync::Arc;

use replank_model::object::meta::{Meta, OwnerReference};
use replank_model::object::pod::Pod;
use replank_model::object::workload::ReplicaSet;
use replank_model::object::{Kind, Object};
use replank_model::text::Text;
use replank_model::view::{Change, Ix};

use super::{Controller, Ctx};
use crate::api::DeleteOptions;

pub(crate) fn watch(ctx: &mut Ctx<'_>, change: &Change) {
    let Change::Object { slot, old, new } = change else { return };
    match new.as_ref().or(old.as_ref()) {
        Some(Object::ReplicaSet(_)) if new.is_some() => ctx.enqueue(Controller::ReplicaSet, *slot),
        Some(Object::Pod(pod)) => {
            if let Some(slot) = owner_slot(ctx, pod) {
                ctx.enqueue(Controller::ReplicaSet, slot);
            }
        }
        Some(_) | None => {}
    }
}

pub(crate) fn sync(ctx: &mut Ctx<'_>, slot: u32) {
    let Some(set) = ctx.view().replica_sets.get(Ix::new(slot)).cloned() else { return };
    let mut pods: Vec<Arc<Pod>> =
        ctx.view().pods_of(&set.meta.uid).iter().map(|ix| ctx.view().pods[*ix].clone()).collect();
    pods.sort_by(|a, b| a.meta.name.cmp(&b.meta.name));
    pods.retain(|pod| pod.is_active());
    let wanted = usize::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
    for _ in pods.len()..wanted {
        create_pod(ctx, &set);
    }
    for pod in pods.iter().skip(wanted) {
        let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
        let deleted = ctx.api.delete(Kind::Pod, &pod.meta.key(), &options);
        debug_assert!(deleted.is_ok(), "the pod was just read");
    }
}

fn owner_slot(ctx: &Ctx<'_>, pod: &Pod) -> Option<u32> {
    let owner = pod.meta.controller().filter(|owner| &*owner.kind == "ReplicaSet")?;
    let key = replank_model::object::meta::Key::new(pod.meta.namespace.clone(), owner.name.clone());
    ctx.view().replica_sets.find(&key).map(Ix::raw)
}

fn create_pod(ctx: &mut Ctx<'_>, set: &ReplicaSet) {
    let owner = OwnerReference {
        api_version: Text::from("apps/v1"),
        kind: Text::from("ReplicaSet"),
        name: set.meta.name.clone(),
        uid: set.meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    let template = &set.spec.template;
    let pod = Pod {
        meta: Meta {
            namespace: set.meta.namespace.clone(),
            generate_name: Some(Text::from(format!("{}-", set.meta.name))),
            labels: template.meta.labels.clone(),
            annotations: template.meta.annotations.clone(),
            finalizers: template.meta.finalizers.clone(),
            owner_references: vec![owner],
            ..Meta::default()
        },
        spec: template.spec.clone(),
        ..Pod::default()
    };
    let created = ctx.api.create(pod);
    debug_assert!(created.is_ok(), "generated names are free");
}
