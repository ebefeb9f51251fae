//! What new nodes are: whether a node is one, and the launch template that makes them.

use std::sync::Arc;

use replank_model::labels::Labels;
use replank_model::object::affinity::Taint;
use replank_model::object::cloud::{LaunchTemplate, NodeGroup};
use replank_model::object::node::{LABEL_EKS_IMAGE, Node};
use replank_model::text::{GroupName, Text};
use replank_model::time::Time;

use crate::plan::{Base, TaintChange, Target};
use replank_protocol::mark;

/// The launch template from before the run, where it was written down.
pub fn original(group: &NodeGroup) -> Option<&LaunchTemplate> {
    group.templates.get(&mark::read_template(group.tags.value(mark::ORIGINAL_TEMPLATE)?)?)
}

/// Whether a template is the one from before the run. Where none was written down, there is nothing to go back from.
fn is_original(group: Option<&NodeGroup>, template: Option<&LaunchTemplate>) -> bool {
    group.and_then(original).is_none_or(|original| template == Some(original))
}

/// Whether an instance is where new ones come up. In a group that nodes move into, what was there before the run is nothing
/// of the run's; in the groups that they leave, whatever the target says of its nodes is met nowhere.
pub fn is_landing_node(target: &Target, started: Time, group: &GroupName, launched: Option<Time>) -> bool {
    target
        .group
        .as_ref()
        .is_none_or(|landing| landing == group && launched.is_some_and(|launched| launched > started))
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
    if target.base == Base::Original {
        return is_original(group, template);
    }
    if target.is_empty() {
        return node.meta.creation_timestamp.is_some_and(|created| created > started);
    }
    let version = &node.status.node_info.kubelet_version;
    target.kubernetes_version.as_ref().is_none_or(|wanted| wanted.matches(version))
        && target.image.as_ref().is_none_or(|wanted| image_of(node, template) == Some(wanted))
        && meets_labels(target, &node.meta.labels)
        && meets_taints(target, &node.spec.taints)
}

/// Whether a launch template makes nodes as the target says. Every template meets an empty target.
pub fn meets_template(target: &Target, group: &NodeGroup, template: &LaunchTemplate) -> bool {
    if target.base == Base::Original {
        return is_original(Some(group), Some(template));
    }
    target.kubernetes_version.as_ref().is_none_or(|wanted| wanted.matches(&template.kubelet_version))
        && target.image.as_ref().is_none_or(|wanted| template.image == *wanted)
        && meets_labels(target, &template.labels)
        && meets_taints(target, &template.taints)
}

/// The launch template that a group is to have.
pub fn template(target: &Target, group: &NodeGroup) -> Arc<LaunchTemplate> {
    match target.base {
        Base::Current => with_differences(target, group.template()),
        Base::Original => Arc::new(original(group).unwrap_or_else(|| group.template()).clone()),
    }
}

fn with_differences(target: &Target, from: &LaunchTemplate) -> Arc<LaunchTemplate> {
    let mut template = from.clone();
    if let Some(version) = target.kubernetes_version.as_ref().filter(|v| !v.matches(&from.kubelet_version)) {
        template.kubelet_version = Text::from(version.kubelet_version());
    }
    if let Some(image) = &target.image {
        template.image = image.clone();
        if template.labels.contains_key(LABEL_EKS_IMAGE) {
            template.labels = template.labels.with(LABEL_EKS_IMAGE, image.clone());
        }
    }
    for (key, value) in &target.labels {
        template.labels = match value {
            Some(value) => template.labels.with(key.clone(), value.clone()),
            None => template.labels.without(key),
        };
    }
    for change in &target.taints {
        let (TaintChange::Set(taint) | TaintChange::Remove(taint)) = change;
        template.taints.retain(|known| !is_same(known, taint));
        if let TaintChange::Set(taint) = change {
            template.taints.push(taint.clone());
        }
    }
    Arc::new(template)
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
    use replank_model::object::cloud::{GroupSize, LaunchTemplateRef};

    use super::*;

    fn target() -> Target {
        Target {
            group: None,
            kubernetes_version: Some("1.36".parse().expect("a version")),
            image: Some("ami-new".into()),
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
            kubelet_version: "v1.34.2".into(),
            labels: [("old", "x"), (LABEL_EKS_IMAGE, "ami-old")].into_iter().collect(),
            taints: vec![Taint::new("spot", TaintEffect::NoSchedule)],
            ..LaunchTemplate::default()
        }
    }

    #[test]
    fn a_template_with_the_differences_meets_the_target_and_so_do_its_nodes() {
        let target = target();
        assert!(!meets_template(&target, &group(), &old_template()));
        let new = with_differences(&target, &old_template());
        assert!(meets_template(&target, &group(), &new));
        assert_eq!(*with_differences(&target, &new), *new, "nothing is left to change");
        assert_eq!(&*new.kubelet_version, "v1.36.0");
        let started = Time::from_millis(0);
        let node = new.node(&"n".into(), &"z".into(), &replank_model::object::cloud::NodeShape::default());
        assert!(meets_node(&target, started, &node, None, Some(&new)));
        assert!(meets_node(&target, started, &node, None, None), "the label tells the image");
        assert!(
            !meets_node(&target, started, &node, None, Some(&old_template())),
            "its instance is of another image"
        );
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
        group.tags = group.tags.with(mark::ORIGINAL_TEMPLATE, mark::template_tag(&version(3)));
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
        from.kubelet_version = "v1.36.2".into();
        assert_eq!(&*with_differences(&target(), &from).kubelet_version, "v1.36.2");
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
