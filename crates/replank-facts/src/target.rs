//! What new nodes are: whether a node is one, and the launch template that makes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::affinity::Taint;
use replank_model::object::cloud::{AmiType, Instance, LaunchTemplate, LaunchTemplateRef, NodeGroup};
use replank_model::object::node::{LABEL_EKS_IMAGE, Node};
use replank_model::text::{GroupName, Text};
use replank_model::time::Time;

use crate::plan::{Base, TaintChange, Target};
use crate::release::{ReleaseVersion, made_of};
use replank_protocol::mark;
use replank_protocol::record::MadeOf;

/// The launch template from before the run, where it was written down.
pub fn original(group: &NodeGroup) -> Option<&LaunchTemplate> {
    group.templates.get(&mark::read_template(group.tags.value(mark::ORIGINAL_TEMPLATE)?)?)
}

/// Whether the target is what a group's nodes were before the run. Where nodes move back, the groups that they had left still make what they made.
fn is_former(target: &Target) -> bool {
    match target.base {
        Base::Original => target.group.is_none(),
        Base::Current => false,
    }
}

/// Whether a template is the one from before the run. Where none was written down, there is nothing to go back from.
fn is_original(group: Option<&NodeGroup>, template: Option<&LaunchTemplate>) -> bool {
    group.and_then(original).is_none_or(|original| template == Some(original))
}

/// Whether an instance is where new ones come up. In a group that nodes move into, what was there before the run is nothing
/// of the run's; in the groups that they leave, whatever the target says of its nodes is met nowhere.
pub fn is_landing_node(target: &Target, started: Time, group: &GroupName, launched: Option<Time>) -> bool {
    target.group.is_none() || target.lands_in(group) && launched.is_some_and(|launched| launched > started)
}

/// Whether a node is as the target says. Under an empty target it is new if it was created after the run began.
///
/// A node is asked for what it reports itself; its image is that of its instance's launch template, or the label that EKS
/// puts on managed nodes.
pub fn meets_node(
    target: &Target,
    started: Time,
    node: &Node,
    group: Option<&NodeGroup>,
    template: Option<&LaunchTemplate>,
) -> bool {
    if is_former(target) {
        return is_original(group, template);
    }
    if target.is_empty() {
        return node.meta.creation_timestamp.is_some_and(|created| created > started);
    }
    let version = &node.status.node_info.kubelet_version;
    target.kubernetes_version.as_ref().is_none_or(|wanted| wanted.matches(version))
        && target.image.as_ref().is_none_or(|wanted| image_of(node, template) == Some(wanted))
        && target
            .release_version
            .as_ref()
            .is_none_or(|wanted| is_node_of_release(wanted, started, node, template))
        && meets_labels(target, &node.meta.labels)
        && meets_taints(target, &node.spec.taints)
}

/// Whether a launch template makes nodes as the target says. Every template meets an empty target.
pub fn meets_template(target: &Target, group: &NodeGroup, template: &LaunchTemplate) -> bool {
    if is_former(target) {
        return is_original(Some(group), Some(template));
    }
    target.kubernetes_version.as_ref().is_none_or(|wanted| wanted.matches(&template.profile.kubelet_version))
        && target.image.as_ref().is_none_or(|wanted| template.image == *wanted)
        && target.release_version.as_ref().is_none_or(|wanted| is_of_release(wanted, template))
        && meets_labels(target, &template.profile.labels)
        && meets_taints(target, &template.profile.taints)
}

/// Whether a launch template's image is known to be of a release.
fn is_of_release(wanted: &ReleaseVersion, template: &LaunchTemplate) -> bool {
    ReleaseVersion::of(template).is_some_and(|found| found.is_same(wanted))
}

/// A node shows no day: what it was made from is asked, and that has one release a day whatever patch the plan writes. As long as that is not seen, a node of the kubelet that came up since
/// the run began is taken for one of the run.
fn is_node_of_release(
    wanted: &ReleaseVersion,
    started: Time,
    node: &Node,
    template: Option<&LaunchTemplate>,
) -> bool {
    match template {
        Some(template) => is_of_release(wanted, template),
        None => {
            wanted.has_kubelet(&node.status.node_info.kubelet_version)
                && node.meta.creation_timestamp.is_some_and(|created| created > started)
        }
    }
}

/// What those nodes of a group are made of that are not as the target says, most of them; where all are, or nothing is said of them, what the group's launch template has.
pub fn former<'i>(
    target: &Target,
    group: &NodeGroup,
    instances: impl Iterator<Item = &'i Instance>,
) -> Option<MadeOf> {
    let mut counts: BTreeMap<&LaunchTemplateRef, usize> = BTreeMap::new();
    for instance in instances.filter(|one| one.is_counted()) {
        *counts.entry(&instance.template).or_default() += 1;
    }
    let known = counts
        .into_iter()
        .filter_map(|(version, count)| Some((count, version, group.templates.get(version)?)));
    let old = known.filter(|(_, _, template)| !meets_template(target, group, template));
    let most = old.max_by_key(|(count, version, _)| (*count, *version)).map(|(_, _, template)| template);
    made_of(most.unwrap_or_else(|| group.template()))
}

/// The launch template that a group is to have.
pub fn template(target: &Target, group: &NodeGroup) -> Arc<LaunchTemplate> {
    match target.base {
        Base::Current => with_differences(target, group),
        Base::Original => Arc::new(original(group).unwrap_or_else(|| group.template()).clone()),
    }
}

/// The group's template with another image, if the target requires one or another Kubernetes version, and the predicted nodes.
fn with_differences(target: &Target, group: &NodeGroup) -> Arc<LaunchTemplate> {
    let mut template = group.template().clone();
    if let Some(image) = other_image(target, group.template()) {
        template.profile.kubelet_version = kubelet_of(target, group, &image);
        // What EKS will write on nodes of an image whose id is not known is not known either.
        let labels = &mut template.profile.labels;
        if AmiType::is_id(&image) && labels.contains_key(LABEL_EKS_IMAGE) {
            *labels = labels.with(LABEL_EKS_IMAGE, image.clone());
        } else {
            *labels = labels.without(LABEL_EKS_IMAGE);
        }
        template.image = image;
        template.released =
            target.release_version.as_ref().map_or_else(Text::default, |release| release.day().into());
    }
    let profile = &mut template.profile;
    for (key, value) in &target.labels {
        profile.labels = match value {
            Some(value) => profile.labels.with(key.clone(), value.clone()),
            None => profile.labels.without(key),
        };
    }
    for change in &target.taints {
        let (TaintChange::Set(taint) | TaintChange::Remove(taint)) = change;
        profile.taints.retain(|known| !is_same(known, taint));
        if let TaintChange::Set(taint) = change {
            profile.taints.push(taint.clone());
        }
    }
    Arc::new(template)
}

/// The image in place of a template's. A Kubernetes version is the image's: another version is another image, and where the target names none, the one
/// that goes with the version.
fn other_image(target: &Target, from: &LaunchTemplate) -> Option<Text> {
    if let Some(release) = &target.release_version {
        // Always by its name: whoever updates the group has to pass it.
        let image = release.image();
        return (image != from.image).then_some(image);
    }
    match (&target.image, &target.kubernetes_version) {
        (Some(image), _) => (*image != from.image).then(|| image.clone()),
        (None, Some(version)) if !version.matches(&from.profile.kubelet_version) => {
            Some(from.ami_type.image(&version.to_string()))
        }
        (None, Some(_) | None) => None,
    }
}

/// The kubelet that comes with an image: as known from a version of the group's template that has it, else as the target says, else as the group has it.
fn kubelet_of(target: &Target, group: &NodeGroup, image: &Text) -> Text {
    let present = &group.profile().kubelet_version;
    if let Some(release) = &target.release_version {
        return Text::from(release.kubelet_version());
    }
    match (known_kubelet(group, image), &target.kubernetes_version) {
        (Some(known), _) => known.clone(),
        (None, Some(version)) if !version.matches(present) => Text::from(version.kubelet_version()),
        (None, Some(_) | None) => present.clone(),
    }
}

/// The kubelet of an image, where a version of the group's template has that image.
fn known_kubelet<'g>(group: &'g NodeGroup, image: &Text) -> Option<&'g Text> {
    let with_image = |template: &&LaunchTemplate| !image.is_empty() && template.image == *image;
    group.templates.values().find(with_image).map(|template| &template.profile.kubelet_version)
}

/// A target asks for an image and for a Kubernetes version that the image does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtherKubelet {
    /// The image.
    pub image: Text,
    /// The kubelet that comes with it.
    pub kubelet: Text,
    /// What the target asks for.
    pub wanted: Text,
}

/// Whether a target asks for a kubelet that its image is known not to have: no node of the group can ever be as it says.
pub fn other_kubelet(target: &Target, group: &NodeGroup) -> Option<OtherKubelet> {
    let (image, version) = target.image.as_ref().zip(target.kubernetes_version.as_ref())?;
    let kubelet = known_kubelet(group, image).filter(|kubelet| !version.matches(kubelet))?;
    Some(OtherKubelet {
        image: image.clone(),
        kubelet: kubelet.clone(),
        wanted: Text::from(version.to_string()),
    })
}

fn image_of<'a>(node: &'a Node, template: Option<&'a LaunchTemplate>) -> Option<&'a Text> {
    template
        .map(|template| &template.image)
        .filter(|image| !image.is_empty())
        .or_else(|| node.meta.labels.get(LABEL_EKS_IMAGE))
}

fn meets_labels(target: &Target, labels: &Labels) -> bool {
    target.labels.iter().all(|(key, value)| labels.get(key) == value.as_ref())
}

fn meets_taints(target: &Target, taints: &[Taint]) -> bool {
    target.taints.iter().all(|change| match change {
        TaintChange::Set(taint) => {
            taints.iter().any(|known| is_same(known, taint) && known.value == taint.value)
        }
        TaintChange::Remove(taint) => !taints.iter().any(|known| is_same(known, taint)),
    })
}

/// Taints are told apart by key and effect.
fn is_same(one: &Taint, other: &Taint) -> bool {
    one.key == other.key && one.effect == other.effect
}

#[cfg(test)]
mod tests {
    use replank_model::object::affinity::TaintEffect;
    use replank_model::object::cloud::{
        GroupSize, HealthStatus, InstanceState, Lifecycle, Market, NodeProfile, NodeShape,
    };

    use super::*;

    fn target() -> Target {
        Target {
            further: Vec::new(),
            group: None,
            kubernetes_version: Some("1.36".parse().expect("a version")),
            image: Some("ami-new".into()),
            release_version: None,
            bad_releases: Vec::new(),
            labels: vec![("old".into(), None), ("tier".into(), Some("web".into()))],
            taints: vec![
                TaintChange::Set(Taint::new("dedicated", TaintEffect::NoSchedule)),
                TaintChange::Remove(Taint::new("spot", TaintEffect::NoSchedule)),
            ],
            base: Base::Current,
        }
    }

    fn old_template() -> LaunchTemplate {
        LaunchTemplate {
            image: "ami-old".into(),
            ami_type: AmiType::new("AL2023_x86_64_STANDARD"),
            released: "20260101".into(),
            profile: NodeProfile {
                kubelet_version: "v1.34.2".into(),
                labels: [("old", "x"), (LABEL_EKS_IMAGE, "ami-old")].into_iter().collect(),
                taints: vec![Taint::new("spot", TaintEffect::NoSchedule)],
                ..NodeProfile::default()
            },
        }
    }

    fn of(template: LaunchTemplate) -> NodeGroup {
        NodeGroup::new("web".into(), GroupSize::default(), Vec::new(), template)
    }

    #[test]
    fn a_template_with_the_differences_meets_the_target_and_so_do_its_nodes() {
        let target = target();
        assert!(!meets_template(&target, &group(), &old_template()));
        let new = with_differences(&target, &of(old_template()));
        assert!(meets_template(&target, &group(), &new));
        assert_eq!(
            *with_differences(&target, &of(LaunchTemplate::clone(&new))),
            *new,
            "nothing is left to change"
        );
        assert_eq!((&*new.image, &*new.profile.kubelet_version), ("ami-new", "v1.36.0"));
        assert_eq!(new.profile.labels.value(LABEL_EKS_IMAGE), Some("ami-new"));
        let started = Time::from_millis(0);
        let node = new.profile.node(&"n".into(), &"z".into(), &NodeShape::default());
        assert!(meets_node(&target, started, &node, None, Some(&new)));
        assert!(meets_node(&target, started, &node, None, None), "the label tells the image");
        assert!(
            !meets_node(&target, started, &node, None, Some(&old_template())),
            "its instance is of another image"
        );
    }

    #[test]
    fn another_version_is_another_image() {
        let target = Target { kubernetes_version: "1.36".parse().ok(), ..Target::default() };
        let new = with_differences(&target, &of(old_template()));
        let parameter =
            "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id";
        assert_eq!((&*new.image, &*new.profile.kubelet_version), (parameter, "v1.36.0"));
        assert_eq!(new.profile.labels.value(LABEL_EKS_IMAGE), None, "its id is not known");
        let unknown =
            LaunchTemplate { image: Text::default(), ami_type: AmiType::default(), ..old_template() };
        let new = with_differences(&target, &of(unknown));
        assert_eq!((&*new.image, &*new.profile.kubelet_version), ("<image of Kubernetes 1.36>", "v1.36.0"));
        let same = Target { kubernetes_version: "1.34".parse().ok(), ..Target::default() };
        assert_eq!(*with_differences(&same, &of(old_template())), old_template());
    }

    #[test]
    fn a_release_is_met_by_its_day_and_its_kubelet() {
        let wanted: ReleaseVersion = "1.34.2-20260610".parse().expect("a release");
        let target = Target { release_version: Some(wanted.clone()), ..Target::default() };
        let mut old = old_template();
        old.image = "ami-old".into();
        assert!(!meets_template(&target, &group(), &old), "another day");
        let new = with_differences(&target, &of(old.clone()));
        assert_eq!((&*new.image, &*new.released), ("<image of release 1.34.2-20260610>", "20260610"));
        assert_eq!(
            (&*new.profile.kubelet_version, new.profile.labels.value(LABEL_EKS_IMAGE)),
            ("v1.34.2", None)
        );
        assert!(meets_template(&target, &group(), &new));
        let started = Time::from_millis(0);
        let node = new.profile.node(&"n".into(), &"z".into(), &NodeShape::default());
        assert!(meets_node(&target, started, &node, None, Some(&new)));
        assert!(!meets_node(&target, started, &node, None, Some(&old)), "the same kubelet, another day");
        assert!(!meets_node(&target, started, &node, None, None), "nothing shows its day");
        let mut later = node.clone();
        later.meta.creation_timestamp = Some(Time::from_millis(1_000));
        assert!(
            meets_node(&target, started, &later, None, None),
            "it came since, and its instance is not seen yet"
        );
        assert!(!meets_node(&target, started, &later, None, Some(&old)));
        later.status.node_info.kubelet_version = "v1.34.3".into();
        assert!(!meets_node(&target, started, &later, None, None), "another kubelet");
        // A template that EKS has made of it meets the target, and is asked for by the release still.
        old.released = "20260610".into();
        assert!(meets_template(&target, &group(), &old));
        assert_eq!(&*with_differences(&target, &of(old)).image, "<image of release 1.34.2-20260610>");
        let unknown = LaunchTemplate { released: Text::default(), ..old_template() };
        assert!(!meets_template(&target, &group(), &unknown));
    }

    #[test]
    fn what_goes_is_made_of_what_most_nodes_have_that_are_not_as_the_target_says() {
        let mut group = of(old_template());
        let (first, second) = (group.current.clone(), group.current.at(2));
        let mut new = old_template();
        (new.image, new.released) = ("ami-new".into(), "20260610".into());
        group.templates.insert(second.clone(), new);
        group.current = second.clone();
        let instance = |version: &LaunchTemplateRef| Instance {
            id: "i".into(),
            group: "web".into(),
            zone: "a".into(),
            state: InstanceState::Running,
            template: version.clone(),
            launched: None,
            node: None,
            lifecycle: Lifecycle::default(),
            market: Market::default(),
            is_protected: false,
            health: HealthStatus::default(),
            targets: Vec::new(),
        };
        let told = |target: &Target, versions: &[&LaunchTemplateRef]| {
            let instances: Vec<Instance> = versions.iter().map(|version| instance(version)).collect();
            former(target, &group, instances.iter()).map(|found| found.to_string()).unwrap_or_default()
        };
        let target = Target { release_version: "1.34.2-20260610".parse().ok(), ..Target::default() };
        // An update has begun: the launch template is that of the new nodes, and most nodes may be new.
        assert_eq!(told(&target, &[&first, &second, &second]), "release 1.34.2-20260101 (ami-old)");
        assert_eq!(told(&target, &[&second]), "release 1.34.2-20260610 (ami-new)");
        let other = Target { release_version: "1.34.2-20261120".parse().ok(), ..Target::default() };
        assert_eq!(told(&other, &[&first, &second, &second]), "release 1.34.2-20260610 (ami-new)");
        assert_eq!(told(&Target::default(), &[&first, &first]), "release 1.34.2-20260610 (ami-new)");
    }

    #[test]
    fn an_image_that_is_known_has_its_own_kubelet() {
        let mut group = of(old_template());
        let mut known = old_template();
        known.image = "ami-new".into();
        known.profile.kubelet_version = "v1.35.4".into();
        group.templates.insert(group.current.at(9), known);
        let target = |image: &str, version: Option<&str>| Target {
            image: Some(image.into()),
            kubernetes_version: version.and_then(|version| version.parse().ok()),
            ..Target::default()
        };
        let kubelet = |target: &Target| with_differences(target, &group).profile.kubelet_version.clone();
        assert_eq!(&*kubelet(&target("ami-new", None)), "v1.35.4");
        assert_eq!(&*kubelet(&target("ami-other", None)), "v1.34.2", "nobody says otherwise");
        assert_eq!(&*kubelet(&target("ami-other", Some("1.36"))), "v1.36.0");
        for (image, version, known) in [("ami-new", "1.36", "v1.35.4"), ("ami-old", "1.36", "v1.34.2")] {
            let target = target(image, Some(version));
            assert_eq!(&*kubelet(&target), known, "{image}");
            let found = other_kubelet(&target, &group).expect("it is another");
            assert_eq!((&*found.image, &*found.kubelet, &*found.wanted), (image, known, version));
        }
        for (image, version) in [("ami-new", Some("1.35")), ("ami-old", None), ("ami-other", Some("1.36"))] {
            assert_eq!(other_kubelet(&target(image, version), &group), None, "{image}");
        }
    }

    fn version(version: u64) -> LaunchTemplateRef {
        LaunchTemplateRef { id: "lt-1".into(), version }
    }

    fn group() -> NodeGroup {
        NodeGroup {
            current: version(7),
            templates: [(version(3), old_template()), (version(7), LaunchTemplate::default())].into(),
            ..NodeGroup::new("web".into(), GroupSize::default(), Vec::new(), LaunchTemplate::default())
        }
    }

    #[test]
    fn the_way_back_leads_to_the_template_that_was_written_down() {
        let back = Target { base: Base::Original, ..Target::default() };
        let mut group = group();
        let (old, new) = (old_template(), LaunchTemplate::default());
        assert!(meets_template(&back, &group, &new), "nothing was written down");
        group.tags = group.tags.with(mark::ORIGINAL_TEMPLATE, mark::template_tag(&version(3), None));
        assert!(!meets_template(&back, &group, &new) && meets_template(&back, &group, &old));
        assert_eq!(*template(&back, &group), old);
        let meets = |made_from| {
            meets_node(&back, Time::from_millis(0), &Node::default(), Some(&group), Some(made_from))
        };
        assert!(meets(&old) && !meets(&new));
    }

    #[test]
    fn a_patch_that_is_there_is_kept() {
        let mut from = old_template();
        from.profile.kubelet_version = "v1.36.2".into();
        assert_eq!(&*with_differences(&target(), &of(from)).profile.kubelet_version, "v1.36.2");
    }

    #[test]
    fn under_an_empty_target_age_decides() {
        let started: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
        let mut node = Node::default();
        for (created, is_new) in
            [(None, false), (Some("2026-01-01T00:00:00Z"), false), (Some("2026-01-01T00:00:01Z"), true)]
        {
            node.meta.creation_timestamp = created.map(|text| text.parse().expect("a time"));
            assert_eq!(meets_node(&Target::default(), started, &node, None, None), is_new);
        }
    }
}
