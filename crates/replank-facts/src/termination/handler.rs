//! aws-node-termination-handler, as its workload runs it (pkg/config/config.go and README.md of aws/aws-node-termination-handler, July 2026).

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::pod::PodSpec;
use replank_model::object::workload::{DaemonSet, Deployment};
use replank_model::time::Span;
use replank_model::view::View;
use serde_json::Value;

/// How its image is known.
const IMAGE: &str = "aws-node-termination-handler";
/// How long it waits for the pods of a node, unless it is told (`nodeTerminationGracePeriodDefault`).
const NODE_GRACE: Span = Span::from_secs(120);
/// How long a message that it has received is hidden, unless it is told (`SqsMsgVisibilityTimeoutSecDefault`): the queue's own time does not matter.
const HIDDEN: Span = Span::from_secs(20);
/// How long it sends heartbeats, unless it is told (README.md, "Issuing Lifecycle Heartbeats").
const HEARTBEAT_UNTIL: Span = Span::from_minutes(48 * 60);
/// The tag that an instance must have, unless it is told otherwise (`managedTagDefault`).
const TAG: &str = "aws-node-termination-handler/managed";

/// How it learns of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// From a queue.
    Queue,
    /// From the metadata of each instance.
    Metadata,
}

/// One workload of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// `Deployment` or `DaemonSet`.
    pub kind: &'static str,
    /// Its name.
    pub key: Key,
    /// How it learns of events.
    pub mode: Mode,
    /// How many pods of it run.
    pub replicas: i32,
    /// Settings by the names of their variables. A flag counts more than a variable.
    settings: BTreeMap<String, Option<String>>,
}

impl Handler {
    fn of(kind: &'static str, key: Key, replicas: i32, spec: &PodSpec) -> Option<Self> {
        let container = spec.containers.iter().find(|one| one.image.contains(IMAGE))?;
        let settings = settings(spec, &container.name);
        let mut handler = Self { kind, key, mode: Mode::Metadata, replicas, settings };
        if handler.is_on("ENABLE_SQS_TERMINATION_DRAINING", false) == Some(true) {
            handler.mode = Mode::Queue;
        }
        Some(handler)
    }

    /// A setting: none where it is not set; `Some(None)` where the snapshot leaves out its value.
    fn setting(&self, name: &str) -> Option<Option<&str>> {
        self.settings.get(name).map(Option::as_deref)
    }

    /// Whether a setting is on; none where that cannot be seen.
    fn is_on(&self, name: &str, default: bool) -> Option<bool> {
        match self.setting(name) {
            None => Some(default),
            Some(None) => None,
            Some(Some(text)) => Some(text.eq_ignore_ascii_case("true") || text == "1"),
        }
    }

    fn seconds(&self, name: &str, default: Option<Span>) -> Option<Span> {
        match self.setting(name) {
            None => default,
            Some(text) => text?.parse().ok().filter(|seconds| *seconds > 0).map(Span::from_secs),
        }
    }

    /// The tag without which it leaves an instance alone, if it asks for one.
    #[must_use]
    pub fn tag(&self) -> Option<String> {
        let asks = self.is_on("CHECK_TAG_BEFORE_DRAINING", true)?;
        let tag = match self.setting("MANAGED_TAG") {
            None => TAG,
            Some(text) => text?,
        };
        asks.then(|| tag.to_owned())
    }

    /// How long it waits for the pods of a node (`--node-termination-grace-period`); none where that cannot be seen.
    #[must_use]
    pub fn node_grace(&self) -> Option<Span> {
        self.seconds("NODE_TERMINATION_GRACE_PERIOD", Some(NODE_GRACE))
    }

    /// How often it tells a lifecycle hook that it is not done, if it does.
    #[must_use]
    pub fn heartbeat(&self) -> Option<Span> {
        self.seconds("HEARTBEAT_INTERVAL", None)
    }

    /// How long it tells a lifecycle hook so, if it does: `--heartbeat-until`, 48 hours unless it is told.
    #[must_use]
    pub fn heartbeat_until(&self) -> Option<Span> {
        self.seconds("HEARTBEAT_UNTIL", Some(HEARTBEAT_UNTIL))
    }

    /// How long a message is hidden that it has received (`--sqs-msg-visibility-timeout-sec`). It is not hidden for longer while its drain goes on.
    ///
    /// # Errors
    /// A value with which it does not start.
    pub fn hidden(&self) -> Result<Option<Span>, String> {
        match self.setting("SQS_MSG_VISIBILITY_TIMEOUT_SEC") {
            None => Ok(Some(HIDDEN)),
            Some(None) => Ok(None),
            // What is no number is the default there, too.
            Some(Some(text)) => match text.parse::<i64>() {
                Err(_) => Ok(Some(HIDDEN)),
                Ok(seconds @ 1..=119) => Ok(Some(Span::from_secs(seconds))),
                Ok(_) => Err(text.to_owned()),
            },
        }
    }

    /// Whether it looks, in metadata mode, for terminations by the Auto Scaling group.
    #[must_use]
    pub fn sees_groups(&self) -> Option<bool> {
        self.is_on("ENABLE_ASG_LIFECYCLE_DRAINING", false)
    }

    /// Whether it only says what it would do.
    #[must_use]
    pub fn only_looks(&self) -> bool {
        self.is_on("DRY_RUN", false) == Some(true)
    }
}

/// All of its workloads in a cluster.
#[must_use]
pub fn handlers(view: &View) -> Vec<Handler> {
    let deployments = view.table::<Deployment>().sorted();
    let deployments = deployments.into_iter().filter_map(|(_, one)| {
        let replicas = one.spec.replicas.unwrap_or(1);
        Handler::of("Deployment", one.meta.key(), replicas, &one.spec.template.spec)
    });
    let sets = view.table::<DaemonSet>().sorted();
    let sets = sets
        .into_iter()
        .filter_map(|(_, one)| Handler::of("DaemonSet", one.meta.key(), 1, &one.spec.template.spec));
    deployments.chain(sets).collect()
}

/// Whether `replank handle` runs in a cluster, which does the same and needs no settings.
#[must_use]
pub fn runs_replank(view: &View) -> bool {
    let deployments = view.table::<Deployment>().sorted();
    deployments.iter().any(|(_, one)| {
        let spec = &one.spec.template.spec;
        let mut images = spec.containers.iter().filter(|container| container.image.contains("replank"));
        images.any(|container| words(spec, &container.name).iter().any(|word| word == "handle"))
    })
}

/// A container as it is written.
fn written(spec: &PodSpec, container: &str) -> Option<Value> {
    let raw = spec.raw.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok())?;
    let containers = raw["containers"].as_array()?;
    containers.iter().find(|one| one["name"].as_str() == Some(container)).cloned()
}

/// Its command line.
fn words(spec: &PodSpec, container: &str) -> Vec<String> {
    let own = written(spec, container).unwrap_or_default();
    let lists = ["command", "args"].into_iter().filter_map(|key| own[key].as_array()).flatten();
    lists.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What a container is told by variables and flags.
fn settings(spec: &PodSpec, container: &str) -> BTreeMap<String, Option<String>> {
    let own = written(spec, container).unwrap_or_default();
    let mut all = BTreeMap::new();
    for one in own["env"].as_array().into_iter().flatten() {
        if let Some(name) = one["name"].as_str() {
            all.insert(name.to_owned(), one["value"].as_str().map(str::to_owned));
        }
    }
    for word in words(spec, container) {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
        all.insert(name.replace('-', "_").to_uppercase(), Some(value.to_owned()));
    }
    all
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn one(kind: &str, container: Value) -> Handler {
        let mut own =
            json!({"name": "nth", "image": "public.ecr.aws/aws-ec2/aws-node-termination-handler:v1.25.6"});
        crate::testing::merge(&mut own, container);
        let value = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "nth", "namespace": "kube-system", "uid": "nth"},
            "spec": {"template": {"spec": {"containers": [own]}}}});
        let view: View = [Delta::Put(Object::from_json(value).expect("valid"))].into_iter().collect();
        handlers(&view).remove(0)
    }

    fn env(pairs: &[(&str, &str)]) -> Value {
        json!({"env": pairs.iter().map(|(name, value)| json!({"name": name, "value": value})).collect::<Vec<_>>()})
    }

    #[test]
    fn its_settings_come_from_variables_and_flags() {
        let plain = one("DaemonSet", json!({}));
        assert_eq!(
            (plain.mode, plain.node_grace(), plain.heartbeat()),
            (Mode::Metadata, Some(NODE_GRACE), None)
        );
        assert_eq!((plain.tag().as_deref(), plain.sees_groups()), (Some(TAG), Some(false)));
        let told = env(&[
            ("ENABLE_SQS_TERMINATION_DRAINING", "true"),
            ("NODE_TERMINATION_GRACE_PERIOD", "600"),
            ("CHECK_TAG_BEFORE_DRAINING", "false"),
            ("HEARTBEAT_INTERVAL", "-1"),
        ]);
        let told = one("Deployment", told);
        assert_eq!((told.mode, told.node_grace()), (Mode::Queue, Some(Span::from_secs(600))));
        assert_eq!((told.tag(), told.heartbeat()), (None, None));
        let flags = one(
            "Deployment",
            json!({"args": ["--enable-sqs-termination-draining=true", "--heartbeat-interval=60", "--dry-run"]}),
        );
        assert_eq!(
            (flags.mode, flags.heartbeat(), flags.only_looks()),
            (Mode::Queue, Some(Span::from_secs(60)), true)
        );
    }

    #[test]
    fn a_message_is_hidden_for_as_long_as_it_asks_for() {
        let hidden = |pairs: &[(&str, &str)]| one("Deployment", env(pairs)).hidden();
        const NAME: &str = "SQS_MSG_VISIBILITY_TIMEOUT_SEC";
        assert_eq!(hidden(&[]), Ok(Some(HIDDEN)));
        assert_eq!(hidden(&[(NAME, "90")]), Ok(Some(Span::from_secs(90))));
        assert_eq!(hidden(&[(NAME, "120")]), Err("120".to_owned()), "it does not start");
        let cut = one("Deployment", json!({"env": [{"name": NAME}]}));
        assert_eq!(cut.hidden(), Ok(None), "the snapshot leaves it out");
    }

    #[test]
    fn a_value_that_the_snapshot_leaves_out_is_not_the_default() {
        let cut = one(
            "Deployment",
            json!({"env": [{"name": "NODE_TERMINATION_GRACE_PERIOD"}, {"name": "CHECK_TAG_BEFORE_DRAINING"}]}),
        );
        assert_eq!((cut.node_grace(), cut.tag()), (None, None));
    }
}
