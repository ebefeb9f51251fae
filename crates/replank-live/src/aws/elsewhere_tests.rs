//! The driver on somebody else's server: moto, which knows nothing of Replank.
//!
//! `cargo xtask aws --only moto` starts it, prepares an account there with boto3, runs this, and looks with boto3 at what has become of the account.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_model::object::cloud::{
    GroupId, GroupKind, GroupSize, LaunchTemplate, NodeGroup, ScalingProcess,
};
use replank_model::text::{GroupName, InstanceId, MessageId, Text};
use replank_model::time::{Span, Time};
use replank_protocol::command::{CommandKey, GroupEffect, QueueEffect};
use replank_protocol::effect::{Expected, Replacement};
use replank_protocol::lifecycle::{Action, Place};
use replank_protocol::outcome::Answer;
use serde_json::Value;

use super::answer::{list, text};
use super::client::{Caller, Manner};
use super::service::Service;
use super::statement::all_that_are_called;
use super::{Aws, AwsAsked, AwsError, AwsQueue, NodegroupAsked, NodegroupStage, UpdateOf, Write};
use crate::cloud::{Cloud, OfNode, Order};
use crate::queue::Queue as _;

/// What the script has prepared, as JSON; it names the server, too.
const ACCOUNT: &str = "REPLANK_MOTO";
/// What moto lacks: the driver says so in an error, and goes on.
const LACKING: [&str; 17] = [
    "autoscaling:CompleteLifecycleAction",
    "autoscaling:RecordLifecycleActionHeartbeat",
    "ec2:GetInstanceTypesFromInstanceRequirements",
    "eks:DescribeAddon",
    "eks:DescribeAddonVersions",
    "eks:DescribeClusterVersions",
    "eks:DescribeInsight",
    "eks:DescribeUpdate",
    "eks:ListAddons",
    "eks:ListInsights",
    "eks:ListUpdates",
    "eks:TagResource of a node group",
    "eks:UntagResource of a node group",
    "eks:UpdateAddon",
    "eks:UpdateClusterVersion",
    "eks:UpdateNodegroupVersion",
    "ssm:GetParameter of a public parameter",
];

#[test]
fn somebody_elses_server_is_understood() {
    let Some(account) = std::env::var_os(ACCOUNT) else {
        println!("not run: there is no other server: cargo xtask aws --only moto starts one");
        return;
    };
    let account = account.to_str().and_then(|text| serde_json::from_str(text).ok()).expect("it is JSON");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("it can be made");
    runtime.block_on(Elsewhere::visit(&account));
}

/// An account on another server.
struct Elsewhere<'a> {
    aws: Arc<Aws>,
    account: &'a Value,
    web: GroupId,
    lacking: Vec<String>,
    called: BTreeSet<String>,
}

impl<'a> Elsewhere<'a> {
    async fn visit(account: &'a Value) {
        let endpoint = text(account, "endpoint").map(str::to_owned);
        let aws = Aws::open(&AwsAsked { endpoint, ..AwsAsked::default() }).await.expect("it answers");
        assert_eq!(aws.account(), "123456789012");
        let web = GroupId::self_managed(&"web".into());
        let (lacking, called) = (Vec::new(), BTreeSet::new());
        let mut visit = Self { aws: Arc::new(aws), account, web, lacking, called };
        let current = visit.looks().await;
        visit.changes(current).await;
        visit.managed().await;
        visit.makes().await;
        visit.queue().await;
        visit.types().await;
        visit.roles().await;
        visit.asks_what_is_lacking().await;
        visit.lacking.sort();
        assert_eq!(visit.lacking, LACKING);
        visit.called.extend(visit.aws.caller.called());
        let mut all = all_that_are_called();
        all.extend(["sts:AssumeRole", "sts:AssumeRoleWithWebIdentity"].map(str::to_owned));
        let missing: Vec<&String> = all.difference(&visit.called).collect();
        assert!(missing.is_empty(), "never called: {missing:?}");
    }

    /// Everything about the groups that are followed; the size of the one, and the version that it makes instances from.
    async fn looks(&self) -> NodeGroup {
        let template = LaunchTemplate { image: self.of("image").into(), ..LaunchTemplate::default() };
        let base = |name: &str, own: &str, kind| NodeGroup {
            auto_scaling_group: own.into(),
            kind,
            ..NodeGroup::new(
                name.into(),
                GroupSize { min: 1, max: 4, desired: 2 },
                Vec::new(),
                template.clone(),
            )
        };
        // Facts are complete or not at all: a managed group belongs to them with its updates, which moto does not list.
        self.aws.follow(vec![base("blue", "eks-blue", GroupKind::EksManaged)]);
        let incomplete = self.aws.observe(&self.nodes()).await.expect_err("its updates are lacking");
        assert!(incomplete.contains("eks:ListUpdates"), "{incomplete}");
        self.aws.follow(vec![base("web", "web", GroupKind::SelfManaged)]);
        let observed = self.aws.observe(&self.nodes()).await.expect("everything can be read");
        let names: Vec<&str> = observed.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["web"]);
        let web = &observed.groups[0];
        assert_eq!(&*web.current.id, self.of("template"));
        assert_eq!(web.zones.len(), 2, "{:?}", web.zones);
        assert_eq!(web.hooks.len(), 1, "{:?}", web.hooks);
        let ids: Vec<&str> = observed.instances.keys().map(InstanceId::as_str).collect();
        assert_eq!(ids.len(), 2, "{ids:?}");
        let groups: Vec<(&str, Span)> =
            web.target_groups.iter().map(|one| (&*one.arn, one.deregistration_delay)).collect();
        assert_eq!(groups, [(self.of("target group"), Span::from_secs(120))]);
        for instance in observed.instances.values() {
            let own: Vec<&str> = instance.targets.iter().map(|target| &*target.group).collect();
            assert_eq!(own, [self.of("target group")], "{:?}", instance.targets);
        }
        for id in observed.instances.keys() {
            let state = Cloud::state(&*self.aws, id).await.expect("EC2 knows it");
            assert!(state.is_some(), "{id}");
        }
        web.clone()
    }

    /// Each effect on a self-managed group, and the same once more: the second time there is nothing to do.
    async fn changes(&mut self, web: NodeGroup) {
        let (from, to) = (web.size, GroupSize { max: 5, desired: 3, ..web.size });
        let group = self.web.clone();
        self.done(&GroupEffect::Resize { group: group.clone(), from, to }).await;
        let other = GroupSize { max: 9, ..to };
        let refused = self.act(&GroupEffect::Resize { group: group.clone(), from: other, to: from }).await;
        assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
        let process = ScalingProcess::AzRebalance;
        for is_active in [false, true, false] {
            self.done(&GroupEffect::SetProcess { group: group.clone(), process, is_active }).await;
        }
        for key in ["replank.dev/one", "replank.dev/two"] {
            let (key, value) = (Text::from(key), Text::from("a=1,b=2"));
            self.done(&GroupEffect::Tag { group: group.clone(), key, from: None, value }).await;
        }
        self.done(&GroupEffect::Untag { group: group.clone(), key: "replank.dev/two".into() }).await;
        let to =
            Arc::new(LaunchTemplate { image: self.of("other image").into(), ..LaunchTemplate::default() });
        let effect = GroupEffect::SetTemplate { group, from: web.current.clone(), to, follow: None };
        let answer = self.act(&effect).await;
        assert_eq!(answer, Answer::Done, "{effect:?}");
        let seen = self.aws.observe(&BTreeMap::new()).await.expect("everything can be read");
        assert_eq!(seen.groups[0].current.version, web.current.version + 1);
        let ids: Vec<InstanceId> =
            seen.instances.values().filter(|one| one.group == web.name).map(|one| one.id.clone()).collect();
        assert_eq!(ids.len(), 3);
        for is_protected in [true, false] {
            let (instance, group) = (ids[0].clone(), self.web.clone());
            self.done(&GroupEffect::ProtectInstance { instance, group, is_protected }).await;
            let seen = self.aws.observe(&BTreeMap::new()).await.expect("everything can be read");
            assert_eq!(seen.instances[&ids[0]].is_protected, is_protected);
        }
        // The first goes and comes back, the second goes for good.
        self.terminates(&ids[0], Replacement::Launch).await;
        self.terminates(&ids[1], Replacement::Decrement { keep: 2 }).await;
        let less = self.terminate(&ids[2], Replacement::Decrement { keep: 2 }).await;
        assert!(matches!(less, Answer::Refused(_)), "the group wants no more than that: {less:?}");
        let seen = self.aws.observe(&BTreeMap::new()).await.expect("everything can be read");
        assert_eq!(seen.groups[0].size.desired, 2);
        // A look asks for them only where instances are lacking.
        let failed = self.aws.failed_launches(&seen.groups[0]).await.expect("activities can be read");
        assert!(failed.is_empty(), "{failed:?}");
        let tagged = self.aws.tagged(&[vec![("replank.dev/one".into(), None)]]).await;
        assert_eq!(
            tagged.expect("tags can be asked for").into_iter().collect::<Vec<_>>(),
            [Text::from("web")]
        );
    }

    /// What is changed of a managed group: its sizes, and tags.
    async fn managed(&mut self) {
        let cluster = self.of("cluster");
        assert_eq!(self.aws.clusters().await.expect("they can be listed"), [cluster]);
        assert_eq!(self.aws.cluster(cluster).await.expect("it is there")["cluster"]["name"], cluster);
        assert_eq!(self.aws.nodegroups(cluster).await.expect("they can be listed"), ["blue"]);
        let behind = self.aws.behind_nodegroups(&["blue"]).await.expect("tags can be asked for");
        assert_eq!(behind.into_iter().collect::<Vec<_>>(), [Text::from("eks-blue")]);
        let subnets: Vec<String> =
            list(&self.account["subnets"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let shown = self.aws.subnets(&subnets).await.expect("they are there");
        assert_eq!(list(&shown["Subnets"]).len(), 2, "{shown}");
        let group = GroupId {
            node_group: "blue".into(),
            auto_scaling_group: "eks-blue".into(),
            kind: GroupKind::EksManaged,
        };
        let (key, value) = ("replank.dev/one".into(), "1".into());
        let answer = self.act(&GroupEffect::Tag { group: group.clone(), key, from: None, value }).await;
        self.lacks_answer("eks:TagResource of a node group", &answer);
        let untag = GroupEffect::Untag { group: group.clone(), key: "replank.dev/old".into() };
        let answer = self.act(&untag).await;
        self.lacks_answer("eks:UntagResource of a node group", &answer);
        // Auto Scaling and EKS are two accounts of one group here, for moto keeps none behind a managed one.
        let from = GroupSize { min: 1, max: 2, desired: 1 };
        let to = GroupSize { max: 3, desired: 2, ..from };
        self.done(&GroupEffect::UpdateNodegroupConfig { group: group.clone(), from, to }).await;
        let template = Arc::new(LaunchTemplate::default());
        let effect = GroupEffect::UpdateNodegroupVersion {
            group,
            from: replank_model::object::cloud::LaunchTemplateRef { id: "lt-1".into(), version: 1 },
            to: template,
            force: false,
        };
        let answer = self.act(&effect).await;
        self.lacks_answer("eks:UpdateNodegroupVersion", &answer);
    }

    /// A group is made like another; the same request once more, and a group of that name that is there already, make no second one.
    async fn makes(&self) {
        let (cluster, aws) = (self.of("cluster"), &self.aws);
        let first = aws.described_nodegroup(cluster, "blue").await.expect("it is there");
        let first = &first["nodegroup"];
        let input = serde_json::json!({"clusterName": cluster, "nodegroupName": "green", "subnets": first["subnets"], "nodeRole": first["nodeRole"],
            "scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 0}, "labels": {"tier": "web"}, "clientRequestToken": "replank-green"});
        assert_eq!(aws.nodegroup_stage(cluster, "green").await.expect("it answers"), NodegroupStage::Absent);
        let asked = aws.create_nodegroup(&input, &|| true).await.expect("it is made");
        assert_eq!(asked, NodegroupAsked::Begun);
        // moto makes no Auto Scaling group behind it: it is never seen to be there.
        assert_eq!(
            aws.nodegroup_stage(cluster, "green").await.expect("it answers"),
            NodegroupStage::Creating
        );
        let again = aws.create_nodegroup(&input, &|| true).await.expect("it is no error");
        assert_eq!(again, NodegroupAsked::IsThere);
        println!("done      CreateNodegroup");
    }

    /// A message is received, held and deleted.
    async fn queue(&self) {
        let wrong = AwsQueue::open(Arc::clone(&self.aws), &format!("{}-x", self.of("queue"))).await;
        assert!(matches!(wrong, Err(AwsError::Queue { .. })), "{wrong:?}");
        let queue = AwsQueue::open(Arc::clone(&self.aws), self.of("queue")).await.expect("it is there");
        assert!(queue.has_dead_letters());
        let received = queue.receive().await.expect("it is answered");
        assert_eq!(received.len(), 1, "{received:?}");
        let one = &received[0];
        assert!(one.body.contains("EC2 Spot Instance Interruption Warning"), "{}", one.body);
        assert_eq!(one.count, 1);
        let (message, receipt): (MessageId, Text) = (one.id.clone(), one.receipt.clone());
        let now = one.sent;
        let until = now + Span::from_secs(60);
        let hold = QueueEffect::HoldMessage { message: message.clone(), receipt: receipt.clone(), until };
        let delete = QueueEffect::DeleteMessage { message, receipt };
        for effect in [hold, delete] {
            let key = CommandKey("queue".into());
            let order =
                Order { deadline: Time::from_millis(4_102_444_800_000), key: &key, may_send: &|| true };
            assert_eq!(queue.act(&effect, now, order).await, Answer::Done, "{effect:?}");
        }
    }

    /// What EC2 says of instance types, and which of them a group may launch.
    async fn types(&mut self) {
        let asked = ["m6i.large", "x9.nothing"].map(Text::from).into();
        let told = self.aws.instance_types(&asked).await.expect("it answers");
        let told = list(&told["InstanceTypes"]);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0]["VCpuInfo"]["DefaultVCpus"], 2, "{told:?}");
        let spec = serde_json::json!({"LaunchTemplateId": self.of("template"), "Version": "1"});
        let launches = self.aws.types_of(&serde_json::json!({ "LaunchTemplate": spec })).await;
        assert_eq!(launches.expect("it answers"), [Text::from("m6i.large")]);
        let required = serde_json::json!({"VCpuCount": {"Min": "2"}, "MemoryMiB": {"Min": "4096"}});
        let policy = serde_json::json!({"LaunchTemplateSpecification": spec, "Overrides": [{"InstanceRequirements": required}]});
        let group = serde_json::json!({"MixedInstancesPolicy": {"LaunchTemplate": policy}});
        let meet = self.aws.types_of(&group).await;
        self.lacks("ec2:GetInstanceTypesFromInstanceRequirements", meet);
    }

    /// Roles are assumed by a profile's keys, and by a web identity.
    async fn roles(&mut self) {
        let token = std::env::temp_dir().join(format!("replank-elsewhere-{}", std::process::id()));
        std::fs::write(&token, "token").expect("it can be written");
        let role = "role_arn = arn:aws:iam::123456789012:role/ops";
        let config = format!(
            "[profile base]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\n[profile ops]\n{role}\nsource_profile = base\n[profile pod]\n{role}\nweb_identity_token_file = {}\n",
            token.display()
        );
        let endpoint = text(self.account, "endpoint").map(str::to_owned);
        let asked = AwsAsked { endpoint, ..AwsAsked::default() };
        for profile in ["ops", "pod"] {
            let caller = Caller::of_profile(&asked, profile, &config).expect("it has a region");
            let call = (Service::Sts, "GetCallerIdentity");
            let who = caller.query(call, &Value::Null, Manner::Read).await.expect("it is a role");
            let arn = text(&who, "Arn").unwrap_or_default();
            assert!(arn.contains(":assumed-role/ops/replank"), "{profile}: {who}");
            self.called.extend(caller.called());
        }
        drop(std::fs::remove_file(&token));
    }

    /// Calls that moto does not know.
    async fn asks_what_is_lacking(&mut self) {
        let cluster = self.of("cluster");
        let aws = Arc::clone(&self.aws);
        let write = Write { token: "t", is_in_time: &|| true };
        self.lacks("eks:DescribeClusterVersions", aws.cluster_versions().await);
        self.lacks("eks:ListInsights", aws.insights(cluster).await);
        self.lacks("eks:DescribeInsight", aws.insight(cluster, "i").await);
        self.lacks("eks:ListAddons", aws.addons(cluster).await);
        self.lacks("eks:DescribeAddon", aws.addon(cluster, "coredns").await);
        self.lacks("eks:DescribeAddonVersions", aws.addon_versions("coredns").await);
        self.lacks("eks:ListUpdates", aws.updates(cluster, UpdateOf::Cluster).await);
        self.lacks("eks:DescribeUpdate", aws.update(cluster, "u", UpdateOf::Cluster).await);
        self.lacks(
            "eks:UpdateClusterVersion",
            aws.update_cluster_version(cluster, ("1.36", false), write).await,
        );
        let write = Write { token: "t", is_in_time: &|| true };
        self.lacks("eks:UpdateAddon", aws.update_addon(cluster, ("coredns", "v1"), "NONE", write).await);
        let name =
            "/aws/service/eks/optimized-ami/1.35/amazon-linux-2023/x86_64/standard/recommended/image_id";
        self.lacks("ssm:GetParameter of a public parameter", aws.caller.parameter(name).await);
        assert_eq!(aws.caller.parameter("/own/image").await.expect("it is there"), self.of("other image"));
        let action = Action {
            group: GroupName::from("web"),
            hook: "drain".into(),
            instance: "i-1".into(),
            token: None,
            to: Place::Ec2,
        };
        let complete = GroupEffect::CompleteAction { action: action.clone(), expected: None };
        let answer = self.act(&complete).await;
        self.lacks_answer("autoscaling:CompleteLifecycleAction", &answer);
        let answer = self.act(&GroupEffect::Heartbeat { action }).await;
        self.lacks_answer("autoscaling:RecordLifecycleActionHeartbeat", &answer);
    }

    fn of(&self, name: &str) -> &'a str {
        text(self.account, name).unwrap_or_else(|| panic!("the account has no {name}: {}", self.account))
    }

    fn nodes(&self) -> BTreeMap<InstanceId, OfNode> {
        let ids = list(&self.account["instances"]).iter().filter_map(Value::as_str);
        let node = |id: &str| OfNode { name: format!("node-{id}").into(), kubelet: "v1.35.0".into() };
        ids.map(|id| (InstanceId::from(id), node(id))).collect()
    }

    async fn act(&self, effect: &GroupEffect) -> Answer {
        let key = CommandKey(Text::from(format!("{effect:?}")));
        self.aws
            .act(
                effect,
                Order { deadline: Time::from_millis(4_102_444_800_000), key: &key, may_send: &|| true },
            )
            .await
    }

    async fn done(&self, effect: &GroupEffect) {
        for _ in 0..2 {
            assert_eq!(self.act(effect).await, Answer::Done, "{effect:?}");
        }
        println!("done      {effect:?}");
    }

    async fn terminate(&self, instance: &InstanceId, replacement: Replacement) -> Answer {
        let (instance, group) = (instance.clone(), self.web.node_group.clone());
        self.act(&GroupEffect::Terminate { instance, group, expected: Expected::Unregistered, replacement })
            .await
    }

    async fn terminates(&self, instance: &InstanceId, replacement: Replacement) {
        assert_eq!(self.terminate(instance, replacement).await, Answer::Done, "{instance} {replacement:?}");
        println!("done      Terminate {instance} {replacement:?}");
        // It is in no group any more, or on its way out of it.
        let again = self.terminate(instance, replacement).await;
        assert!(matches!(again, Answer::Done | Answer::Refused(_)), "{again:?}");
    }

    fn lacks<T: std::fmt::Debug>(&mut self, call: &str, answer: Result<T, AwsError>) {
        match answer {
            Ok(answer) => println!("answered  {call}: {answer:?}"),
            Err(error) => {
                println!("lacking   {call}: {error}");
                self.lacking.push(call.to_owned());
            }
        }
    }

    fn lacks_answer(&mut self, call: &str, answer: &Answer) {
        match answer {
            Answer::Done => println!("answered  {call}"),
            Answer::Refused(_) | Answer::Unknown { .. } => {
                println!("lacking   {call}: {answer:?}");
                self.lacking.push(call.to_owned());
            }
        }
    }
}
