//! What every cluster has from the start.

use replank_apiserver::Api;
use replank_model::object::Object;
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
