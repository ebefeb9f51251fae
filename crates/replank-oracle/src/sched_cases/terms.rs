//! Tolerations, affinities, spread constraints.

use serde_json::{Value, json};

use super::{APPS, HOSTNAME, Maker, OLD_ZONE, REGION, TIERS, ZONE, ZONES};

impl Maker<'_> {
    pub(super) fn tolerations(&mut self) -> Value {
        let mut all = Vec::new();
        for _ in 0..=self.random.below(3) {
            let key = self.one(&[
                "dedicated",
                "spot",
                "drain",
                "level",
                "",
                "node.kubernetes.io/not-ready",
                "node.kubernetes.io/unschedulable",
            ]);
            let operators: &[&str] = if self.group == "taintsNumeric" {
                &["Equal", "Exists", "Gt", "Gt", "Lt", "Lt", ""]
            } else {
                &["Equal", "Equal", "Exists", "Exists", ""]
            };
            let mut toleration = json!({});
            let operator =
                if key.is_empty() && self.percent(95) { "Exists".to_owned() } else { self.one(operators) };
            if !operator.is_empty() {
                toleration["operator"] = json!(operator);
            }
            if !key.is_empty() {
                toleration["key"] = json!(key);
            }
            if operator != "Exists" {
                let value = if key == "level" || matches!(operator.as_str(), "Gt" | "Lt") {
                    self.compared()
                } else {
                    self.one(&["", "batch", "true", "5"])
                };
                toleration["value"] = json!(value);
            }
            if self.percent(60) {
                toleration["effect"] =
                    json!(self.one(&["NoSchedule", "NoSchedule", "PreferNoSchedule", "NoExecute"]));
            }
            if self.percent(15) {
                toleration["effect"] = json!("NoExecute");
                toleration["tolerationSeconds"] = json!(self.random.one(&[0, 300, -1]));
            }
            all.push(toleration);
        }
        json!(all)
    }

    fn node_expression(&mut self) -> Value {
        let operator = self.one(&["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]);
        let key = match operator.as_str() {
            "Gt" | "Lt" => self.one(&["gen", "gen", "gen", "disk", "absent"]),
            _ => self.one(&["gen", "disk", "team", "rack", "absent", ZONE, HOSTNAME]),
        };
        let mut expression = json!({"key": key, "operator": operator});
        match operator.as_str() {
            "Exists" | "DoesNotExist" => {}
            "Gt" | "Lt" => {
                let value =
                    if self.percent(70) { self.one(&["0", "3", "4", "6", "11"]) } else { self.number() };
                expression["values"] = json!([value]);
            }
            _ => {
                let count = 1 + self.random.below(3);
                let values: Vec<String> = (0..count).map(|_| self.node_value(&key)).collect();
                expression["values"] = json!(values);
            }
        }
        expression
    }

    fn node_value(&mut self, key: &str) -> String {
        match key {
            "gen" => self.number(),
            "disk" => self.one(&["ssd", "hdd", ""]),
            "team" => self.one(&["red", "blue", "green"]),
            "rack" => format!("r{}", self.random.below(4)),
            HOSTNAME => self.some_node(),
            _ => self.one(&ZONES),
        }
    }

    fn node_term(&mut self) -> Value {
        let mut term = json!({});
        if self.percent(88) {
            let count = self.random.below(4);
            term["matchExpressions"] = (0..count).map(|_| self.node_expression()).collect();
        }
        if self.percent(12) {
            let fields = 1 + u64::from(self.percent(20));
            term["matchFields"] = (0..fields)
                .map(|_| json!({"key": "metadata.name", "operator": self.one(&["In", "In", "NotIn"]), "values": [self.some_node()]}))
                .collect();
        }
        term
    }

    pub(super) fn node_affinity(&mut self) -> Value {
        if self.percent(6) {
            // As DaemonSets do.
            let field = json!({"key": "metadata.name", "operator": "In", "values": [self.some_node()]});
            return json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}});
        }
        let mut affinity = json!({});
        if self.percent(60) {
            // Sometimes all terms name nodes, which narrows the search beforehand.
            let named = self.percent(12);
            let count = 1 + self.random.below(3);
            let terms: Vec<Value> = (0..count)
                .map(|_| {
                    let mut term = self.node_term();
                    if named {
                        term["matchFields"] =
                            json!([{"key": "metadata.name", "operator": "In", "values": [self.some_node()]}]);
                    }
                    term
                })
                .collect();
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = json!({"nodeSelectorTerms": terms});
        }
        if self.percent(60) {
            let count = 1 + self.random.below(3);
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = (0..count)
                .map(|_| json!({"weight": 1 + self.random.below(100), "preference": self.node_term()}))
                .collect();
        }
        affinity
    }

    fn label_selector(&mut self, labels: &Value) -> Value {
        let own = labels["app"].as_str().unwrap_or("web").to_owned();
        match self.random.below(10) {
            0..=3 => json!({"matchLabels": {"app": own}}),
            4 => json!({"matchLabels": {"app": self.one(&APPS)}}),
            5 => {
                let operator = self.one(&["In", "NotIn"]);
                json!({"matchExpressions": [{"key": "tier", "operator": operator, "values": self.random.some(&TIERS, 60)}]})
            }
            6 => {
                let key = self.one(&["app", "tier", "tenant", "absent"]);
                json!({"matchExpressions": [{"key": key, "operator": self.one(&["Exists", "DoesNotExist"])}]})
            }
            7 => json!({"matchLabels": {"app": own, "tier": self.one(&TIERS)}}),
            8 => json!({"matchLabels": {"tenant": self.one(&["a", "b", ""])}}),
            _ => json!({}),
        }
    }

    fn pod_term(&mut self, labels: &Value) -> Value {
        let key = self.one(&[ZONE, ZONE, HOSTNAME, HOSTNAME, REGION, "rack", "disk", "absent", OLD_ZONE]);
        let mut term = json!({"topologyKey": key});
        if self.percent(94) {
            term["labelSelector"] = self.label_selector(labels);
        }
        if self.percent(25) {
            let count = 1 + self.random.below(2);
            let namespaces: Vec<String> = (0..count).map(|_| self.some_namespace()).collect();
            term["namespaces"] = json!(namespaces);
        }
        if self.percent(25) {
            term["namespaceSelector"] = match self.random.below(5) {
                0 => json!({}),
                1 => json!({"matchLabels": {"env": self.one(&["prod", "dev", ""])}}),
                2 => {
                    json!({"matchExpressions": [{"key": "env", "operator": self.one(&["Exists", "DoesNotExist"])}]})
                }
                3 => {
                    json!({"matchExpressions": [{"key": "team", "operator": self.one(&["In", "NotIn"]), "values": ["red"]}]})
                }
                _ => json!({"matchLabels": {"kubernetes.io/metadata.name": self.some_namespace()}}),
            };
        }
        let keys = ["pod-template-hash", "tenant", "tier", "absent"];
        if self.percent(15) {
            term["matchLabelKeys"] = json!(self.random.some(&keys, 50));
        }
        if self.percent(10) {
            term["mismatchLabelKeys"] = json!(self.random.some(&keys, 40));
        }
        term
    }

    pub(super) fn pod_affinity(&mut self, labels: &Value) -> Value {
        let mut affinity = json!({});
        if self.percent(50) {
            let count = 1 + u64::from(self.percent(30)) + u64::from(self.percent(10));
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] =
                (0..count).map(|_| self.pod_term(labels)).collect();
        }
        if self.percent(55) {
            let count = 1 + self.random.below(2);
            affinity["preferredDuringSchedulingIgnoredDuringExecution"] = (0..count)
                .map(|_| json!({"weight": 1 + self.random.below(100), "podAffinityTerm": self.pod_term(labels)}))
                .collect();
        }
        affinity
    }

    pub(super) fn spread(&mut self, labels: &Value) -> Value {
        let mode = self.one(&["DoNotSchedule", "ScheduleAnyway"]);
        let mut constraint = json!({
            "maxSkew": 1 + self.random.below(3), "topologyKey": self.one(&[ZONE, ZONE, HOSTNAME, "rack", "disk", REGION, "absent"]),
            "whenUnsatisfiable": mode,
        });
        if self.percent(93) {
            constraint["labelSelector"] = self.label_selector(labels);
        }
        if mode == "DoNotSchedule" && self.percent(30) {
            constraint["minDomains"] = json!(1 + self.random.below(5));
        }
        if self.percent(40) {
            constraint["nodeAffinityPolicy"] = json!(self.one(&["Honor", "Ignore"]));
        }
        if self.percent(40) {
            constraint["nodeTaintsPolicy"] = json!(self.one(&["Honor", "Ignore"]));
        }
        if self.percent(25) {
            constraint["matchLabelKeys"] =
                json!(self.random.some(&["pod-template-hash", "tenant", "tier", "absent"], 50));
        }
        constraint
    }
}
