//! What EKS manages as an add-on, and how a change is written as its configuration values: for the AWS CLI, and for who manages the add-on, as the account tells.
//!
//! Sources: EKS user guide, "Determine fields you can customize for Amazon EKS add-ons" (the field manager `eks`; an update of the add-on may overwrite other values);
//! EKS API reference, `Addon` and `UpdateAddon`; CloudFormation template reference, `AWS::EKS::Addon` and "CloudFormation resource tagging"; the schema that
//! `aws eks describe-addon-configuration` prints for coredns v1.10.1-eksbuild.11.

use std::collections::BTreeMap;

use replank_model::text::Text;
use serde_json::{Map, Value, json};

use super::commit::{Change, Commit, InAddon, Place};
use super::edit::quoted;
use super::eks_addon::EksAddon;
use super::hcl;
use super::managed_by::ManagedBy;
use super::target::{Target, TargetKind};
use crate::cluster_name::ClusterName;
use crate::helm::coalesce;

/// Add-ons of an account from what `aws eks describe-addon` prints: those of each cluster, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Addons(BTreeMap<String, BTreeMap<String, Addon>>);

#[derive(Clone, Debug, PartialEq)]
struct Addon {
    values: Configured,
    managed_by: Option<ManagedBy>,
}

/// An add-on of this cluster, as far as it is known.
struct AddonOfCluster<'a> {
    /// The cluster's name.
    cluster: Option<&'a str>,
    addon: Option<&'a Addon>,
}

/// The configuration values that an add-on has.
#[derive(Clone, Debug, PartialEq)]
enum Configured {
    /// These.
    Values(Map<String, Value>),
    /// They are YAML, which is not read here.
    Unread,
}

impl Addons {
    /// Takes in an answer; whether it is one that is used.
    pub fn read(&mut self, value: &Value) -> bool {
        let own = &value["addon"];
        let Some(name) = own["addonName"].as_str() else { return false };
        let values = match own["configurationValues"].as_str() {
            Some(text) => serde_json::from_str(text).map_or(Configured::Unread, Configured::Values),
            None => Configured::Values(Map::new()),
        };
        let cluster = own["clusterName"].as_str().unwrap_or_default();
        let of_cluster = self.0.entry(cluster.to_owned()).or_default();
        of_cluster.insert(name.to_owned(), Addon { values, managed_by: managed_by(&own["tags"]) });
        true
    }

    /// An add-on of the cluster that its nodes give this name; where they do not tell the one that EKS has, of the only cluster that answers are about.
    fn find<'a>(&'a self, addon: EksAddon, told: Option<&'a ClusterName>) -> AddonOfCluster<'a> {
        let may_be_other = told.and_then(ClusterName::in_eks).is_none();
        let told = told.map(|name| &**name.text());
        let named = told.and_then(|name| self.0.get_key_value(name));
        let only = || self.0.first_key_value().filter(|_| self.0.len() == 1);
        // An answer that names no cluster is not about another one.
        let meant = || only().filter(|(cluster, _)| may_be_other || cluster.is_empty());
        match named.or_else(meant) {
            Some((cluster, addons)) => AddonOfCluster {
                cluster: Some(&**cluster).filter(|name| !name.is_empty()).or(told),
                addon: addons.get(addon.name()),
            },
            None => AddonOfCluster { cluster: told, addon: None },
        }
    }

    /// A change of an object of an add-on, as it is made for EKS, and for who manages the add-on. Nothing where the add-on has no value for it that is known.
    pub(super) fn commits(
        &self,
        (object, change): (&Target, Change),
        body: &Value,
        cluster: Option<&ClusterName>,
    ) -> Vec<Commit> {
        let Some(eks) = EksAddon::of(object) else { return Vec::new() };
        let AddonOfCluster { cluster, addon } = self.find(eks, cluster);
        let (known, is_whole) = match addon.map(|addon| &addon.values) {
            Some(Configured::Values(known)) => (known.clone(), true),
            Some(Configured::Unread) | None => (Map::new(), false),
        };
        let Some(values) = values(eks, (object.kind, change), body, &known) else { return Vec::new() };
        let commit =
            |how: InAddon, text: String| Commit { object: object.clone(), place: Place::Addon(how), text };
        let mut commits = vec![match cluster {
            Some(cluster) => {
                let text = update(cluster, eks, &values);
                let text = if is_whole { text } else { text + REPLACES };
                commit(InAddon::Command(eks), text)
            }
            None => commit(InAddon::Values(eks), values.to_string()),
        }];
        commits.extend(addon.and_then(|addon| addon.managed_by.as_ref()).and_then(|tool| match tool {
            ManagedBy::Stack { name, logical_id } => {
                let stack = InAddon::Stack { name: name.clone(), logical_id: logical_id.clone() };
                Some(commit(stack, of_stack(&values)))
            }
            ManagedBy::Terraform => Some(commit(InAddon::Terraform, of_terraform(&values))),
            // It has them in a file of its own form.
            ManagedBy::Eksctl => None,
        }));
        commits
    }

    /// Whether the account has the add-on of an object, in the cluster of this name.
    pub(super) fn has(&self, object: &Target, cluster: Option<&ClusterName>) -> bool {
        EksAddon::of(object).is_some_and(|addon| self.find(addon, cluster).addon.is_some())
    }
}

/// Behind a command whose values are not all that the add-on has to have.
const REPLACES: &str = "   # replaces all values of the add-on: add those that aws eks describe-addon shows";

/// The command that gives an add-on values, with a warning that they replace all that it has.
#[must_use]
pub fn update_addon(cluster: &str, addon: EksAddon, values: &Value) -> String {
    update(cluster, addon, values) + REPLACES
}

fn update(cluster: &str, addon: EksAddon, values: &Value) -> String {
    let addon = addon.name();
    let values = quoted(&values.to_string());
    format!(
        "aws eks update-addon --cluster-name {cluster} --addon-name {addon} --resolve-conflicts PRESERVE --configuration-values {values}"
    )
}

/// The argument of Terraform's `aws_eks_addon`.
#[must_use]
pub fn of_terraform(values: &Value) -> String {
    format!("configuration_values = jsonencode({})", hcl::expression(values, 0))
}

/// The property of CloudFormation's `AWS::EKS::Addon`.
#[must_use]
pub fn of_stack(values: &Value) -> String {
    format!("ConfigurationValues: '{}'", values.to_string().replace('\'', "''"))
}

fn managed_by(tags: &Value) -> Option<ManagedBy> {
    let tags = tags.as_object().into_iter().flatten();
    let tags = tags.filter_map(|(key, value)| Some((Text::from(&**key), Text::from(value.as_str()?))));
    ManagedBy::of(&tags.collect::<Vec<_>>())
}

/// All values of an add-on after a change, where its schema is known and has one for each member that changes.
fn values(
    eks: EksAddon,
    change: (TargetKind, Change),
    body: &Value,
    known: &Map<String, Value>,
) -> Option<Value> {
    let wanted = match eks {
        EksAddon::CoreDns => of_coredns(change, body, known)?,
        EksAddon::MetricsServer
        | EksAddon::EbsCsi
        | EksAddon::EfsCsi
        | EksAddon::SnapshotController
        | EksAddon::VpcCni
        | EksAddon::KubeProxy => return None,
    };
    let mut all = known.clone();
    coalesce(&mut all, wanted.as_object()?.clone());
    Some(without_nulls(Value::Object(all)))
}

/// The values of CoreDNS that make a change.
fn of_coredns(
    (kind, change): (TargetKind, Change),
    body: &Value,
    known: &Map<String, Value>,
) -> Option<Value> {
    match (kind, change) {
        (TargetKind::PodDisruptionBudget, Change::Gone) => {
            Some(json!({"podDisruptionBudget": {"enabled": false}}))
        }
        (TargetKind::PodDisruptionBudget, Change::Set | Change::Added) => {
            let spec = only(body, "spec")?.as_object()?;
            let mut bounds = spec.clone();
            bounds.remove("selector");
            // Its own maxUnavailable is 1 unless another one is set: what becomes of that beside a minAvailable, the schema does not say.
            let is_least = bounds.get("minAvailable").is_some_and(|bound| !bound.is_null());
            if is_least || bounds.keys().any(|key| !matches!(&**key, "minAvailable" | "maxUnavailable")) {
                return None;
            }
            bounds.extend((change == Change::Added).then(|| ("enabled".to_owned(), true.into())));
            Some(json!({"podDisruptionBudget": bounds}))
        }
        (TargetKind::Deployment, Change::Set) => of_deployment(only(body, "spec")?, known),
        (TargetKind::Deployment, Change::Added | Change::Gone)
        | (
            TargetKind::StatefulSet
            | TargetKind::DaemonSet
            | TargetKind::ReplicaSet
            | TargetKind::ReplicationController
            | TargetKind::CronJob
            | TargetKind::CronWorkflow
            | TargetKind::HorizontalPodAutoscaler
            | TargetKind::Node
            | TargetKind::Pod,
            _,
        ) => None,
    }
}

/// Members of CoreDNS's pods that it has values of the same name for.
const PLACEMENT: [&str; 4] = ["affinity", "nodeSelector", "tolerations", "topologySpreadConstraints"];

/// The same of its Deployment.
fn of_deployment(spec: &Value, known: &Map<String, Value>) -> Option<Value> {
    if let Some(replicas) = only(spec, "replicas") {
        // Else its own autoscaler sets them.
        let is_scaled = known.get("autoScaling").is_some_and(|own| own["enabled"] == true);
        return (!is_scaled).then(|| json!({"replicaCount": replicas}));
    }
    let pod = only(only(spec, "template")?, "spec")?;
    let is_placement = pod.as_object()?.keys().all(|key| PLACEMENT.contains(&&**key));
    is_placement.then(|| pod.clone())
}

/// A member of an object that has no other.
fn only<'v>(value: &'v Value, member: &str) -> Option<&'v Value> {
    value.as_object().filter(|members| members.len() == 1)?.get(member)
}

/// A member that is null in a change is one that goes.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key, without_nulls(value))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;

    use super::*;

    const BUDGET: TargetKind = TargetKind::PodDisruptionBudget;

    fn dns(kind: TargetKind) -> Target {
        Target::new(kind, Key::new("kube-system", "coredns"))
    }

    fn account(values: Option<&str>, tags: &Value) -> Addons {
        let mut addons = Addons::default();
        let addon = json!({"addonName": "coredns", "clusterName": "shop", "configurationValues": values, "tags": tags});
        assert!(addons.read(&json!({"addon": addon})) && !addons.read(&json!({"addons": ["coredns"]})));
        addons
    }

    fn told(addons: &Addons, change: (&Target, Change), body: &Value) -> Vec<(&'static str, String)> {
        let all = addons.commits(change, body, Some(&ClusterName::ClusterApi("seen".into())));
        all.into_iter().map(|commit| (commit.tool(), commit.text)).collect()
    }

    fn one() -> Value {
        json!({"spec": {"maxUnavailable": 1, "minAvailable": null}})
    }

    #[test]
    fn the_values_that_the_add_on_has_stay_and_the_stack_gets_all_of_them() {
        let own = r#"{"corefile":"it's","podDisruptionBudget":{"minAvailable":2},"replicaCount":2}"#;
        let stack =
            json!({"aws:cloudformation:stack-name": "dns", "aws:cloudformation:logical-id": "CoreDns"});
        let values = r#"{"corefile":"it's","podDisruptionBudget":{"maxUnavailable":1},"replicaCount":2}"#;
        let command = |values: &str| {
            format!(
                "aws eks update-addon --cluster-name shop --addon-name coredns --resolve-conflicts PRESERVE --configuration-values '{values}'"
            )
        };
        let addons = account(Some(own), &stack);
        assert_eq!(
            told(&addons, (&dns(BUDGET), Change::Set), &one()),
            [
                ("eks", command(&values.replace('\'', r"'\''"))),
                ("cloudformation", format!("ConfigurationValues: '{}'", values.replace('\'', "''"))),
            ]
        );
        let commits = addons.commits((&dns(BUDGET), Change::Set), &one(), None);
        assert_eq!(commits[1].keeper().as_deref(), Some("CloudFormation stack dns"));
        // Nothing says who manages it.
        let named = json!({"cloudformation:stack-name": "dns", "Terraform": "false", "Owner": "terraform"});
        assert_eq!(told(&account(Some(own), &named), (&dns(BUDGET), Change::Set), &one()).len(), 1);
    }

    #[test]
    fn tags_that_people_give_tell_of_terraform() {
        for tags in [json!({"Terraform": "true"}), json!({"managed-by": "Terraform"})] {
            let told = told(
                &account(None, &tags),
                (&dns(TargetKind::Deployment), Change::Set),
                &json!({"spec": {"replicas": 3}}),
            );
            assert_eq!(
                told[1],
                ("terraform", "configuration_values = jsonencode({\n  replicaCount = 3\n})".to_owned())
            );
        }
    }

    /// Answers of several clusters may stand in one folder.
    #[test]
    fn an_add_on_is_that_of_this_cluster_and_of_no_other() {
        let mut addons = Addons::default();
        for (cluster, replicas) in [("shop", 3), ("bank", 5)] {
            let values = json!({"replicaCount": replicas}).to_string();
            let addon =
                json!({"addonName": "coredns", "clusterName": cluster, "configurationValues": values});
            assert!(addons.read(&json!({"addon": addon})));
        }
        let text = |addons: &Addons, cluster: Option<&ClusterName>| {
            let commits = addons.commits((&dns(BUDGET), Change::Set), &one(), cluster);
            commits.into_iter().next().expect("it has a value").text
        };
        let eks = |name: &str| ClusterName::Eks(name.into());
        for (cluster, replicas) in [("shop", 3), ("bank", 5)] {
            let told = text(&addons, Some(&eks(cluster)));
            assert!(told.contains(&format!("--cluster-name {cluster} ")), "{told}");
            assert!(told.contains(&format!(r#""replicaCount":{replicas}"#)) && !told.contains('#'), "{told}");
            assert!(addons.has(&dns(BUDGET), Some(&eks(cluster))));
        }
        // Which of the two it is, nothing tells.
        for cluster in [None, Some(&eks("mill")), Some(&ClusterName::ClusterApi("mill".into()))] {
            let told = text(&addons, cluster);
            assert!(!told.contains("replicaCount") && !addons.has(&dns(BUDGET), cluster), "{told}");
        }
        // Where nobody tells EKS's name for it, the only cluster that there are answers about is meant: Cluster API has a name of its own.
        let only = account(Some(r#"{"replicaCount":3}"#), &json!({}));
        for cluster in [None, Some(&ClusterName::ClusterApi("mill".into()))] {
            let told = text(&only, cluster);
            assert!(told.contains("--cluster-name shop ") && told.contains("replicaCount"), "{told}");
            assert!(only.has(&dns(BUDGET), cluster));
        }
        // Else it is another one, whose values would replace those of this one.
        let told = text(&only, Some(&eks("mill")));
        assert!(told.contains("--cluster-name mill ") && !told.contains("replicaCount"), "{told}");
        assert!(told.ends_with(REPLACES) && !only.has(&dns(BUDGET), Some(&eks("mill"))), "{told}");
    }

    #[test]
    fn values_that_are_not_known_are_told_to_be_replaced() {
        let yaml = account(Some("replicaCount: 2"), &json!({}));
        for (addons, cluster) in [(yaml, "shop"), (Addons::default(), "seen")] {
            let told = told(&addons, (&dns(BUDGET), Change::Set), &one());
            assert!(told[0].1.contains(&format!("--cluster-name {cluster} ")), "{told:?}");
            assert!(told[0].1.ends_with("add those that aws eks describe-addon shows"), "{told:?}");
        }
        let unnamed = Addons::default().commits((&dns(BUDGET), Change::Set), &one(), None);
        assert_eq!(unnamed[0].text, r#"{"podDisruptionBudget":{"maxUnavailable":1}}"#);
    }

    /// Their schemas have other members.
    #[test]
    fn the_values_of_coredns_are_given_to_no_other_add_on() {
        let of = |eks: EksAddon| values(eks, (BUDGET, Change::Set), &one(), &Map::new());
        assert!(of(EksAddon::CoreDns).is_some());
        assert_eq!(of(EksAddon::MetricsServer), None);
    }

    #[test]
    fn what_the_schema_has_no_value_for_is_not_given() {
        let addons = account(Some(r#"{"autoScaling":{"enabled":true}}"#), &json!({}));
        let of =
            |kind: TargetKind, change: Change, body: &Value| told(&addons, (&dns(kind), change), body).len();
        let deployment = TargetKind::Deployment;
        assert_eq!(
            of(deployment, Change::Set, &json!({"spec": {"replicas": 3}})),
            0,
            "its autoscaler sets them"
        );
        let pod = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
        assert_eq!(of(deployment, Change::Set, &pod(json!({"tolerations": []}))), 1);
        assert_eq!(of(deployment, Change::Set, &pod(json!({"terminationGracePeriodSeconds": 5}))), 0);
        assert_eq!(of(BUDGET, Change::Set, &json!({"spec": {"minAvailable": 1}})), 0);
        assert_eq!(
            of(BUDGET, Change::Set, &json!({"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}})),
            0
        );
        assert_eq!(of(BUDGET, Change::Gone, &json!({"$patch": "delete"})), 1);
        let other = Target::new(BUDGET, Key::new("kube-system", "coredns-2"));
        assert_eq!(told(&addons, (&other, Change::Set), &one()), []);
    }
}
