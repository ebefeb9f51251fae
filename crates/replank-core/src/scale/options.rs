//! How the autoscaler is set: Cluster Autoscaler's flags, by their names and with their defaults.
//!
//! Source: Cluster Autoscaler's FAQ, "What are the parameters to CA?" (release 1.34 and later, least-waste the default expander).

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use replank_model::text::{GroupName, Text};
use replank_model::time::Span;

use super::expander::Expander;
use replank_facts::plan::{Window, Windows, zone};

/// Lower and upper limit of something in the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Scale-down does not go below it.
    pub min: i64,
    /// Scale-up does not go above it.
    pub max: i64,
}

/// Settings. Durations are Go's, as Cluster Autoscaler reads them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `--expander`: how one of several groups is chosen; the next one decides between those that the one before leaves.
    pub expanders: Vec<Expander>,
    /// `--max-nodes-total`; 0 means no limit.
    pub nodes_max: u32,
    /// `--cores-total`.
    pub cores: Limits,
    /// `--memory-total`, in GiB.
    pub memory_gib: Limits,
    /// `--gpu-total`, by resource name.
    pub gpus: Vec<(Text, Limits)>,
    /// `--expendable-pods-priority-cutoff`: pods below it neither add a node nor keep one.
    pub expendable_below: i32,
    /// `--max-nodes-per-scaleup`: most nodes that one choice adds.
    pub per_scale_up_max: u32,
    /// `--balance-similar-node-groups`.
    pub balances: bool,
    /// `--balancing-ignore-label`.
    pub balancing_ignored: Vec<Text>,
    /// `--balancing-label`: these labels alone tell whether groups are similar.
    pub balancing_labels: Vec<Text>,
    /// `--new-pod-scale-up-delay`.
    pub new_pod_delay: Span,
    /// `--max-node-provision-time`.
    pub provision_max: Span,
    /// `--scale-up-from-zero`.
    pub from_zero: bool,
    /// `--initial-node-group-backoff-duration`.
    pub backoff_initial: Span,
    /// `--max-node-group-backoff-duration`.
    pub backoff_max: Span,
    /// `--node-group-backoff-reset-timeout`.
    pub backoff_reset: Span,
    /// `--startup-taint` and `--ignore-taint`: taints that nodes lose before pods come.
    pub startup_taints: Vec<Text>,
    /// `--nodes=min:max:name`.
    pub nodes: Vec<NodesFlag>,
    /// `--node-group-auto-discovery=asg:tag=key,key=value`: groups with all of these tags.
    pub discovery: Vec<Vec<(Text, Option<Text>)>>,
    /// The groups that the cloud has found by these flags, and no others; `None` where no cloud was asked.
    pub only: Option<BTreeSet<GroupName>>,
    /// How nodes are taken away.
    pub down: DownOptions,
    /// The lot that falls where nothing else decides.
    pub draw: u64,
}

/// How nodes are taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct DownOptions {
    /// `--scale-down-enabled`.
    pub is_enabled: bool,
    /// `--scale-down-unready-enabled`.
    pub unready_enabled: bool,
    /// `--scale-down-utilization-threshold`, in parts of a thousand.
    pub threshold_milli: i64,
    /// `--scale-down-gpu-utilization-threshold`, likewise.
    pub gpu_threshold_milli: i64,
    /// `--scale-down-unneeded-time`.
    pub unneeded: Span,
    /// `--scale-down-unready-time`.
    pub unready: Span,
    /// `--scale-down-delay-after-add`.
    pub after_add: Span,
    /// `--scale-down-delay-after-delete`.
    pub after_delete: Span,
    /// `--scale-down-delay-after-failure`.
    pub after_failure: Span,
    /// `--max-graceful-termination-sec`.
    pub grace_max: Span,
    /// `--max-scale-down-parallelism`: nodes that go at once.
    pub parallel: u32,
    /// `--max-drain-parallelism`: of these, nodes with pods.
    pub drains: u32,
    /// `--skip-nodes-with-system-pods`.
    pub skips_system_pods: bool,
    /// `--skip-nodes-with-local-storage`.
    pub skips_local_storage: bool,
    /// `--skip-nodes-with-custom-controller-pods`.
    pub skips_custom_controllers: bool,
    /// `--skip-nodes-with-batch-pods`, which Cluster Autoscaler has not: what runs to an end is let run to its end.
    pub skips_batch: bool,
    /// `--min-replica-count`.
    pub replicas_min: i32,
    /// `--ignore-daemonsets-utilization`.
    pub ignores_daemons: bool,
    /// `--ignore-mirror-pods-utilization`.
    pub ignores_mirrors: bool,
    /// `--max-total-unready-percentage`.
    pub unready_percent_max: i64,
    /// `--ok-total-unready-count`.
    pub unready_ok: i64,
    /// `--no-scale-down=START,DURATION,ZONE`, which Cluster Autoscaler has not: windows in which nothing goes.
    pub closed: Windows,
    /// `--consolidation`, which Cluster Autoscaler has not: nodes above the threshold go too where their pods find room.
    pub consolidates: bool,
}

impl Default for DownOptions {
    fn default() -> Self {
        Self {
            is_enabled: true,
            unready_enabled: true,
            threshold_milli: 500,
            gpu_threshold_milli: 500,
            unneeded: Span::from_minutes(10),
            unready: Span::from_minutes(20),
            after_add: Span::from_minutes(10),
            after_delete: Span::ZERO,
            after_failure: Span::from_minutes(3),
            grace_max: Span::from_secs(600),
            parallel: 10,
            drains: 1,
            skips_system_pods: true,
            skips_local_storage: true,
            skips_custom_controllers: true,
            skips_batch: true,
            replicas_min: 0,
            ignores_daemons: false,
            ignores_mirrors: false,
            unready_percent_max: 45,
            unready_ok: 3,
            closed: Windows::default(),
            consolidates: false,
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            expanders: vec![Expander::LeastWaste],
            nodes_max: 0,
            cores: Limits { min: 0, max: 320_000 },
            memory_gib: Limits { min: 0, max: 6_400_000 },
            gpus: Vec::new(),
            expendable_below: -10,
            per_scale_up_max: 1_000,
            balances: false,
            balancing_ignored: Vec::new(),
            balancing_labels: Vec::new(),
            new_pod_delay: Span::ZERO,
            provision_max: Span::from_minutes(15),
            from_zero: true,
            backoff_initial: Span::from_minutes(5),
            backoff_max: Span::from_minutes(30),
            backoff_reset: Span::from_minutes(180),
            startup_taints: Vec::new(),
            nodes: Vec::new(),
            discovery: Vec::new(),
            only: None,
            down: DownOptions::default(),
            draw: 0,
        }
    }
}

/// `--nodes=1:10:name`: a group's bounds, said by hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodesFlag {
    /// Least.
    pub min: u32,
    /// Most.
    pub max: u32,
    /// Name of the group, or of its Auto Scaling group.
    pub name: GroupName,
}

/// A flag that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{flag}={value}: {expected}")]
pub struct FlagError {
    /// Its name.
    pub flag: String,
    /// What it was given.
    pub value: String,
    /// What was expected.
    pub expected: String,
}

/// A flag that means something here, for a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name, without `--`.
    pub name: &'static str,
    /// What stands for its value; `None` where it is true or false, and true if nothing is said.
    pub value: Option<&'static str>,
    /// What it says.
    pub about: &'static str,
}

const fn flag(name: &'static str, value: &'static str, about: &'static str) -> Flag {
    Flag { name, value: Some(value), about }
}

const fn switch(name: &'static str, about: &'static str) -> Flag {
    Flag { name, value: None, about }
}

/// All flags that mean something here.
pub const FLAGS: &[Flag] = &[
    flag(
        "node-group-auto-discovery",
        "asg:tag=KEY[=VALUE],…",
        "Scales the groups that have all of these tags. May be given several times.",
    ),
    flag("nodes", "MIN:MAX:NAME", "Scales this group within these bounds. May be given several times."),
    flag(
        "expander",
        "NAMES",
        "How one of several groups is chosen: least-waste (the default), most-pods, least-nodes, priority, price, random, or several, separated by commas.",
    ),
    switch(
        "balance-similar-node-groups",
        "Divides new nodes among groups that are alike but for their zone.",
    ),
    flag(
        "balancing-ignore-label",
        "KEY",
        "A label in which groups may differ and still be alike. May be given several times.",
    ),
    flag(
        "balancing-label",
        "KEY",
        "A label that alone tells whether groups are alike. May be given several times.",
    ),
    flag("max-nodes-total", "NUMBER", "No node is added beyond this number of nodes; 0 is no limit."),
    flag("max-nodes-per-scaleup", "NUMBER", "Nodes that are added at once, at most (1000)."),
    flag("cores-total", "MIN:MAX", "Bounds of the cluster's cores."),
    flag("memory-total", "MIN:MAX", "Bounds of the cluster's memory in GiB."),
    flag(
        "gpu-total",
        "RESOURCE:MIN:MAX",
        "Bounds of the cluster's accelerators of a kind. May be given several times.",
    ),
    flag(
        "expendable-pods-priority-cutoff",
        "NUMBER",
        "Pods of a lower priority neither add a node nor keep one (-10).",
    ),
    flag("new-pod-scale-up-delay", "SPAN", "Pods that are younger than this add no node (0s)."),
    switch("scale-up-from-zero", "Groups without nodes may grow (true)."),
    flag(
        "max-node-provision-time",
        "SPAN",
        "How long a node may take to become Ready, before its group has failed (15m).",
    ),
    flag(
        "initial-node-group-backoff-duration",
        "SPAN",
        "How long a group is left alone that has failed (5m); the double with each further time.",
    ),
    flag("max-node-group-backoff-duration", "SPAN", "The longest of these (30m)."),
    flag("node-group-backoff-reset-timeout", "SPAN", "After how long a failure is forgotten (3h)."),
    flag(
        "startup-taint",
        "KEY",
        "A taint that nodes lose before pods are scheduled. May be given several times.",
    ),
    flag("ignore-taint", "KEY", "The same."),
    switch("scale-down-enabled", "Nodes that are not needed are removed (true)."),
    switch("scale-down-unready-enabled", "Nodes that are not Ready are, too (true)."),
    flag("scale-down-unneeded-time", "SPAN", "How long a node is not needed before it is removed (10m)."),
    flag("scale-down-unready-time", "SPAN", "The same for a node that is not Ready (20m)."),
    flag(
        "scale-down-utilization-threshold",
        "NUMBER",
        "A node of which less than this is requested may be removed (0.5).",
    ),
    flag(
        "scale-down-gpu-utilization-threshold",
        "NUMBER",
        "The same for the accelerators of a node that has some (0.5).",
    ),
    flag("scale-down-delay-after-add", "SPAN", "After a node was added, none is removed for so long (10m)."),
    flag(
        "scale-down-delay-after-delete",
        "SPAN",
        "After a node was removed, none is removed for so long (0s).",
    ),
    flag(
        "scale-down-delay-after-failure",
        "SPAN",
        "After a removal has failed, no node is removed for so long (3m).",
    ),
    flag("max-graceful-termination-sec", "SECONDS", "The longest grace period of an evicted pod (600)."),
    flag("max-scale-down-parallelism", "NUMBER", "Nodes that are removed at once (10)."),
    flag("max-drain-parallelism", "NUMBER", "Of these, nodes with pods (1)."),
    switch("skip-nodes-with-system-pods", "Nodes with pods of kube-system without a budget stay (true)."),
    switch("skip-nodes-with-local-storage", "Nodes with pods that keep data on the node stay (true)."),
    switch("skip-nodes-with-custom-controller-pods", "Nodes with pods of an unknown controller stay (true)."),
    switch(
        "skip-nodes-with-batch-pods",
        "Nodes with pods that run to completion stay (true). Not a flag of Cluster Autoscaler.",
    ),
    flag("min-replica-count", "NUMBER", "Nodes with a pod of a controller with fewer replicas stay (0)."),
    switch("ignore-daemonsets-utilization", "What DaemonSet pods request does not count (false)."),
    switch("ignore-mirror-pods-utilization", "What static pods request does not count (false)."),
    flag(
        "max-total-unready-percentage",
        "PERCENT",
        "If more nodes are not Ready than this, nothing is scaled (45).",
    ),
    flag("ok-total-unready-count", "NUMBER", "Unless they are no more than this (3)."),
    flag(
        "no-scale-down",
        "START,DURATION,ZONE",
        "No node is removed in this window, such as 'Mon-Fri 09:00,9h,Asia/Tokyo'. May be given several times. Not a flag of Cluster Autoscaler.",
    ),
    switch(
        "consolidation",
        "Nodes above the threshold are removed, too, if their pods fit elsewhere (false). Not a flag of Cluster Autoscaler.",
    ),
];

/// Flags that say nothing of what is decided here: where logs go, how clouds are reached, how often is looked.
const WITHOUT_MEANING: [&str; 28] = [
    "alsologtostderr",
    "add-dir-header",
    "address",
    "aws-use-static-instance-list",
    "cloud-config",
    "cloud-provider",
    "cluster-name",
    "cordon-node-before-terminating",
    "kube-client-burst",
    "kube-client-qps",
    "kubeconfig",
    "kubernetes",
    "leader-elect",
    "leader-elect-resource-name",
    "leader-elect-resource-namespace",
    "log-file",
    "logtostderr",
    "max-inactivity",
    "max-failing-time",
    "namespace",
    "profiling",
    "regional",
    "scan-interval",
    "stderrthreshold",
    "user-agent",
    "v",
    "vmodule",
    "write-status-configmap",
];

impl Options {
    /// Sets what words such as `--expander=price` say; others (a program's name) are passed over. What is returned are the
    /// flags that mean something to Cluster Autoscaler and nothing here.
    ///
    /// # Errors
    /// The first flag whose value cannot be read.
    pub fn read<'a>(&mut self, words: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>, FlagError> {
        let mut unknown = Vec::new();
        for word in words {
            let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else { continue };
            let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
            let read = self.set(name, value).map_err(|expected| FlagError {
                flag: name.to_owned(),
                value: value.to_owned(),
                expected,
            })?;
            if read == Meaning::None && !WITHOUT_MEANING.contains(&name) {
                unknown.push(name.to_owned());
            }
        }
        Ok(unknown)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<Meaning, String> {
        match name {
            "expander" => self.expanders = super::expander::chain(value)?,
            "max-nodes-total" => self.nodes_max = number(value)?,
            "cores-total" => self.cores = limits(value)?,
            "memory-total" => self.memory_gib = limits(value)?,
            "gpu-total" => {
                let (resource, rest) = value.split_once(':').ok_or("expected RESOURCE:MIN:MAX")?;
                self.gpus.push((resource.into(), limits(rest)?));
            }
            "expendable-pods-priority-cutoff" => self.expendable_below = number(value)?,
            "max-nodes-per-scaleup" => self.per_scale_up_max = number(value)?,
            "balance-similar-node-groups" => self.balances = yes(value)?,
            "balancing-ignore-label" => self.balancing_ignored.push(value.into()),
            "balancing-label" => self.balancing_labels.push(value.into()),
            "new-pod-scale-up-delay" => self.new_pod_delay = span(value)?,
            "max-node-provision-time" => self.provision_max = span(value)?,
            "scale-up-from-zero" => self.from_zero = yes(value)?,
            "initial-node-group-backoff-duration" => self.backoff_initial = span(value)?,
            "max-node-group-backoff-duration" => self.backoff_max = span(value)?,
            "node-group-backoff-reset-timeout" => self.backoff_reset = span(value)?,
            "startup-taint" | "ignore-taint" => self.startup_taints.push(value.into()),
            "nodes" => self.nodes.push(nodes(value)?),
            "node-group-auto-discovery" => self.discovery.push(discovery(value)?),
            _ => return self.down.set(name, value),
        }
        Ok(Meaning::Set)
    }
}

/// Whether a flag means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Set,
    None,
}

impl DownOptions {
    fn set(&mut self, name: &str, value: &str) -> Result<Meaning, String> {
        match name {
            "scale-down-enabled" => self.is_enabled = yes(value)?,
            "scale-down-unready-enabled" => self.unready_enabled = yes(value)?,
            "scale-down-utilization-threshold" => self.threshold_milli = share(value)?,
            "scale-down-gpu-utilization-threshold" => self.gpu_threshold_milli = share(value)?,
            "scale-down-unneeded-time" => self.unneeded = span(value)?,
            "scale-down-unready-time" => self.unready = span(value)?,
            "scale-down-delay-after-add" => self.after_add = span(value)?,
            "scale-down-delay-after-delete" => self.after_delete = span(value)?,
            "scale-down-delay-after-failure" => self.after_failure = span(value)?,
            "max-graceful-termination-sec" => self.grace_max = Span::from_secs(number(value)?),
            "max-scale-down-parallelism" => self.parallel = number(value)?,
            "max-drain-parallelism" => self.drains = number(value)?,
            "skip-nodes-with-system-pods" => self.skips_system_pods = yes(value)?,
            "skip-nodes-with-local-storage" => self.skips_local_storage = yes(value)?,
            "skip-nodes-with-custom-controller-pods" => self.skips_custom_controllers = yes(value)?,
            "skip-nodes-with-batch-pods" => self.skips_batch = yes(value)?,
            "min-replica-count" => self.replicas_min = number(value)?,
            "ignore-daemonsets-utilization" => self.ignores_daemons = yes(value)?,
            "ignore-mirror-pods-utilization" => self.ignores_mirrors = yes(value)?,
            "max-total-unready-percentage" => self.unready_percent_max = whole_percent(value)?,
            "ok-total-unready-count" => self.unready_ok = number(value)?,
            "no-scale-down" => self.closed.0.push(window(value)?),
            "consolidation" => self.consolidates = yes(value)?,
            _ => return Ok(Meaning::None),
        }
        Ok(Meaning::Set)
    }
}

fn number<T: FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| "expected a whole number".to_owned())
}

pub(super) fn span(value: &str) -> Result<Span, String> {
    value.parse::<Span>().map_err(|_| "expected a duration such as 10m".to_owned())
}

fn yes(value: &str) -> Result<bool, String> {
    match value {
        "true" | "True" | "1" | "t" => Ok(true),
        "false" | "False" | "0" | "f" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// `0.5` in parts of a thousand.
pub(super) fn share(value: &str) -> Result<i64, String> {
    let wrong = || "expected a number between 0 and 1 such as 0.5".to_owned();
    let number: f64 = value.parse().map_err(|_| wrong())?;
    if !(0.0..=1.0).contains(&number) {
        return Err(wrong());
    }
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 1,000")]
    Ok((number * 1_000.0).round() as i64)
}

/// `Mon-Fri 09:00,8h,Asia/Tokyo`: the last two parts end it, since days may have commas, too.
///
/// # Errors
/// What was expected instead.
pub fn window(value: &str) -> Result<Window, String> {
    let wrong = || "expected START,DURATION,ZONE such as Mon-Fri 09:00,8h,Asia/Tokyo".to_owned();
    let mut parts = value.rsplitn(3, ',');
    let (Some(name), Some(length), Some(start)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
    };
    let start = start.parse().map_err(|_| wrong())?;
    let zone =
        zone(name).ok_or_else(|| format!("unknown time zone {name:?}: expected one such as Asia/Tokyo"))?;
    let duration = span(length)?;
    if duration <= Span::ZERO {
        return Err(wrong());
    }
    Ok(Window { start, duration, zone })
}

fn whole_percent(value: &str) -> Result<i64, String> {
    let wrong = || "expected a percentage such as 45".to_owned();
    let number: f64 = value.parse().map_err(|_| wrong())?;
    if !(0.0..=100.0).contains(&number) {
        return Err(wrong());
    }
    #[expect(clippy::cast_possible_truncation, reason = "between 0 and 100")]
    Ok(number.floor() as i64)
}

fn limits(value: &str) -> Result<Limits, String> {
    let wrong = || "expected MIN:MAX, with MIN no larger than MAX".to_owned();
    let (min, max) = value.split_once(':').ok_or_else(wrong)?;
    let limits = Limits { min: number(min)?, max: number(max)? };
    if limits.min <= limits.max { Ok(limits) } else { Err(wrong()) }
}

fn nodes(value: &str) -> Result<NodesFlag, String> {
    let wrong = || "expected MIN:MAX:NAME".to_owned();
    let mut parts = value.splitn(3, ':');
    let (Some(min), Some(max), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong());
    };
    let flag = NodesFlag { min: number(min)?, max: number(max)?, name: name.into() };
    if flag.min <= flag.max && !name.is_empty() { Ok(flag) } else { Err(wrong()) }
}

fn discovery(value: &str) -> Result<Vec<(Text, Option<Text>)>, String> {
    let tags = value.strip_prefix("asg:tag=").ok_or("expected asg:tag=KEY,KEY=VALUE")?;
    let tag = |tag: &str| match tag.split_once('=') {
        Some((key, value)) => (Text::from(key), Some(Text::from(value))),
        None => (Text::from(tag), None),
    };
    Ok(tags.split(',').filter(|tag| !tag.is_empty()).map(tag).collect())
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_by_cluster_autoscaler_s_names() {
        let mut options = Options::default();
        let words = [
            "./cluster-autoscaler",
            "--expander=priority,least-waste",
            "--nodes=1:10:web",
            "--scale-down-unneeded-time=5m",
            "--scale-down-utilization-threshold=0.65",
            "--cores-total=0:64",
            "--gpu-total=nvidia.com/gpu:0:4",
            "--balance-similar-node-groups",
            "--v=4",
            "--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,x=y",
            "--emit-per-nodegroup-metrics=true",
        ];
        assert_eq!(options.read(words), Ok(vec!["emit-per-nodegroup-metrics".to_owned()]));
        assert_eq!(options.expanders, [Expander::Priority, Expander::LeastWaste]);
        assert_eq!(options.nodes, [NodesFlag { min: 1, max: 10, name: "web".into() }]);
        assert_eq!((options.down.unneeded, options.down.threshold_milli), (Span::from_minutes(5), 650));
        assert_eq!(options.cores, Limits { min: 0, max: 64 });
        assert_eq!(options.gpus.len(), 1);
        assert!(options.balances);
        assert_eq!(options.discovery[0][1], ("x".into(), Some("y".into())));
    }

    #[test]
    fn every_flag_of_the_table_is_read_and_every_flag_that_is_read_is_in_the_table() {
        for flag in FLAGS {
            let mut options = Options::default();
            let word = format!("--{}={}", flag.name, flag.value.map_or("true", |_| "?"));
            let is_known = match options.read([&*word]) {
                Ok(unknown) => unknown.is_empty(),
                Err(_) => true,
            };
            assert!(is_known, "{word}");
        }
        let source = include_str!("options.rs").split("#[cfg(test)]").next().unwrap_or_default();
        let arms = source.lines().filter(|line| line.contains("=> ") && line.trim_start().starts_with('"'));
        let read: Vec<&str> = arms
            .flat_map(|line| line.split("=>").next().unwrap_or_default().split('"').skip(1).step_by(2))
            .collect();
        let flags: Vec<&&str> = read.iter().filter(|name| name.contains('-') || name.len() > 4).collect();
        assert!(flags.len() >= FLAGS.len(), "{} of {}", flags.len(), FLAGS.len());
        let missing: Vec<_> = flags
            .iter()
            .filter(|name| {
                FLAGS.iter().all(|flag| flag.name != ***name)
                    && !["true", "false", "True", "False"].contains(&***name)
            })
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }

    #[test]
    fn what_cannot_be_read_is_named_with_what_was_expected() {
        let wrong = |word: &str| Options::default().read([word]).unwrap_err().to_string();
        assert_eq!(
            wrong("--expander=cheapest"),
            "--expander=cheapest: unknown expander \"cheapest\": expected least-waste, most-pods, priority, price, \
             least-nodes or random, or a comma-separated list of them"
        );
        assert_eq!(
            wrong("--cores-total=9:1"),
            "--cores-total=9:1: expected MIN:MAX, with MIN no larger than MAX"
        );
        assert_eq!(
            wrong("--scale-down-unneeded-time=soon"),
            "--scale-down-unneeded-time=soon: expected a duration such as 10m"
        );
        assert_eq!(
            wrong("--no-scale-down=Mon-Fri 09:00,8h,Asia/Nowhere"),
            "--no-scale-down=Mon-Fri 09:00,8h,Asia/Nowhere: unknown time zone \"Asia/Nowhere\": expected one such as Asia/Tokyo"
        );
        assert!(Options::default().read(["--no-scale-down=Mon,Tue 09:00,8h,Asia/Tokyo"]).is_ok());
        assert_eq!(wrong("--nodes=10"), "--nodes=10: expected MIN:MAX:NAME");
        assert_eq!(
            wrong("--scale-down-utilization-threshold=50"),
            "--scale-down-utilization-threshold=50: expected a number between 0 and 1 such as 0.5"
        );
    }
}
