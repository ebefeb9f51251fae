use serde_json::{Value, json};

use crate::object::{Object, Projector};

/// A pod as an API server has it, with much that no type holds.
fn pod(name: &str, node: &str, token: &str, pin: Option<&str>) -> Value {
    let volume = format!("kube-api-access-{token}");
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "generateName": "web-", "namespace": "shop", "uid": format!("u-{name}"), "resourceVersion": "17", "generation": 1,
            "creationTimestamp": "2026-11-20T09:00:00Z", "labels": {"app": "web"}, "annotations": {"a/b": "{\"x\": \"\u{e9}\\n\"}"},
            "managedFields": [{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": true, "blockOwnerDeletion": true}]},
        "spec": {"containers": [{"name": "main", "image": "web:1", "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                "volumeMounts": [{"name": volume, "mountPath": "/var/run/secrets"}], "resources": {"requests": {"cpu": "100m"}}}],
            "nodeName": node, "volumes": [{"name": volume, "projected": {"sources": []}}], "dnsPolicy": "ClusterFirst"},
        "status": {"phase": "Running", "hostIP": "10.0.0.1", "podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}], "startTime": "2026-11-20T09:00:01Z",
            "qosClass": "Burstable", "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-11-20T09:00:05Z"},
                {"type": "PodScheduled", "status": "True", "reason": "", "lastTransitionTime": "2026-11-20T09:00:00Z", "extra": {"n": [-1, 2, null, true]}}],
            "containerStatuses": [{"name": "main", "ready": true, "started": true, "restartCount": 0, "containerID": format!("containerd://{name}"),
                "image": "web:1", "imageID": "", "lastState": {}, "state": {"running": {"startedAt": "2026-11-20T09:00:05Z"}}}]}
    });
    if let Some(pin) = pin {
        pod["spec"]["affinity"] = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pin]}]}]}}});
    }
    pod
}

/// A reader that has read other pods before.
struct Learnt {
    projector: Projector,
}

impl Learnt {
    fn of(text: &str) -> Self {
        let mut learnt = Self { projector: Projector::default() };
        assert!(learnt.reads(text), "{text}");
        learnt
    }

    /// Whether the text was read; it is what a reader that has met no other pod reads from its tree.
    fn reads(&mut self, text: &str) -> bool {
        let Some(object) = self.projector.pod_of_text(text, &mut |_| true) else { return false };
        let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
        let (Object::Pod(pod), Ok(Object::Pod(plain))) = (&object, Projector::default().object(value)) else {
            panic!("no pod: {text}")
        };
        assert_eq!(**pod, *plain, "{text}");
        true
    }

    /// Texts of specs that were kept.
    fn known(&self) -> usize {
        self.projector.spec_texts.known.len()
    }
}

#[test]
fn siblings_share_a_spec_that_is_read_once() {
    for pins in [false, true] {
        let of = |name: &str, node: &str, token: &str| pod(name, node, token, pins.then_some(node));
        for pretty in [false, true] {
            let text = |value: &Value| {
                if pretty { serde_json::to_string_pretty(value).expect("JSON") } else { value.to_string() }
            };
            let mut learnt = Learnt::of(&text(&of("web-1", "node-1", "abcde")));
            assert!(learnt.reads(&text(&of("web-2", "node-2", "fghij"))));
            assert!(learnt.reads(&text(&of("web-3", "a-much-longer-name.of.a.node", "klmno"))));
            assert_eq!(learnt.known(), 1);
            // Those whose own parts are not of the usual form are read, each for itself.
            assert!(learnt.reads(&text(&of("web-4", "node-4", "toolong"))));
            assert!(learnt.reads(&text(&of("web-4", "", "abcde"))));
            assert_eq!(learnt.known(), 1);
        }
    }
    let mut learnt = Learnt::of(&pod("web-1", "node-1", "abcde", Some("node-1")).to_string());
    assert!(learnt.reads(&pod("web-2", "node-2", "abcde", Some("node-3")).to_string()));
    assert_eq!(learnt.known(), 1);
}

#[test]
fn a_spec_that_says_its_own_parts_elsewhere_too_is_not_learnt() {
    for (at, text) in [("hostname", "node-1"), ("serviceAccountName", "kube-api-access-abcde")] {
        let with = |name: &str, node: &str, text: &str| {
            let mut pod = pod(name, node, "abcde", None);
            pod["spec"][at] = json!(text);
            pod.to_string()
        };
        let mut learnt = Learnt::of(&with("web-1", "node-1", text));
        assert_eq!(learnt.known(), 0);
        assert!(learnt.reads(&with("web-2", "node-2", text)));
    }
}

/// Whatever a text has become, it is read as it is read from its tree, or not at all.
#[test]
fn a_changed_text_is_read_alike_or_not_at_all() {
    let text = pod("web-1", "node-1", "abcde", Some("node-1")).to_string();
    let (mut read, mut tried) = (0, 0);
    let mut learnt = Learnt::of(&text);
    assert!(learnt.reads(&text));
    for at in 0..text.len() {
        if !text.is_char_boundary(at) || !text.is_char_boundary(at + 1) {
            continue;
        }
        for put in ["", "\"", "\\", "{", "}", ",", "null", "0", "-", "e1", " ", "\u{1}", "\u{e9}", "\\u0041"]
        {
            let changed = format!("{}{put}{}", &text[..at], &text[at + 1..]);
            tried += 1;
            read += usize::from(learnt.reads(&changed));
        }
    }
    assert!(read > tried / 10 && read < tried, "{read} of {tried} are read");
}

/// Members in any order, members that are `null`, and defaults that are written out.
#[test]
fn a_text_in_go_s_order_is_read() {
    let spec = r#""spec":{"nodeName":"node-1","containers":[{"name":"main"}]}"#;
    let text = |head: &str| format!(r#"{{"kind":"Pod","apiVersion":"v1",{head},{spec}}}"#);
    let first = text(r#""metadata":{"name":"a","namespace":"n"}"#);
    let mut learnt = Learnt::of(&first);
    assert!(learnt.reads(&first));
    for metadata in [
        r#"{"name":"b","namespace":"n","creationTimestamp":null,"labels":{},"annotations":{"a":null,"b":"x"}}"#,
        r#"{"namespace":"n","name":"b","labels":null,"ownerReferences":null,"deletionGracePeriodSeconds":null}"#,
        r#"{"namespace":"n","name":"b","labels":{"z":"1","a":"2"},"generation":0,"more":{"z":1,"a":[{}]},"finalizers":["z","a"]}"#,
        r#"{"namespace":"n","name":"b","ownerReferences":[{"uid":"2","name":"x","kind":"K","apiVersion":"v1","more":1},{"uid":"1","name":"x","kind":"K","apiVersion":"v1"}]}"#,
        r#"{"namespace":"n","name":"b","ownerReferences":[{"uid":"1","name":"x","kind":"K","apiVersion":"v1","more":1},{"uid":"1","name":"x","kind":"K","apiVersion":"v1"}]}"#,
    ] {
        for status in [
            r#"{}"#,
            r#"{"phase":"Pending","message":"","conditions":[],"containerStatuses":[{"name":"main","ready":false,"restartCount":0,"state":{"waiting":{"reason":"x","more":18446744073709551615}}}]}"#,
            r#"{"phase":null,"conditions":[{"lastProbeTime":null,"type":"Ready","status":"True"}],"containerStatuses":null,"x":{"a":null},"y":[null]}"#,
            r#"{"phase":"Failed","conditions":[{"type":"Ready","status":"Maybe"},{"type":"Ready","status":"False","n":0}]}"#,
        ] {
            assert!(
                learnt.reads(&text(&format!(r#""metadata":{metadata},"status":{status}"#))),
                "{metadata} {status}"
            );
        }
    }
    for odd in [
        r#""metadata":{"name":"b","namespace":"n","name":"c"}"#,
        r#""metadata":{"name":"b","namespace":"n","labels":{"a":null,"b":"1","a":"2"}}"#,
        r#""metadata":{"name":"b","namespace":"n"},"status":{"phase":"Other"}"#,
        r#""metadata":{"name":"b","namespace":"n"},"status":{"conditions":[{"status":"True"}]}"#,
        r#""metadata":{"name":"b","namespace":"n"},"status":{"conditions":[{"status":"True","type":null}]}"#,
        r#""metadata":{"name":"b","namespace":"n"},"more":1.5"#,
        r#""metadata":{"name":"b"}"#,
    ] {
        assert!(!learnt.reads(&text(odd)), "{odd}");
    }
}

/// The pin is written with an escape, and the node's name stands in a variable: as many places as there should be, and others.
#[test]
fn a_spec_that_hides_a_letter_of_its_node_is_not_learnt() {
    let of = |name: &str, node: &str| {
        let mut pod = pod(name, node, "abcde", Some(node));
        pod["spec"]["containers"][0]["env"][0] = json!({"name": "NODE", "value": node});
        let text = pod.to_string();
        let pinned = format!("\"values\":[\"{node}\"]");
        assert!(text.contains(&pinned), "{text}");
        text.replace(&pinned, &pinned.replace("[\"n", "[\"\\u006e"))
    };
    let mut learnt = Learnt::of(&of("web-1", "node-1"));
    assert_eq!(learnt.known(), 0);
    assert!(learnt.reads(&of("web-2", "node-2")));
    // What servers escape hides nothing.
    let shell = |name: &str, node: &str| {
        pod(name, node, "abcde", None).to_string().replace("\"web:1\"", "\"web:1\\u0026\\u003c\"")
    };
    let mut learnt = Learnt::of(&shell("web-1", "node-1"));
    assert!(learnt.reads(&shell("web-2", "node-2")));
    assert_eq!(learnt.known(), 1);
}
