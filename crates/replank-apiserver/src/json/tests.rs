//! Every resource of discovery: each of its verbs is answered.

mod custom;
mod events;
mod refused;

use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::View;
use replank_schema::{Resource, Scope, discovery};
use serde_json::{Value, json};

use super::{Method, Request, Response};
use crate::draw::Draws;
use crate::server::Api;

const NOW: &str = "2026-01-01T00:00:00Z";
/// What a running 1.36.2 took, one object of each kind.
const ONE_OF_EACH: &str = include_str!("testdata/one_of_each.json");

fn api() -> Api {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "status": {"phase": "Active"}});
    let namespace = Object::from_json(namespace).expect("a namespace");
    let view: View = [Delta::Put(namespace)].into_iter().collect();
    Api::new(crate::Clock::new(NOW.parse::<Time>().expect("a time")), view, Draws::new(1))
}

fn send(api: &mut Api, method: Method, path: &str, body: Value) -> Response {
    let content_type = if method == Method::Patch { "application/merge-patch+json" } else { "" };
    api.handle(&Request {
        method,
        path: path.to_owned(),
        content_type: content_type.to_owned(),
        body,
        wire: None,
    })
}

/// Asks for everything that can be done with a resource.
fn walk(collection: &str, resource: &Resource, object: &Value) {
    let mut api = api();
    let name = object["metadata"]["name"].as_str().expect("it has a name");
    let path = format!("{collection}/{name}");
    let is_done = |response: Response, code: u16, what: &str| {
        assert_eq!(response.code, code, "{what} {path}: {}", response.body);
        response.body
    };
    let made = is_done(send(&mut api, Method::Post, collection, object.clone()), 201, "POST");
    assert_eq!(made["kind"], object["kind"]);
    assert!(made["metadata"]["uid"].is_string(), "{path} has a uid");
    assert_eq!(send(&mut api, Method::Post, collection, object.clone()).code, 409, "POST again {path}");
    let got = is_done(send(&mut api, Method::Get, &path, Value::Null), 200, "GET");
    let list = is_done(send(&mut api, Method::Get, collection, Value::Null), 200, "LIST");
    assert!(list["items"].as_array().is_some_and(|items| !items.is_empty()), "{path} is listed");
    let put = is_done(send(&mut api, Method::Put, &path, got.clone()), 200, "PUT");
    assert_eq!(put["metadata"]["generation"], got["metadata"]["generation"], "{path}: nothing has changed");
    let patch = json!({"metadata": {"labels": {"patched": "yes"}}});
    let patched = is_done(send(&mut api, Method::Patch, &path, patch), 200, "PATCH");
    assert_eq!(patched["metadata"]["labels"]["patched"], "yes");
    if resource.subresources.iter().any(|part| part.subresource == "status") {
        let part = format!("{path}/status");
        is_done(send(&mut api, Method::Get, &part, Value::Null), 200, "GET status");
        let patch = json!({"metadata": {"annotations": {"patched": "yes"}}});
        is_done(send(&mut api, Method::Patch, &part, patch), 200, "PATCH status");
    }
    is_done(send(&mut api, Method::Delete, &path, Value::Null), 200, "DELETE");
}

#[test]
fn each_verb_of_each_resource_is_answered() {
    let all: Vec<Value> = serde_json::from_str(ONE_OF_EACH).expect("a list of objects");
    let mut walked = 0;
    for group in discovery().all() {
        for version in &group.versions {
            let api_version = match group.name() {
                "" => version.version.clone(),
                name => format!("{name}/{}", version.version),
            };
            for resource in &version.resources {
                let can = |verb: &str| resource.verbs.iter().any(|one| one == verb);
                // The older version is the same object, converted on the wire.
                if !can("create") || !can("list") || api_version == "autoscaling/v1" {
                    continue;
                }
                let is_it = |object: &&Value| {
                    object["apiVersion"] == *api_version && object["kind"] == *resource.response_kind.kind
                };
                let object = all.iter().find(is_it).unwrap_or_else(|| panic!("one of {}", resource.resource));
                let root = if group.name().is_empty() { "/api/" } else { "/apis/" };
                let within = match resource.scope {
                    Scope::Namespaced => "/namespaces/shop",
                    Scope::Cluster => "",
                };
                walk(&format!("{root}{api_version}{within}/{}", resource.resource), resource, object);
                walked += 1;
            }
        }
    }
    assert!(walked > 50, "discovery has that many resources: {walked}");
}
