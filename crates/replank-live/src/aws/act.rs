//! Effects on groups and instances, carried out: checked, sent, and read back where no answer came (docs/effects.md).

use http::Method;
use replank_model::object::cloud::{
    AmiType, GroupId, GroupKind, GroupSize, LaunchTemplate, LaunchTemplateRef, Lifecycle, VersionWord,
};
use replank_model::text::{GroupName, InstanceId, Text};
use replank_protocol::command::{Answer, EmptyInstance, GroupEffect, Refusal, Replacement, zero};
use replank_protocol::lifecycle::Action;
use replank_protocol::proof::mismatch;
use serde_json::{Value, json};

use super::account::Aws;
use super::answer::{list, managed, template_of, text};
use super::changeable::unchangeable;
use super::client::{LATE, Manner};
use super::eks::request_token;
use super::error::AwsError;
use super::group::{lifecycle, size};
use super::service::Service;
use super::sign::escaped;
use super::template::description;
use crate::cloud::Order;

/// What a step comes to, where it is not done.
pub(super) enum Stop {
    /// It is not carried out.
    No(Refusal),
    /// It is there already.
    Done,
    /// It was sent, and nobody knows what became of it.
    Unknown(String),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::No(refusal)
    }
}

/// An error of a read, or of a write that was not carried out.
impl From<AwsError> for Stop {
    fn from(error: AwsError) -> Self {
        let message = match error.next() {
            Some(next) => format!("{error}; {next}"),
            None => error.to_string(),
        };
        let (status, code) = match &error {
            AwsError::Refused { status, code, .. } => (*status, code.as_str()),
            AwsError::Denied { .. } | AwsError::NotAccepted { .. } => (403, ""),
            AwsError::Unreachable { .. } => (503, ""),
            AwsError::NoRegion
            | AwsError::NoProfile { .. }
            | AwsError::NoCredentials { .. }
            | AwsError::Credentials { .. }
            | AwsError::Unreadable { .. }
            | AwsError::Queue { .. }
            | AwsError::WrongAccount { .. } => (400, ""),
        };
        if code == LATE {
            return Self::No(Refusal::Late);
        }
        Self::No(Refusal::Failed { code: status, message: Text::from(message) })
    }
}

/// Whether nothing is known of what became of a write.
pub(super) fn is_lost(error: &AwsError) -> bool {
    match error {
        AwsError::Unreachable { is_unsent, .. } => !is_unsent,
        AwsError::Refused { status, code, .. } => {
            *status >= 500 || matches!(&**code, "ResourceContention" | "ScalingActivityInProgress")
        }
        AwsError::Unreadable { .. } => true,
        AwsError::NoRegion
        | AwsError::NoProfile { .. }
        | AwsError::NoCredentials { .. }
        | AwsError::Credentials { .. }
        | AwsError::NotAccepted { .. }
        | AwsError::Denied { .. }
        | AwsError::Queue { .. }
        | AwsError::WrongAccount { .. } => false,
    }
}

pub(super) type Step = Result<(), Stop>;

/// Of which groups an instance may be terminated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owned {
    /// Of self-managed ones.
    ByUs,
    /// Also of those that EKS owns: what is empty goes, and the group wants one less.
    ByAnybody,
}

/// What EKS owns is not changed through its Auto Scaling group.
fn is_own(group: &Value, node_group: &GroupName) -> Result<(), Stop> {
    if managed(group).is_none() {
        return Ok(());
    }
    let message = format!("EKS owns the Auto Scaling group of managed node group {node_group}");
    Err(Refusal::Failed { code: 403, message: Text::from(message) }.into())
}

impl Aws {
    /// Carries out an effect.
    pub(super) async fn carry(&self, effect: &GroupEffect, order: Order<'_>) -> Answer {
        match self.step(effect, order).await {
            Ok(()) | Err(Stop::Done) => Answer::Done,
            Err(Stop::No(refusal)) => Answer::Refused(refusal),
            Err(Stop::Unknown(why)) => Answer::Unknown { message: Text::from(why) },
        }
    }

    async fn step(&self, effect: &GroupEffect, order: Order<'_>) -> Step {
        match effect {
            GroupEffect::Tag { group, key, from, value } => {
                self.tag(group, (key, from.as_ref(), Some(value)), order).await
            }
            GroupEffect::Untag { group, key } => self.tag(group, (key, None, None), order).await,
            GroupEffect::SetTemplate { group, from, to, follow } => {
                self.set_template(group, from, (to, *follow), order).await
            }
            GroupEffect::Resize { group, from, to } => self.resize(group, (*from, *to), order).await,
            GroupEffect::SetProcess { group, process, is_active } => {
                self.set_process(group, *process, *is_active, order).await
            }
            GroupEffect::ProtectInstance { instance, group, is_protected } => {
                self.protect(instance, group, *is_protected, order).await
            }
            GroupEffect::Relieve { instance, group, hook, .. } => {
                self.has_hook(group, hook).await?;
                self.terminate((instance, group), (Replacement::Launch, Owned::ByUs), order).await
            }
            GroupEffect::CompleteAction { action, .. } => {
                self.of_action("CompleteLifecycleAction", action, order).await
            }
            GroupEffect::Heartbeat { action } => {
                self.of_action("RecordLifecycleActionHeartbeat", action, order).await
            }
            GroupEffect::Terminate { instance, group, replacement, .. } => {
                let owned = if effect.changes_auto_scaling_group().is_some() {
                    Owned::ByUs
                } else {
                    Owned::ByAnybody
                };
                self.terminate((instance, group), (*replacement, owned), order).await
            }
            GroupEffect::UpdateNodegroupVersion { group, from, to, force } => {
                self.update_version(group, from, (to, *force), order).await
            }
            GroupEffect::UpdateNodegroupConfig { group, from, to } => {
                self.update_config(group, (*from, *to), order).await
            }
            GroupEffect::ScaleNodegroupToZero { group, from, instances } => {
                self.has_no_other(group, instances).await?;
                self.update_config(group, (*from, zero(*from)), order).await
            }
        }
    }

    /// Sends a write of Auto Scaling; whether an answer came.
    pub(super) async fn write(&self, action: &str, params: &Value, order: Order<'_>) -> Result<bool, Stop> {
        let call = (Service::AutoScaling, action);
        match self.caller.query(call, params, Manner::Write(order.may_send)).await {
            Ok(_) => Ok(true),
            Err(error) if is_lost(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a write of EKS; whether an answer came.
    async fn write_eks(
        &self,
        action: &str,
        call: (Method, &str, &str),
        body: Option<&Value>,
        order: Order<'_>,
    ) -> Result<bool, Stop> {
        match self.caller.eks(action, call, body, Manner::Write(order.may_send)).await {
            Ok(_) => Ok(true),
            Err(error) if is_lost(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The group behind a self-managed one: EKS's are never changed through their Auto Scaling groups.
    pub(super) async fn own(&self, name: &str, node_group: &GroupName) -> Result<Value, Stop> {
        let group = self.group(name).await?;
        is_own(&group, node_group)?;
        Ok(group)
    }

    /// Writes a tag, or takes it away.
    async fn tag(
        &self,
        group: &GroupId,
        (key, from, to): (&Text, Option<&Text>, Option<&Text>),
        order: Order<'_>,
    ) -> Step {
        let found = self.tag_of(group, key).await?;
        if found.as_deref() == to.map(|to| &**to) {
            return Err(Stop::Done);
        }
        if to.is_some() && found.as_deref() != from.map(|from| &**from) {
            let word = |value: Option<&str>| value.unwrap_or("absent").to_owned();
            let (expected, found) = (word(from.map(|from| &**from)), word(found.as_deref()));
            return Err(mismatch(format!("tag {key} of group {group}"), &expected, &found).into());
        }
        let is_answered = match group.kind {
            GroupKind::SelfManaged => {
                let mut tag = json!({"ResourceId": &*group.auto_scaling_group, "ResourceType": "auto-scaling-group", "Key": &**key});
                let action = match to {
                    Some(value) => {
                        tag["Value"] = (&**value).into();
                        tag["PropagateAtLaunch"] = false.into();
                        "CreateOrUpdateTags"
                    }
                    None => "DeleteTags",
                };
                self.write(action, &json!({ "Tags": [tag] }), order).await?
            }
            GroupKind::EksManaged => {
                let nodegroup = self.nodegroup_of(group).await?;
                let path = format!("/tags/{}", escaped(text(&nodegroup, "nodegroupArn").unwrap_or_default()));
                match to {
                    Some(value) => {
                        let body = json!({"tags": {&**key: &**value}});
                        self.write_eks("TagResource", (Method::POST, &path, ""), Some(&body), order).await?
                    }
                    None => {
                        let query = format!("tagKeys={}", escaped(key));
                        self.write_eks("UntagResource", (Method::DELETE, &path, &query), None, order).await?
                    }
                }
            }
        };
        if is_answered || self.tag_of(group, key).await?.as_deref() == to.map(|to| &**to) {
            return Ok(());
        }
        Err(Stop::Unknown(format!(
            "no answer came, and the tag {key} of group {group} is not to be seen yet"
        )))
    }

    async fn tag_of(&self, group: &GroupId, key: &str) -> Result<Option<String>, Stop> {
        match group.kind {
            GroupKind::SelfManaged => {
                let found = self.group(&group.auto_scaling_group).await?;
                let tag = list(&found["Tags"]).iter().find(|tag| tag["Key"] == *key);
                Ok(tag.map(|tag| tag["Value"].as_str().unwrap_or_default().to_owned()))
            }
            GroupKind::EksManaged => {
                let found = self.nodegroup_of(group).await?;
                Ok(found["tags"][key].as_str().map(str::to_owned))
            }
        }
    }

    /// What EKS says of a managed node group.
    pub(super) async fn nodegroup_of(&self, group: &GroupId) -> Result<Value, Stop> {
        let cluster = self.cluster_of(group).await?;
        Ok(self.nodegroup(&cluster, group.node_group.as_str()).await?)
    }

    /// The cluster of a managed node group, as its Auto Scaling group's tag has it.
    pub(super) async fn cluster_of(&self, group: &GroupId) -> Result<String, Stop> {
        let found = self.group(&group.auto_scaling_group).await?;
        let cluster = managed(&found).map(|(cluster, _)| cluster.to_owned());
        cluster.ok_or_else(|| {
            let message =
                format!("group {group} is not managed by EKS: its Auto Scaling group does not say so");
            Stop::No(Refusal::Failed { code: 400, message: Text::from(message) })
        })
    }

    async fn resize(&self, group: &GroupId, (from, to): (GroupSize, GroupSize), order: Order<'_>) -> Step {
        let name = &*group.auto_scaling_group;
        let found = size(&self.own(name, &group.node_group).await?);
        if found == to {
            return Err(Stop::Done);
        }
        sizes_are(group, found, from)?;
        let mut params = json!({ "AutoScalingGroupName": name });
        for (member, from, to) in [
            ("MinSize", from.min, to.min),
            ("MaxSize", from.max, to.max),
            ("DesiredCapacity", from.desired, to.desired),
        ] {
            if from != to {
                params[member] = to.into();
            }
        }
        if self.write("UpdateAutoScalingGroup", &params, order).await? || size(&self.group(name).await?) == to
        {
            return Ok(());
        }
        Err(Stop::Unknown(format!("no answer came, and the size of group {group} is not {to} yet")))
    }

    /// Terminates an instance by its id. What is terminating already is not terminated again: a second call could lower the size once more.
    async fn terminate(
        &self,
        (id, name): (&InstanceId, &GroupName),
        (replacement, owned): (Replacement, Owned),
        order: Order<'_>,
    ) -> Step {
        let own = self.auto_scaling_group_of(name);
        // Where the size stays, so many at once rest on one answer about their group.
        let recent = match replacement {
            Replacement::Launch => self.recent_member(id, &own).await?,
            Replacement::Decrement { .. } => None,
        };
        let member = if recent.is_some() { recent } else { self.member(id).await? };
        let Some(member) = member else {
            let message = format!("instance {id} is in no Auto Scaling group");
            return Err(Refusal::Gone { message: Text::from(message) }.into());
        };
        if let Some(other) = text(&member, "AutoScalingGroupName").filter(|of| *of != own) {
            let message = format!("instance {id} belongs to Auto Scaling group {other}");
            return Err(Refusal::Conflict { message: Text::from(message) }.into());
        }
        let is_counted =
            |member: &Value| lifecycle(text(member, "LifecycleState").unwrap_or_default()).is_counted();
        if !is_counted(&member) {
            return Err(Stop::Done);
        }
        match owned {
            Owned::ByUs => is_own(&self.recent_group(&own).await?, name)?,
            Owned::ByAnybody => {}
        }
        let decrements = match replacement {
            Replacement::Launch => false,
            Replacement::Decrement { keep } => {
                let found = size(&self.group(&own).await?);
                if found.desired <= keep {
                    let expected = format!("more than {keep}");
                    return Err(
                        mismatch(format!("size of group {name}"), &expected, &found.to_string()).into()
                    );
                }
                true
            }
        };
        let params = json!({"InstanceId": id.as_str(), "ShouldDecrementDesiredCapacity": decrements});
        if self.write("TerminateInstanceInAutoScalingGroup", &params, order).await? {
            return Ok(());
        }
        match self.member(id).await? {
            None => Ok(()),
            Some(member) if !is_counted(&member) => Ok(()),
            Some(_) => {
                Err(Stop::Unknown(format!("no answer came, and instance {id} is not terminating yet")))
            }
        }
    }

    pub(super) async fn member(&self, id: &InstanceId) -> Result<Option<Value>, Stop> {
        let found = self.members(&[id]).await?.into_iter().next();
        Ok(found.filter(|member| {
            lifecycle(text(member, "LifecycleState").unwrap_or_default()) != Lifecycle::Terminated
        }))
    }

    fn auto_scaling_group_of(&self, name: &GroupName) -> String {
        let state = self.state();
        let base = state.bases.iter().find(|base| base.name == *name);
        base.map_or_else(|| name.to_string(), |base| base.auto_scaling_group.to_string())
    }

    async fn has_hook(&self, group: &GroupName, hook: &str) -> Step {
        let name = self.auto_scaling_group_of(group);
        let hooks = self.recent_hooks(&name).await?;
        let is_it = |one: &Value| {
            one["LifecycleHookName"] == *hook
                && one["LifecycleTransition"] == "autoscaling:EC2_INSTANCE_TERMINATING"
        };
        if hooks.iter().any(is_it) {
            return Ok(());
        }
        let message = format!("group {group} has no termination hook {hook}");
        Err(Refusal::Conflict { message: Text::from(message) }.into())
    }

    /// Ends the wait of a lifecycle action, or has it wait on.
    async fn of_action(&self, call: &str, action: &Action, order: Order<'_>) -> Step {
        let mut params = json!({"AutoScalingGroupName": self.auto_scaling_group_of(&action.group),
            "LifecycleHookName": &*action.hook, "InstanceId": action.instance.as_str()});
        if let Some(token) = &action.token {
            params["LifecycleActionToken"] = (&**token).into();
        }
        let completes = call == "CompleteLifecycleAction";
        if completes {
            params["LifecycleActionResult"] = "CONTINUE".into();
        }
        match self.write(call, &params, order).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(Stop::Unknown("no answer came".to_owned())),
            // Somebody has completed it, or its time is over.
            Err(Stop::No(Refusal::Failed { message, .. }))
                if completes && message.contains("No active Lifecycle Action found") =>
            {
                Err(Stop::Done)
            }
            Err(stop) => Err(stop),
        }
    }

    /// Makes a version of the launch template, or finds the equal one, and makes it the group's.
    async fn set_template(
        &self,
        group: &GroupId,
        from: &LaunchTemplateRef,
        (to, follow): (&LaunchTemplate, Option<VersionWord>),
        order: Order<'_>,
    ) -> Step {
        let name = &*group.auto_scaling_group;
        let found = self.own(name, &group.node_group).await?;
        let seen = self.state().seen.iter().find(|one| one.name == group.node_group).cloned();
        let Some(seen) = seen else {
            let message = format!("group {group} has not been looked at yet");
            return Err(Refusal::Conflict { message: Text::from(message) }.into());
        };
        if seen.current != *from {
            let (expected, found) = (from.to_string(), seen.current.to_string());
            let what = format!("launch template version of group {group}");
            return Err(mismatch(what, &expected, &found).into());
        }
        if let Some(refusal) = unchangeable(&found, group) {
            return Err(refusal.into());
        }
        let spec = template_of(&found);
        let is_still = match seen.follows {
            Some(word) => text(spec, "Version").unwrap_or(VersionWord::Default.as_str()) == word.as_str(),
            None => text(spec, "Version") == Some(&*from.version.to_string()),
        };
        if text(spec, "LaunchTemplateId") != Some(&*from.id) || !is_still {
            let what = format!("launch template version of group {group}");
            return Err(mismatch(what, &from.to_string(), text(spec, "Version").unwrap_or("another")).into());
        }
        let known = seen.templates.iter().filter(|(one, _)| one.id == from.id);
        let last = known.clone().map(|(one, _)| one.version).max();
        let mut equal = known.filter(|(_, template)| **template == *to).map(|(one, _)| one.clone());
        let version = match (equal.next_back(), follow) {
            (Some(equal), None | Some(VersionWord::Default)) => equal.version,
            (Some(equal), Some(VersionWord::Latest)) if Some(equal.version) == last => equal.version,
            (Some(equal), Some(VersionWord::Latest)) => self.make_version(&equal, to, order).await?,
            (None, _) => self.make_version(from, to, order).await?,
        };
        let named = follow.map_or_else(|| version.to_string(), |word| word.as_str().to_owned());
        let spec = json!({"LaunchTemplateId": &*from.id, "Version": named});
        let mut params = json!({ "AutoScalingGroupName": name });
        let mixed = &found["MixedInstancesPolicy"];
        if mixed.is_object() {
            // Its other parts are sent as they are.
            params["MixedInstancesPolicy"] = mixed.clone();
            params["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"] = spec.clone();
        } else {
            params["LaunchTemplate"] = spec.clone();
        }
        if self.write("UpdateAutoScalingGroup", &params, order).await? {
            return Ok(());
        }
        let now = self.group(name).await?;
        if template_of(&now)["Version"] == spec["Version"] {
            return Ok(());
        }
        Err(Stop::Unknown(format!("no answer came, and group {group} has another launch template version")))
    }

    /// CreateLaunchTemplateVersion: its token makes it one version, however often it is sent.
    pub(super) async fn make_version(
        &self,
        source: &LaunchTemplateRef,
        to: &LaunchTemplate,
        order: Order<'_>,
    ) -> Result<u64, Stop> {
        let image = self.image_of(to).await?;
        let params = json!({"LaunchTemplateId": &*source.id, "SourceVersion": source.version.to_string(),
            "VersionDescription": description(to), "LaunchTemplateData": {"ImageId": image}, "ClientToken": token(order)});
        let call = (Service::Ec2, "CreateLaunchTemplateVersion");
        let mut answer = self.caller.query(call, &params, Manner::Write(order.may_send)).await;
        if answer.as_ref().is_err_and(is_lost) {
            answer = self.caller.query(call, &params, Manner::Write(order.may_send)).await;
        }
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if is_lost(&error) => return Err(Stop::Unknown(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        let number = answer["launchTemplateVersion"]["versionNumber"].as_u64();
        number.ok_or_else(|| Stop::Unknown("the new version's number is not told".to_owned()))
    }

    /// The id of an image: what stands for one is the name of a public parameter.
    async fn image_of(&self, template: &LaunchTemplate) -> Result<String, Stop> {
        if AmiType::is_id(&template.image) {
            return Ok(template.image.to_string());
        }
        if template.image.starts_with('/') {
            return Ok(self.caller.parameter(&template.image).await?);
        }
        let message = format!(
            "which image is meant by {} is not known: name it in the plan, target.image",
            template.image
        );
        Err(Refusal::Failed { code: 400, message: Text::from(message) }.into())
    }

    /// UpdateNodegroupVersion: version and release, or launch template version, always named.
    async fn update_version(
        &self,
        group: &GroupId,
        from: &LaunchTemplateRef,
        (to, force): (&LaunchTemplate, bool),
        order: Order<'_>,
    ) -> Step {
        let cluster = self.cluster_of(group).await?;
        let name = group.node_group.as_str();
        let nodegroup = self.nodegroup(&cluster, name).await?;
        if text(&nodegroup, "status") == Some("UPDATING") {
            let message = format!("an update of node group {group} is in progress");
            return Err(Refusal::Conflict { message: Text::from(message) }.into());
        }
        let mut body = json!({ "clientRequestToken": token_for(&nodegroup, order) });
        if force {
            body["force"] = true.into();
        }
        if nodegroup["amiType"] == "CUSTOM" {
            let own = &nodegroup["launchTemplate"];
            let number = text(own, "version").and_then(|text| text.parse().ok()).unwrap_or(from.version);
            let source =
                LaunchTemplateRef { id: Text::from(text(own, "id").unwrap_or_default()), version: number };
            let version = self.make_version(&source, to, order).await?;
            body["launchTemplate"] = json!({"id": &*source.id, "version": version.to_string()});
        } else {
            let kubelet = to.profile.kubelet_version.trim_start_matches('v');
            let minor = kubelet.split('.').take(2).collect::<Vec<_>>().join(".");
            let chosen = AmiType::release_of(&to.image);
            let parameter = AmiType::new(text(&nodegroup, "amiType").unwrap_or_default()).image(&minor);
            let release = if let Some(chosen) = chosen {
                Some(chosen.to_owned())
            } else if let Some(base) =
                parameter.strip_suffix("/image_id").filter(|_| parameter.starts_with('/'))
            {
                let last = if base.contains("bottlerocket") { "image_version" } else { "release_version" };
                Some(self.caller.parameter(&format!("{base}/{last}")).await?)
            } else {
                None
            };
            body["version"] = minor.into();
            if let Some(release) = release {
                body["releaseVersion"] = release.into();
            }
            // Its launch template stays as it is.
            if let Some((id, version)) =
                text(&nodegroup["launchTemplate"], "id").zip(text(&nodegroup["launchTemplate"], "version"))
            {
                body["launchTemplate"] = json!({"id": id, "version": version});
            }
        }
        let path = format!("/clusters/{}/node-groups/{}/update-version", escaped(&cluster), escaped(name));
        self.eks_twice("UpdateNodegroupVersion", &path, &body, order).await
    }

    async fn update_config(
        &self,
        group: &GroupId,
        (from, to): (GroupSize, GroupSize),
        order: Order<'_>,
    ) -> Step {
        let cluster = self.cluster_of(group).await?;
        let name = group.node_group.as_str();
        let nodegroup = self.nodegroup(&cluster, name).await?;
        let sizes = &nodegroup["scalingConfig"];
        let number =
            |member: &str| sizes[member].as_u64().and_then(|one| u32::try_from(one).ok()).unwrap_or(0);
        let found =
            GroupSize { min: number("minSize"), max: number("maxSize"), desired: number("desiredSize") };
        if found == to {
            return Err(Stop::Done);
        }
        sizes_are(group, found, from)?;
        // EKS takes a token that it knows for the request that it has carried out: the same sizes at another time are another request.
        let token =
            request_token(&format!("{}/{}", token_for(&nodegroup, order), order.deadline.as_millis()));
        let body = json!({"clientRequestToken": token,
            "scalingConfig": {"minSize": to.min, "maxSize": to.max, "desiredSize": to.desired}});
        let path = format!("/clusters/{}/node-groups/{}/update-config", escaped(&cluster), escaped(name));
        self.eks_twice("UpdateNodegroupConfig", &path, &body, order).await
    }

    /// Whether every instance of a group is one that was proved to be empty: EKS would end the others, too.
    async fn has_no_other(&self, group: &GroupId, instances: &[EmptyInstance]) -> Step {
        let found = self.group(&group.auto_scaling_group).await?;
        let is_other = |one: &&Value| {
            let is_counted = lifecycle(text(one, "LifecycleState").unwrap_or_default()).is_counted();
            let id = text(one, "InstanceId").unwrap_or_default();
            is_counted && instances.iter().all(|known| known.instance.as_str() != id)
        };
        match list(&found["Instances"]).iter().find(is_other) {
            None => Ok(()),
            Some(other) => {
                let expected = format!("{} known ones", instances.len());
                let found = text(other, "InstanceId").unwrap_or("one without an id");
                Err(mismatch(format!("instances of group {group}"), &expected, found).into())
            }
        }
    }

    /// A call of EKS whose token makes it one, however often it is sent.
    async fn eks_twice(&self, action: &str, path: &str, body: &Value, order: Order<'_>) -> Step {
        for _ in 0..2 {
            if self.write_eks(action, (Method::POST, path, ""), Some(body), order).await? {
                return Ok(());
            }
        }
        Err(Stop::Unknown("no answer came, twice".to_owned()))
    }
}

fn sizes_are(group: &GroupId, found: GroupSize, expected: GroupSize) -> Step {
    if found == expected {
        return Ok(());
    }
    let what = format!("size of group {group}");
    Err(mismatch(what, &expected.to_string(), &found.to_string()).into())
}

/// A token that follows from the command's key: the same command is the same request.
fn token(order: Order<'_>) -> String {
    request_token(&order.key.0)
}

/// A token that follows from the command's key and the node group: groups of the same name in other clusters and accounts have other ones.
fn token_for(nodegroup: &Value, order: Order<'_>) -> String {
    request_token(&format!("{}/{}", text(nodegroup, "nodegroupArn").unwrap_or_default(), order.key.0))
}
