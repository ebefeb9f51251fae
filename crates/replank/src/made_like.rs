//! A managed node group made like another: what EKS is asked for, the same as code, and in what two groups differ.
//!
//! With `target.group` nodes move into a group that has to be there. Where it is not, it is read off what DescribeNodegroup says of the group that they leave: printed, to be made by its owner, or made by `roll
//! --make-group` before the run begins. Which members CreateNodegroup takes, and which exclude each other: EKS API reference, `CreateNodegroup`, and EKS user guide, "Customize managed nodes with launch templates".

use std::collections::BTreeSet;

use replank_facts::groups::LearntGroup;
use replank_facts::plan::{ChosenBy, Plan, TaintChange, Target};
use replank_facts::release::ReleaseVersion;
use replank_live::aws::request_token;
use replank_model::object::affinity::TaintEffect;
use replank_model::text::Text;
use serde_json::{Map, Value, json};

use crate::printer::Printer;
use crate::setup::block;

/// Members that are taken over as they are.
const SAME: [&str; 5] = ["subnets", "nodeRole", "capacityType", "updateConfig", "nodeRepairConfig"];
/// Members that say nothing where a launch template is used: what they say stands there.
const WITHOUT_TEMPLATE: [&str; 2] = ["diskSize", "remoteAccess"];
/// Tags of others: AWS's own, EKS's, and those of runs.
const FOREIGN_TAGS: [&str; 3] = ["aws:", "eks:", "replank.dev/"];
/// The kind of an image that a launch template names.
const CUSTOM: &str = "CUSTOM";

/// A group that is to be made.
pub(crate) struct Made {
    name: String,
    first: String,
    request: Value,
}

impl Made {
    /// A group like one that DescribeNodegroup has described, with what a plan's target says besides. It begins empty: the run raises it.
    pub(crate) fn like(first: &Value, name: &str, target: &Target) -> Self {
        let mut request = Map::new();
        let mut put = |member: &str, value: Value| {
            if !value.is_null() {
                request.insert(member.to_owned(), value);
            }
        };
        put("clusterName", first["clusterName"].clone());
        put("nodegroupName", name.into());
        put(
            "scalingConfig",
            json!({"minSize": 0, "maxSize": first["scalingConfig"]["maxSize"], "desiredSize": 0}),
        );
        SAME.iter().for_each(|member| put(member, first[*member].clone()));
        let template = &first["launchTemplate"];
        match template["id"].as_str() {
            None => WITHOUT_TEMPLATE.iter().for_each(|member| put(member, first[*member].clone())),
            Some(id) => put("launchTemplate", json!({"id": id, "version": template["version"]})),
        }
        if first["instanceTypes"].as_array().is_some_and(|types| !types.is_empty()) {
            put("instanceTypes", first["instanceTypes"].clone());
        }
        // An image of a launch template excludes all three.
        if first["amiType"] != CUSTOM {
            put("amiType", first["amiType"].clone());
            let wanted = target.kubernetes_version.as_ref().map(ToString::to_string);
            let other = wanted.map(|version| minor(&version)).filter(|wanted| first["version"] != **wanted);
            match (&target.release_version, other) {
                (Some(release), _) => {
                    put("version", release.minor().into());
                    put("releaseVersion", release.to_string().into());
                }
                // The newest release of that version.
                (None, Some(other)) => put("version", other.into()),
                (None, None) => {
                    put("version", first["version"].clone());
                    put("releaseVersion", first["releaseVersion"].clone());
                }
            }
        }
        put("labels", labels(&first["labels"], target));
        put("taints", taints(&first["taints"], target));
        put("tags", own_tags(&first["tags"]));
        let first = text(first, "nodegroupName");
        let token = request_token(&format!("create-nodegroup {}", Value::Object(request.clone())));
        request.insert("clientRequestToken".to_owned(), token.into());
        Self { name: name.to_owned(), first, request: Value::Object(request) }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The group that it is like.
    pub(crate) fn first(&self) -> &str {
        &self.first
    }

    /// The cluster that it belongs to.
    pub(crate) fn cluster(&self) -> &str {
        self.request["clusterName"].as_str().unwrap_or_default()
    }

    /// The call's input.
    pub(crate) fn input(&self) -> &Value {
        &self.request
    }

    /// What EKS and Auto Scaling will say of it, as far as it is known before: the Auto Scaling group that EKS makes is taken to be like that of the first one.
    pub(crate) fn assumed(&self, answers: &[Value]) -> Value {
        let mut group = self.request.clone();
        let own = format!("eks-{}", self.name);
        if let Some(members) = group.as_object_mut() {
            members.remove("clientRequestToken");
        }
        group["resources"] = json!({"autoScalingGroups": [{ "name": own }]});
        let first = described(answers).find(|one| one["nodegroupName"] == *self.first);
        let behind = first.map_or(&Value::Null, |first| &first["resources"]["autoScalingGroups"][0]["name"]);
        let mut shown =
            flat(answers).flat_map(|one| one["AutoScalingGroups"].as_array().into_iter().flatten());
        let Some(behind) = shown.find(|one| one["AutoScalingGroupName"] == *behind) else {
            return json!([{ "nodegroup": group }]);
        };
        if group["instanceTypes"].is_null() {
            // Its launch template names them.
            let types = behind["Instances"].as_array().into_iter().flatten();
            let types: BTreeSet<&str> = types.filter_map(|one| one["InstanceType"].as_str()).collect();
            group["instanceTypes"] = json!(types);
        }
        let sizes = &group["scalingConfig"];
        let tag = |key: &str, value: &str| json!({"Key": key, "Value": value});
        let made = json!({"AutoScalingGroupName": own, "AvailabilityZones": behind["AvailabilityZones"], "Instances": [],
            "MinSize": sizes["minSize"], "MaxSize": sizes["maxSize"], "DesiredCapacity": sizes["desiredSize"],
            "TerminationPolicies": behind["TerminationPolicies"], "SuspendedProcesses": [],
            "Tags": [tag("eks:cluster-name", self.cluster()), tag("eks:nodegroup-name", &self.name)]});
        json!([{ "nodegroup": group }, {"AutoScalingGroups": [made]}])
    }

    /// The call, to be pasted: a second time it is the same request.
    pub(crate) fn command(&self) -> String {
        let cluster = text(&self.request, "clusterName");
        let input = self.request.to_string().replace('\'', r"'\''");
        format!(
            "aws eks create-nodegroup --cli-input-json '{input}'\naws eks wait nodegroup-active --cluster-name {cluster} --nodegroup-name {}",
            self.name
        )
    }

    /// The same as a resource of Terraform.
    pub(crate) fn terraform(&self) -> String {
        let of = |member: &str| self.request[member].clone();
        let mut own = vec![
            ("cluster_name", of("clusterName")),
            ("node_group_name", of("nodegroupName")),
            ("node_role_arn", of("nodeRole")),
            ("subnet_ids", of("subnets")),
            ("capacity_type", of("capacityType")),
            ("instance_types", of("instanceTypes")),
            ("disk_size", of("diskSize")),
            ("ami_type", of("amiType")),
            ("version", of("version")),
            ("release_version", of("releaseVersion")),
            ("labels", of("labels")),
            ("tags", of("tags")),
        ];
        own.retain(|(_, value)| !value.is_null());
        let mut inner = Vec::new();
        let sizes = &self.request["scalingConfig"];
        inner.push((
            "scaling_config",
            vec![
                ("min_size", sizes["minSize"].clone()),
                ("max_size", sizes["maxSize"].clone()),
                ("desired_size", sizes["desiredSize"].clone()),
            ],
        ));
        let update = &self.request["updateConfig"];
        inner.push((
            "update_config",
            vec![
                ("max_unavailable", update["maxUnavailable"].clone()),
                ("max_unavailable_percentage", update["maxUnavailablePercentage"].clone()),
                ("update_strategy", update["updateStrategy"].clone()),
            ],
        ));
        let template = &self.request["launchTemplate"];
        inner.push((
            "launch_template",
            vec![("id", template["id"].clone()), ("version", template["version"].clone())],
        ));
        let access = &self.request["remoteAccess"];
        inner.push((
            "remote_access",
            vec![
                ("ec2_ssh_key", access["ec2SshKey"].clone()),
                ("source_security_group_ids", access["sourceSecurityGroups"].clone()),
            ],
        ));
        inner.push((
            "node_repair_config",
            vec![("enabled", self.request["nodeRepairConfig"]["enabled"].clone())],
        ));
        for taint in self.request["taints"].as_array().into_iter().flatten() {
            inner.push((
                "taint",
                vec![
                    ("key", taint["key"].clone()),
                    ("value", taint["value"].clone()),
                    ("effect", taint["effect"].clone()),
                ],
            ));
        }
        let mut out = String::new();
        block(&mut out, &["resource", "aws_eks_node_group", &word(&self.name)], &own);
        let mut out = out.trim().trim_end_matches('}').to_owned();
        for (name, mut members) in inner {
            members.retain(|(_, value)| !value.is_null());
            if members.is_empty() {
                continue;
            }
            let mut one = String::new();
            block(&mut one, &[name], &members);
            out.push('\n');
            one.trim().lines().for_each(|line| out += &format!("  {line}\n"));
        }
        // Whoever applies the code during a run would set the size back.
        out += "\n  lifecycle {\n    ignore_changes = [scaling_config[0].desired_size, scaling_config[0].min_size]\n  }\n}\n";
        out
    }

    /// What to do, with both.
    pub(crate) fn words(&self) -> String {
        format!(
            "make node group {0} like {1}: `replank roll --make-group` makes it before the run begins; or paste this:\n{2}or, in Terraform:\n{3}{4}{ACCESS}",
            self.name,
            self.first,
            pasted(&self.command()),
            pasted(&self.terraform()),
            self.custom()
        )
    }

    /// What a run that makes it will ask for.
    pub(crate) fn told(&self) -> String {
        let Self { name, first, .. } = self;
        format!(
            "node group {name} does not exist: before the run begins it is made like {first}, without nodes, by\n{}{}",
            pasted(&self.command()),
            self.custom()
        )
    }

    fn custom(&self) -> String {
        let is_custom = self.request["launchTemplate"].is_object() && self.request.get("amiType").is_none();
        match is_custom {
            true => format!(
                "its launch template names the image: to have another one, give the number of a version of it that names that image (the version of {} is shown)\n",
                self.first
            ),
            false => String::new(),
        }
    }
}

fn pasted(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// How a group is deleted.
pub(crate) fn deletion(cluster: &str, name: &str) -> String {
    format!("aws eks delete-nodegroup --cluster-name {cluster} --nodegroup-name {name}")
}

/// Who lets the nodes of a new group in.
const ACCESS: &str = "access: EKS adds the node role's access entry, or its entry in aws-auth, when it makes the group; when the old group is deleted, it takes the role out of aws-auth, and self-managed \
     nodes that share the role become NotReady";

fn text(value: &Value, member: &str) -> String {
    value[member].as_str().unwrap_or_default().to_owned()
}

/// `1.36` of `1.36.2`.
fn minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// A name as Terraform takes one for a resource.
fn word(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
        .collect()
}

fn labels(first: &Value, target: &Target) -> Value {
    let mut all = first.as_object().cloned().unwrap_or_default();
    for (key, value) in &target.labels {
        match value {
            Some(value) => _ = all.insert(key.to_string(), json!(&**value)),
            None => _ = all.remove(&**key),
        }
    }
    if all.is_empty() { Value::Null } else { Value::Object(all) }
}

fn taints(first: &Value, target: &Target) -> Value {
    let mut all = first.as_array().cloned().unwrap_or_default();
    for change in &target.taints {
        let (TaintChange::Set(taint) | TaintChange::Remove(taint)) = change;
        let effect = match taint.effect {
            TaintEffect::NoSchedule => "NO_SCHEDULE",
            TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
            TaintEffect::NoExecute => "NO_EXECUTE",
        };
        all.retain(|known| known["key"] != *taint.key || known["effect"] != effect);
        if let TaintChange::Set(taint) = change {
            all.push(json!({"key": &*taint.key, "value": &*taint.value, "effect": effect}));
        }
    }
    if all.is_empty() { Value::Null } else { Value::Array(all) }
}

fn own_tags(first: &Value) -> Value {
    let mut all = first.as_object().cloned().unwrap_or_default();
    all.retain(|key, _| !FOREIGN_TAGS.iter().any(|start| key.starts_with(start)));
    if all.is_empty() { Value::Null } else { Value::Object(all) }
}

/// In what a group differs from the first, field by field, as DescribeNodegroup has both; versions aside, which are what a move is for.
pub(crate) fn differences(first: &Value, other: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let mut note = |what: &str, one: String, other: String| {
        let shown = |text: String| if text.is_empty() { "none".to_owned() } else { text };
        if one != other {
            all.push(format!("{what}: {}, not {}", shown(other), shown(one)));
        }
    };
    let plain = |value: &Value| match value.as_str() {
        Some(text) => text.to_owned(),
        None if value.is_null() => String::new(),
        None => value.to_string(),
    };
    let sorted = |value: &Value| {
        let all: BTreeSet<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    };
    note("subnets", sorted(&first["subnets"]), sorted(&other["subnets"]));
    for (what, member) in
        [("node role", "nodeRole"), ("capacity type", "capacityType"), ("AMI type", "amiType")]
    {
        note(what, plain(&first[member]), plain(&other[member]));
    }
    // In the order of preference.
    note("instance types", plain(&first["instanceTypes"]), plain(&other["instanceTypes"]));
    let template = |of: &Value| plain(&of["launchTemplate"]["id"]);
    note("launch template", template(first), template(other));
    if template(first).is_empty() && template(other).is_empty() {
        note("disk size", plain(&first["diskSize"]), plain(&other["diskSize"]));
        note("remote access", plain(&first["remoteAccess"]), plain(&other["remoteAccess"]));
    }
    note("update config", plain(&first["updateConfig"]), plain(&other["updateConfig"]));
    note("node repair", plain(&first["nodeRepairConfig"]), plain(&other["nodeRepairConfig"]));
    let size = |of: &Value| plain(&of["scalingConfig"]["maxSize"]);
    note("maximum size", size(first), size(other));
    let keyed = |value: &Value| {
        let all = value.as_object().into_iter().flatten();
        all.map(|(key, value)| format!("{key}={}", plain(value))).collect::<BTreeSet<_>>()
    };
    let tainted = |value: &Value| {
        let all = value.as_array().into_iter().flatten();
        all.map(|one| format!("{}={}:{}", plain(&one["key"]), plain(&one["value"]), plain(&one["effect"])))
            .collect::<BTreeSet<_>>()
    };
    let sets = [
        ("labels", keyed(&first["labels"]), keyed(&other["labels"])),
        ("taints", tainted(&first["taints"]), tainted(&other["taints"])),
        ("tags", keyed(&own_tags(&first["tags"])), keyed(&own_tags(&other["tags"]))),
    ];
    for (what, one, other) in sets {
        let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
            a.difference(b).cloned().collect::<Vec<_>>().join(", ")
        };
        note(what, only(&one, &other), only(&other, &one));
    }
    all
}

fn flat(answers: &[Value]) -> impl Iterator<Item = &Value> {
    answers.iter().flat_map(|answer| answer.as_array().map_or(std::slice::from_ref(answer), Vec::as_slice))
}

/// The descriptions of managed node groups in answers of the CLI.
fn described(answers: &[Value]) -> impl Iterator<Item = &Value> {
    flat(answers).map(|answer| &answer["nodegroup"]).filter(|group| group.is_object())
}

/// The group that nodes are to move into, as EKS describes it; `None` where it is not described.
pub(crate) fn landing<'a>(answers: &'a [Value], plan: &Plan) -> Option<&'a Value> {
    let name = plan.target.group.as_ref()?;
    described(answers).find(|group| group["nodegroupName"] == *name.as_str())
}

/// Whether the group that nodes are to move into is a self-managed one that is there.
pub(crate) fn is_self_managed(answers: &[Value], plan: &Plan) -> bool {
    let mut shown = flat(answers).flat_map(|one| one["AutoScalingGroups"].as_array().into_iter().flatten());
    plan.target
        .group
        .as_ref()
        .is_some_and(|name| shown.any(|one| one["AutoScalingGroupName"] == *name.as_str()))
}

/// Answers, and what is assumed of the group that nodes are to move into, where it is neither described nor shown by a node: that it is made like the first one.
pub(crate) fn with_assumed(mut answers: Vec<Value>, plan: &Plan, groups: &[LearntGroup]) -> Vec<Value> {
    let is_shown = |name: &str| {
        groups.iter().any(|learnt| learnt.group.name.as_str() == name && !learnt.instances.is_empty())
    };
    let made = to_be_made(&answers, plan).filter(|made| {
        !is_shown(made.name()) && landing(&answers, plan).is_none() && !is_self_managed(&answers, plan)
    });
    if let Some(made) = made {
        let assumed = made.assumed(&answers);
        answers.push(assumed);
    }
    answers
}

/// The release that EKS says a group has is that of its launch template. Where no node shows the group that nodes are to move into, its nodes have the kubelet of the release that EKS says it has; and it is the one that is described, not the one that was assumed before that was known.
pub(crate) fn released(groups: &mut Vec<LearntGroup>, answers: &[Value], plan: &Plan) {
    landed(groups, answers, plan);
    for (described, release) in described(answers).filter_map(|one| Some((one, release_of(one)?))) {
        let own =
            groups.iter_mut().filter(|learnt| described["nodegroupName"] == *learnt.group.name.as_str());
        for learnt in own {
            let current = learnt.group.current.clone();
            let template = learnt.group.templates.get_mut(&current);
            // Nodes may show that it is not theirs: those of an update that has failed, for example.
            let own = template.filter(|template| release.has_kubelet(&template.profile.kubelet_version));
            if let Some(template) = own {
                template.released = Text::from(release.day());
            }
        }
    }
}

fn landed(groups: &mut Vec<LearntGroup>, answers: &[Value], plan: &Plan) {
    let (Some(name), Some(landing)) = (&plan.target.group, landing(answers, plan)) else { return };
    // What is said of groups is put behind what is known of them.
    let last = groups.iter().rposition(|learnt| learnt.group.name == *name);
    let mut place = 0;
    groups.retain(|learnt| {
        place += 1;
        learnt.group.name != *name || !learnt.instances.is_empty() || Some(place - 1) == last
    });
    let Some(kubelet) = kubelet_of(landing) else { return };
    for learnt in groups.iter_mut().filter(|learnt| learnt.group.name == *name && learnt.instances.is_empty())
    {
        for template in learnt.group.templates.values_mut() {
            template.profile.kubelet_version = Text::from(kubelet.as_str());
        }
    }
}

/// The release of a group, where no update is about to change it. Bottlerocket's are not called by days.
fn release_of(group: &Value) -> Option<ReleaseVersion> {
    group["releaseVersion"].as_str().filter(|_| group["status"] != "UPDATING")?.parse().ok()
}

/// `v1.36.2` of release `1.36.2-20261120`; of a group whose release is not named, the first of its version. A group with an image of its own has that for a release.
fn kubelet_of(group: &Value) -> Option<String> {
    let is_version = |version: &&str| version.starts_with(|letter: char| letter.is_ascii_digit());
    match group["releaseVersion"].as_str() {
        _ if group["amiType"] == CUSTOM => None,
        Some(release) => release.split('-').next().filter(is_version).map(|version| format!("v{version}")),
        None => group["version"].as_str().filter(is_version).map(|version| format!("v{version}.0")),
    }
}

/// The first managed group that nodes leave for another one, as it is described.
fn first<'a>(answers: &'a [Value], plan: &Plan) -> Option<&'a Value> {
    let ChosenBy::Groups(sources) = &plan.nodes.by else { return None };
    plan.target.group.as_ref()?;
    sources.iter().find_map(|name| described(answers).find(|group| group["nodegroupName"] == *name.as_str()))
}

/// The group that nodes are to move into, where they leave a managed group that is described.
pub(crate) fn to_be_made(answers: &[Value], plan: &Plan) -> Option<Made> {
    let name = plan.target.group.as_ref()?;
    Some(Made::like(first(answers, plan)?, name.as_str(), &plan.target))
}

/// Says in what the group that nodes move into differs from the one that they leave; or, where it is not there, how it is made. `is_shown`: whether nodes of it are.
pub(crate) fn tell(answers: &[Value], plan: &Plan, is_shown: bool, printer: &mut Printer) {
    let (Some(name), Some(first)) = (&plan.target.group, first(answers, plan)) else { return };
    let old = text(first, "nodegroupName");
    match landing(answers, plan) {
        Some(landing) => {
            let differences = differences(first, landing);
            match differences.is_empty() {
                true => printer.story(&format!(
                    "node group {name} is like {old}: EKS describes both alike, versions and sizes aside"
                )),
                false => {
                    let listed: String = differences.iter().map(|one| format!("  {one}\n")).collect();
                    printer.story(&format!("node group {name} differs from {old}:\n{listed}"));
                }
            }
        }
        // It is there, and nobody has asked what it is.
        None if is_shown => {}
        None => printer.story(&format!(
            "node group {name} is not described: if it does not exist, {}",
            Made::like(first, name.as_str(), &plan.target).words()
        )),
    }
}

#[cfg(test)]
mod tests {
    use replank_facts::plan::Plan;
    use replank_model::text::GroupName;

    use super::*;

    fn first_group() -> Value {
        json!({"nodegroupName": "web", "clusterName": "prod", "version": "1.35", "releaseVersion": "1.35.4-20260901", "status": "ACTIVE",
            "scalingConfig": {"minSize": 2, "maxSize": 9, "desiredSize": 3}, "subnets": ["subnet-b", "subnet-a"], "instanceTypes": ["m6i.large"], "amiType": "AL2023_x86_64_STANDARD",
            "nodeRole": "arn:aws:iam::1:role/node", "labels": {"tier": "web"}, "taints": [{"key": "web", "value": "x", "effect": "NO_SCHEDULE"}], "diskSize": 20, "capacityType": "ON_DEMAND",
            "updateConfig": {"maxUnavailable": 2}, "nodeRepairConfig": {"enabled": true}, "resources": {"autoScalingGroups": []},
            "tags": {"team": "it's", "aws:cloudformation:stack": "s", "replank.dev/begun": "v1"}})
    }

    fn plan(target: &Value) -> Plan {
        let spec = json!({"groups": ["web"], "target": target});
        Plan::read(&json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": spec})).expect("it is right")
    }

    fn made(group: &Value, target: &Value) -> Made {
        let plan = plan(target);
        let answers = [json!([{"nodegroup": group}, {"AutoScalingGroups": []}])];
        to_be_made(&answers, &plan).expect("it is described")
    }

    #[test]
    fn a_group_is_asked_for_like_the_first_one_and_begins_empty() {
        let made = made(&first_group(), &json!({"group": "green"}));
        let mut request = made.request.clone();
        let token = request["clientRequestToken"].take();
        assert!(token.as_str().is_some_and(|token| token.starts_with("replank-")), "{token}");
        assert_eq!(
            request,
            json!({"clusterName": "prod", "nodegroupName": "green", "scalingConfig": {"minSize": 0, "maxSize": 9, "desiredSize": 0}, "subnets": ["subnet-b", "subnet-a"],
                "nodeRole": "arn:aws:iam::1:role/node", "capacityType": "ON_DEMAND", "updateConfig": {"maxUnavailable": 2}, "nodeRepairConfig": {"enabled": true}, "diskSize": 20,
                "instanceTypes": ["m6i.large"], "amiType": "AL2023_x86_64_STANDARD", "version": "1.35", "releaseVersion": "1.35.4-20260901", "labels": {"tier": "web"},
                "taints": [{"key": "web", "value": "x", "effect": "NO_SCHEDULE"}], "tags": {"team": "it's"}, "clientRequestToken": null})
        );
        assert!(made.command().contains(r#""team":"it'\''s""#), "a shell takes it: {}", made.command());
    }

    #[test]
    fn another_version_labels_and_taints_are_the_plans() {
        let target = json!({"group": "green", "kubernetesVersion": "1.36.2", "labels": {"tier": null, "ring": "2"}, "taints": ["web:NoSchedule-", "spot=1:NoExecute"]});
        let request = made(&first_group(), &target).request;
        assert_eq!((&request["version"], &request["releaseVersion"]), (&json!("1.36"), &Value::Null));
        assert_eq!(request["labels"], json!({"ring": "2"}));
        assert_eq!(request["taints"], json!([{"key": "spot", "value": "1", "effect": "NO_EXECUTE"}]));
    }

    #[test]
    fn a_launch_template_with_an_image_of_its_own_excludes_what_it_says_itself() {
        let mut group = first_group();
        group["amiType"] = json!("CUSTOM");
        group["launchTemplate"] = json!({"id": "lt-1", "name": "web", "version": "7"});
        let made = made(&group, &json!({"group": "green"}));
        let request = &made.request;
        assert_eq!(request["launchTemplate"], json!({"id": "lt-1", "version": "7"}));
        for member in ["amiType", "version", "releaseVersion", "diskSize", "remoteAccess"] {
            assert_eq!(request.get(member), None, "{member}");
        }
        assert!(made.words().contains("its launch template names the image"), "{}", made.words());
    }

    #[test]
    fn what_is_assumed_of_it_is_what_was_asked_for_with_an_auto_scaling_group_like_the_first_ones() {
        let mut group = first_group();
        group["resources"] = json!({"autoScalingGroups": [{"name": "eks-web-1"}]});
        group.as_object_mut().expect("an object").remove("instanceTypes");
        let behind = json!({"AutoScalingGroupName": "eks-web-1", "AvailabilityZones": ["a", "b"], "TargetGroupARNs": ["arn"],
            "Instances": [{"InstanceId": "i-1", "InstanceType": "m6i.large"}], "LoadBalancerNames": ["old"]});
        let answers = vec![json!([{ "nodegroup": group }, {"AutoScalingGroups": [behind]}])];
        let plan = plan(&json!({"group": "green", "kubernetesVersion": "1.36"}));
        let answers = with_assumed(answers, &plan, &[]);
        let green = landing(&answers, &plan).expect("it is assumed");
        assert_eq!((&green["version"], &green["instanceTypes"]), (&json!("1.36"), &json!(["m6i.large"])));
        assert_eq!((&green["clientRequestToken"], &green["status"]), (&Value::Null, &Value::Null));
        assert_eq!(kubelet_of(green).as_deref(), Some("v1.36.0"));
        let made = &answers[1][1]["AutoScalingGroups"][0];
        assert_eq!((&made["AvailabilityZones"], &made["Instances"]), (&json!(["a", "b"]), &json!([])));
        assert_eq!((&made["TargetGroupARNs"], &made["LoadBalancerNames"]), (&Value::Null, &Value::Null));
        assert_eq!(with_assumed(answers.clone(), &plan, &[]).len(), 2, "it is described by now");
        let custom = json!({"amiType": "CUSTOM", "releaseVersion": "ami-1", "version": "1.36"});
        assert_eq!(kubelet_of(&custom), None);
        assert_eq!(kubelet_of(&json!({"releaseVersion": "1.36.2-20261120"})).as_deref(), Some("v1.36.2"));
    }

    #[test]
    fn terraform_says_the_same() {
        let code = made(&first_group(), &json!({"group": "green"})).terraform();
        assert!(code.starts_with("resource \"aws_eks_node_group\" \"green\" {\n"), "{code}");
        for line in [
            "  cluster_name    = \"prod\"",
            "  scaling_config {\n    min_size     = 0\n    max_size     = 9\n    desired_size = 0\n  }",
            "  update_config {\n    max_unavailable = 2\n  }",
            "  taint {\n    key    = \"web\"\n    value  = \"x\"\n    effect = \"NO_SCHEDULE\"\n  }",
            "  node_repair_config {\n    enabled = true\n  }",
            "ignore_changes = [scaling_config[0].desired_size, scaling_config[0].min_size]",
        ] {
            assert!(code.contains(line), "{line}\n{code}");
        }
        assert_eq!(code.matches('{').count(), code.matches('}').count(), "{code}");
    }

    #[test]
    fn two_groups_are_compared_field_by_field() {
        let first = first_group();
        let mut other = first.clone();
        other["nodegroupName"] = json!("green");
        other["version"] = json!("1.36");
        other["subnets"] = json!(["subnet-a", "subnet-b"]);
        assert_eq!(
            differences(&first, &other),
            [""; 0],
            "the order of subnets and versions are no difference"
        );
        other["subnets"] = json!(["subnet-a"]);
        other["nodeRole"] = json!("arn:aws:iam::1:role/other");
        other["labels"] = json!({"tier": "api"});
        other["taints"] = json!([]);
        other["updateConfig"] = json!({"maxUnavailable": 1});
        assert_eq!(
            differences(&first, &other),
            [
                "subnets: subnet-a, not subnet-a, subnet-b",
                "node role: arn:aws:iam::1:role/other, not arn:aws:iam::1:role/node",
                "update config: {\"maxUnavailable\":1}, not {\"maxUnavailable\":2}",
                "labels: tier=api, not tier=web",
                "taints: none, not web=x:NO_SCHEDULE",
            ]
        );
    }

    #[test]
    fn nothing_is_made_for_a_plan_that_moves_nowhere_or_from_a_group_that_is_not_described() {
        let answers = [json!({"nodegroup": first_group()})];
        assert!(to_be_made(&answers, &plan(&json!({"kubernetesVersion": "1.36"}))).is_none());
        let mut other = plan(&json!({"group": "green"}));
        other.nodes.by = ChosenBy::Groups(vec![GroupName::from("batch")]);
        assert!(to_be_made(&answers, &other).is_none());
    }
}
