//! Clusters whose instances are interrupted, by index arithmetic.
//!
//! | group | market | termination hook | what takes its instances away |
//! |---|---|---|---|
//! | `spot` | spot | none | interruption warnings |
//! | `web` | on demand | ten minutes | the group itself, rebalance recommendations |
//! | `base` | on demand | none | AWS Health events of five instances each, somebody else's hand |
//!
//! Every node has a pod of a DaemonSet and, on the average, five of Deployments with twenty replicas each, of which a budget lets
//! five be missing. Pods ask for 1 of a node's 8 CPU and take five seconds to stop.

use replank_advice::preflight;
use replank_core::{Core, interrupt};
use replank_facts::groups::{self, GroupBy};
use replank_facts::plan::Plan;
use replank_facts::plan::RunOptions;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::text::{InstanceId, RunId};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_sim::script::{AsGiven, Script, happen};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

const BEGIN: Time = Time::from_millis(1_795_165_200_000);
const SETTLED: Span = Span::from_secs(150);
/// From the beginning of the watch to what is told.
pub(super) const QUIET: Span = Span::from_secs(10);
const ZONES: [&str; 3] = ["z-a", "z-b", "z-c"];
/// Replicas of a Deployment, and for how many nodes there is one.
const REPLICAS: usize = 20;
const NODES_A_DEPLOYMENT: usize = 4;
/// Instances that one AWS Health event names.
const A_HEALTH_EVENT: usize = 5;

/// What takes an instance away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A spot interruption warning: two minutes.
    Spot,
    /// Its group ends it and its hook holds it.
    Hook,
    /// AWS Health has scheduled its end, in two hours.
    Health,
    /// A rebalance recommendation: it may be taken, nobody knows when.
    Rebalance,
    /// It is going down: somebody else ended it.
    State,
}

impl Kind {
    /// All.
    pub const ALL: [Self; 5] = [Self::Spot, Self::Hook, Self::Health, Self::Rebalance, Self::State];

    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spot => "spot interruption",
            Self::Hook => "termination hook",
            Self::Health => "AWS Health event",
            Self::Rebalance => "rebalance recommendation",
            Self::State => "going down",
        }
    }
}

/// One thing that is told.
#[derive(Clone, Debug)]
pub struct Told {
    /// How long after the others.
    pub after: Span,
    /// The words of a script.
    pub line: String,
    /// What it is; none if it is not about an instance.
    pub kind: Option<Kind>,
    /// Whom it is about.
    pub instances: Vec<InstanceId>,
}

/// A cluster and what is told about it.
#[derive(Clone, Debug, Default)]
pub struct Stage {
    /// Nodes of each group.
    nodes: Vec<(&'static str, usize)>,
    /// Said before the watch begins.
    before: Vec<String>,
    /// Everything that is told at one moment, in order.
    pub told: Vec<Told>,
    /// Whether `web` is rolled meanwhile.
    is_rolled: bool,
    seed: u64,
}

/// How many of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Spot interruption warnings.
    pub spot: usize,
    /// Instances that the group ends.
    pub hook: usize,
    /// Instances that AWS Health events name.
    pub health: usize,
    /// Rebalance recommendations.
    pub rebalance: usize,
    /// Instances that somebody ends.
    pub state: usize,
    /// Messages that cannot be read.
    pub poison: usize,
    /// Messages about another cluster's instances.
    pub foreign: usize,
}

impl Stage {
    /// A cluster of groups `spot`, `web` and `base` of so many nodes, of which so many are interrupted.
    #[must_use]
    pub fn of(nodes: [usize; 3], counts: Counts, seed: u64) -> Self {
        let mut stage = Self {
            nodes: ["spot", "web", "base"].into_iter().zip(nodes).collect(),
            before: vec!["somebody hooks group web with drain for 10m".to_owned()],
            told: Vec::new(),
            is_rolled: false,
            seed,
        };
        let Counts { spot, hook, health, rebalance, state, poison, foreign } = counts;
        for number in 0..spot {
            let node = node_name("spot", number);
            stage.tell(Kind::Spot, format!("spot instance {node} is taken back"), &[("spot", number)]);
        }
        for number in 0..hook {
            let node = node_name("web", number);
            stage.tell(Kind::Hook, format!("somebody ends instance {node}"), &[("web", number)]);
        }
        for number in hook..hook + rebalance {
            let node = node_name("web", number);
            stage.tell(Kind::Rebalance, format!("instance {node} may be taken back"), &[("web", number)]);
        }
        let numbers: Vec<usize> = (0..health).collect();
        for numbers in numbers.chunks(A_HEALTH_EVENT) {
            let of: Vec<(&str, usize)> = numbers.iter().map(|number| ("base", *number)).collect();
            let nodes: Vec<String> = numbers.iter().map(|number| node_name("base", *number)).collect();
            stage.tell(Kind::Health, format!("instances {} are retired in 2h", nodes.join(",")), &of);
        }
        for number in health..health + state {
            let node = node_name("base", number);
            stage.tell(Kind::State, format!("somebody ends instance {node}"), &[("base", number)]);
        }
        stage.other((0..poison).map(unreadable));
        stage.other(
            (0..foreign).map(|number| format!("queue receives {}", spot_event(&format!("i-far-{number}")))),
        );
        stage.shuffle();
        stage
    }

    /// Says something before the watch begins.
    #[must_use]
    pub fn after(mut self, line: &str) -> Self {
        self.before.push(line.to_owned());
        self
    }

    /// Groups `spot` and `web` of eight nodes each, on which pods are mixed and of each Deployment one may be missing. `web` is
    /// rolled, and half a minute later so many spot instances are interrupted.
    #[must_use]
    pub fn rolled(spot: usize, seed: u64) -> Self {
        let mut stage = Self::of([8, 8, 0], Counts { spot, ..Counts::default() }, seed);
        stage.is_rolled = true;
        for told in &mut stage.told {
            told.after = Span::from_secs(80);
        }
        stage
    }

    /// Besides, a node of no group goes and another instance comes under its name; then the old one's interruption is told.
    #[must_use]
    pub fn with_a_name_again(mut self) -> Self {
        let guest = |id: &str| {
            let mut node = node("guest", 0);
            node["metadata"]["labels"] = json!({"kubernetes.io/hostname": "guest-0"});
            node["metadata"]["uid"] = Value::Null;
            node["spec"]["providerID"] = format!("aws:///{}/{id}", ZONES[0]).into();
            format!("somebody creates {node}")
        };
        let later = [
            (0, guest("i-guest-old")),
            (20, "somebody deletes node guest-0".to_owned()),
            (40, guest("i-guest-new")),
            (60, format!("queue receives {}", spot_event("i-guest-old"))),
        ];
        let told = later.map(|(seconds, line)| Told {
            after: Span::from_secs(seconds),
            line,
            kind: None,
            instances: Vec::new(),
        });
        self.told.extend(told);
        self
    }

    fn tell(&mut self, kind: Kind, line: String, of: &[(&str, usize)]) {
        let instances = of.iter().map(|(group, number)| instance_id(group, *number)).collect();
        self.told.push(Told { after: Span::ZERO, line, kind: Some(kind), instances });
    }

    fn other(&mut self, lines: impl IntoIterator<Item = String>) {
        let told =
            lines.into_iter().map(|line| Told { after: Span::ZERO, line, kind: None, instances: Vec::new() });
        self.told.extend(told);
    }

    /// What is told comes in no order: a fixed stride that has no divisor in common with the number walks over all.
    fn shuffle(&mut self) {
        let count = self.told.len();
        let stride = (count / 3..).find(|stride| *stride > 0 && gcd(*stride, count.max(1)) == 1).unwrap_or(1);
        self.told = (0..count).map(|at| self.told[at * stride % count].clone()).collect();
    }

    /// How many messages there are, those that come twice counted once.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.told.len()
    }

    /// The cluster, with everything at its place.
    pub(super) fn world(&self) -> World {
        let mut view: View = self.objects().map(|value| Delta::Put(object(value))).collect();
        for learnt in groups::from_nodes(&view, &GroupBy::default()) {
            view.apply(Delta::Group(learnt.group.into()));
            for instance in learnt.instances {
                view.apply(Delta::Instance(instance.into()));
            }
        }
        let settings = Settings {
            start: BEGIN,
            seed: self.seed,
            kubelet: KubeletModel::Fake,
            cloud: CloudTimings::default(),
        };
        let mut world = World::new(settings, view);
        for manifest in self.manifests() {
            let made = world.request(|api| api.apply_json(manifest.clone()));
            made.unwrap_or_else(|error| panic!("{manifest}: {error}"));
        }
        world.run_until(BEGIN + SETTLED);
        for line in &self.before {
            say(&mut world, line);
        }
        world
    }

    /// A core that handles interruptions, beside a run, which may have nothing to do.
    pub(super) fn core(&self) -> Core {
        let plan = if self.is_rolled { rolling() } else { resting() };
        let interruptions = interrupt::Options::beside(Some(&plan));
        Core::new(plan, RunId::from("roll"), options(), preflight::blocking).with_interruptions(interruptions)
    }

    /// One core that handles interruptions only, and one that does nothing but roll.
    pub(super) fn apart(&self) -> (Core, Core) {
        let interruptions = interrupt::Options::beside(Some(&rolling()));
        let one = Core::new(resting(), RunId::from("nothing"), options(), preflight::blocking)
            .with_interruptions(interruptions);
        (one, Core::new(rolling(), RunId::from("roll"), options(), preflight::blocking))
    }

    fn objects(&self) -> impl Iterator<Item = Value> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "spec": {"finalizers": ["kubernetes"]},
            "metadata": {"name": "shop", "uid": "shop", "labels": {"kubernetes.io/metadata.name": "shop"}},
            "status": {"phase": "Active"}});
        let of_group = |(group, count): &(&'static str, usize)| {
            let group = *group;
            (0..*count).map(move |number| node(group, number))
        };
        let nodes: Vec<Value> = self.nodes.iter().flat_map(of_group).collect();
        [namespace].into_iter().chain(nodes)
    }

    fn manifests(&self) -> Vec<Value> {
        let mut all = vec![daemon_set()];
        for (group, count) in &self.nodes {
            for number in 0..count / NODES_A_DEPLOYMENT {
                all.extend(self.deployment(group, number));
            }
        }
        all
    }

    fn deployment(&self, group: &str, number: usize) -> [Value; 2] {
        let app = format!("{group}-app-{number}");
        let (selector, missing) = match self.is_rolled {
            true => (json!({}), 1),
            false => (json!({"eks.amazonaws.com/nodegroup": group}), 5),
        };
        let meta = json!({"name": app, "namespace": "shop"});
        let labels = json!({"matchLabels": {"app": app}});
        [
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
                "spec": {"replicas": REPLICAS, "selector": labels, "template": template(&app, "1", &selector)}}),
            json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta,
                "spec": {"maxUnavailable": missing, "selector": labels}}),
        ]
    }
}

fn options() -> RunOptions {
    RunOptions { started: BEGIN + SETTLED, group_by: GroupBy::default() }
}

/// A plan that chooses nothing.
fn resting() -> Plan {
    plan(&json!({"selector": {"matchLabels": {"of": "nobody"}}}))
}

fn rolling() -> Plan {
    plan(
        &json!({"groups": ["web"], "target": {"image": "ami-new"}, "budget": {"surge": 2, "maxUnavailable": 2}}),
    )
}

fn plan(spec: &Value) -> Plan {
    let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "plan"}, "spec": spec});
    let mut plan = Plan::read(&plan).unwrap_or_else(|errors| panic!("{errors}"));
    plan.lifecycle_hooks = ["drain".into()].into();
    plan
}

/// Lets a script's words come true at once.
pub(super) fn say(world: &mut World, line: &str) {
    let script = Script::read(&format!("before: {line}")).unwrap_or_else(|flaws| panic!("{line}: {flaws}"));
    let done = happen(world, &AsGiven, &script.events[0].what);
    done.unwrap_or_else(|error| panic!("{line}: {error}"));
}

/// The name of a node.
#[must_use]
pub fn node_name(group: &str, number: usize) -> String {
    format!("{group}-{number}")
}

fn instance_id(group: &str, number: usize) -> InstanceId {
    InstanceId::from(format!("i-{group}-{number}"))
}

fn object(value: Value) -> Object {
    Object::from_json(value).expect("a valid object")
}

fn spot_event(instance: &str) -> Value {
    json!({"version": "0", "source": "aws.ec2", "detail-type": "EC2 Spot Instance Interruption Warning",
        "detail": {"instance-id": instance, "instance-action": "terminate"}})
}

/// Messages that cannot be read, in turn: cut in half, without what they are about, no JSON at all, of a wrong type.
fn unreadable(number: usize) -> String {
    let whole = spot_event(&format!("i-base-{number}")).to_string();
    let body = match number % 4 {
        0 => whole[..whole.len() / 2].to_owned(),
        1 => whole.replace("instance-id", "instance-identity"),
        2 => format!("<html>{number}</html>"),
        _ => whole.replace(&format!("\"i-base-{number}\""), "7"),
    };
    format!("queue receives {body}")
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn node(group: &str, number: usize) -> Value {
    let name = node_name(group, number);
    let zone = ZONES[number % ZONES.len()];
    let market = if group == "spot" { "SPOT" } else { "ON_DEMAND" };
    let amounts = json!({"cpu": "8", "memory": "32Gi", "pods": "58", "ephemeral-storage": "100Gi"});
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("node-{name}"), "creationTimestamp": BEGIN - Span::from_minutes(600),
            "labels": {"eks.amazonaws.com/nodegroup": group, "eks.amazonaws.com/capacityType": market,
                "kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": "m6i.2xlarge",
                "topology.kubernetes.io/zone": zone}},
        "spec": {"providerID": format!("aws:///{zone}/{}", instance_id(group, number))},
        "status": {"capacity": amounts, "allocatable": amounts, "nodeInfo": {"kubeletVersion": "v1.36.2"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastHeartbeatTime": BEGIN,
                "lastTransitionTime": BEGIN}]}})
}

fn template(app: &str, cpu: &str, selector: &Value) -> Value {
    json!({"metadata": {"labels": {"app": app}, "annotations": {"fake.kubelet/stop-ms": "5000"}},
        "spec": {"nodeSelector": selector, "terminationGracePeriodSeconds": 30,
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]}})
}

fn daemon_set() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": template("agent", "100m", &json!({}))}})
}
