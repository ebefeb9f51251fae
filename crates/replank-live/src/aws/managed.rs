//! Managed node groups: what EKS says of them, and their updates.

use http::Method;
use replank_model::object::cloud::{
    AmiType, GroupKind, GroupSize, LaunchTemplate, NodeGroup, NodegroupChange, NodegroupUpdate, UpdateError,
    UpdateStatus,
};
use replank_model::text::Text;
use replank_model::time::Time;
use serde_json::Value;

use super::account::Aws;
use super::answer::{list, managed as owned_by, structure, text};
use super::client::Manner;
use super::eks::{EksUpdate, Progress, moment};
use super::error::AwsError;
use super::sign::escaped;

/// A managed node group, and the last of its updates.
#[derive(Clone, Debug)]
pub(super) struct Managed {
    /// As DescribeNodegroup has it.
    pub(super) nodegroup: Value,
    update: Option<Value>,
    /// Whether that was seen in progress before.
    was_followed: bool,
}

impl Aws {
    /// What EKS says of an Auto Scaling group; `None` where EKS does not own it.
    pub(super) async fn managed(&self, group: &Value) -> Result<Option<Managed>, AwsError> {
        let Some((cluster, name)) = owned_by(group) else { return Ok(None) };
        let nodegroup = self.nodegroup(cluster, name).await?;
        let update = self.last_update(cluster, name).await?;
        let place = (Text::from(cluster), Text::from(name));
        let id = update.as_ref().and_then(|update| text(update, "id"));
        let was_followed = id.is_some_and(|id| self.state().ended.was_followed(&place, id));
        Ok(Some(Managed { nodegroup, update, was_followed }))
    }

    /// Updates to another version that are in progress, of those among some groups that EKS owns: by the names of the node groups.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub async fn begun_updates(&self, groups: &[NodeGroup]) -> Result<Vec<(String, EksUpdate)>, AwsError> {
        let mut all = Vec::new();
        let managed = groups.iter().filter(|group| group.kind == GroupKind::EksManaged);
        for group in managed {
            let found = self.group(&group.auto_scaling_group).await?;
            let Some((cluster, name)) = owned_by(&found) else { continue };
            let Some(update) = self.last_update(cluster, name).await? else { continue };
            let update = EksUpdate::read(&update);
            if update.progress == Progress::InProgress && update.kind == "VersionUpdate" {
                all.push((name.to_owned(), update));
            }
        }
        Ok(all)
    }

    /// The update that was asked for last. Those that are known to have ended are not read again.
    async fn last_update(&self, cluster: &str, name: &str) -> Result<Option<Value>, AwsError> {
        let base = format!("/clusters/{}/updates", escaped(cluster));
        let of = format!("nodegroupName={}", escaped(name));
        let ids = self.names_of("ListUpdates", (&base, &of), "updateIds").await?;
        let place = (Text::from(cluster), Text::from(name));
        // EKS does not say in which order it lists them.
        let (mut all, open) = self.state().ended.split(&place, &ids);
        for id in open {
            let path = format!("{base}/{}", escaped(&id));
            let call = (Method::GET, &*path, &*of);
            let answer = self.caller.eks("DescribeUpdate", call, None, Manner::Read).await?;
            let update = structure(answer, "DescribeUpdate", "update")?;
            self.state().ended.learn(&place, &id, &update);
            all.push(update);
        }
        Ok(all.into_iter().max_by_key(created))
    }
}

fn created(update: &Value) -> Option<Time> {
    moment(&update["createdAt"])
}

impl Managed {
    /// The kubelet of its release: `v1.36.2` of `1.36.2-20261120`. An image of somebody's own has no release, and says nothing.
    pub(super) fn kubelet(&self) -> Option<String> {
        text(&self.nodegroup, "releaseVersion").and_then(kubelet_of)
    }

    /// The day of its release, where no update is about to change it.
    pub(super) fn day(&self) -> Option<&str> {
        let is_still = text(&self.nodegroup, "status") != Some("UPDATING");
        text(&self.nodegroup, "releaseVersion").filter(|_| is_still).and_then(day_of)
    }

    /// Its sizes.
    pub(super) fn size(&self) -> GroupSize {
        let sizes = &self.nodegroup["scalingConfig"];
        let number =
            |name: &str| sizes[name].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        GroupSize { min: number("minSize"), max: number("maxSize"), desired: number("desiredSize") }
    }

    /// What EKS says goes before what its Auto Scaling group shows.
    pub(super) fn apply(&self, group: &mut NodeGroup) {
        group.size = self.size();
        let tags = self.nodegroup["tags"].as_object();
        let tags = tags
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((Text::from(key.as_str()), Text::from(value.as_str()?))));
        group.tags = tags.collect();
        group.update = self.update.as_ref().and_then(|update| read((update, self.was_followed), group));
        // The version that an update leads to is one that the group may not have yet.
        let to = group.update.as_ref().map(|update| update.change.clone());
        if let (Some(NodegroupChange::Version { to }), Some(update)) = (to, &self.update)
            && !group.templates.contains_key(&to)
        {
            let made = LaunchTemplate::clone(group.template());
            let kubelet = kubelet_in(update).unwrap_or_else(|| made.profile.kubelet_version.to_string());
            let mut made = made;
            made.profile.kubelet_version = Text::from(kubelet);
            made.released = Text::from(day_in(update).unwrap_or_default());
            group.templates.insert(to, made);
        }
    }
}

fn kubelet_of(release: &str) -> Option<String> {
    let version = release.split('-').next()?;
    version.starts_with(|letter: char| letter.is_ascii_digit()).then(|| format!("v{version}"))
}

fn param<'u>(update: &'u Value, kind: &str) -> Option<&'u str> {
    list(&update["params"]).iter().find(|one| one["type"] == *kind).and_then(|one| text(one, "value"))
}

/// The kubelet that an update leads to.
fn kubelet_in(update: &Value) -> Option<String> {
    let release = param(update, "ReleaseVersion").and_then(kubelet_of);
    release.or_else(|| param(update, "Version").map(|version| format!("v{version}.0")))
}

/// The day of the release that an update leads to.
fn day_in(update: &Value) -> Option<&str> {
    param(update, "ReleaseVersion").and_then(day_of)
}

/// `20261120` of `1.36.2-20261120`. Bottlerocket's releases have no day, and an image of somebody's own is none.
fn day_of(release: &str) -> Option<&str> {
    let (_, day) = release.split_once('-')?;
    AmiType::is_day(day).then_some(day)
}

fn read((update, was_followed): (&Value, bool), group: &NodeGroup) -> Option<NodegroupUpdate> {
    let number =
        |kind: &str, known: u32| param(update, kind).and_then(|text| text.parse().ok()).unwrap_or(known);
    let change = match text(update, "type")? {
        "VersionUpdate" => {
            let present = &group.template().profile.kubelet_version;
            let released = &group.template().released;
            let is_day = day_in(update).is_none_or(|day| released.is_empty() || **released == *day);
            let is_there = is_day && kubelet_in(update).is_none_or(|kubelet| is_of(present, &kubelet));
            let next = group.current.at(group.current.version + 1);
            NodegroupChange::Version { to: if is_there { group.current.clone() } else { next } }
        }
        "ConfigUpdate" => {
            let GroupSize { min, max, desired } = group.size;
            let to = GroupSize {
                min: number("MinSize", min),
                max: number("MaxSize", max),
                desired: number("DesiredSize", desired),
            };
            NodegroupChange::Config { to }
        }
        _ => return None,
    };
    let status = match text(update, "status")? {
        "InProgress" => UpdateStatus::InProgress,
        "Failed" => UpdateStatus::Failed,
        "Cancelled" => UpdateStatus::Cancelled,
        "Successful" => UpdateStatus::Successful,
        // A word that is newer than this: nothing is begun as long as it stands.
        _ => UpdateStatus::InProgress,
    };
    let errors = list(&update["errors"]).iter().map(|error| UpdateError {
        code: Text::from(text(error, "errorCode").unwrap_or("Unknown")),
        message: Text::from(text(error, "errorMessage").unwrap_or_default()),
        resources: list(&error["resourceIds"]).iter().filter_map(Value::as_str).map(Text::from).collect(),
    });
    Some(NodegroupUpdate {
        id: Text::from(text(update, "id")?),
        token: Text::default(),
        change,
        status,
        created: created(update)?,
        errors: errors.collect(),
        was_followed: was_followed && status != UpdateStatus::InProgress,
    })
}

/// Whether a node's kubelet is of a release: nodes may write a suffix behind it, and a minor version alone is written with `.0`.
fn is_of(node: &str, release: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.trim_start_matches('v')
            .split(['-', '+'])
            .next()
            .unwrap_or_default()
            .split('.')
            .map(str::to_owned)
            .collect()
    };
    let (node, release) = (parts(node), parts(release));
    match release.get(2).map(String::as_str) {
        Some("0") | None => node.iter().take(2).eq(release.iter().take(2)),
        Some(_) => node == release,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stand_in::StandIn;
    use super::*;

    /// Three updates on two pages; the last of them goes on.
    fn three_updates(line: &str) -> Value {
        let update = |id: &str, status: &str, at: f64| json!({"update": {"id": id, "type": "VersionUpdate", "status": status, "createdAt": at}});
        match line.split(['?', ' ']).nth(1).unwrap_or_default() {
            "/clusters/shop/updates" if line.contains("nextToken=n") => json!({"updateIds": ["c"]}),
            "/clusters/shop/updates" => json!({"updateIds": ["a", "b"], "nextToken": "n"}),
            "/clusters/shop/updates/a" => update("a", "Successful", 1.0),
            "/clusters/shop/updates/b" => update("b", "InProgress", 3.0),
            "/clusters/shop/updates/c" => update("c", "Failed", 2.0),
            path => panic!("{path}"),
        }
    }

    #[tokio::test]
    async fn a_second_look_reads_only_the_updates_that_have_not_ended() {
        let eks = StandIn::new(|line, _| three_updates(line).to_string());
        let aws = eks.account();
        let looked = async || {
            let last = aws.last_update("shop", "web").await.expect("it answers").expect("there is one");
            assert_eq!(last["id"], "b", "the one that was asked for last");
            eks.asked().iter().filter_map(|line| line.split("/updates").nth(1)).map(str::to_owned).collect()
        };
        let of = "nodegroupName=web";
        let list = [format!("?{of}"), format!("?nextToken=n&{of}")];
        let read = |id: &str| format!("/{id}?{of}");
        let first: Vec<String> = looked().await;
        assert_eq!(first, [&list[..], &[read("a"), read("b"), read("c")]].concat());
        let second: Vec<String> = looked().await;
        assert_eq!(second, [&list[..], &[read("b")]].concat());
    }

    #[test]
    fn an_update_leads_to_the_version_that_the_group_has_or_to_the_next() {
        let mut template = LaunchTemplate::default();
        template.profile.kubelet_version = "v1.35.4-eks-1".into();
        let group =
            NodeGroup::new("web".into(), GroupSize { min: 1, max: 5, desired: 3 }, Vec::new(), template);
        let of = |release: &str| {
            let update = json!({"id": "u", "type": "VersionUpdate", "status": "InProgress", "createdAt": 1_790_000_000.5,
                "params": [{"type": "ReleaseVersion", "value": release}], "errors": []});
            read((&update, false), &group).expect("it is whole")
        };
        let to = |update: NodegroupUpdate| match update.change {
            NodegroupChange::Version { to } => to.version,
            NodegroupChange::Config { .. } => 0,
        };
        assert_eq!((to(of("1.36.2-20261120")), to(of("1.35.4-20261120"))), (2, 1));
        // Of one kubelet there is more than one release.
        let mut known = group.clone();
        let current = known.current.clone();
        known.templates.get_mut(&current).expect("it is there").released = "20261023".into();
        let of_day = |day: &str| {
            let update = json!({"id": "u", "type": "VersionUpdate", "status": "InProgress", "createdAt": 1.0,
                "params": [{"type": "ReleaseVersion", "value": format!("1.35.4-{day}")}], "errors": []});
            to(read((&update, false), &known).expect("it is whole"))
        };
        assert_eq!((of_day("20261023"), of_day("20261120")), (1, 2));
        assert_eq!(of("1.36.2-20261120").created, Time::from_millis(1_790_000_000_500));
        let config = json!({"id": "u", "type": "ConfigUpdate", "status": "Failed", "createdAt": 1.0,
            "params": [{"type": "MaxSize", "value": "9"}], "errors": [{"errorCode": "PodEvictionFailure", "errorMessage": "m", "resourceIds": ["n"]}]});
        let config = read((&config, false), &group).expect("it is whole");
        assert_eq!(config.change, NodegroupChange::Config { to: GroupSize { min: 1, max: 9, desired: 3 } });
        assert_eq!(config.errors[0].to_string(), "PodEvictionFailure: m (n)");
    }
}
