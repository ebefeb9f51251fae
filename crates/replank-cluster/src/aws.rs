//! AWS beside Kubernetes: an account whose machines are the world's.

use std::pin::Pin;
use std::sync::Arc;

use replank_api::{OutsideTokens, Owner, Pace, TokenSigner, User};
use replank_aws::{
    Account, Answered, Backend, Call, Caller, Gate, InstanceType, Machine, Region, WebIdentity,
};
use replank_facts::cluster_name::cluster_name;
use replank_facts::instance_types::{Arch, all, instance_type};
use replank_model::delta::Delta;
use replank_model::object::cloud::{GroupSize, Instance, LaunchTemplate, NodeGroup, NodeShape, TargetGroup};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::resources::{CPU, MEMORY, PODS, Resources};
use replank_model::object::workload::{DaemonSet, Deployment};
use replank_model::object::{Kind, Object, render};
use replank_model::quantity::{Format, Quantity};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::{Refusal, Replacement};
use replank_protocol::lifecycle::Action;
use replank_sim::{NodegroupRequest, World};
use serde_json::Value;

use crate::start::Start;

/// What a node reports of its nominal memory, in hundredths: the rest is the kernel's and the firmware's.
const REPORTED: i64 = 95;

/// Passes calls to the thread that owns the world.
#[derive(Clone, Debug)]
pub struct AwsBackend {
    /// The thread.
    pub owner: Owner,
    /// What the cluster signs tokens of service accounts with.
    pub signer: Arc<TokenSigner>,
}

impl Backend for AwsBackend {
    fn web_identity(&self, token: &str) -> Option<WebIdentity> {
        let claims = self.signer.verify(token)?;
        let text = |name: &str| claims[name].as_str().map(str::to_owned);
        let audiences = claims["aud"].as_array().into_iter().flatten();
        Some(WebIdentity {
            issuer: text("iss")?,
            subject: text("sub")?,
            audiences: audiences.filter_map(|one| one.as_str().map(str::to_owned)).collect(),
            until: claims["exp"].as_i64()?,
            shown: Pace::outside().as_millis() / 1000,
        })
    }

    fn call(&self, call: Call) -> Pin<Box<dyn Future<Output = Option<Answered>> + Send + '_>> {
        Box::pin(async move {
            let answer = self.owner.beside(Box::new(call)).await?;
            answer.downcast::<Answered>().ok().map(|answered| *answered)
        })
    }
}

/// Tokens that `aws eks get-token` makes, as EKS takes them: whoever the account knows is the cluster's administrator. Access entries are not asked.
#[derive(Debug)]
pub struct IamTokens {
    /// What the account knows.
    pub gate: Gate,
    /// The account's number.
    pub account: String,
    /// The cluster that tokens have to be made for.
    pub cluster: String,
}

impl OutsideTokens for IamTokens {
    fn user(&self, token: &str) -> Option<User> {
        let caller = self.gate.of_kubernetes(token, &self.cluster, Pace::outside()).ok()?;
        let (arn, id) = (caller.arn(&self.account), caller.id());
        let (principal, session) = id.split_once(':').unwrap_or((&id, ""));
        // Names as aws-iam-authenticator gives them (`pkg/server`).
        let canonical = match &caller {
            Caller::Role { role, .. } => format!("arn:aws:iam::{}:role/{role}", self.account),
            Caller::User | Caller::Web(_) => arn.clone(),
        };
        let extra = [
            ("arn", &*arn),
            ("canonicalArn", &canonical),
            ("principalId", principal),
            ("sessionName", session),
        ];
        Some(User {
            name: arn.clone(),
            uid: format!("aws-iam-authenticator:{}:{principal}", self.account),
            groups: vec!["system:masters".to_owned(), "system:authenticated".to_owned()],
            extra: extra.map(|(key, value)| (key.to_owned(), vec![value.to_owned()])).into(),
        })
    }
}

/// The region and the cluster's name that nodes tell, with what stands for them where they tell none.
#[must_use]
pub fn places(start: &Start) -> (String, String) {
    let (region, name) = match start {
        Start::New(view) | Start::Objects(view) => {
            (view.nodes.sorted().iter().find_map(|(_, node)| region_of(node)), cluster_name(view))
        }
        Start::Kept(kept) => {
            let nodes = kept.objects.iter().filter(|object| object.kind() == Kind::Node);
            let view: View = nodes.cloned().map(Delta::Put).collect();
            (view.nodes.sorted().iter().find_map(|(_, node)| region_of(node)), cluster_name(&view))
        }
    };
    let or = |known: Option<Text>, default: &str| {
        known.map_or_else(|| default.to_owned(), |known| known.to_string())
    };
    (or(region, "eu-west-1"), or(name, "rehearsal"))
}

fn region_of(node: &Node) -> Option<Text> {
    node.meta.labels.get("topology.kubernetes.io/region").cloned()
}

/// Answers a call, and hands on what the world has told.
pub(crate) fn handle(world: &mut World, account: &mut Account, call: &Call) -> Answered {
    let answered = account.answer(&mut Machines(world), call);
    hear(world, account);
    answered
}

/// Hands on what the world has told, and follows what has happened in it.
pub(crate) fn hear(world: &mut World, account: &mut Account) {
    let events = world.take_events();
    if !events.is_empty() {
        account.hear(&Machines(world), events);
        account.settle(&mut Machines(world));
    }
}

/// Workloads of add-ons in kube-system, as EKS names them.
const WORKLOADS: [(&str, &str, &str); 5] = [
    ("vpc-cni", "DaemonSet", "aws-node"),
    ("kube-proxy", "DaemonSet", "kube-proxy"),
    ("coredns", "Deployment", "coredns"),
    ("eks-pod-identity-agent", "DaemonSet", "eks-pod-identity-agent"),
    ("metrics-server", "Deployment", "metrics-server"),
];

/// The workload of an add-on.
fn workload(view: &View, addon: &str) -> Option<Object> {
    let (_, kind, name) = WORKLOADS.iter().find(|(known, ..)| *known == addon)?;
    let key = Key::new("kube-system", *name);
    view.object(if *kind == "DaemonSet" { Kind::DaemonSet } else { Kind::Deployment }, &key)
}

/// The world, as an account sees it.
struct Machines<'w>(&'w mut World);

impl Region for Machines<'_> {
    fn now(&self) -> Time {
        self.0.now()
    }

    fn groups(&self) -> Vec<Arc<NodeGroup>> {
        self.0.view().groups().values().cloned().collect()
    }

    fn instances(&self) -> Vec<Arc<Instance>> {
        self.0.view().instances().values().cloned().collect()
    }

    fn machine(&self, instance: &Instance) -> Machine {
        let node = instance.node.as_ref().and_then(|name| self.0.view().node(name));
        let shown = node.map(|node| render(&Object::Node(node.clone())));
        let addresses = shown.as_ref().and_then(|shown| shown["status"]["addresses"].as_array());
        let internal = addresses.into_iter().flatten().find(|address| address["type"] == "InternalIP");
        Machine {
            instance_type: self.0.instance_type(instance),
            address: internal.and_then(|address| address["address"].as_str()).map(Text::from),
            is_ready: node.is_some_and(|node| node.is_ready()),
        }
    }

    fn instance_types(&self) -> Vec<InstanceType> {
        let shown = |one: &replank_facts::instance_types::InstanceType| InstanceType {
            name: Text::from(one.name),
            arch: match one.arch {
                Arch::Amd64 => "x86_64",
                Arch::Arm64 => "arm64",
            },
            vcpu: one.vcpu,
            memory_mib: one.memory_mib,
        };
        all().iter().map(shown).collect()
    }

    fn shape(&self, name: &str) -> Option<NodeShape> {
        // What nodes of the type really offer is believed before what EKS's defaults say.
        let groups = self.0.view().groups();
        let known = groups
            .values()
            .flat_map(|group| group.templates.values())
            .flat_map(|template| &template.profile.shapes);
        if let Some(known) = known.into_iter().find(|shape| &*shape.instance_type == name) {
            return Some(NodeShape { weight: 1, ..known.clone() });
        }
        let one = instance_type(name)?;
        let mut capacity = Resources::default();
        capacity.set(CPU, Quantity::from_units(one.vcpu, Format::DecimalSi));
        capacity
            .set(MEMORY, Quantity::from_units(one.memory_mib * REPORTED / 100 * (1 << 20), Format::BinarySi));
        capacity.set(PODS, Quantity::from_units(one.pods_max, Format::DecimalSi));
        let mut allocatable = one.allocatable(&capacity);
        for (resources, gib) in [(&mut capacity, 20), (&mut allocatable, 17)] {
            resources.set("ephemeral-storage", Quantity::from_units(gib << 30, Format::BinarySi));
        }
        Some(NodeShape {
            instance_type: Text::from(name),
            weight: 1,
            labels: [(Text::from("node.kubernetes.io/instance-type"), Text::from(name))]
                .into_iter()
                .collect(),
            capacity,
            allocatable,
            csi_drivers: Vec::new(),
        })
    }

    fn put_group(&mut self, group: NodeGroup) {
        self.0.cloud(|cloud| cloud.put_group(group));
    }

    fn remove_group(&mut self, group: &GroupName) {
        self.0.cloud(|cloud| cloud.remove_group(group));
    }

    fn put_instance(&mut self, instance: Instance) {
        self.0.cloud(|cloud| cloud.put_instance(instance));
    }

    fn put_target(&mut self, instance: &InstanceId, target_group: &TargetGroup, is_registered: bool) {
        self.0.cloud(|cloud| cloud.put_target(instance, target_group, is_registered));
    }

    fn terminate(&mut self, instance: &InstanceId, replacement: Replacement) -> Result<(), Refusal> {
        self.0.cloud(|cloud| cloud.terminate_instance(instance, replacement))
    }

    fn end(&mut self, instance: &InstanceId) {
        self.0.cloud(|cloud| cloud.end_instance(instance));
    }

    fn complete(&mut self, action: &Action) -> Result<(), Refusal> {
        self.0.cloud(|cloud| cloud.complete_lifecycle_action(action))
    }

    fn heartbeat(&mut self, action: &Action) -> Result<(), Refusal> {
        self.0.cloud(|cloud| cloud.record_lifecycle_action_heartbeat(action))
    }

    fn update_nodegroup_version(
        &mut self,
        group: &GroupName,
        token: &Text,
        template: &LaunchTemplate,
        force: bool,
    ) -> Result<(), Refusal> {
        let asked = NodegroupRequest { group, token };
        self.0.cloud(|cloud| cloud.update_nodegroup_version(&asked, template, force))
    }

    fn update_nodegroup_config(
        &mut self,
        group: &GroupName,
        token: &Text,
        to: GroupSize,
    ) -> Result<(), Refusal> {
        let asked = NodegroupRequest { group, token };
        self.0.cloud(|cloud| cloud.update_nodegroup_config(&asked, to))
    }

    fn workload(&self, addon: &str) -> Option<Value> {
        let shown = render(&workload(self.0.view(), addon)?);
        shown.pointer("/spec/template").cloned()
    }

    fn put_workload(&mut self, addon: &str, template: &Value) {
        let Some(object) = workload(self.0.view(), addon) else { return };
        let (key, mut shown) = (object.meta().key(), render(&object));
        shown["spec"]["template"] = template.clone();
        let changed = Object::from_json(shown);
        self.0.request(|api| {
            // Whoever deletes the workload at this moment has the last word.
            match changed {
                Ok(Object::Deployment(own)) => {
                    api.modify::<Deployment>(&key, |one| one.spec = own.spec.clone()).map(drop).ok();
                }
                Ok(Object::DaemonSet(own)) => {
                    api.modify::<DaemonSet>(&key, |one| one.spec = own.spec.clone()).map(drop).ok();
                }
                Ok(_) | Err(_) => {}
            }
        });
    }

    fn set_max_unavailable(&mut self, group: &GroupName, nodes: u32) {
        self.0.cloud(|cloud| cloud.set_max_unavailable(group, nodes));
    }
}
