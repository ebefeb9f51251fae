//! What every cluster has from the start.

use std::net::SocketAddr;

use replank_apiserver::Api;
use replank_model::object::{Object, render};
use replank_model::time::Time;
use replank_schema::bootstrap as objects;
use replank_sim::World;
use serde_json::{Value, json};

/// The namespaces of every cluster.
const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// Makes what is missing of the objects that every cluster has.
pub(crate) fn furnish(world: &mut World) {
    let now = world.now().floor_seconds();
    world.request(|api| {
        for name in NAMESPACES {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
            make(api, namespace, now);
        }
        for object in objects() {
            make(api, object, now);
        }
        let tracking = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "kube-apiserver-legacy-service-account-token-tracking", "namespace": "kube-system"},
            "data": {"since": now.to_string().get(..10)}});
        make(api, tracking, now);
    });
}

/// Makes the Service `kubernetes` lead to where the cluster is served (pkg/controlplane/reconcilers): another place each time, perhaps.
pub(crate) fn lead_to(world: &mut World, address: SocketAddr) {
    let (ip, port) = (address.ip().to_string(), address.port());
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let meta = |label: &str, value: &str| json!({"name": "kubernetes", "namespace": "default", "labels": {label: value}});
    let endpoints = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": meta("endpointslice.kubernetes.io/skip-mirror", "true"),
        "subsets": [{"addresses": [{"ip": ip}], "ports": ports}]});
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": meta("kubernetes.io/service-name", "kubernetes"),
        "addressType": family, "endpoints": [{"addresses": [ip], "conditions": {"ready": true}}], "ports": ports});
    world.request(|api| {
        for object in [endpoints, slice] {
            let object = Object::from_json(object).expect("it is well formed");
            let (kind, key) = (object.kind(), object.meta().key());
            if api.create_object(object.clone()).is_err() && is_elsewhere(api, &object) {
                let kept = api.update_object(object);
                assert!(kept.is_ok(), "{kind:?} {key} is there");
            }
        }
    });
}

/// Whether an object is stored, and leads to another place.
fn is_elsewhere(api: &Api, object: &Object) -> bool {
    let (view, key) = (api.view(), object.meta().key());
    let stored = if let Object::EndpointSlice(_) = object {
        view.endpoint_slices.by_key(&key).map(|slice| Object::EndpointSlice(slice.clone()))
    } else {
        view.other("", "Endpoints", &key).map(|stored| Object::Other(stored.clone()))
    };
    let place = |object: &Object| {
        let value = render(object);
        (value["subsets"].clone(), value["endpoints"].clone(), value["ports"].clone())
    };
    stored.is_some_and(|stored| place(&stored) != place(object))
}

/// Makes an object unless it is there.
fn make(api: &mut Api, mut value: Value, now: Time) {
    let now = now.to_string();
    for (list, member) in [("/metadata/managedFields", "time"), ("/status/conditions", "lastTransitionTime")]
    {
        for item in value.pointer_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            item[member] = now.as_str().into();
        }
    }
    let object = Object::from_json(value).expect("an embedded object is well formed");
    // What is there already stays as it is: a snapshot has its own.
    drop(api.create_object(object));
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;
    use replank_model::view::View;
    use replank_sim::{CloudTimings, KubeletModel, Settings};

    use super::*;

    #[test]
    fn what_every_cluster_has_is_made_once() {
        let start = Time::from_millis(1_764_000_000_000);
        let settings =
            Settings { start, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let mut world = World::new(settings, View::default());
        furnish(&mut world);
        let version = world.version();
        let admin =
            world.view().other("rbac.authorization.k8s.io", "ClusterRole", &Key::cluster("cluster-admin"));
        assert!(admin.is_some_and(|role| !role.meta.uid.is_empty()));
        assert_eq!(world.view().namespaces.len(), 4);
        furnish(&mut world);
        assert_eq!(world.version(), version);
    }
}
