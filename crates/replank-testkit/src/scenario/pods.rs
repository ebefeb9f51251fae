//! What pods are like: the clauses that every workload takes, and the template that they come to.

use replank_model::time::Span;
use serde_json::{Map, Value, json};

use super::file::Flaw;
use super::words::Clause;

/// Pods of one workload.
#[derive(Clone, Debug, Default)]
pub(super) struct Pods {
    /// Nodes that they are on at the beginning, in turn; empty: the scheduler chooses.
    pub(super) on: Vec<String>,
    /// Pods made during the roll never become ready.
    pub(super) never_ready: bool,
    /// They end by themselves so long after the beginning of the roll, or after their own start if that is later.
    pub(super) runs: Option<Span>,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
    requests: Map<String, Value>,
    spec: Map<String, Value>,
    container: Map<String, Value>,
    tolerations: Vec<Value>,
    spread: Vec<Value>,
    apart: Vec<&'static str>,
}

/// All clauses, for messages.
pub(super) const CLAUSES: &str = "cpu 500m; memory 1Gi; on node,node; ready after 10s; never ready; starts in 5s; \
    stops in 20s; grace 60s; runs 20m; label k=v; annotation k=v; only on k=v; tolerates k=v:Effect; tolerates all; \
    apart; apart by zone; spread over zones; spread over nodes; host port 8080; empty dir; priority class NAME";

impl Pods {
    /// Takes in a clause; `false` if it is not about pods.
    pub(super) fn take(&mut self, clause: &Clause<'_>) -> Result<bool, Flaw> {
        Ok(self.take_times(clause)? || self.take_place(clause)? || self.take_rest(clause)?)
    }

    fn take_times(&mut self, clause: &Clause<'_>) -> Result<bool, Flaw> {
        let mut delay = |name: &str, text: &str| -> Result<(), Flaw> {
            let span = clause.span(text)?;
            self.annotations.insert(format!("fake.kubelet/{name}"), span.as_millis().to_string().into());
            Ok(())
        };
        if let Some(text) = clause.after("ready after") {
            delay("ready-ms", text)?;
        } else if let Some(text) = clause.after("starts in") {
            delay("start-ms", text)?;
        } else if let Some(text) = clause.after("stops in") {
            delay("stop-ms", text)?;
        } else if let Some(text) = clause.after("runs") {
            delay("run-ms", text)?;
            self.runs = Some(clause.span(text)?);
        } else if clause.text == "never ready" {
            self.annotations.insert("fake.kubelet/ready-ms".into(), "never".into());
            self.never_ready = true;
        } else if let Some(text) = clause.after("grace") {
            let seconds = clause.span(text)?.as_millis() / 1000;
            self.spec.insert("terminationGracePeriodSeconds".into(), seconds.into());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn take_place(&mut self, clause: &Clause<'_>) -> Result<bool, Flaw> {
        if let Some(text) = clause.after("only on") {
            let (key, value) = clause.pair(text)?;
            self.spec.entry("nodeSelector").or_insert_with(|| json!({}))[key] = value.into();
        } else if let Some(text) = clause.after("on") {
            self.on = text.split(',').map(str::to_owned).collect();
        } else if clause.text == "tolerates all" {
            self.tolerations.push(json!({"operator": "Exists"}));
        } else if let Some(text) = clause.after("tolerates") {
            let mut toleration = clause.taint(text)?;
            toleration["operator"] = "Equal".into();
            self.tolerations.push(toleration);
        } else if clause.text == "apart" {
            self.apart.push("kubernetes.io/hostname");
        } else if clause.text == "apart by zone" {
            self.apart.push("topology.kubernetes.io/zone");
        } else if clause.text == "spread over zones" {
            self.spread.push(spread("topology.kubernetes.io/zone"));
        } else if clause.text == "spread over nodes" {
            self.spread.push(spread("kubernetes.io/hostname"));
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn take_rest(&mut self, clause: &Clause<'_>) -> Result<bool, Flaw> {
        if let Some(text) = clause.after("cpu") {
            self.requests.insert("cpu".into(), text.into());
        } else if let Some(text) = clause.after("memory") {
            self.requests.insert("memory".into(), text.into());
        } else if let Some(text) = clause.after("label") {
            let (key, value) = clause.pair(text)?;
            self.labels.insert(key.into(), value.into());
        } else if let Some(text) = clause.after("annotation") {
            let (key, value) = clause.pair(text)?;
            self.annotations.insert(key.into(), value.into());
        } else if let Some(text) = clause.after("host port") {
            let port: u16 = text.parse().map_err(|_| clause.flaw("a port such as 8080"))?;
            self.container.insert("ports".into(), json!([{"containerPort": port, "hostPort": port}]));
        } else if clause.text == "empty dir" {
            self.spec.insert("volumes".into(), json!([{"name": "scratch", "emptyDir": {}}]));
        } else if let Some(text) = clause.after("priority class") {
            self.spec.insert("priorityClassName".into(), text.into());
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Labels beside the one that selects the pods.
    pub(super) fn label(&mut self, key: &str, value: &str) {
        self.labels.insert(key.into(), value.into());
    }

    /// Metadata and spec of the pods, which are told from others by the label `app`.
    pub(super) fn template(&self, app: &str) -> Value {
        let mut labels = self.labels.clone();
        labels.entry("app").or_insert_with(|| app.into());
        let selector = json!({"matchLabels": {"app": app}});
        let mut container = self.container.clone();
        container.insert("name".into(), "main".into());
        container.insert("image".into(), format!("{app}:1").into());
        container.insert("resources".into(), json!({"requests": self.requests}));
        let mut spec = self.spec.clone();
        spec.insert("containers".into(), json!([container]));
        if !self.tolerations.is_empty() {
            spec.insert("tolerations".into(), json!(self.tolerations));
        }
        if !self.spread.is_empty() {
            let rules = self.spread.iter().cloned().map(|mut rule| {
                rule["labelSelector"] = selector.clone();
                rule
            });
            spec.insert("topologySpreadConstraints".into(), rules.collect());
        }
        if !self.apart.is_empty() {
            let terms = self.apart.iter().map(|key| json!({"topologyKey": key, "labelSelector": selector}));
            let required: Vec<Value> = terms.collect();
            spec.insert(
                "affinity".into(),
                json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}),
            );
        }
        json!({"metadata": {"labels": labels, "annotations": self.annotations}, "spec": spec})
    }
}

fn spread(key: &str) -> Value {
    json!({"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"})
}
