//! Requests that are broken in every way: each is answered, and the next one, too.

use std::net::TcpStream;

use replank_sim::{Draws, Purpose};
use serde_json::{Value, json};

use super::wire::{Served, exchange, request};

/// How many requests, unless `REPLANK_BROKEN` says otherwise.
const REQUESTS: u64 = 5_000;
/// What the process may grow by, in bytes: what the objects take that the requests leave, and a margin.
const GROWTH_MAX: u64 = 200 * 1024 * 1024;

/// Requests that are right, to be broken.
fn right() -> Vec<(&'static str, String, &'static str, Value)> {
    let json = "application/json";
    let meta =
        |name: &str| json!({"name": name, "namespace": "default", "labels": {"app": "a"}, "finalizers": []});
    let container = json!({"name": "main", "image": "a:1", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
        "ports": [{"containerPort": 80, "protocol": "TCP"}], "env": [{"name": "A", "value": "b"}]});
    let spec =
        json!({"containers": [container], "tolerations": [{"operator": "Exists"}], "nodeName": "node-1"});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("p"), "spec": spec});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta("d"),
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "d"}},
            "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}}}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta("b"),
        "spec": {"minAvailable": "50%", "selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a"]}]}}});
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta("c"), "data": {"a": "b"}});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "integer"}}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let core = "/api/v1/namespaces/default";
    vec![
        ("POST", format!("{core}/pods"), json, pod.clone()),
        ("PUT", format!("{core}/pods/p"), json, pod),
        ("POST", "/apis/apps/v1/namespaces/default/deployments".to_owned(), json, deployment),
        ("POST", "/apis/policy/v1/namespaces/default/poddisruptionbudgets".to_owned(), json, budget),
        ("POST", format!("{core}/configmaps"), json, config.clone()),
        ("PUT", format!("{core}/configmaps/c"), json, config.clone()),
        ("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(), json, definition),
        (
            "POST",
            "/apis/example.com/v1/namespaces/default/things".to_owned(),
            json,
            json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": meta("t"), "spec": {"a": 1}}),
        ),
        (
            "PATCH",
            format!("{core}/configmaps/c"),
            "application/json-patch+json",
            json!([{"op": "add", "path": "/data/x", "value": "y"}, {"op": "test", "path": "/data/x", "value": "y"},
                {"op": "move", "from": "/data/x", "path": "/data/z"}, {"op": "remove", "path": "/data/z"}]),
        ),
        (
            "PATCH",
            format!("{core}/configmaps/c"),
            "application/merge-patch+json",
            json!({"data": {"a": null, "b": "c"}}),
        ),
        (
            "PATCH",
            format!("{core}/pods/p"),
            "application/strategic-merge-patch+json",
            json!({"spec": {"containers": [{"name": "main", "$patch": "merge", "image": "b:2"}], "$setElementOrder/containers": [{"name": "main"}]}}),
        ),
        (
            "PATCH",
            format!("{core}/configmaps/c?fieldManager=x&force=true"),
            "application/apply-patch+yaml",
            config,
        ),
        (
            "POST",
            format!("{core}/pods/p/eviction"),
            json,
            json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}, "deleteOptions": {"gracePeriodSeconds": 5}}),
        ),
        (
            "PUT",
            "/apis/apps/v1/namespaces/default/deployments/d/scale".to_owned(),
            json,
            json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d", "namespace": "default"}, "spec": {"replicas": 2}}),
        ),
        (
            "DELETE",
            format!("{core}/pods/p"),
            json,
            json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background", "preconditions": {"uid": "x"}}),
        ),
        ("DELETE", format!("{core}/configmaps?labelSelector=app%3Da"), json, json!({})),
        (
            "GET",
            format!(
                "{core}/pods?limit=5&labelSelector=app%20in%20(a,b),!c&fieldSelector=status.phase!%3DFailed"
            ),
            json,
            Value::Null,
        ),
        (
            "GET",
            "/apis/apps/v1/deployments?resourceVersion=5&resourceVersionMatch=NotOlderThan".to_owned(),
            json,
            Value::Null,
        ),
        ("GET", "/api/v1/nodes/node-1".to_owned(), json, Value::Null),
        ("GET", "/apis".to_owned(), json, Value::Null),
    ]
}

/// A source of chance for one request.
struct Chance {
    draws: Draws,
    request: String,
    count: u64,
}

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.count += 1;
        let drawn = self.draws.draw(&self.request, Purpose::Order, self.count).below(bound as u64);
        usize::try_from(drawn).expect("it is below a usize")
    }
}

/// Breaks bytes: they are changed, cut, doubled or mixed with others.
fn broken(bytes: &mut Vec<u8>, chance: &mut Chance) {
    const ODD: [&[u8]; 16] = [
        b"null",
        b"-1",
        b"1e999",
        b"99999999999999999999",
        b"\"\"",
        b"{}",
        b"[]",
        b"\\u0000",
        b"\xff\xfe",
        b"true",
        b"..",
        b"%",
        b"$patch",
        b"/",
        b"~1",
        b"\"$retainKeys\":[1],",
    ];
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len() + 1);
        let len = chance.below(12).min(bytes.len() - at);
        match chance.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << chance.below(8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..at + len)),
            3 => {
                let piece = bytes[at..at + len].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => drop(bytes.splice(at..at + len, ODD[chance.below(ODD.len())].iter().copied())),
        }
    }
}

/// Puts something else into the place of a value somewhere.
fn wrong(value: &mut Value, chance: &mut Chance) {
    let odd = || {
        [
            json!(null),
            json!(-1),
            json!("x"),
            json!({}),
            json!([]),
            json!([null]),
            json!(1.5),
            json!({"a": {"b": []}}),
            json!(i64::MAX),
        ]
    };
    match value {
        Value::Object(members) if !members.is_empty() && chance.below(4) > 0 => {
            let at = chance.below(members.len());
            let member = members.values_mut().nth(at).expect("there are so many");
            wrong(member, chance);
        }
        Value::Array(items) if !items.is_empty() && chance.below(4) > 0 => {
            let at = chance.below(items.len());
            wrong(&mut items[at], chance);
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            let odd = odd();
            *value = odd[chance.below(odd.len())].clone();
        }
    }
}

/// What the process has in memory, in bytes; 0 where the system does not tell.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Sends a request; another connection where the last one is closed. A refusal is a Status, whoever refuses.
fn send(served: &Served, stream: &mut TcpStream, bytes: &[u8], is_sound: bool) -> u16 {
    let answer = exchange(stream, bytes).or_else(|| {
        *stream = served.connect();
        // A connection that was closed after the last answer says nothing about this request.
        exchange(stream, bytes)
    });
    let Some((code, media_type, body)) = answer else {
        assert!(!is_sound, "no answer to {}", String::from_utf8_lossy(bytes));
        *stream = served.connect();
        return 0;
    };
    // Upstream, too, answers 500 where what is applied is not of its type; a panic is something else.
    let told = String::from_utf8_lossy(&body);
    assert!(!told.contains("caused apiserver to panic"), "{}\n{told}", String::from_utf8_lossy(bytes));
    let is_plain = code == 404 && media_type.starts_with("text/plain");
    if is_sound && code >= 400 && !is_plain {
        let status: Value = serde_json::from_slice(&body).unwrap_or_default();
        assert_eq!(
            (status["kind"].as_str(), status["code"].as_u64()),
            (Some("Status"), Some(code.into())),
            "{}\n{}",
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&body)
        );
    }
    code
}

#[test]
fn every_broken_request_is_answered() {
    let count = std::env::var("REPLANK_BROKEN").ok().and_then(|text| text.parse().ok()).unwrap_or(REQUESTS);
    let served = Served::begin(2);
    let mut stream = served.connect();
    let right = right();
    let mut codes = std::collections::BTreeMap::<u16, u64>::new();
    let mut before = 0;
    for number in 0..count {
        let mut chance = Chance { draws: Draws::new(number), request: "request".to_owned(), count: 0 };
        let (method, path, content_type, value) = &right[chance.below(right.len())];
        let (mut path, mut value) = (path.clone().into_bytes(), value.clone());
        let how = chance.below(10);
        if how < 4 {
            wrong(&mut value, &mut chance);
        }
        let mut body = if value.is_null() { Vec::new() } else { value.to_string().into_bytes() };
        if (3..7).contains(&how) {
            broken(&mut body, &mut chance);
        }
        if how == 7 {
            broken(&mut path, &mut chance);
        }
        let methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];
        // An answer without a body would be waited for.
        let method = if how == 8 { methods[chance.below(5)] } else { method };
        let content_types = [
            "application/json",
            "application/merge-patch+json",
            "application/yaml",
            "application/cbor",
            "text/plain",
            "",
            "application/apply-patch+yaml",
            "application/vnd.kubernetes.protobuf",
            "application/strategic-merge-patch+json",
            "application/json-patch+json",
        ];
        let content_type =
            if how == 9 { content_types[chance.below(content_types.len())] } else { content_type };
        let text = String::from_utf8_lossy(&path).into_owned();
        // What is cut out of a path may leave a watch, which ends when it likes.
        let is_sound = how != 7;
        if text.contains("watch") {
            continue;
        }
        let bytes = match is_sound {
            true => request(method, &text, content_type, &body),
            false => {
                let head = format!(" HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
                [method.as_bytes(), b" ", &path, head.as_bytes(), &body].concat()
            }
        };
        *codes.entry(send(&served, &mut stream, &bytes, is_sound)).or_default() += 1;
        if number == count / 10 {
            before = resident();
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH_MAX, "{count} requests have left {} MiB", grown / 1024 / 1024);
    assert!(codes.len() > 5, "they were too much alike: {codes:?}");
    let (code, ..) =
        exchange(&mut served.connect(), &request("GET", "/readyz", "", b"")).expect("it answers");
    assert_eq!(code, 200);
    served.end();
}

#[test]
fn what_is_too_large_or_too_deep_is_refused() {
    let served = Served::begin(1);
    let path = "/api/v1/namespaces/default/configmaps";
    let json = "application/json";
    let large = json!({"metadata": {"name": "x"}, "data": {"a": "b".repeat(3 * 1024 * 1024)}}).to_string();
    let deep = format!("{{\"metadata\":{}1{}}}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
    let patch: Vec<Value> = (0..10_001).map(|_| json!({"op": "test", "path": "/data", "value": 1})).collect();
    let patch = Value::from(patch).to_string();
    let mut stream = served.connect();
    assert_eq!(send(&served, &mut stream, &request("POST", path, json, large.as_bytes()), true), 413);
    let mut stream = served.connect();
    assert_eq!(send(&served, &mut stream, &request("POST", path, json, deep.as_bytes()), true), 400);
    let patched = request(
        "PATCH",
        &format!("{path}/kube-root-ca.crt"),
        "application/json-patch+json",
        patch.as_bytes(),
    );
    assert!(matches!(send(&served, &mut stream, &patched, true), 404 | 413));
    served.end();
}
