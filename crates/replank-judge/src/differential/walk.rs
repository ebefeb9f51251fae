//! A walk over one resource: requests of all classes, each of which follows from those before it.

use serde_json::{Value, json};

use super::draw::Draw;
use super::kinds::Kind;
use super::mutate::change;
use super::normal::moves;
use super::step::{Body, Class, Step, merge};
use super::yaml::yaml;

/// The next request of a walk.
pub(super) struct Walk<'a> {
    /// The resource.
    pub(super) kind: &'a Kind,
    /// The namespace.
    pub(super) namespace: String,
    /// What all its objects are labelled with, and their names begin with.
    pub(super) id: String,
    /// Objects that are there, for all that is known.
    names: Vec<String>,
    made: usize,
    /// What the request before has asked to be there or gone.
    pending: Option<Pending>,
    settles: bool,
}

enum Pending {
    Made(String),
    Changed(String),
    Gone(String),
    AllGone,
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const DRY: [&str; 4] = ["?dryRun=All", "?dryRun=Some", "?fieldValidation=Strict", "?fieldValidation=Ignore"];

impl<'a> Walk<'a> {
    /// A walk that begins with nothing.
    pub(super) fn new(kind: &'a Kind, namespace: String, id: String) -> Self {
        let settles = moves(kind);
        Self { kind, namespace, id, names: Vec::new(), made: 0, pending: None, settles }
    }

    /// Learns how the last request ended on the reference and on the other. What then is on one of them alone, or has changed on one of them alone, is
    /// returned: it would make all that follows differ.
    pub(super) fn ended(&mut self, status: u16, other: u16) -> Option<String> {
        let pending = self.pending.take();
        if let Some(Pending::Made(name) | Pending::Changed(name) | Pending::Gone(name)) = &pending
            && (status < 300) != (other < 300)
        {
            self.names.retain(|each| each != name);
            return Some(name.clone());
        }
        match pending {
            Some(Pending::Made(name)) if status < 300 && !self.names.contains(&name) => self.names.push(name),
            Some(Pending::Gone(name)) if status < 300 => self.names.retain(|each| *each != name),
            Some(Pending::AllGone) if status < 300 => self.names.clear(),
            Some(Pending::Made(_) | Pending::Changed(_) | Pending::Gone(_) | Pending::AllGone) | None => {}
        }
        None
    }

    /// The next request.
    pub(super) fn next(&mut self, draw: &mut Draw) -> Step {
        let can_write = self.kind.has("update") && !self.kind.objects.is_empty();
        if self.names.is_empty() && can_write && draw.percent(60) {
            return self.create(draw);
        }
        if !can_write {
            return match draw.below(10) {
                0..=2 => self.create_changed(draw),
                3 => self.malformed(draw),
                4 | 5 => self.list(draw),
                6 => self.get(draw),
                7 => self.forms(draw),
                _ => self.path(draw),
            };
        }
        match draw.below(100) {
            0..=11 => self.create(draw),
            12..=24 => self.create_changed(draw),
            25..=28 => self.malformed(draw),
            29..=33 => self.get(draw),
            34..=39 => self.list(draw),
            40..=44 => self.forms(draw),
            45..=53 => self.update(draw),
            54..=59 => self.json_patch(draw),
            60..=66 => self.merge_patch(draw, "application/merge-patch+json", Class::MergePatch),
            67..=73 => self.strategic(draw),
            74..=81 => self.apply(draw),
            82..=87 => self.subresource(draw),
            88..=92 => self.delete(draw),
            93..=94 => self.delete_collection(draw),
            95..=96 => self.watch(draw),
            97 => self.encoded(draw),
            _ => self.path(draw),
        }
    }

    /// Bodies and answers in YAML and protobuf.
    fn encoded(&mut self, draw: &mut Draw) -> Step {
        let is_custom = self.kind.version.starts_with("judge.example.com/");
        let name = self.some_name(draw);
        let item = format!("{}/{name}", self.collection());
        let mut step = match draw.below(9) {
            0 | 1 => {
                let fresh = self.fresh();
                let object =
                    if draw.percent(30) { self.changed(&fresh, draw) } else { self.object(&fresh, draw) };
                if let Some(name) = object["metadata"]["name"].as_str() {
                    self.pending = Some(Pending::Made(name.to_owned()));
                }
                let text = yaml(&object);
                Step::new(Class::Encodings, "POST", self.collection()).typed("application/yaml", text)
            }
            2 => {
                let object = self.object(&name, draw);
                self.pending = Some(Pending::Changed(name));
                let text = yaml(&object);
                Step::new(Class::Encodings, "PUT", item).typed("application/yaml", text)
            }
            // Upstream's handler of custom resources panics on protobuf, and answers nothing.
            3 if !is_custom => {
                let text = draw.text(&["\0", "k8s\0", "k8s\0\n", "{}"]);
                Step::new(Class::Encodings, "POST", self.collection()).typed(PROTOBUF, text)
            }
            4 if !is_custom => {
                self.pending = Some(Pending::Changed(name));
                let mut step = Step::new(Class::Encodings, "PUT", item);
                step.body = Body::LastBytes;
                step
            }
            5 => Step::new(Class::Encodings, "GET", format!("{}?{}", self.collection(), self.selector())),
            _ => Step::new(Class::Encodings, "GET", item),
        };
        if step.method == "GET" {
            step.accept =
                draw.text(&[PROTOBUF, PROTOBUF, "application/vnd.kubernetes.protobuf,application/json"]);
        }
        step.settles = self.settles;
        step
    }

    fn collection(&self) -> String {
        self.kind.collection(&self.namespace)
    }

    fn fresh(&mut self) -> String {
        self.made += 1;
        format!("{}-n{}", self.id, self.made)
    }

    /// A name that is there; sometimes one that is not.
    fn some_name(&self, draw: &mut Draw) -> String {
        if self.names.is_empty() || draw.percent(7) {
            return format!("{}-none", self.id);
        }
        draw.pick(&self.names).clone()
    }

    fn item(&self, draw: &mut Draw) -> String {
        format!("{}/{}", self.collection(), self.some_name(draw))
    }

    /// A body that is accepted.
    fn object(&self, name: &str, draw: &mut Draw) -> Value {
        let none = [json!({})];
        let objects = if self.kind.objects.is_empty() { &none[..] } else { &self.kind.objects };
        let text = draw.pick(objects).to_string();
        let id = name.replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let text = text.replace("${ns}", &self.namespace).replace("${name}", name).replace("${id}", &id);
        let mut object: Value = serde_json::from_str(&text).expect("names are plain");
        let labels = json!({"labels": {"judge": self.id, "turn": draw.numbered("t", 3)}});
        let mut whole =
            json!({"apiVersion": self.kind.version, "kind": self.kind.kind, "metadata": {"name": name}});
        merge(&mut whole["metadata"], &labels);
        merge(&mut whole, &object.take());
        whole
    }

    fn create(&mut self, draw: &mut Draw) -> Step {
        let name = if draw.percent(12) { self.some_name(draw) } else { self.fresh() };
        let mut object = self.object(&name, draw);
        let mut query = String::new();
        match draw.below(14) {
            0 => query = draw.text(&DRY),
            1 => query = "?fieldManager=one".to_owned(),
            2 => {
                object["metadata"]["generateName"] = json!(format!("{}-g-", self.id));
                if let Some(metadata) = object["metadata"].as_object_mut() {
                    metadata.remove("name");
                }
            }
            3 => object["metadata"]["finalizers"] = json!(["judge.example.com/hold"]),
            4 => object["metadata"]["annotations"] = json!({"a": "b", "judge.example.com/x": ""}),
            5 => object["metadata"]["namespace"] = json!(self.namespace),
            6 => object["metadata"]["uid"] = json!("00000000-0000-0000-0000-000000000000"),
            7 => object["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z"),
            _ => {}
        }
        let is_fleeting = object["metadata"]["generateName"].is_string();
        if is_fleeting && self.kind.plural == "namespaces" {
            // It would take a while to go.
            query = "?dryRun=All".to_owned();
        }
        let is_dry = query == "?dryRun=All";
        if !is_dry && object["metadata"]["name"].is_string() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.pending = Some(Pending::Made(name));
        }
        let mut step =
            Step::new(Class::Create, "POST", format!("{}{query}", self.collection())).json(&object);
        step.is_fleeting = is_fleeting;
        step.settles = self.settles;
        step
    }

    /// A body that is changed somewhere, with its own type.
    fn changed(&self, name: &str, draw: &mut Draw) -> Value {
        let mut object = self.object(name, draw);
        change(&mut object, self.kind.schema(), &self.kind.schemas, draw);
        // Walks that run side by side would meet in what has no namespace.
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if !self.kind.is_namespaced && !name.is_empty() && !name.contains(&self.id) {
            let name = format!("{}.{name}", self.id);
            merge(&mut object, &json!({"metadata": {"name": name}}));
        }
        // What controllers would act upon would not be at rest.
        if self.settles && object["spec"]["replicas"].is_number() && object["spec"]["replicas"] != 0 {
            object["spec"]["replicas"] = json!(-1);
        }
        object
    }

    fn create_changed(&mut self, draw: &mut Draw) -> Step {
        let name = self.fresh();
        let object = self.changed(&name, draw);
        if let Some(name) = object["metadata"]["name"].as_str() {
            self.pending = Some(Pending::Made(name.to_owned()));
        }
        let query = if draw.percent(35) {
            draw.text(&["?fieldValidation=Strict", "?fieldValidation=Warn"])
        } else {
            String::new()
        };
        let mut step =
            Step::new(Class::CreateChanged, "POST", format!("{}{query}", self.collection())).json(&object);
        step.settles = self.settles;
        step
    }

    fn malformed(&mut self, draw: &mut Draw) -> Step {
        let name = self.fresh();
        let mut object = self.object(&name, draw);
        let step = Step::new(Class::Malformed, "POST", self.collection());
        match draw.below(16) {
            0 => step.typed("application/json", ""),
            1 => step.typed("application/json", "{"),
            2 => step.typed("application/json", "[]"),
            3 => step.typed("application/json", "null"),
            4 => step.typed("application/json", "{\"kind\":1}"),
            5 => step.typed("text/plain", object.to_string()),
            6 => step.typed(
                "application/yaml",
                format!("kind: {}\napiVersion: {}\nmetadata: [", self.kind.kind, self.kind.version),
            ),
            7 => {
                object["kind"] = json!("Other");
                step.json(&object)
            }
            8 => {
                object["apiVersion"] = json!("other/v1");
                step.json(&object)
            }
            9 => {
                object["metadata"]["namespace"] = json!("other");
                step.json(&object)
            }
            10 => {
                object["metadata"] = draw.pick(&[json!({}), json!(null), json!([]), json!("x")]).clone();
                step.json(&object)
            }
            11 => {
                object["metadata"]["name"] = json!(draw.text(&["Bad_Name", "", "a/b", "..", "x y"]));
                if !self.kind.is_namespaced
                    && matches!(object["metadata"]["name"].as_str(), Some("Bad_Name" | "x y"))
                {
                    object["metadata"]["name"] = json!(format!("{} Y_", self.id));
                }
                step.json(&object)
            }
            12 => {
                object["metadata"]["labels"] = draw
                    .pick(&[json!({"a b": "c"}), json!({"a": "b c"}), json!([]), json!({"a": 1})])
                    .clone();
                step.json(&object)
            }
            13 => {
                object["metadata"]["resourceVersion"] = json!("5");
                step.json(&object)
            }
            14 => {
                let text = object.to_string().replacen("\"kind\"", "\"kind\":\"Twice\",\"kind\"", 1);
                step.typed("application/json", text)
            }
            _ => {
                object["metadata"]["finalizers"] = json!(["nodomain"]);
                object["metadata"]["ownerReferences"] = json!([{"name": "x"}]);
                step.json(&object)
            }
        }
    }

    fn get(&self, draw: &mut Draw) -> Step {
        let query = if draw.percent(20) {
            draw.text(&[
                "?resourceVersion=0",
                "?resourceVersion=x",
                "?pretty=true",
                "?resourceVersion=${rv}",
                "?foo=bar",
            ])
        } else {
            String::new()
        };
        Step::new(Class::Get, "GET", format!("{}{query}", self.item(draw)))
    }

    fn selector(&self) -> String {
        format!("labelSelector=judge%3D{}", self.id)
    }

    fn list(&self, draw: &mut Draw) -> Step {
        let id = &self.id;
        let query = match draw.below(18) {
            0 | 1 => format!("{}&limit=1", self.selector()),
            2 => format!("{}&limit=1&continue=${{next}}", self.selector()),
            3 => format!("labelSelector=judge%3D{id},turn%20in%20(t0,t1)"),
            4 => format!("labelSelector=judge%3D{id},turn%21%3Dt0,%21none"),
            5 => draw.text(&[
                "labelSelector=a%20b",
                "labelSelector=%3D",
                "labelSelector=a%20in%20()",
                "labelSelector=A%3D-",
            ]),
            6 => format!("{}&fieldSelector=metadata.name%3D{id}-n1", self.selector()),
            7 => format!("{}&fieldSelector=metadata.name%21%3D{id}-n1", self.selector()),
            8 => format!(
                "{}&fieldSelector={}",
                self.selector(),
                draw.text(&[
                    "spec.nope%3D1",
                    "metadata.namespace%3Dx",
                    "status.phase%3DPending",
                    "a",
                    "metadata.labels%3Dx",
                    "spec.nodeName%3D"
                ])
            ),
            9 => format!("{}&resourceVersion=0", self.selector()),
            10 => format!("{}&resourceVersion=${{list}}&resourceVersionMatch=NotOlderThan", self.selector()),
            11 => format!("{}&resourceVersion=${{list}}&resourceVersionMatch=Exact", self.selector()),
            12 => format!(
                "{}&{}",
                self.selector(),
                draw.text(&[
                    "resourceVersionMatch=Exact",
                    "resourceVersion=0&resourceVersionMatch=Exact",
                    "resourceVersion=x",
                    "resourceVersionMatch=Some&resourceVersion=1",
                    "continue=bad",
                    "limit=-1",
                    "limit=x",
                    "sendInitialEvents=true",
                    "timeoutSeconds=x",
                    "resourceVersion=999999999999",
                    "continue=${next}&resourceVersion=5",
                ])
            ),
            _ => self.selector(),
        };
        Step::new(Class::List, "GET", format!("{}?{query}", self.collection()))
    }

    fn forms(&self, draw: &mut Draw) -> Step {
        let path = if draw.percent(50) {
            format!("{}?{}", self.collection(), self.selector())
        } else {
            self.item(draw)
        };
        let accept = draw.text(&[
            "application/json;as=Table;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v2;g=meta.k8s.io",
            "application/yaml",
            "text/html",
            "*/*",
            "application/cbor",
            "application/json;as=Other;v=v1;g=meta.k8s.io, application/json",
        ]);
        let include = draw.text(&[
            "",
            "",
            "includeObject=None",
            "includeObject=Object",
            "includeObject=Metadata",
            "includeObject=x",
        ]);
        let join = if path.contains('?') { "&" } else { "?" };
        let path = if include.is_empty() { path } else { format!("{path}{join}{include}") };
        let mut step = Step::new(Class::Forms, "GET", path);
        step.accept = accept;
        step
    }

    fn update(&mut self, draw: &mut Draw) -> Step {
        let name = self.some_name(draw);
        let path = format!("{}/{name}", self.collection());
        let mut object = if draw.percent(50) { self.changed(&name, draw) } else { self.object(&name, draw) };
        let mut query = String::new();
        let mut step = Step::new(Class::Update, "PUT", "");
        match draw.below(12) {
            0..=2 => {
                let mut edits = json!({"metadata": {"labels": {"edited": draw.numbered("e", 4)}}});
                if self.settles || draw.percent(30) {
                    edits["metadata"]["resourceVersion"] = Value::Null;
                }
                step = step.last(edits);
                // The last object may have another name than the path: that is a case, too.
            }
            3 => merge(&mut object, &json!({"metadata": {"resourceVersion": "1"}})),
            4 => merge(&mut object, &json!({"metadata": {"name": "other"}})),
            5 => merge(&mut object, &json!({"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}})),
            6 => query = draw.text(&DRY),
            7 => merge(&mut object, &json!({"metadata": {"resourceVersion": "x"}})),
            8 => {
                object["kind"] = json!("Other");
            }
            _ => {}
        }
        self.pending = Some(Pending::Changed(name));
        step.path = format!("{path}{query}");
        if matches!(step.body, Body::Empty) {
            step = step.json(&object);
        }
        step.settles = self.settles;
        step
    }

    fn json_patch(&mut self, draw: &mut Draw) -> Step {
        let first = self.some_member(draw);
        let patch = match draw.below(12) {
            0 => json!([{"op": "add", "path": "/metadata/labels/j", "value": "x"}]),
            1 => json!([{"op": "replace", "path": "/metadata/labels/turn", "value": draw.numbered("t", 4)}]),
            2 => json!([{"op": "remove", "path": "/metadata/labels/j"}]),
            3 => {
                json!([{"op": "test", "path": "/metadata/name", "value": "x"}, {"op": "add", "path": "/metadata/labels/k", "value": "x"}])
            }
            4 => {
                json!([{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}, {"op": "copy", "from": "/metadata/annotations/a", "path": "/metadata/annotations/c"}])
            }
            5 => json!([{"op": "bad", "path": "/a"}]),
            6 => json!({"op": "add"}),
            7 => json!([{"op": "replace", "path": "/metadata/name", "value": "other"}]),
            8 => {
                json!([{"op": "add", "path": first, "value": draw.pick(&[json!(1), json!("x"), json!(null), json!({})]).clone()}])
            }
            9 => json!([{"op": "remove", "path": first}]),
            10 => json!([{"op": "add", "path": "/metadata/finalizers", "value": ["judge.example.com/hold"]}]),
            _ => json!([{"op": "move", "from": "/metadata/labels/turn", "path": "/metadata/labels/moved"}]),
        };
        let query = if draw.percent(20) {
            draw.text(&["?dryRun=All", "?fieldManager=two", "?fieldValidation=Strict"])
        } else {
            String::new()
        };
        let name = self.some_name(draw);
        let mut step = Step::new(Class::JsonPatch, "PATCH", format!("{}/{name}{query}", self.collection()))
            .typed("application/json-patch+json", patch.to_string());
        self.pending = Some(Pending::Changed(name));
        step.settles = self.settles;
        step
    }

    /// The path of a member of the spec.
    fn some_member(&self, draw: &mut Draw) -> String {
        let object = self.object("x", draw);
        let Some(members) = object.as_object() else { return "/spec".to_owned() };
        let keys: Vec<&String> = members
            .keys()
            .filter(|key| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata"))
            .collect();
        if keys.is_empty() {
            return "/metadata/labels".to_owned();
        }
        let key = *draw.pick(&keys);
        match members[key].as_object().filter(|below| !below.is_empty()) {
            Some(below) => format!("/{key}/{}", draw.pick(&below.keys().collect::<Vec<_>>())),
            None => format!("/{key}"),
        }
    }

    fn merge_patch(&mut self, draw: &mut Draw, content: &str, class: Class) -> Step {
        let name = self.some_name(draw);
        let patch = match draw.below(14) {
            0 => json!({"metadata": {"labels": {"m": draw.numbered("m", 3)}}}),
            1 => json!({"metadata": {"labels": {"m": null}, "annotations": {"a": "1"}}}),
            2 => json!({"metadata": {"finalizers": null, "annotations": null}}),
            3 => json!({"metadata": {"name": "other"}}),
            4 => json!({"metadata": {"resourceVersion": "1"}}),
            5 if !self.settles => json!({"metadata": {"resourceVersion": "${rv}", "labels": {"r": "x"}}}),
            6 => json!({"kind": "Other"}),
            7 => json!({"metadata": {"labels": {"bad value": "x y"}}}),
            8 => json!({"unknown": {"a": 1}, "metadata": {"unknown": 1}}),
            9 => {
                draw.pick(&[json!([]), json!("x"), json!(null), json!({}), json!({"metadata": null})]).clone()
            }
            _ => self.part(&name, draw),
        };
        let query = if draw.percent(20) {
            draw.text(&["?dryRun=All", "?fieldManager=two", "?fieldValidation=Strict", "?force=true"])
        } else {
            String::new()
        };
        let mut step = Step::new(class, "PATCH", format!("{}/{name}{query}", self.collection()))
            .typed(content, patch.to_string());
        self.pending = Some(Pending::Changed(name));
        step.settles = self.settles;
        step
    }

    /// A changed body without its type and name.
    fn part(&self, name: &str, draw: &mut Draw) -> Value {
        let mut object = if draw.percent(60) { self.changed(name, draw) } else { self.object(name, draw) };
        if let Some(members) = object.as_object_mut() {
            for key in ["apiVersion", "kind", "metadata"] {
                members.remove(key);
            }
        }
        object
    }

    fn strategic(&mut self, draw: &mut Draw) -> Step {
        let content = "application/strategic-merge-patch+json";
        if draw.percent(55) {
            return self.merge_patch(draw, content, Class::StrategicPatch);
        }
        let pod = match draw.below(6) {
            0 => json!({"containers": [{"name": "main", "image": "other"}]}),
            1 => json!({"containers": [{"name": "main", "$patch": "delete"}, {"name": "new", "image": "n"}]}),
            2 => {
                json!({"containers": [{"name": "main", "env": [{"name": "B", "value": "2"}], "$setElementOrder/env": [{"name": "B"}, {"name": "A"}]}]})
            }
            3 => {
                json!({"tolerations": [{"key": "t", "operator": "Exists"}], "volumes": [{"name": "v", "$retainKeys": ["name", "emptyDir"], "emptyDir": {}}]})
            }
            4 => json!({"containers": [{"image": "no-name"}]}),
            _ => json!({"$patch": "replace", "containers": [{"name": "only", "image": "o"}]}),
        };
        let patch = match (draw.below(4), self.kind.plural.as_str()) {
            (0..=2, "pods") => json!({ "spec": pod }),
            (0..=2, "podtemplates") => json!({"template": {"spec": pod}}),
            (
                0..=2,
                "deployments"
                | "replicasets"
                | "statefulsets"
                | "daemonsets"
                | "jobs"
                | "replicationcontrollers",
            ) => {
                json!({"spec": {"template": {"spec": pod}}})
            }
            (0..=2, "services") => {
                json!({"spec": {"ports": [{"port": 80, "name": "http", "targetPort": 8080}, {"port": 81, "name": "more"}]}})
            }
            (0, _) => {
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["judge.example.com/hold"]}})
            }
            (1, _) => json!({"metadata": {"labels": {"$patch": "replace", "judge": self.id, "only": "x"}}}),
            (2, _) => {
                json!({"metadata": {"finalizers": ["judge.example.com/hold", "judge.example.com/second"]}})
            }
            _ => {
                json!({"metadata": {"labels": {"$retainKeys": ["judge"], "judge": self.id}, "$patch": draw.text(&["merge", "bad"])}})
            }
        };
        let name = self.some_name(draw);
        let path = format!("{}/{name}", self.collection());
        let mut step = Step::new(Class::StrategicPatch, "PATCH", path).typed(content, patch.to_string());
        self.pending = Some(Pending::Changed(name));
        step.settles = self.settles;
        step
    }

    fn apply(&mut self, draw: &mut Draw) -> Step {
        let name = if draw.percent(30) { self.fresh() } else { self.some_name(draw) };
        let mut object = if draw.percent(35) { self.changed(&name, draw) } else { self.object(&name, draw) };
        let manager = draw.text(&["one", "one", "two"]);
        let mut query = format!("?fieldManager={manager}");
        match draw.below(14) {
            0 => query = draw.text(&["", "?fieldManager=", "?fieldManager=one&force=x"]),
            1..=3 => query.push_str("&force=true"),
            4 => query.push_str("&dryRun=All"),
            5 => merge(&mut object, &json!({"metadata": {"managedFields": [{"manager": "x"}]}})),
            6 => merge(&mut object, &json!({"metadata": {"name": "other"}})),
            7 => merge(&mut object, &json!({"metadata": {"resourceVersion": "1"}})),
            8 => merge(&mut object, &json!({"metadata": {"labels": {"turn": "applied"}}})),
            9 => {
                object = json!({"apiVersion": self.kind.version, "kind": self.kind.kind,
                    "metadata": {"name": name, "labels": {"judge": self.id, "a": draw.numbered("v", 3)}}});
            }
            10 => {
                if let Some(members) = object.as_object_mut() {
                    members.remove("kind");
                }
            }
            _ => {}
        }
        if !query.contains("dryRun") {
            self.pending = Some(Pending::Made(name.clone()));
        }
        let mut step = Step::new(Class::Apply, "PATCH", format!("{}/{name}{query}", self.collection()))
            .typed("application/apply-patch+yaml", object.to_string());
        step.settles = self.settles;
        step
    }

    fn subresource(&mut self, draw: &mut Draw) -> Step {
        let object = self.some_name(draw);
        let item = format!("{}/{object}", self.collection());
        // Those that speak another protocol, or reach for a kubelet, answer otherwise.
        let usable: Vec<&str> = self
            .kind
            .subresources
            .iter()
            .map(String::as_str)
            .filter(|name| !matches!(*name, "exec" | "attach" | "portforward" | "proxy" | "log" | "finalize"))
            .collect();
        if usable.is_empty() {
            return Step::new(
                Class::Subresource,
                "GET",
                format!("{item}/{}", draw.text(&["status", "scale", "none"])),
            );
        }
        let name = (*draw.pick(&usable)).to_owned();
        let path = format!("{item}/{name}");
        self.pending = Some(Pending::Changed(object));
        let step = |method: &str| Step::new(Class::Subresource, method, path.clone());
        let merge = "application/merge-patch+json";
        let conditions = json!([{"type": "Judged", "status": "True", "reason": "X", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        match (name.as_str(), draw.below(7)) {
            ("scale", 0 | 1) => step("GET"),
            ("scale", 2 | 3) => step("PUT").json(&json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": path.rsplit('/').nth(1), "namespace": self.namespace}, "spec": {"replicas": draw.pick(&[json!(0), json!(-1)]).clone()}})),
            ("scale", 4) => step("PATCH").typed(merge, json!({"spec": {"replicas": 0}}).to_string()),
            ("scale", _) => step("PATCH").typed(merge, json!({"spec": {"replicas": draw.pick(&[json!("x"), json!(-2), json!(null)]).clone()}}).to_string()),
            ("status", 0) => step("GET"),
            ("status", 1 | 2) => step("PATCH").typed(merge, json!({"status": {"conditions": conditions}}).to_string()),
            ("status", 3) => step("PATCH").typed(merge, json!({"status": {"unknown": 1, "replicas": draw.pick(&[json!(1), json!("x"), json!(-1)]).clone()}}).to_string()),
            ("status", 4) => step("PUT").last(json!({"metadata": {"resourceVersion": null, "labels": {"through": "status"}}, "spec": null})),
            ("status", 5) => step("PUT").last(json!({"metadata": {"resourceVersion": null}, "status": {"phase": "Odd"}})),
            ("eviction", 0..=2) => step("POST").json(&json!({"apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": path.rsplit('/').nth(1)}, "deleteOptions": {"dryRun": ["All"]}})),
            ("eviction", 3) => step("POST").json(&json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "other"}})),
            ("eviction", 4) => step("POST").json(&json!({"apiVersion": "v1", "kind": "Eviction", "metadata": {}})),
            ("binding", _) => step("POST").json(&draw.pick(&[
                json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "x"}, "target": {}}),
                json!({"apiVersion": "v1", "kind": "Binding", "target": {"kind": "Pod", "name": "x"}}),
            ]).clone()),
            ("ephemeralcontainers", 0..=3) => step("PATCH").typed("application/strategic-merge-patch+json",
                json!({"spec": {"ephemeralContainers": [{"name": draw.numbered("debug", 2), "image": "busybox"}]}}).to_string()),
            ("resize", 0..=3) => step("PATCH").typed("application/strategic-merge-patch+json",
                json!({"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": draw.numbered("20", 9)}}}]}}).to_string()),
            ("token", _) => step("POST").json(&draw.pick(&[
                json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["x"], "expirationSeconds": 5}}),
                json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}),
                json!({"apiVersion": "authentication.k8s.io/v1", "kind": "Other"}),
            ]).clone()),
            (_, 6) => step("DELETE"),
            _ => step("GET"),
        }
    }

    fn delete(&mut self, draw: &mut Draw) -> Step {
        let name = self.some_name(draw);
        let path = format!("{}/{name}", self.collection());
        let step = |query: &str| Step::new(Class::Delete, "DELETE", format!("{path}{query}"));
        let options = |members: Value| {
            let mut options = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
            merge(&mut options, &members);
            options
        };
        let refused = match draw.below(12) {
            0 => Some(step("?dryRun=All")),
            1 => {
                Some(step("").json(&options(
                    json!({"preconditions": {"uid": "00000000-0000-0000-0000-000000000000"}}),
                )))
            }
            2 => Some(step("").json(&options(json!({"preconditions": {"resourceVersion": "1"}})))),
            3 => Some(step(&draw.text(&["?propagationPolicy=Bad", "?gracePeriodSeconds=x", "?dryRun=Bad"]))),
            4 => Some(step("").typed(
                "application/json",
                draw.text(&[
                    "{",
                    "[]",
                    "{\"kind\":\"Other\",\"apiVersion\":\"v1\"}",
                    "{\"propagationPolicy\":\"Bad\"}",
                    "{\"gracePeriodSeconds\":\"x\"}",
                ]),
            )),
            5 => Some(
                step("").json(&options(json!({"orphanDependents": true, "propagationPolicy": "Orphan"}))),
            ),
            _ => None,
        };
        // A namespace takes a while to go.
        if refused.is_some() || self.kind.plural == "namespaces" {
            return refused.unwrap_or_else(|| step("?dryRun=All"));
        }
        self.pending = Some(Pending::Gone(name));
        let mut step = match draw.below(6) {
            0 => step("?propagationPolicy=Background"),
            1 => step("").json(&options(json!({"gracePeriodSeconds": 0}))),
            2 => step("").json(&options(json!({"propagationPolicy": "Background"}))),
            _ => step(""),
        };
        step.settles = self.settles;
        step
    }

    fn delete_collection(&mut self, draw: &mut Draw) -> Step {
        let path = format!("{}?labelSelector=judge%3D{}", self.collection(), self.id);
        if draw.percent(60) || self.kind.plural == "namespaces" {
            let narrow =
                draw.text(&["&dryRun=All", ",turn%3Dnone", "&fieldSelector=spec.nope%3D1", "&limit=x"]);
            return Step::new(Class::DeleteCollection, "DELETE", format!("{path}{narrow}"));
        }
        self.pending = Some(Pending::AllGone);
        let mut step = Step::new(Class::DeleteCollection, "DELETE", path);
        step.settles = self.settles;
        step
    }

    fn watch(&self, draw: &mut Draw) -> Step {
        let query = draw.text(&[
            "resourceVersion=${first}",
            "resourceVersion=${first}&allowWatchBookmarks=true",
            "resourceVersion=0",
            "",
            "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan",
            "sendInitialEvents=true",
            "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=1",
            "resourceVersion=x",
            "resourceVersionMatch=Exact&resourceVersion=1",
            "limit=1&resourceVersion=${list}",
        ]);
        let path = format!("{}?watch=1&timeoutSeconds=1&{}&{query}", self.collection(), self.selector());
        let mut step = Step::new(Class::Watch, "GET", path);
        if draw.percent(20) {
            step.accept = draw.text(&[
                "application/json;as=Table;v=v1;g=meta.k8s.io",
                "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
                "application/yaml",
            ]);
        }
        step
    }

    fn path(&self, draw: &mut Draw) -> Step {
        let (collection, item) = (self.collection(), self.item(draw));
        let object = self.object("x", draw);
        let step = |method: &str, path: String| Step::new(Class::Path, method, path);
        match draw.below(12) {
            0 => step("POST", item).json(&object),
            1 => step("PUT", collection).json(&object),
            2 => step("PATCH", collection).typed("application/merge-patch+json", "{}"),
            3 => step("PATCH", item)
                .typed(&draw.text(&["application/json", "text/plain", "application/patch"]), "{}"),
            4 => step("GET", format!("{item}/none")),
            5 => step("GET", format!("{collection}x")),
            6 => step("GET", format!("{}/{}", self.kind.base.replace("v1", "v9"), self.kind.plural)),
            7 => step("OPTIONS", collection),
            8 => step("FOO", item),
            9 => step("GET", format!("{item}/status/x")),
            10 => step("PATCH", format!("{collection}/")).typed("application/merge-patch+json", "{}"),
            _ => step(
                "GET",
                format!("{}/namespaces/{}/{}/x", self.kind.base, self.namespace, self.kind.plural),
            ),
        }
    }
}
