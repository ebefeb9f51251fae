//! Admission webhooks: an HTTPS server of the test's own is asked about writes.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, KeyPair};
use replank_api::Server;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::ask::{Answered, ask};
use super::wire::Served;

const JSON: &str = "application/json";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1";

/// A webhook server: what it was asked, in turn, and where it is.
struct Hooked {
    port: u16,
    bundle: String,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Hooked {
    /// One that answers by its path: `/label` labels, `/deny` refuses, `/slow` takes its time, all others allow.
    fn begin() -> Self {
        let key = KeyPair::generate().expect("there is chance");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned(), "hook.default.svc".to_owned()])
            .expect("the name is fine");
        let certificate = params.self_signed(&key).expect("it can be signed");
        let bundle = STANDARD.encode(certificate.pem());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are some")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("they fit");
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = listener.local_addr().expect("it has one").port();
        let asked = Arc::<Mutex<Vec<Value>>>::default();
        let told = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, told) = (config.clone(), told.clone());
                std::thread::spawn(move || {
                    let Ok(connection) = ServerConnection::new(config) else { return };
                    let mut stream = StreamOwned::new(connection, stream);
                    let Some((path, review)) = read(&mut stream) else { return };
                    if path.starts_with("/slow") {
                        std::thread::sleep(Duration::from_secs(3));
                    }
                    let answer = answer(&path, &review).to_string();
                    told.lock().expect("nobody panics").push(review);
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nContent-Length: {}\r\n\r\n",
                        answer.len()
                    );
                    drop(stream.write_all(format!("{head}{answer}").as_bytes()));
                    drop(stream.flush());
                });
            }
        });
        Self { port, bundle, asked }
    }

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn hook(&self, name: &str, path: &str, more: Value) -> Value {
        let url = format!("https://127.0.0.1:{}{path}", self.port);
        let mut hook = json!({"name": name, "clientConfig": {"url": url, "caBundle": self.bundle}, "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 5,
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]});
        for (member, value) in more.as_object().into_iter().flatten() {
            hook[member] = value.clone();
        }
        hook
    }

    fn take_asked(&self) -> Vec<Value> {
        std::mem::take(&mut *self.asked.lock().expect("nobody panics"))
    }
}

fn read(stream: &mut impl Read) -> Option<(String, Value)> {
    let mut got = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).ok().filter(|count| *count > 0)?;
        got.extend_from_slice(&piece[..count]);
        let text = String::from_utf8_lossy(&got);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_ascii_lowercase();
        let length: usize = length.split_once("content-length: ")?.1.lines().next()?.trim().parse().ok()?;
        if body.len() >= length {
            let path = head.split(' ').nth(1)?.to_owned();
            return Some((path, serde_json::from_str(body).ok()?));
        }
    }
}

fn answer(path: &str, review: &Value) -> Value {
    if path.starts_with("/convert") {
        return converted(review);
    }
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    if path.starts_with("/label") {
        let has_labels = review["request"]["object"]["metadata"].get("labels").is_some();
        let patch = match has_labels {
            true => json!([{"op": "add", "path": "/metadata/labels/seen", "value": "again"}]),
            false => json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "once"}}]),
        };
        response["patchType"] = "JSONPatch".into();
        response["patch"] = STANDARD.encode(patch.to_string()).into();
        response["warnings"] = json!(["labelled"]);
    }
    if path.starts_with("/deny") {
        response["allowed"] = false.into();
        response["status"] = json!({"code": 418, "message": "not here", "reason": "Forbidden"});
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

/// Objects in the version that is wanted: v1 has a host and a port, v2 has them as one.
fn converted(review: &Value) -> Value {
    let request = &review["request"];
    let wanted = request["desiredAPIVersion"].clone();
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let convert = |mut object: Value| {
        object["apiVersion"] = wanted.clone();
        let spec = object["spec"].clone();
        object["spec"] = match wanted == "example.com/v2" {
            true => {
                json!({"hostPort": format!("{}:{}", spec["host"].as_str().unwrap_or_default(), spec["port"].as_str().unwrap_or_default())})
            }
            false => {
                let (host, port) =
                    spec["hostPort"].as_str().and_then(|text| text.split_once(':')).unwrap_or_default();
                json!({"host": host, "port": port})
            }
        };
        if let Some(color) = spec.get("color") {
            object["spec"]["color"] = color.clone();
        }
        object
    };
    let objects: Vec<Value> = objects.into_iter().map(convert).collect();
    let response =
        json!({"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": response})
}

fn define(served: &Served, hooked: &Hooked) {
    let text = json!({"type": "string"});
    let version = |name: &str, is_stored: bool, fields: Value| {
        let schema =
            json!({"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}});
        json!({"name": name, "served": true, "storage": is_stored, "schema": {"openAPIV3Schema": schema}})
    };
    let client =
        json!({"url": format!("https://127.0.0.1:{}/convert", hooked.port), "caBundle": hooked.bundle});
    let definition = json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [version("v1", false, json!({"host": text, "port": text, "color": text})),
            version("v2", true, json!({"hostPort": text, "color": text}))],
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}}});
    let made = send(served, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    assert_eq!(made.code, 201, "{made:?}");
    for _ in 0..200 {
        if send(served, "GET", "/apis/example.com/v2/things", Value::Null).code == 200 {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("the definition is not served");
}

fn things(version: &str) -> String {
    format!("/apis/example.com/{version}/namespaces/default/things")
}

#[test]
fn custom_resources_are_converted_by_their_webhook() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    define(&served, &hooked);
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"host": "a", "port": "1"}});
    let made = send(&served, "POST", &things("v1"), thing);
    assert_eq!(
        (made.code, &made.body["apiVersion"], &made.body["spec"]),
        (201, &json!("example.com/v1"), &json!({"host": "a", "port": "1"}))
    );
    let spec = |version: &str| {
        send(&served, "GET", &format!("{}/t", things(version)), Value::Null).body["spec"].clone()
    };
    assert_eq!((spec("v2"), spec("v1")), (json!({"hostPort": "a:1"}), json!({"host": "a", "port": "1"})));
    let patched = send(&served, "PATCH", &format!("{}/t", things("v1")), json!({"spec": {"port": "2"}}));
    assert_eq!((patched.code, &patched.body["spec"]), (200, &json!({"host": "a", "port": "2"})));
    assert_eq!(spec("v2"), json!({"hostPort": "a:2"}));
    let listed = send(&served, "GET", &things("v1"), Value::Null);
    assert_eq!(
        (&listed.body["kind"], &listed.body["items"][0]["spec"]["port"]),
        (&json!("ThingList"), &json!("2"))
    );
    served.end();

    let served = Served::begin(1);
    define(&served, &hooked);
    let refused = send(
        &served,
        "POST",
        &things("v1"),
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}),
    );
    let why = "conversion webhook for example.com/v1, Kind=Thing failed: webhooks are not called: the cluster was started without --call-webhooks";
    assert_eq!((refused.code, refused.message()), (500, why));
    served.end();
}

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn send(served: &Served, method: &str, path: &str, body: Value) -> Answered {
    let content_type = if method == "PATCH" { "application/merge-patch+json" } else { JSON };
    ask(served.connect(), (method, path, content_type), &[], &body)
}

#[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
fn configure(served: &Served, kind: &str, name: &str, hooks: Vec<Value>) {
    let path = format!("{HOOKS}/{kind}webhookconfigurations");
    let made = send(served, "POST", &path, json!({"metadata": {"name": name}, "webhooks": hooks}));
    assert_eq!(made.code, 201, "{made:?}");
}

fn map(name: &str) -> Value {
    json!({"metadata": {"name": name}, "data": {"a": "b"}})
}

/// Manager, `apiVersion` and fields of each entry, as a running 1.36.2 has them.
fn managers(object: &Value) -> Vec<(String, String, Value)> {
    let all = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<_> = all
        .map(|entry| (text(entry, "manager"), text(entry, "apiVersion"), entry["fieldsV1"]["f:spec"].clone()))
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn managed(name: &str, version: &str, fields: Value) -> (String, String, Value) {
    (name.to_owned(), format!("example.com/{version}"), fields)
}

#[test]
fn each_version_that_a_webhook_converts_takes_every_patch_and_names_its_managers() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    define(&served, &hooked);
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"host": "a", "port": "1"}});
    let made = send(&served, "POST", &format!("{}?fieldManager=probe", things("v1")), thing);
    let own = json!({".": {}, "f:host": {}, "f:port": {}});
    assert_eq!((made.code, managers(&made.body)), (201, vec![managed("probe", "v1", own)]), "{made:?}");
    let patch = |version: &str, manager: &str, kind: &str, body: Value| {
        let path = format!("{}/t?fieldManager={manager}", things(version));
        let kind = format!("application/{kind}");
        ask(served.connect(), ("PATCH", &path, &kind), &[], &body)
    };
    let merged = patch("v1", "m2", "merge-patch+json", json!({"spec": {"port": "2"}}));
    assert_eq!((merged.code, &merged.body["spec"]["port"]), (200, &json!("2")), "{merged:?}");
    let operations = json!([{"op": "replace", "path": "/spec/host", "value": "b"}]);
    let patched = patch("v1", "m3", "json-patch+json", operations);
    let three = vec![
        managed("m2", "v1", json!({"f:port": {}})),
        managed("m3", "v1", json!({"f:host": {}})),
        managed("probe", "v1", json!({})),
    ];
    assert_eq!((patched.code, managers(&patched.body)), (200, three), "{patched:?}");
    // What one version has as one field, the other has as two: it is taken from both managers.
    let joined = patch("v2", "m4", "merge-patch+json", json!({"spec": {"hostPort": "c:3"}}));
    let two = vec![managed("m4", "v2", json!({"f:hostPort": {}})), managed("probe", "v1", json!({}))];
    assert_eq!((joined.code, managers(&joined.body)), (200, two), "{joined:?}");
    let configuration = |version: &str, spec: Value| {
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Thing",
        "metadata": {"name": "t"}, "spec": spec})
    };
    let applied = patch("v1", "ap", "apply-patch+yaml", configuration("v1", json!({"color": "red"})));
    assert_eq!(applied.body["spec"], json!({"host": "c", "port": "3", "color": "red"}), "{applied:?}");
    let refused = patch("v1", "ap2", "apply-patch+yaml", configuration("v1", json!({"host": "z"})));
    let why = "Apply failed with 1 conflict: conflict with \"m4\" using example.com/v2: .spec.hostPort";
    assert_eq!((refused.code, refused.message()), (409, why));
    let again = patch("v2", "ap", "apply-patch+yaml", configuration("v2", json!({"color": "blue"})));
    let three = vec![
        managed("ap", "v2", json!({"f:color": {}})),
        managed("m4", "v2", json!({"f:hostPort": {}})),
        managed("probe", "v1", json!({})),
    ];
    assert_eq!((again.code, managers(&again.body)), (200, three), "{again:?}");
    assert_eq!(again.body["spec"], json!({"hostPort": "c:3", "color": "blue"}));
    served.end();
}

#[test]
fn versions_that_a_webhook_converts_are_watched_and_listed_at_a_version() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    define(&served, &hooked);
    let thing = |name: &str| json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": name}, "spec": {"hostPort": "a:1"}});
    assert_eq!(send(&served, "POST", &things("v2"), thing("t")).code, 201);
    let list = send(&served, "GET", &things("v1"), Value::Null);
    let version = list.body["metadata"]["resourceVersion"].as_str().expect("it has one").to_owned();
    let change = json!({"spec": {"hostPort": "b:2"}});
    assert_eq!(send(&served, "PATCH", &format!("{}/t", things("v2")), change).code, 200);
    let path = format!("{}?resourceVersion={version}&resourceVersionMatch=Exact", things("v1"));
    let then = send(&served, "GET", &path, Value::Null);
    assert_eq!(then.body["items"][0]["spec"], json!({"host": "a", "port": "1"}), "{then:?}");
    let path = format!("{}?watch=1&timeoutSeconds=1&resourceVersion={version}", things("v1"));
    let watched = send(&served, "GET", &path, Value::Null);
    assert_eq!((watched.code, &watched.body["type"]), (200, &json!("MODIFIED")), "{watched:?}");
    let object = &watched.body["object"];
    assert_eq!(
        (&object["apiVersion"], &object["spec"]),
        (&json!("example.com/v1"), &json!({"host": "b", "port": "2"}))
    );
    served.end();
}

#[test]
fn rules_that_name_another_version_are_asked_about_it() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    define(&served, &hooked);
    let rules = json!([{"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["CREATE"], "resources": ["things"]}]);
    let hooks = vec![
        hooked.hook("equivalent.example.com", "/allow", json!({"rules": rules})),
        hooked.hook("exact.example.com", "/deny", json!({"rules": rules, "matchPolicy": "Exact"})),
    ];
    configure(&served, "validating", "versions", hooks);
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let policy = json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "object.spec.hostPort != 'bad:1'", "message": "bad"}]}});
    assert_eq!(send(&served, "POST", policies, policy).code, 201);
    let binding =
        json!({"metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    let bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    assert_eq!(send(&served, "POST", bindings, binding).code, 201);
    let thing = |name: &str, host: &str| {
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name},
        "spec": {"host": host, "port": "1"}})
    };
    hooked.take_asked();
    assert_eq!(send(&served, "POST", &things("v1"), thing("a", "good")).code, 201);
    let asked = hooked.take_asked();
    let asked: Vec<&Value> = asked.iter().filter(|review| review["kind"] == "AdmissionReview").collect();
    assert_eq!(asked.len(), 1, "{asked:?}");
    let request = &asked[0]["request"];
    assert_eq!(
        (&request["kind"]["version"], &request["requestKind"]["version"], &request["object"]["spec"]),
        (&json!("v2"), &json!("v1"), &json!({"hostPort": "good:1"}))
    );
    let refused = send(&served, "POST", &things("v1"), thing("b", "bad"));
    let why = "things.example.com \"b\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p' denied request: bad";
    assert_eq!((refused.code, refused.message()), (422, why));
    served.end();
}

const EXEC: &str = "/api/v1/namespaces/default/pods/p/exec";

#[test]
fn admission_is_asked_about_connections_and_about_parts() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    let about = |operations: &[&str], resources: &[&str]| json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": operations, "resources": resources}]);
    let connects = about(&["CONNECT"], &["pods/exec", "pods/portforward", "nodes/proxy"]);
    let bad = json!([{"name": "bad", "expression": "object.command[0] == 'rm'"}]);
    let only = json!({"rules": about(&["CONNECT"], &["pods/exec"]), "matchConditions": bad});
    let hooks = vec![
        hooked.hook("see.example.com", "/allow", json!({"rules": connects})),
        hooked.hook("deny.example.com", "/deny", only),
    ];
    configure(&served, "validating", "connects", hooks);
    let answered = send(&served, "POST", &format!("{EXEC}?command=ls&command=-l&stdout=1"), Value::Null);
    assert_eq!((answered.code, answered.message()), (404, "pods \"p\" not found"));
    let asked = hooked.take_asked();
    let request = &asked[0]["request"];
    assert_eq!(
        request["object"],
        json!({"kind": "PodExecOptions", "apiVersion": "v1", "stdout": true, "command": ["ls", "-l"]})
    );
    assert_eq!(request["kind"], json!({"group": "", "version": "v1", "kind": "PodExecOptions"}));
    assert_eq!(
        (&request["operation"], &request["subResource"], &request["resource"]["resource"], &request["name"]),
        (&json!("CONNECT"), &json!("exec"), &json!("pods"), &json!("p"))
    );
    assert_eq!((&request["options"], &request["oldObject"]), (&Value::Null, &Value::Null));
    let denied = send(&served, "POST", &format!("{EXEC}?command=rm"), Value::Null);
    let why = "admission webhook \"deny.example.com\" denied the request: not here";
    assert_eq!((denied.code, denied.message()), (418, why));
    hooked.take_asked();
    let proxy = send(&served, "GET", "/api/v1/nodes/node-1/proxy/stats", Value::Null);
    assert_eq!(proxy.code, 503, "{proxy:?}");
    let asked = hooked.take_asked();
    assert_eq!(
        asked[0]["request"]["object"],
        json!({"kind": "NodeProxyOptions", "apiVersion": "v1", "path": "/stats"})
    );

    let parts =
        about(&["CREATE", "UPDATE"], &["replicationcontrollers/scale", "pods/eviction", "pods/binding"]);
    configure(
        &served,
        "validating",
        "parts",
        vec![hooked.hook("parts.example.com", "/allow", json!({"rules": parts}))],
    );
    let controller = json!({"metadata": {"name": "r"}, "spec": {"replicas": 0, "selector": {"a": "b"}, "template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    let controllers = "/api/v1/namespaces/default/replicationcontrollers";
    assert_eq!(send(&served, "POST", controllers, controller).code, 201);
    let scale = json!({"spec": {"replicas": 1}});
    assert_eq!(send(&served, "PATCH", &format!("{controllers}/r/scale"), scale).code, 200);
    let pod = json!({"metadata": {"name": "q"}, "spec": {"schedulerName": "none", "containers": [{"name": "c", "image": "i"}]}});
    assert_eq!(send(&served, "POST", "/api/v1/namespaces/default/pods", pod).code, 201);
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "q", "namespace": "default"}});
    assert_eq!(send(&served, "POST", "/api/v1/namespaces/default/pods/q/eviction", eviction).code, 201);
    let asked = hooked.take_asked();
    let mut kinds: Vec<_> = asked
        .iter()
        .map(|review| (review["request"]["kind"]["kind"].clone(), review["request"]["operation"].clone()))
        .collect();
    // What a controller has changed meanwhile is asked about once more.
    kinds.dedup();
    assert_eq!(kinds, [(json!("Scale"), json!("UPDATE")), (json!("Eviction"), json!("CREATE"))], "{asked:?}");
    assert_eq!(asked[0]["request"]["object"]["spec"], json!({"replicas": 1}));
    served.end();

    // Policies are asked without webhooks, too.
    let served = Served::begin(1);
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let policy = json!({"metadata": {"name": "no-rm"}, "spec": {"matchConstraints": {"resourceRules": about(&["CONNECT"], &["pods/exec"])},
        "validations": [{"expression": "object.command[0] != 'rm'", "message": "no rm"}]}});
    assert_eq!(send(&served, "POST", policies, policy).code, 201);
    let binding = json!({"metadata": {"name": "no-rm"}, "spec": {"policyName": "no-rm", "validationActions": ["Deny"]}});
    assert_eq!(
        send(
            &served,
            "POST",
            "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
            binding
        )
        .code,
        201
    );
    let denied = send(&served, "POST", &format!("{EXEC}?command=rm"), Value::Null);
    let why = "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'no-rm' with binding 'no-rm' denied request: no rm";
    assert_eq!((denied.code, denied.message()), (422, why));
    assert_eq!(send(&served, "POST", &format!("{EXEC}?command=ls"), Value::Null).code, 404);
    served.end();
}

#[test]
fn webhooks_change_refuse_and_fail_as_they_are_configured_to() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    let again = json!({"reinvocationPolicy": "IfNeeded"});
    let labels = vec![
        hooked.hook("first.example.com", "/label", again),
        hooked.hook("second.example.com", "/label", json!({})),
    ];
    configure(&served, "mutating", "labels", labels);
    let made = send(&served, "POST", MAPS, map("a"));
    // The first is asked again, since the second has changed what it saw.
    assert_eq!((made.code, &made.body["metadata"]["labels"]), (201, &json!({"seen": "again"})));
    let asked = hooked.take_asked();
    assert_eq!(asked.len(), 3);
    let request = &asked[0]["request"];
    assert_eq!(
        (&request["operation"], &request["name"], &request["namespace"]),
        (&json!("CREATE"), &json!("a"), &json!("default"))
    );
    assert_eq!(
        (&request["kind"]["kind"], &request["oldObject"], &request["dryRun"]),
        (&json!("ConfigMap"), &Value::Null, &json!(false))
    );
    assert_eq!(request["userInfo"]["username"], "admin");
    assert_eq!(made.warnings(), ["labelled", "labelled", "labelled"]);
    // Labels change nothing any more: what is there already is asked about once.
    let patched = send(&served, "PATCH", &format!("{MAPS}/a"), json!({"data": {"c": "d"}}));
    assert_eq!(patched.code, 200);
    let asked = hooked.take_asked();
    assert_eq!((asked.len(), &asked[0]["request"]["operation"]), (2, &json!("UPDATE")));
    assert_eq!(asked[0]["request"]["oldObject"]["data"], json!({"a": "b"}));
    assert_eq!(
        send(&served, "DELETE", &format!("{HOOKS}/mutatingwebhookconfigurations/labels"), Value::Null).code,
        200
    );

    let only = json!({"objectSelector": {"matchLabels": {"guard": "yes"}},
        "matchConditions": [{"name": "named", "expression": "request.name != 'free'"}]});
    configure(&served, "validating", "guard", vec![hooked.hook("deny.example.com", "/deny", only)]);
    assert_eq!(send(&served, "POST", MAPS, map("unguarded")).code, 201);
    let guarded = |name: &str| {
        let mut map = map(name);
        map["metadata"]["labels"] = json!({"guard": "yes"});
        map
    };
    assert_eq!(send(&served, "POST", MAPS, guarded("free")).code, 201);
    let refused = send(&served, "POST", MAPS, guarded("b"));
    let why = "admission webhook \"deny.example.com\" denied the request: not here";
    assert_eq!((refused.code, refused.message(), &refused.body["reason"]), (418, why, &json!("Forbidden")));
    assert_eq!(send(&served, "GET", &format!("{MAPS}/b"), Value::Null).code, 404);
    let deletion = send(&served, "DELETE", &format!("{MAPS}/free"), Value::Null);
    assert_eq!(deletion.code, 200, "the condition lets it go: {deletion:?}");
    hooked.take_asked();

    // Those that do not answer.
    let closed = json!({"clientConfig": {"url": "https://127.0.0.1:1/x"}, "objectSelector": {"matchLabels": {"closed": "yes"}}});
    let slow = json!({"timeoutSeconds": 1, "objectSelector": {"matchLabels": {"slow": "yes"}}});
    let service = json!({"clientConfig": {"service": {"name": "s", "namespace": "default"}}, "objectSelector": {"matchLabels": {"service": "yes"}}});
    let mut ignored = slow.clone();
    ignored["failurePolicy"] = "Ignore".into();
    ignored["objectSelector"] = json!({"matchLabels": {"ignored": "yes"}});
    let effects = json!({"sideEffects": "NoneOnDryRun"});
    let hooks = vec![
        hooked.hook("closed.example.com", "/x", closed),
        hooked.hook("slow.example.com", "/slow", slow),
        hooked.hook("service.example.com", "/x", service),
        hooked.hook("ignored.example.com", "/slow", ignored),
        hooked.hook("effects.example.com", "/allow", effects),
    ];
    configure(&served, "validating", "others", hooks);
    let with = |name: &str, label: &str| {
        let mut map = map(name);
        map["metadata"]["labels"] = json!({label: "yes"});
        send(&served, "POST", MAPS, map)
    };
    let failed = |label: &str| {
        let answered = with(label, label);
        assert_eq!((answered.code, &answered.body["reason"]), (500, &json!("InternalError")), "{answered:?}");
        answered.message().to_owned()
    };
    assert_eq!(
        failed("closed"),
        "Internal error occurred: failed calling webhook \"closed.example.com\": failed to call webhook: Post \
         \"https://127.0.0.1:1/x?timeout=5s\": dial tcp 127.0.0.1:1: connect: connection refused"
    );
    assert!(failed("slow").ends_with("context deadline exceeded"));
    assert!(
        failed("service")
            .ends_with("Post \"https://s.default.svc:443/?timeout=5s\": service \"s\" not found")
    );
    assert_eq!(with("ignored", "ignored").code, 201);
    served.end();
}

#[test]
fn a_webhook_behind_a_service_is_called_where_the_service_leads() {
    let hooked = Hooked::begin();
    let served = Served::begin_with(1, Server::calling_webhooks);
    let client = json!({"service": {"name": "hook", "namespace": "default", "path": "/deny", "port": hooked.port}, "caBundle": hooked.bundle});
    configure(
        &served,
        "validating",
        "guard",
        vec![hooked.hook("deny.example.com", "", json!({"clientConfig": client}))],
    );
    let why = |name: &str| send(&served, "POST", MAPS, map(name)).message().to_owned();
    let missing = format!(
        "Post \"https://hook.default.svc:{}/deny?timeout=5s\": service \"hook\" not found",
        hooked.port
    );
    assert!(why("a").ends_with(&missing), "{}", why("a"));
    let service =
        json!({"metadata": {"name": "hook"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    assert_eq!(send(&served, "POST", "/api/v1/namespaces/default/services", service).code, 201);
    assert_eq!(why("b"), "admission webhook \"deny.example.com\" denied the request: not here");
    assert_eq!(hooked.take_asked().len(), 1);
    served.end();
}

#[test]
fn a_webhook_is_not_called_unless_that_was_asked_for() {
    let hooked = Hooked::begin();
    let served = Served::begin(1);
    configure(&served, "validating", "guard", vec![hooked.hook("deny.example.com", "/deny", json!({}))]);
    assert_eq!(send(&served, "POST", MAPS, map("a")).code, 201);
    assert_eq!(hooked.take_asked(), Vec::<Value>::new());
    served.end();
}
