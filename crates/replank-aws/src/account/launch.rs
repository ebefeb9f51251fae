//! Launch templates, and what nodes become of them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::cloud::{AmiType, GroupKind, LaunchTemplate, NodeGroup, NodeProfile};
use replank_model::text::{Text, Zone};
use serde_json::{Value, json};

use super::names::Names;
use super::own::Account;
use super::templates::{Template, Version};
use crate::fault::Fault;
use crate::image::{Image, image, images, minor_of, newest};
use crate::input::Input;
use crate::region::Region;
use crate::text::ec2_id;

/// The image that instances of a group's version are made from: where only its kubelet is known, an image that has it.
pub(crate) fn image_of(template: &LaunchTemplate) -> String {
    if AmiType::is_id(&template.image) {
        return template.image.to_string();
    }
    let kubelet = template.profile.kubelet_version.trim_start_matches('v');
    let ami_type = ami_type_of(template);
    let minor = minor_of(kubelet);
    let of_minor = || images().filter(|image| image.ami_type == ami_type && image.minor == minor);
    let exact = of_minor().filter(|image| kubelet.starts_with(&*image.version)).last();
    exact.or_else(|| of_minor().next()).map_or_else(|| ec2_id("ami", kubelet), |image| image.id)
}

pub(crate) fn ami_type_of(template: &LaunchTemplate) -> String {
    if !template.ami_type.is_empty() {
        return template.ami_type.as_str().to_owned();
    }
    match template.profile.labels.value("kubernetes.io/arch") {
        Some("arm64") => "AL2023_ARM_64_STANDARD".to_owned(),
        Some(_) | None => "AL2023_x86_64_STANDARD".to_owned(),
    }
}

/// What nodes of a group are made of, beside its launch template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish<'w> {
    /// A node group of EKS, and what nodes show of it.
    pub(crate) nodegroup: Option<&'w str>,
    pub(crate) instance_types: Vec<String>,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) taints: Vec<Taint>,
    pub(crate) is_spot: bool,
    pub(crate) zones: Vec<Zone>,
    /// An image that EKS chooses; the template's own goes before it.
    pub(crate) image: Option<String>,
}

/// What becomes of a launch template's data. `like` is a version whose nodes are known: what the data leaves as it was is as there.
pub(crate) fn made(
    names: &Names,
    region: &dyn Region,
    data: &Value,
    like: Option<&LaunchTemplate>,
    wish: &Wish<'_>,
) -> Result<LaunchTemplate, Fault> {
    let image_id = data["ImageId"].as_str().map(str::to_owned).or_else(|| wish.image.clone());
    let known = image_id.as_deref().and_then(image);
    let version = known.as_ref().map(|image| image.version.clone());
    let mut types = wish.instance_types.clone();
    if types.is_empty() {
        types.extend(data["InstanceType"].as_str().map(str::to_owned));
    }
    let same_types = |like: &&LaunchTemplate| {
        types.is_empty()
            || types.iter().all(|one| like.profile.shapes.iter().any(|shape| *shape.instance_type == **one))
    };
    if let Some(like) = like.filter(same_types) {
        let mut template = like.clone();
        if let Some(id) = &image_id {
            template.image = Text::from(&**id);
            template.released = day_of(known.as_ref());
            if template.profile.labels.value(IMAGE_LABEL).is_some() {
                template.profile.labels = template.profile.labels.with(IMAGE_LABEL, &**id);
            }
        }
        if let Some(version) = version {
            template.profile.kubelet_version = kubelet(region, &version);
        }
        if let Some(known) = known {
            template.ami_type = AmiType::new(known.ami_type);
        }
        let (labels, taints) = of_user_data(data);
        for (key, value) in labels {
            template.profile.labels = template.profile.labels.with(key, value);
        }
        if !taints.is_empty() {
            template.profile.taints = taints;
        }
        return Ok(template);
    }
    if types.is_empty() {
        types.push("t3.medium".to_owned());
    }
    let shapes: Vec<_> = types
        .iter()
        .map(|name| region.shape(name).ok_or_else(|| Fault::validation(format!("You must use a valid fully-formed launch template. Invalid value '{name}' for InstanceType: the simulated cloud does not know it."))))
        .collect::<Result<_, _>>()?;
    let is_arm = region.instance_types().iter().any(|one| one.arch == "arm64" && *one.name == *types[0]);
    let arch = if is_arm { "arm64" } else { "amd64" };
    let ami_type = known
        .as_ref()
        .map_or(if is_arm { "AL2023_ARM_64_STANDARD" } else { "AL2023_x86_64_STANDARD" }, |image| {
            image.ami_type
        });
    let image_id = image_id
        .or_else(|| newest(ami_type, &names.setting.version).map(|image| image.id))
        .unwrap_or_default();
    let version = version.unwrap_or_else(|| {
        image(&image_id).map_or_else(|| format!("{}.0", names.setting.version), |image| image.version)
    });
    let released = day_of(image(&image_id).as_ref());
    let (mut labels, mut taints) = of_user_data(data);
    labels.extend(wish.labels.iter().cloned());
    taints.extend(wish.taints.iter().cloned());
    labels.extend(
        [
            ("kubernetes.io/os", "linux"),
            ("kubernetes.io/arch", arch),
            ("topology.kubernetes.io/region", names.region()),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned())),
    );
    if let Some(name) = wish.nodegroup {
        let capacity = if wish.is_spot { "SPOT" } else { "ON_DEMAND" };
        labels.extend(
            [
                ("eks.amazonaws.com/nodegroup", name),
                (IMAGE_LABEL, &image_id),
                ("eks.amazonaws.com/capacityType", capacity),
            ]
            .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
    } else if wish.is_spot {
        // By this the simulated cloud knows how an instance is paid for.
        labels.push(("karpenter.sh/capacity-type".to_owned(), "spot".to_owned()));
    }
    let pair = |(key, value): (String, String)| (Text::from(key), Text::from(value));
    let zone_label = |zone: &Zone| {
        (
            zone.clone(),
            [(Text::from("topology.kubernetes.io/zone"), zone.text().clone())].into_iter().collect(),
        )
    };
    let profile = NodeProfile {
        kubelet_version: kubelet(region, &version),
        labels: labels.into_iter().map(pair).collect(),
        zone_labels: wish.zones.iter().map(zone_label).collect(),
        name_labels: vec![Text::from("kubernetes.io/hostname")],
        taints,
        shapes,
    };
    Ok(LaunchTemplate { image: Text::from(image_id), ami_type: AmiType::new(ami_type), released, profile })
}

const IMAGE_LABEL: &str = "eks.amazonaws.com/nodegroup-image";

/// The day of an image's release; nothing of Bottlerocket's, whose releases are not called by days.
fn day_of(image: Option<&Image>) -> Text {
    let of_linux = image.filter(|image| image.ami_type.starts_with("AL2023"));
    of_linux.map_or_else(Text::default, |image| Text::from(image.day))
}

/// A kubelet's version as nodes of the cluster write it: with a suffix where theirs have one.
fn kubelet(region: &dyn Region, version: &str) -> Text {
    let groups = region.groups();
    let known = groups.iter().flat_map(|group| group.templates.values());
    let same = known
        .map(|template| &template.profile.kubelet_version)
        .find(|known| known.trim_start_matches('v').split('-').next() == Some(version));
    same.cloned().unwrap_or_else(|| Text::from(format!("v{version}")))
}

/// Labels and taints that user data hands to the kubelet (`--node-labels=…`, `--register-with-taints=…`).
fn of_user_data(data: &Value) -> (Vec<(String, String)>, Vec<Taint>) {
    let bytes = data["UserData"].as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let values = |flag: &str| -> Vec<String> {
        let all = text.split(flag).skip(1);
        all.flat_map(|rest| {
            rest.split(|letter: char| letter.is_whitespace() || "'\"".contains(letter))
                .next()
                .unwrap_or_default()
                .split(',')
                .map(str::to_owned)
                .collect::<Vec<_>>()
        })
        .collect()
    };
    let labels = values("--node-labels=");
    let labels = labels
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    let taints = values("--register-with-taints=");
    let taints = taints.iter().filter_map(|text| {
        let (key, rest) = text.split_once('=').or_else(|| {
            text.split_once(':').map(|(key, _)| (key, text.split_once(':').map_or("", |(_, rest)| rest)))
        })?;
        let (value, effect) = rest.split_once(':').unwrap_or(("", rest));
        taint(key, value, effect)
    });
    (labels, taints.collect())
}

/// A taint, with its effect as Kubernetes or as EKS writes it.
pub(crate) fn taint(key: &str, value: &str, effect: &str) -> Option<Taint> {
    let effect = match effect {
        "NoSchedule" | "NO_SCHEDULE" => TaintEffect::NoSchedule,
        "NoExecute" | "NO_EXECUTE" => TaintEffect::NoExecute,
        "PreferNoSchedule" | "PREFER_NO_SCHEDULE" => TaintEffect::PreferNoSchedule,
        _ => return None,
    };
    let mut taint = Taint::new(key, effect);
    taint.value = Text::from(value);
    Some(taint)
}

/// Data of a version that only the region knows.
fn data_of(template: &LaunchTemplate) -> Value {
    let mut data = json!({"ImageId": image_of(template)});
    if let Some(shape) = template.profile.shapes.first() {
        data["InstanceType"] = json!(&*shape.instance_type);
    }
    data
}

impl Account {
    /// Makes launch templates of what groups are known to be made from.
    pub(crate) fn adopt(&mut self, region: &dyn Region) {
        let now = region.now();
        for group in region.groups() {
            for (version, template) in &group.templates {
                let own = self.templates.by_id.entry(version.id.to_string()).or_insert_with(|| Template {
                    id: version.id.to_string(),
                    name: template_name(&group),
                    created: now,
                    default: version.version,
                    versions: BTreeMap::new(),
                    tags: BTreeMap::new(),
                });
                own.versions.entry(version.version).or_insert_with(|| Version {
                    data: data_of(template),
                    description: None,
                    created: now,
                });
            }
        }
    }

    /// A group with another version of a launch template, by its number or by a word.
    pub(crate) fn with_template(
        &self,
        region: &dyn Region,
        group: &mut NodeGroup,
        spec: Input<'_>,
        wish: &Wish<'_>,
    ) -> Result<(), Fault> {
        let named = self.templates.named(spec).map_err(|fault| {
            Fault::validation(format!("You must use a valid fully-formed launch template. {}", fault.message))
        })?;
        let data = self.templates.data(&named.version).cloned().unwrap_or_default();
        let like = group.templates.get(&group.current);
        let template = made(&self.names, region, &data, like, wish)?;
        group.templates.entry(named.version.clone()).or_insert(template);
        let own = self.templates.by_id.get(&*named.version.id);
        group.default_version = own.map(|own| named.version.at(own.default));
        group.current = named.version;
        group.follows = named.word;
        Ok(())
    }
}

fn template_name(group: &NodeGroup) -> String {
    match group.kind {
        GroupKind::EksManaged => group.auto_scaling_group.to_string(),
        GroupKind::SelfManaged => format!("{}-template", group.auto_scaling_group),
    }
}
