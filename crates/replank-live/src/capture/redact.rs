//! Names that are nobody's business: replaced by others, the same ones everywhere, so that what belongs together still does.
//!
//! A name is taken apart into words (`payments-api-6d4b` has three), and every word stands for another one wherever it occurs: in names, references, selectors,
//! hosts, images. So a ReplicaSet still begins with its Deployment's name, and `db-0` is still the first of its set. Words of Kubernetes, of its add-ons and of
//! AWS stay, and so do numbers: rules go by them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde_json::{Map, Value};

/// Words that stay: those of Kubernetes, of add-ons that rules know by name, of AWS, and of what strings are made of besides names.
const KNOWN: &str = "kube system public lease node nodes default kubernetes io k8s aws amazonaws com eks ec2 internal local svc cluster \
    coredns dns proxy autoscaler karpenter critical admin master control plane worker app name instance component part of managed by version \
    pod template hash controller revision statefulset job index completion batch apps policy core v1 v1beta1 v1alpha1 alpha beta \
    istio istiod envoy nginx ingress gateway argo argoproj workflows workflow helm replank descheduler keda \
    metrics server efs ebs csi driver vpc cni efa snapshot storage gp2 gp3 io1 io2 amd64 arm64 linux windows bottlerocket al2 al2023 \
    spot on demand true false yes no none http https tcp udp sctp grpc us eu ap sa ca me af il mx cn gov north south east west \
    central northeast northwest southeast southwest topology zone region hostname os arch type role group nodegroup nodepool \
    dkr ecr docker quay gcr ghcr registry org net latest library sha256 running pending succeeded failed unknown";

/// Members whose values are of a closed set, or times, sizes and the like.
const KEPT: &[&str] = &[
    "apiVersion",
    "kind",
    "phase",
    "type",
    "status",
    "operation",
    "resourceVersion",
    "uid",
    "reason",
    "effect",
    "operator",
    "restartPolicy",
    "imagePullPolicy",
    "dnsPolicy",
    "protocol",
    "policy",
    "whenUnsatisfiable",
    "topologyKey",
    "schedulerName",
    "qosClass",
    "fieldsV1",
    "fieldsType",
    "time",
    "resource",
    "controllerExpander",
    "concurrencyPolicy",
    "schedule",
    "providerID",
    "instanceType",
    "architecture",
    "operatingSystem",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "provisioner",
    "volumeBindingMode",
    "reclaimPolicy",
    "accessModes",
    "scope",
];

/// Members whose own members people name.
const CHOSEN: &[&str] = &["labels", "annotations", "matchLabels", "nodeSelector", "selector", "data"];

/// Replaces names.
#[derive(Debug, Default)]
pub(super) struct Redactor {
    known: BTreeSet<&'static str>,
    /// Words of zones, instance types and the like: a volume's affinity names a zone, too.
    kept: BTreeSet<String>,
    words: BTreeMap<String, String>,
}

impl Redactor {
    /// A redactor that knows no names yet.
    pub(super) fn new() -> Self {
        Self { known: KNOWN.split_whitespace().collect(), kept: BTreeSet::new(), words: BTreeMap::new() }
    }

    /// Learns the names in an object.
    pub(super) fn learn(&mut self, object: &Value) {
        let meta = &object["metadata"];
        for name in ["name", "namespace", "generateName"] {
            self.take(meta[name].as_str().unwrap_or_default());
        }
        for (key, value) in meta["labels"].as_object().into_iter().flatten() {
            if is_of_a_set(key) {
                self.kept.extend(words(value.as_str().unwrap_or_default()).map(str::to_owned));
            }
        }
        self.learn_in(object);
    }

    /// Names further down: containers, images, hosts, and what templates are labelled with.
    fn learn_in(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    match (key.as_str(), member) {
                        (
                            "name" | "image" | "host" | "hostname" | "nodeName" | "serviceName"
                            | "secretName" | "claimName" | "serviceAccountName",
                            Value::String(text),
                        ) => self.take(text),
                        ("addresses", Value::Array(addresses)) => {
                            addresses
                                .iter()
                                .filter_map(|one| one["address"].as_str())
                                .for_each(|text| self.take(text));
                        }
                        ("labels", Value::Object(labels)) => {
                            for (key, value) in labels.iter().filter(|(key, _)| !is_upstream(key)) {
                                self.take(key);
                                self.take(value.as_str().unwrap_or_default());
                            }
                        }
                        _ => self.learn_in(member),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_in(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn take(&mut self, text: &str) {
        for word in words(text) {
            let number = self.words.len() + 1;
            if self.is_a_name(word) {
                self.words.entry(word.to_owned()).or_insert_with(|| pseudonym(number));
            }
        }
    }

    /// Numbers and single letters tell nothing.
    fn is_a_name(&self, word: &str) -> bool {
        word.len() > 1 && !word.bytes().all(|byte| byte.is_ascii_digit()) && !self.known.contains(word)
    }

    /// Replaces the names in an object.
    pub(super) fn redact(&self, object: &mut Value) {
        self.value(object, false);
    }

    /// `is_chosen`: whether people choose what the members are called.
    fn value(&self, value: &mut Value, is_chosen: bool) {
        match value {
            Value::Object(members) => self.members(members, is_chosen),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item, false)),
            Value::String(text) if !is_upstream(text) => *text = self.text(text),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn members(&self, members: &mut Map<String, Value>, is_chosen: bool) {
        for (key, mut member) in std::mem::take(members) {
            let is_kept = if is_chosen { is_of_a_set(&key) } else { KEPT.contains(&key.as_str()) };
            if !(is_kept && member.is_string()) {
                self.value(&mut member, CHOSEN.contains(&key.as_str()));
            }
            let key = if is_chosen && !is_upstream(&key) { self.text(&key) } else { key };
            members.insert(key, member);
        }
    }

    fn text(&self, text: &str) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(begin) = rest.find(|character: char| character.is_ascii_alphanumeric()) {
            let (between, from) = rest.split_at(begin);
            redacted.push_str(between);
            let end = from.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            redacted.push_str(
                self.words.get(word).filter(|_| !self.kept.contains(word)).map_or(word, String::as_str),
            );
            rest = after;
        }
        redacted.push_str(rest);
        redacted
    }
}

/// Writes a snapshot again, with names replaced.
///
/// # Errors
/// Where it cannot be written.
pub(super) fn rewrite(snapshot: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut snapshot: Value = serde_json::from_slice(snapshot)?;
    let mut redactor = Redactor::new();
    for list in snapshot["items"].as_array().into_iter().flatten() {
        match list["items"].as_array() {
            Some(items) => items.iter().for_each(|item| redactor.learn(item)),
            None => redactor.learn(list),
        }
    }
    out.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[")?;
    for (number, list) in snapshot["items"].as_array_mut().into_iter().flatten().enumerate() {
        redactor.redact(list);
        out.write_all(if number == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *out, list)?;
    }
    out.write_all(b"\n]}\n")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether the values of a label are of a closed set: zones, instance types, architectures.
fn is_of_a_set(key: &str) -> bool {
    const SETS: [&str; 10] = [
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "topology.ebs.csi.aws.com/zone",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
        "karpenter.sh/capacity-type",
        "eks.amazonaws.com/capacityType",
        "eks.amazonaws.com/compute-type",
    ];
    SETS.contains(&key)
}

/// Whether a label or an annotation is one of Kubernetes, of AWS or of a product: no name is learnt from it.
fn is_upstream(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    const DOMAINS: [&str; 10] = [
        "kubernetes.io",
        "k8s.io",
        "amazonaws.com",
        "k8s.aws",
        "karpenter.sh",
        "argoproj.io",
        "istio.io",
        "replank.dev",
        "keda.sh",
        "eksctl.io",
    ];
    let names = ["app.kubernetes.io", "kubectl.kubernetes.io", "meta.helm.sh"];
    DOMAINS.iter().any(|known| domain == *known || domain.ends_with(&format!(".{known}")))
        && !names.contains(&domain)
        && key != "kubernetes.io/hostname"
        && key != "eks.amazonaws.com/nodegroup"
}

/// A word for the n-th name: letters, then a number, as names may begin.
fn pseudonym(number: usize) -> String {
    format!("n{number}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(objects: &[Value]) -> Vec<Value> {
        let mut redactor = Redactor::new();
        objects.iter().for_each(|object| redactor.learn(object));
        let mut all = objects.to_vec();
        all.iter_mut().for_each(|object| redactor.redact(object));
        all
    }

    #[test]
    fn names_are_replaced_everywhere_and_what_belongs_together_still_does() {
        let labels = json!({"app": "payments", "acme.com/team": "billing", "tier": "acme", "topology.kubernetes.io/zone": "eu-west-1a"});
        let all = redacted(&[
            json!({"kind": "Deployment", "metadata": {"name": "payments-api", "namespace": "acme"},
                "spec": {"selector": {"matchLabels": {"app": "payments"}}, "template": {"metadata": {"labels": labels},
                    "spec": {"restartPolicy": "Always", "containers": [{"name": "api", "image": "acme.example.com/payments/api:v3"}]}}}}),
            json!({"kind": "Pod", "metadata": {"name": "payments-api-6d4b-x2x4z", "namespace": "acme", "labels": labels,
                    "ownerReferences": [{"kind": "ReplicaSet", "name": "payments-api-6d4b", "uid": "u-1", "controller": true}]},
                "spec": {"nodeName": "ip-10-0-1-7.eu-west-1.compute.internal", "affinity": {"podAffinity": {"matchExpressions": [{"key": "tier"}]}}}, "status": {"phase": "Running"}}),
            json!({"kind": "StatefulSet", "metadata": {"name": "db", "namespace": "kube-system"}}),
            json!({"kind": "Pod", "metadata": {"name": "db-0", "namespace": "kube-system"}}),
        ]);
        let text = Value::from(all.clone()).to_string();
        for secret in ["payments", "acme", "billing", "api-"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        let name = |index: usize| all[index]["metadata"]["name"].as_str().expect("a name");
        let owner = all[1]["metadata"]["ownerReferences"][0]["name"].as_str().expect("a name");
        assert!(name(1).starts_with(owner) && owner.starts_with(name(0)), "{owner} {}", name(1));
        assert_eq!(all[0]["spec"]["selector"]["matchLabels"]["app"], all[1]["metadata"]["labels"]["app"]);
        let key =
            all[1]["spec"]["affinity"]["podAffinity"]["matchExpressions"][0]["key"].as_str().expect("a key");
        assert!(all[1]["metadata"]["labels"].get(key).is_some(), "{key}");
        assert_eq!(name(3), format!("{}-0", name(2)));
        assert_eq!(all[3]["metadata"]["namespace"], "kube-system");
        assert_eq!(all[1]["metadata"]["labels"]["topology.kubernetes.io/zone"], "eu-west-1a");
        assert_eq!((&all[1]["status"]["phase"], &all[0]["kind"]), (&json!("Running"), &json!("Deployment")));
    }

    #[test]
    fn the_same_objects_give_the_same_words() {
        let objects = [json!({"metadata": {"name": "a-shop"}}), json!({"metadata": {"name": "z-shop"}})];
        assert_eq!(redacted(&objects), redacted(&objects));
    }
}
