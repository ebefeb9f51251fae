//! Launch templates: the versions that a group uses, and what nodes become of them.
//!
//! A version tells an image and nothing of the kubelet in it. That is what the nodes of the version report; else what the version's description says where Replank made it; else
//! the minor version in the image's name, as EKS names its images; else what the nodes of the group have.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::cloud::{
    AmiType, LaunchTemplate, LaunchTemplateRef, LaunchTemplates, NodeGroup, VersionWord,
};
use replank_model::object::node::LABEL_EKS_IMAGE;
use replank_model::text::{InstanceId, Text};
use replank_protocol::mark;
use serde_json::{Value, json};

use super::account::{Aws, State};
use super::answer::{list, taken, template_of, text, version, word};
use super::client::Manner;
use super::error::AwsError;
use super::managed::Managed;
use super::service::Service;
use super::versions::{Named, Version};
use crate::cloud::OfNode;

/// How the description of a version begins that Replank made; the kubelet's version follows.
const DESCRIBED: &str = "replank kubelet ";

/// The description of a version with such a kubelet.
pub(super) fn description(template: &LaunchTemplate) -> String {
    format!("{DESCRIBED}{}", template.profile.kubelet_version)
}

/// The versions of a group.
pub(super) struct Templates {
    pub(super) current: LaunchTemplateRef,
    pub(super) follows: Option<VersionWord>,
    pub(super) default: Option<LaunchTemplateRef>,
    pub(super) all: LaunchTemplates,
}

impl Aws {
    /// The versions that a group and its instances use, and the one that it had before a run.
    pub(super) async fn templates_of(
        &self,
        base: &NodeGroup,
        group: &Value,
        managed: Option<&Managed>,
        nodes: &BTreeMap<InstanceId, OfNode>,
    ) -> Result<Templates, AwsError> {
        let spec = template_of(group);
        let Some(id) = text(spec, "LaunchTemplateId") else {
            // A launch configuration: its nodes can be replaced, and no version made.
            let current = LaunchTemplateRef::invented(&base.name);
            let all = [(current.clone(), base.template().clone())].into();
            return Ok(Templates { current, follows: None, default: None, all });
        };
        let follows = word(spec);
        let words = match follows {
            Some(_) => self.words(id).await?,
            None => BTreeMap::new(),
        };
        let of_word = |word| words.get(&word).cloned();
        let current = version(spec).or_else(|| of_word(follows?));
        let current = current.ok_or_else(|| AwsError::Unreadable {
            action: "ec2:DescribeLaunchTemplateVersions".to_owned(),
            why: format!("launch template {id} has no version {}", follows.map_or("", VersionWord::as_str)),
        })?;
        let instances = list(&group["Instances"]);
        let mut wanted: BTreeSet<LaunchTemplateRef> =
            instances.iter().filter_map(|one| version(&one["LaunchTemplate"])).collect();
        wanted.insert(current.clone());
        let tag = |key: &str| list(&group["Tags"]).iter().find(|tag| tag["Key"] == *key);
        let original = tag(mark::ORIGINAL_TEMPLATE).and_then(|tag| text(tag, "Value"));
        wanted.extend(original.and_then(mark::read_template));
        wanted.extend(words.values().cloned());
        self.read_versions(&wanted).await?;
        let kubelet_of = |wanted: &LaunchTemplateRef| {
            let made =
                instances.iter().filter(|one| version(&one["LaunchTemplate"]).as_ref() == Some(wanted));
            let ids = made.filter_map(|one| text(one, "InstanceId")).map(InstanceId::from);
            ids.filter_map(|id| nodes.get(&id)).map(|node| node.kubelet.clone()).next()
        };
        let mut all = LaunchTemplates::new();
        for wanted in &wanted {
            let Some(known) = self.state().templates.versions.get(wanted).cloned() else { continue };
            let image = self.state().templates.images.get(&known.image).cloned().unwrap_or_default();
            let of_image =
                || base.templates.values().find(|one| *one.image == *known.image && !known.image.is_empty());
            let own = managed.filter(|_| *wanted == current);
            let release = own.and_then(Managed::kubelet);
            let kubelet = kubelet_of(wanted)
                .or_else(|| known.kubelet.as_deref().map(Text::from))
                .or_else(|| release.map(Text::from))
                .or_else(|| of_image().map(|one| one.profile.kubelet_version.clone()))
                .or_else(|| image.kubelet.as_deref().map(Text::from))
                .unwrap_or_else(|| base.profile().kubelet_version.clone());
            let day = image.day.or_else(|| own.and_then(Managed::day).map(str::to_owned));
            all.insert(wanted.clone(), made(base, &known.image, (kubelet, day)));
        }
        all.entry(current.clone()).or_insert_with(|| base.template().clone());
        Ok(Templates { current, follows, default: of_word(VersionWord::Default), all })
    }

    /// The versions that the words mean.
    async fn words(&self, id: &str) -> Result<BTreeMap<VersionWord, LaunchTemplateRef>, AwsError> {
        let mut words = BTreeMap::new();
        for word in VersionWord::ALL {
            let params = json!({"LaunchTemplateId": id, "LaunchTemplateVersion": [word.as_str()]});
            let call = (Service::Ec2, "DescribeLaunchTemplateVersions");
            let mut answer = self.caller.query(call, &params, Manner::Read).await?;
            let found = taken(&mut answer, call, "launchTemplateVersionSet")?;
            if let Some(number) = found.first().and_then(|one| one["versionNumber"].as_u64()) {
                words.insert(word, LaunchTemplateRef { id: Text::from(id), version: number });
            }
        }
        Ok(words)
    }

    /// Reads versions that are not known. One that was deleted is not there, and stays unknown.
    async fn read_versions(&self, wanted: &BTreeSet<LaunchTemplateRef>) -> Result<(), AwsError> {
        let missing = |state: &State| -> BTreeSet<Text> {
            let unknown = wanted.iter().filter(|one| !state.templates.versions.contains_key(*one));
            unknown.map(|one| one.id.clone()).collect()
        };
        let ids = missing(&self.state());
        for id in ids {
            let params = json!({"LaunchTemplateId": &*id, "MaxResults": 200});
            let call = (Service::Ec2, "DescribeLaunchTemplateVersions");
            let all = self.pages(call, &params, ("launchTemplateVersionSet", "nextToken")).await?;
            let mut state = self.state();
            for one in all {
                let Some(number) = one["versionNumber"].as_u64() else { continue };
                let described =
                    text(&one, "versionDescription").and_then(|text| text.strip_prefix(DESCRIBED));
                let known = Version {
                    image: text(&one["launchTemplateData"], "imageId").unwrap_or_default().to_owned(),
                    kubelet: described.map(str::to_owned),
                };
                state.templates.versions.insert(LaunchTemplateRef { id: id.clone(), version: number }, known);
            }
        }
        self.read_images(wanted).await
    }

    /// Asks for the names of images that are not known.
    async fn read_images(&self, wanted: &BTreeSet<LaunchTemplateRef>) -> Result<(), AwsError> {
        let ids: BTreeSet<String> = {
            let state = self.state();
            let images = wanted.iter().filter_map(|one| state.templates.versions.get(one));
            let images = images.map(|known| known.image.clone()).filter(|id| id.starts_with("ami-"));
            images.filter(|id| !state.templates.images.contains_key(id)).collect()
        };
        if ids.is_empty() {
            return Ok(());
        }
        let filter = json!({"Filter": [{"Name": "image-id", "Value": ids}], "MaxResults": 200});
        let all = self.pages((Service::Ec2, "DescribeImages"), &filter, ("imagesSet", "nextToken")).await?;
        let mut state = self.state();
        for id in ids {
            let found = all.iter().find(|one| one["imageId"] == *id);
            let name = found.and_then(|one| text(one, "name")).unwrap_or_default();
            let is_of_eks = found.is_some_and(|one| text(one, "imageOwnerAlias") == Some("amazon"));
            let day = day_of(name).filter(|_| is_of_eks).map(str::to_owned);
            let named = Named { kubelet: kubernetes_of(name), day };
            state.templates.images.insert(id, named);
        }
        Ok(())
    }
}

/// What nodes of an image are expected to be: as the others, but for the kubelet, and the label that EKS gives its nodes.
fn made(base: &NodeGroup, image: &str, (kubelet, day): (Text, Option<String>)) -> LaunchTemplate {
    let mut template = base.template().clone();
    let labels = &template.profile.labels;
    if !image.is_empty() && labels.contains_key(LABEL_EKS_IMAGE) {
        template.profile.labels = labels.with(LABEL_EKS_IMAGE, image);
    }
    template.image = Text::from(image);
    template.profile.kubelet_version = kubelet;
    template.released = day.map_or_else(Text::default, Text::from);
    template
}

/// The Kubernetes version in the name of an image, as EKS and Bottlerocket write it: `amazon-eks-node-al2023-x86_64-standard-1.36-v20261120`,
/// `bottlerocket-aws-k8s-1.36-x86_64-v1.50.0-…`.
fn kubernetes_of(name: &str) -> Option<String> {
    let is_known = name.starts_with("amazon-eks-") || name.starts_with("bottlerocket-aws-k8s-");
    let is_minor = |part: &&str| {
        let minor = part.split_once('.').filter(|(major, _)| *major == "1").map(|(_, minor)| minor);
        minor.is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let minor = name.split('-').find(is_minor).filter(|_| is_known)?;
    Some(format!("v{minor}.0"))
}

/// The day in the name of an image of EKS for Amazon Linux: `20261120` of `amazon-eks-node-al2023-x86_64-standard-1.36-v20261120`. Whoever builds one with
/// EKS's scripts has an image of such a name, too, with a day of their own: whose it is has to be asked besides.
fn day_of(name: &str) -> Option<&str> {
    let (_, day) = name.strip_prefix("amazon-eks-")?.rsplit_once("-v")?;
    AmiType::is_day(day).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_images_tell_the_day_of_their_release() {
        let day = day_of("amazon-eks-node-al2023-x86_64-standard-1.36-v20261120");
        assert_eq!(day, Some("20261120"));
        for name in [
            "bottlerocket-aws-k8s-1.35-x86_64-v1.50.0-20261120",
            "my-node-v20261120",
            "amazon-eks-node-1.29-v2",
            "",
        ] {
            assert_eq!(day_of(name), None, "{name}");
        }
    }

    #[test]
    fn the_names_of_images_tell_their_kubernetes_version() {
        let of = |name| kubernetes_of(name);
        assert_eq!(of("amazon-eks-node-al2023-x86_64-standard-1.36-v20261120").as_deref(), Some("v1.36.0"));
        assert_eq!(of("amazon-eks-node-1.29-v20240307").as_deref(), Some("v1.29.0"));
        assert_eq!(of("bottlerocket-aws-k8s-1.35-nvidia-x86_64-v1.50.0-abc").as_deref(), Some("v1.35.0"));
        assert_eq!((of("my-image-1.36"), of("amazon-eks-node")), (None, None));
    }
}
