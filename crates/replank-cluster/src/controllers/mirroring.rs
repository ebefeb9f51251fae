//! EndpointSlices of Endpoints that somebody keeps by hand (pkg/controller/endpointslicemirroring).

use replank_apiserver::{Api, DeleteOptions};
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use serde_json::{Map, Value, json};

use super::edit::{create, read, text, update};

/// Who keeps the slices.
const MANAGER: &str = "endpointslicemirroring-controller.k8s.io";
/// The label that says so.
const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
/// The label with the Service's name.
const SERVICE: &str = "kubernetes.io/service-name";
/// The label of Endpoints that are not to be mirrored.
const SKIPPED: &str = "/metadata/labels/endpointslice.kubernetes.io~1skip-mirror";

/// Writes the slices of an Endpoints object, one for each of its subsets and families of addresses.
pub(super) fn mirror(api: &mut Api, key: &Key) {
    let endpoints = read(api, "", "Endpoints", key).filter(|found| text(found, SKIPPED) != "true");
    let service = api.view().services.by_key(key);
    let is_mirrored = service.is_some_and(|service| service.spec.selector.is_empty());
    let wanted = endpoints.filter(|_| is_mirrored).map(|endpoints| wanted(&endpoints)).unwrap_or_default();
    let slices = api.view().endpoint_slices.sorted();
    let ours = slices.into_iter().map(|(_, slice)| slice).filter(|slice| {
        slice.meta.namespace == key.namespace
            && slice.meta.labels.value(SERVICE) == Some(key.name.as_str())
            && slice.meta.labels.value(MANAGED_BY) == Some(MANAGER)
            && !slice.meta.is_terminating()
    });
    let mut known: Vec<Object> = ours.cloned().map(Object::EndpointSlice).collect();
    for slice in wanted {
        let of_family = known.iter().position(|known| render(known)["addressType"] == slice["addressType"]);
        let Some(at) = of_family else {
            create(api, slice);
            continue;
        };
        let was = render(&known.remove(at));
        let mut next = was.clone();
        for member in ["endpoints", "ports"] {
            next[member] = slice[member].clone();
        }
        next["metadata"]["labels"] = slice["metadata"]["labels"].clone();
        if next != was {
            update(api, next);
        }
    }
    for gone in known {
        drop(api.delete_known(&gone, &DeleteOptions::default()));
    }
}

fn wanted(endpoints: &Value) -> Vec<Value> {
    let mut slices = Vec::new();
    for subset in endpoints["subsets"].as_array().into_iter().flatten() {
        for family in ["IPv4", "IPv6"] {
            let listed = |list: &str, is_ready: bool| {
                let all = subset[list].as_array().cloned().unwrap_or_default();
                let of_family =
                    all.into_iter().filter(|one| text(one, "/ip").contains(':') == (family == "IPv6"));
                of_family.map(move |one| endpoint(&one, is_ready)).collect::<Vec<_>>()
            };
            let all: Vec<Value> =
                listed("addresses", true).into_iter().chain(listed("notReadyAddresses", false)).collect();
            if !all.is_empty() {
                slices.push(slice(endpoints, family, &all, &subset["ports"]));
            }
        }
    }
    slices
}

fn slice(endpoints: &Value, family: &str, all: &[Value], ports: &Value) -> Value {
    let meta = &endpoints["metadata"];
    let mut labels: Map<String, Value> = meta["labels"].as_object().cloned().unwrap_or_default();
    labels.insert(SERVICE.to_owned(), meta["name"].clone());
    labels.insert(MANAGED_BY.to_owned(), MANAGER.into());
    let name = text(endpoints, "/metadata/name");
    let ports: Vec<Value> = ports.as_array().into_iter().flatten().map(port).collect();
    json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"generateName": format!("{name}-"), "namespace": meta["namespace"], "labels": labels,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Endpoints", "name": name, "uid": meta["uid"],
                "controller": true, "blockOwnerDeletion": true}]},
        "addressType": family, "endpoints": all, "ports": ports})
}

fn port(port: &Value) -> Value {
    let mut told = json!({"name": port["name"].as_str().unwrap_or_default(), "port": port["port"],
        "protocol": port["protocol"].as_str().unwrap_or("TCP")});
    if !port["appProtocol"].is_null() {
        told["appProtocol"] = port["appProtocol"].clone();
    }
    told
}

fn endpoint(address: &Value, is_ready: bool) -> Value {
    let mut told = json!({"addresses": [address["ip"]], "conditions": {"ready": is_ready}});
    for member in ["hostname", "nodeName", "targetRef"] {
        if !address[member].is_null() {
            told[member] = address[member].clone();
        }
    }
    told
}
