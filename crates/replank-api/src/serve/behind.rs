//! What a Service leads to: for a webhook that is named by one (apiserver `pkg/util/proxy`, `ResolveCluster`), and in the place of kube-proxy.

use replank_apiserver::{ResourceType, json};
use replank_model::object::meta::Key;
use serde_json::Value;

use crate::mirror::{Snapshot, StorageId};

/// A host and a port that can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) host: String,
    pub(super) port: u16,
}

/// Where a port of a Service leads.
///
/// # Errors
/// Why it leads nowhere, as upstream says it.
pub(super) fn reach(named: &Value, port: u16, snapshot: &Snapshot) -> Result<Reached, String> {
    let (name, namespace) = (text(named, "/name"), text(named, "/namespace"));
    let found = object(snapshot, "", "services", &Key::new(namespace, name));
    let service = found.ok_or_else(|| format!("service {name:?} not found"))?;
    let address = text(&service, "/spec/clusterIP");
    match text(&service, "/spec/type") {
        "ExternalName" => {
            return Ok(Reached { host: text(&service, "/spec/externalName").to_owned(), port });
        }
        _ if address == "None" => return Err("cannot route to service with ClusterIP \"None\"".to_owned()),
        _ => {}
    }
    let has_port = |one: &&Value| one["port"].as_u64() == Some(port.into());
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    let asked = ports.into_iter().flatten().find(has_port);
    let asked = asked.ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let port_name = text(asked, "/name");
    let refused = |why: &str| format!("dial tcp {address}:{port}: connect: connection refused: {why}");
    let slices = slices(snapshot, namespace, name);
    let endpoints = slices.iter().flat_map(|slice| {
        let ports = slice["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
        let to =
            ports.iter().find(|one| text(one, "/name") == port_name).and_then(|one| one["port"].as_u64());
        let endpoints = slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
        endpoints.iter().filter(|one| one["conditions"]["ready"] != false).map(move |one| (one, to))
    });
    let mut has_pods = false;
    for (endpoint, to) in endpoints {
        if text(endpoint, "/targetRef/kind") == "Pod" {
            has_pods = true;
            continue;
        }
        let host = text(endpoint, "/addresses/0").to_owned();
        if let Some(port) = to.and_then(|to| u16::try_from(to).ok()).filter(|_| !host.is_empty()) {
            return Ok(Reached { host, port });
        }
    }
    Err(refused(if has_pods {
        "containers are simulated and nothing runs"
    } else {
        "it has no ready endpoint"
    }))
}

fn slices(snapshot: &Snapshot, namespace: &str, service: &str) -> Vec<Value> {
    let Some(resource) = ResourceType::built_in("discovery.k8s.io", "v1", "endpointslices") else {
        return Vec::new();
    };
    let collection = snapshot.collection(&StorageId::of_resource(resource));
    let is_of = |meta: &replank_model::object::meta::Meta| {
        &**meta.namespace.text() == namespace
            && meta.labels.value("kubernetes.io/service-name") == Some(service)
    };
    let of_service = collection.values().filter(|stored| is_of(stored.meta()));
    of_service.map(|stored| json::served_at(resource, &stored.object)).collect()
}

fn object(snapshot: &Snapshot, group: &str, plural: &str, key: &Key) -> Option<Value> {
    let resource = ResourceType::built_in(group, "v1", plural)?;
    let stored = snapshot.get(&StorageId::of_resource(resource), key)?;
    Some(json::served_at(resource, &stored.object))
}

fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;
    use crate::mirror::Publisher;

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn reached(spec: Value, endpoints: Value) -> Result<Reached, String> {
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "n"}, "spec": spec});
        let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": "s-1", "namespace": "n", "labels": {"kubernetes.io/service-name": "s"}},
            "ports": [{"name": "", "port": 8443, "protocol": "TCP"}], "endpoints": endpoints});
        let objects = [service, slice].map(|object| Object::from_json(object).expect("it is well formed"));
        let publisher = Publisher::new(objects, Vec::new(), 1);
        reach(&json!({"name": "s", "namespace": "n"}), 443, &publisher.mirror().snapshot())
    }

    #[test]
    fn a_service_leads_to_what_stands_behind_it() {
        let plain = json!({"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": [{"port": 443, "protocol": "TCP"}]});
        let outside = json!([{"addresses": ["192.0.2.7"], "conditions": {"ready": true}}]);
        let to = |host: &str, port| Ok(Reached { host: host.to_owned(), port });
        assert_eq!(reached(plain.clone(), outside.clone()), to("192.0.2.7", 8443));
        let external = json!({"type": "ExternalName", "externalName": "localhost"});
        assert_eq!(reached(external, json!([])), to("localhost", 443));
        let pods = json!([{"addresses": ["10.244.0.3"], "targetRef": {"kind": "Pod", "name": "p"}}]);
        let why = |text: &str| Err(text.to_owned());
        let refused = "dial tcp 10.96.0.9:443: connect: connection refused:";
        assert_eq!(
            reached(plain.clone(), pods),
            Err(format!("{refused} containers are simulated and nothing runs"))
        );
        assert_eq!(reached(plain.clone(), json!([])), Err(format!("{refused} it has no ready endpoint")));
        let headless =
            json!({"type": "ClusterIP", "clusterIP": "None", "ports": [{"port": 443, "protocol": "TCP"}]});
        assert_eq!(
            reached(headless, outside.clone()),
            why("cannot route to service with ClusterIP \"None\"")
        );
        let other = json!({"type": "ClusterIP", "clusterIP": "10.96.0.9", "ports": [{"port": 80, "protocol": "TCP"}]});
        assert_eq!(reached(other, outside), why("no service port 443 found for service \"s\""));
    }
}
