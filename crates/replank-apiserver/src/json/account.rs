//! Who manages what controllers write, where clients look.

use replank_model::object::{Kind, Object};
use serde_json::Value;

use super::answer::{member, served};
use super::path::{Address, Subresource};
use crate::server::Api;

/// Manager of what controllers write.
const CONTROLLERS: &str = "kube-controller-manager";

impl Api {
    /// Records from now on which fields of workloads and budgets controllers manage.
    pub fn account_for_controllers(&mut self) {
        self.accountant = Some(account);
    }
}

/// The new state with what controllers manage of it. Of what nobody has kept account of yet, none is begun; pods and nodes are written too often.
fn account(api: &Api, known: &Object, object: Object) -> Object {
    if !is_accounted(known.kind()) {
        return object;
    }
    let live = served(known);
    let has_managers = live.pointer("/metadata/managedFields").is_some_and(Value::is_array);
    let Ok(resource) = api.resource_type(known.api_version(), known.kind_name()) else { return object };
    let mut new = served(&object);
    if !has_managers || new == live {
        return object;
    }
    // Controllers of these kinds write a status, and annotations with it; what they scale, they write as it is.
    let subresource = (live.get("spec") == new.get("spec")).then_some(Subresource::Status);
    let address = Address::new(resource, None, None);
    let address = subresource.into_iter().fold(address, Address::with);
    if api.keeper(&address, None).update(Some(&live), &mut new, CONTROLLERS).is_err() {
        return object;
    }
    let managers = new.pointer("/metadata/managedFields").cloned();
    let mut value = replank_model::object::render(&object);
    if let (Some(managers), Value::Object(meta)) = (managers, member(&mut value, "metadata")) {
        meta.insert("managedFields".to_owned(), managers);
    }
    Object::from_json(value).unwrap_or(object)
}

fn is_accounted(kind: Kind) -> bool {
    match kind {
        Kind::Deployment
        | Kind::ReplicaSet
        | Kind::ReplicationController
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::Job
        | Kind::CronJob
        | Kind::HorizontalPodAutoscaler
        | Kind::ResourceQuota
        | Kind::PodDisruptionBudget => true,
        Kind::Pod
        | Kind::Namespace
        | Kind::Node
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiDriver
        | Kind::CsiNode
        | Kind::NodeClaim
        | Kind::CsiStorageCapacity
        | Kind::VolumeAttachment
        | Kind::PersistentVolume
        | Kind::CustomResourceDefinition
        | Kind::PersistentVolumeClaim
        | Kind::ControllerRevision
        | Kind::Service
        | Kind::EndpointSlice
        | Kind::Other => false,
    }
}
