//! An account's part, from what AWS's command line prints.

use replank_model::time::Span;
use replank_model::view::View;
use serde_json::Value;

use crate::cluster_name::named_by_tags;
use crate::own_groups::{GroupOwner, OwnGroups, SeenGroup};

/// What is known of an account. A part that no answer speaks of is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// `aws autoscaling describe-auto-scaling-groups`.
    pub groups: Option<Vec<Group>>,
    /// `aws autoscaling describe-lifecycle-hooks`, of one group each.
    pub hooks: Option<Vec<Hook>>,
    /// How many of these answers have no hook. None of them says of which group it is.
    pub without_hooks: usize,
    /// `aws events list-rules`.
    pub rules: Option<Vec<Rule>>,
    /// `aws events list-rule-names-by-target`: those that send to the queue.
    pub sending: Option<Vec<String>>,
    /// `aws sqs get-queue-attributes`.
    pub queue: Option<Queue>,
}

/// An Auto Scaling group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Whether EKS owns it: then EKS drains its instances.
    pub is_managed: bool,
    /// Keys of tags that its instances get.
    pub propagated: Vec<String>,
    /// Its instances, and the clusters that its tags name.
    pub seen: SeenGroup,
}

/// A lifecycle hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// Its name.
    pub name: String,
    /// The group's.
    pub group: String,
    /// Whether it holds instances that are terminated; else those that are launched.
    pub at_termination: bool,
    /// How long it holds one without a heartbeat.
    pub heartbeat: Span,
    /// Where it sends by itself, without EventBridge.
    pub target: Option<String>,
}

/// A rule of EventBridge.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Whether it is on.
    pub is_enabled: bool,
    /// What it matches.
    pub pattern: Value,
}

impl Rule {
    /// Whether it matches events of a source and a type, whatever else it asks of them.
    #[must_use]
    pub fn is_about(&self, source: &str, kind: &str) -> bool {
        let has = |key: &str, wanted: &str| match &self.pattern[key] {
            Value::Array(all) => all.iter().any(|one| matches(one, wanted)),
            Value::Null => true,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => false,
        };
        self.pattern.is_object() && has("source", source) && has("detail-type", kind)
    }
}

fn matches(pattern: &Value, text: &str) -> bool {
    match pattern {
        Value::String(whole) => whole == text,
        Value::Object(one) => {
            one.get("prefix").and_then(Value::as_str).is_some_and(|start| text.starts_with(start))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    }
}

/// A queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Queue {
    /// Its ARN.
    pub arn: String,
    /// Who may do what with it; none where it has no policy.
    pub policy: Option<Value>,
    /// How long a message is kept.
    pub kept: Option<Span>,
    /// After how many receipts a message goes to another queue, where it does (`RedrivePolicy`).
    pub receipts_max: Option<i64>,
}

impl Queue {
    /// Whether a service of AWS may send to it.
    #[must_use]
    pub fn may_send(&self, service: &str) -> bool {
        let statements = match self.policy.as_ref().map(|policy| &policy["Statement"]) {
            Some(Value::Array(all)) => all.clone(),
            Some(Value::Object(one)) => vec![Value::Object(one.clone())],
            _ => Vec::new(),
        };
        let any = |value: &Value, is: &dyn Fn(&str) -> bool| match value {
            Value::String(text) => is(text),
            Value::Array(all) => all.iter().filter_map(Value::as_str).any(is),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        };
        statements.iter().filter(|one| one["Effect"] == "Allow").any(|one| {
            let principal = &one["Principal"];
            let is_open = principal == "*" || principal["AWS"] == "*";
            let is_meant = is_open || any(&principal["Service"], &|text| text == service);
            is_meant
                && any(&one["Action"], &|text| {
                    matches!(text, "sqs:SendMessage" | "sqs:*" | "SQS:SendMessage" | "SQS:*" | "*")
                })
        })
    }
}

/// Why an answer cannot be taken in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccountError {
    /// None of the answers that are known.
    #[error(
        "expected the JSON of describe-auto-scaling-groups, describe-lifecycle-hooks, list-rules, list-rule-names-by-target or get-queue-attributes"
    )]
    Form,
    /// A member is missing, or of another type.
    #[error("{0} is missing or of another type")]
    Member(&'static str),
}

impl Account {
    /// The groups of a cluster that EKS does not look after; an account may have those of other clusters, too.
    #[must_use]
    pub fn own_groups(&self, view: &View) -> Vec<&Group> {
        let all = || self.groups.iter().flatten();
        let own = OwnGroups::of(view, all().map(|group| &group.seen));
        all().filter(|group| !group.is_managed && own.owner(&group.seen) == GroupOwner::ThisCluster).collect()
    }

    /// Takes in an answer.
    ///
    /// # Errors
    /// Where it is none that is known, or lacks a member.
    pub fn read(&mut self, value: &Value) -> Result<(), AccountError> {
        let list = |key: &str| value[key].as_array();
        if let Some(groups) = list("AutoScalingGroups") {
            let groups = groups.iter().map(group).collect::<Result<Vec<_>, _>>()?;
            self.groups.get_or_insert_default().extend(groups);
        } else if let Some(hooks) = list("LifecycleHooks") {
            let hooks = hooks.iter().map(hook).collect::<Result<Vec<_>, _>>()?;
            self.without_hooks += usize::from(hooks.is_empty());
            self.hooks.get_or_insert_default().extend(hooks);
        } else if let Some(rules) = list("Rules") {
            let rules = rules.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
            self.rules.get_or_insert_default().extend(rules);
        } else if let Some(names) = list("RuleNames") {
            let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
            self.sending.get_or_insert_default().extend(names);
        } else if value["Attributes"].is_object() {
            self.queue = Some(queue(&value["Attributes"])?);
        } else {
            return Err(AccountError::Form);
        }
        Ok(())
    }
}

fn text(value: &Value, key: &'static str) -> Result<String, AccountError> {
    value[key].as_str().map(str::to_owned).ok_or(AccountError::Member(key))
}

fn group(value: &Value) -> Result<Group, AccountError> {
    let tags = value["Tags"].as_array().map_or(&[][..], Vec::as_slice);
    let key = |tag: &Value| tag["Key"].as_str().map(str::to_owned);
    let instances = value["Instances"].as_array().map_or(&[][..], Vec::as_slice);
    let pairs = tags.iter().filter_map(|tag| Some((tag["Key"].as_str()?, tag["Value"].as_str()?)));
    Ok(Group {
        name: text(value, "AutoScalingGroupName")?,
        is_managed: tags.iter().any(|tag| tag["Key"] == "eks:nodegroup-name"),
        propagated: tags.iter().filter(|tag| tag["PropagateAtLaunch"] == true).filter_map(key).collect(),
        seen: SeenGroup {
            instances: instances
                .iter()
                .filter_map(|one| one["InstanceId"].as_str())
                .map(str::to_owned)
                .collect(),
            clusters: named_by_tags(pairs),
        },
    })
}

fn hook(value: &Value) -> Result<Hook, AccountError> {
    Ok(Hook {
        name: text(value, "LifecycleHookName")?,
        group: text(value, "AutoScalingGroupName")?,
        at_termination: value["LifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING",
        heartbeat: Span::from_secs(
            value["HeartbeatTimeout"].as_i64().ok_or(AccountError::Member("HeartbeatTimeout"))?,
        ),
        target: value["NotificationTargetARN"].as_str().map(str::to_owned),
    })
}

fn rule(value: &Value) -> Result<Rule, AccountError> {
    let pattern = value["EventPattern"].as_str().and_then(|text| serde_json::from_str(text).ok());
    Ok(Rule {
        name: text(value, "Name")?,
        is_enabled: value["State"].as_str().is_some_and(|state| state.starts_with("ENABLED")),
        pattern: pattern.unwrap_or(Value::Null),
    })
}

fn queue(value: &Value) -> Result<Queue, AccountError> {
    let seconds = |key: &str| value[key].as_str().and_then(|text| text.parse().ok()).map(Span::from_secs);
    let redrive = value["RedrivePolicy"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    // SQS takes a number and a text, and prints it as it was given.
    let whole = |value: &Value| value.as_i64().or_else(|| value.as_str()?.parse().ok());
    Ok(Queue {
        arn: text(value, "QueueArn")?,
        policy: value["Policy"].as_str().and_then(|text| serde_json::from_str(text).ok()),
        kept: seconds("MessageRetentionPeriod"),
        receipts_max: redrive.and_then(|policy| whole(&policy["maxReceiveCount"])),
    })
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_are_told_apart_and_added_up() {
        let mut account = Account::default();
        let hooks = |group: &str| {
            json!({"LifecycleHooks": [{"LifecycleHookName": "h", "AutoScalingGroupName": group,
            "LifecycleTransition": "autoscaling:EC2_INSTANCE_TERMINATING", "HeartbeatTimeout": 300}]})
        };
        account.read(&hooks("a")).expect("known");
        account.read(&hooks("b")).expect("known");
        assert_eq!(account.hooks.as_ref().map(Vec::len), Some(2));
        assert_eq!(account.groups, None, "nothing was said of groups");
        assert_eq!(account.read(&json!({"Reservations": []})), Err(AccountError::Form));
        let short = json!({"LifecycleHooks": [{"LifecycleHookName": "h", "AutoScalingGroupName": "a"}]});
        assert_eq!(account.read(&short), Err(AccountError::Member("HeartbeatTimeout")));
    }

    #[test]
    fn groups_of_other_clusters_and_of_eks_are_not_ours() {
        let group = |name: &str, instances: &[&str], tags: &[(&str, &str)]| {
            let tags: Vec<Value> =
                tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect();
            let instances: Vec<Value> = instances.iter().map(|id| json!({"InstanceId": id})).collect();
            json!({"AutoScalingGroupName": name, "Instances": instances, "Tags": tags})
        };
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"},
            "spec": {"providerID": "aws:///eu-west-1a/i-1"}, "status": {}});
        let view: View = [Delta::Put(Object::from_json(node).expect("a node"))].into_iter().collect();
        let own = |groups: Vec<Value>| -> Vec<String> {
            let mut account = Account::default();
            account.read(&json!({"AutoScalingGroups": groups})).expect("known");
            account.own_groups(&view).into_iter().map(|group| group.name.clone()).collect()
        };
        let (shop, other) =
            ([("kubernetes.io/cluster/shop", "owned")], [("kubernetes.io/cluster/other", "owned")]);
        let managed = [("eks:nodegroup-name", "m"), ("eks:cluster-name", "shop")];
        let strange = || vec![group("other", &["i-9"], &other), group("other-empty", &[], &other)];
        let by_eks = vec![group("m", &["i-1"], &managed), group("web-empty", &[], &shop)];
        assert_eq!(own([by_eks, strange()].concat()), ["web-empty"], "EKS looks after m, and tells the name");
        let untold = vec![group("web", &["i-1"], &[])];
        assert_eq!(own([untold, strange()].concat()), ["web"], "nothing tells this cluster's name");
    }

    #[test]
    fn a_rule_is_known_by_what_it_matches() {
        let rule = |pattern: Value| Rule { name: "r".to_owned(), is_enabled: true, pattern };
        let spot =
            rule(json!({"source": ["aws.ec2"], "detail-type": ["EC2 Spot Instance Interruption Warning"]}));
        assert!(spot.is_about("aws.ec2", "EC2 Spot Instance Interruption Warning"));
        assert!(!spot.is_about("aws.ec2", "EC2 Instance Rebalance Recommendation"));
        assert!(rule(json!({"source": [{"prefix": "aws."}]})).is_about("aws.ec2", "anything"));
        assert!(!rule(Value::Null).is_about("aws.ec2", "anything"), "a schedule");
    }

    #[test]
    fn a_queue_says_who_may_send() {
        let of = |statement: Value| Queue {
            arn: "arn:aws:sqs:x:1:q".to_owned(),
            policy: Some(json!({"Statement": statement})),
            kept: None,
            receipts_max: None,
        };
        let events = json!([{"Effect": "Allow", "Principal": {"Service": ["events.amazonaws.com", "sqs.amazonaws.com"]}, "Action": "sqs:SendMessage"}]);
        assert!(of(events.clone()).may_send("events.amazonaws.com"));
        assert!(
            !of(json!([{"Effect": "Deny", "Principal": "*", "Action": "sqs:*"}]))
                .may_send("events.amazonaws.com")
        );
        assert!(!of(json!({"Effect": "Allow", "Principal": {"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage"})).may_send("events.amazonaws.com"));
        assert!(!Queue { policy: None, ..of(events) }.may_send("events.amazonaws.com"));
    }
}
