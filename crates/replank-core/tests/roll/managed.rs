//! Managed node groups: what is asked of EKS, what is followed, and what is told.

use replank_core::Core;
use replank_facts::groups::{GroupBy, from_nodes};
use replank_facts::plan::RunOptions;
use replank_model::delta::Delta;
use replank_model::object::cloud::{
    LaunchTemplate, NodeGroup, NodeProfile, NodegroupChange, NodegroupUpdate, ScalingProcess, UpdateError,
    UpdateStatus,
};
use replank_model::view::View;
use replank_protocol::command::{Command, Effect, GroupEffect};
use replank_protocol::decision::{Decision, End};
use serde_json::{Value, json};

use crate::stage::{node, nothing_blocks, object, plan, start};

const NEW: &str = "v1.36.0";

const IMAGE: &str = "ami-0123";

fn decide(second: &str, change: impl Fn(&mut NodeGroup)) -> Decision {
    decide_on(second, &json!({"kubernetesVersion": "1.36"}), change)
}

/// A managed group of two nodes, one of them of version `second`, and what core decides.
fn decide_on(second: &str, target: &Value, change: impl Fn(&mut NodeGroup)) -> Decision {
    let mut nodes = [node("web-1", "web", "a"), node("web-2", "web", "b")];
    nodes[1]["status"]["nodeInfo"]["kubeletVersion"] = second.into();
    if second == NEW {
        nodes[0]["status"]["nodeInfo"]["kubeletVersion"] = second.into();
    }
    let view: View = nodes.into_iter().map(|value| Delta::Put(object(value))).collect();
    let options = RunOptions { started: start(), group_by: GroupBy::default() };
    let plan = plan(&["web"], json!({"target": target}));
    let mut core = Core::new(plan, "run".into(), options, nothing_blocks);
    view.objects().into_iter().for_each(|object| core.observe(Delta::Put(object)));
    for learnt in from_nodes(&view, &GroupBy::default()) {
        let mut group = learnt.group.managed_by_eks();
        change(&mut group);
        core.observe(Delta::Group(group.into()));
        learnt.instances.into_iter().for_each(|one| core.observe(Delta::Instance(one.into())));
    }
    core.decide(start())
}

/// An update of the group to a kubelet version.
fn update(group: &mut NodeGroup, kubelet: &str, status: UpdateStatus) {
    let profile = NodeProfile { kubelet_version: kubelet.into(), ..group.profile().clone() };
    let template =
        LaunchTemplate { image: format!("ami-of-{kubelet}").into(), profile, ..LaunchTemplate::default() };
    let to = group.version_of(&template);
    group.templates.insert(to.clone(), template);
    let errors = match status {
        UpdateStatus::Failed => vec![UpdateError {
            code: UpdateError::POD_EVICTION_FAILURE.into(),
            message: "pods are left".into(),
            resources: vec!["web-2".into()],
        }],
        UpdateStatus::InProgress | UpdateStatus::Cancelled | UpdateStatus::Successful => Vec::new(),
    };
    group.update = Some(NodegroupUpdate {
        id: "u-1".into(),
        token: "somebody".into(),
        change: NodegroupChange::Version { to },
        status,
        created: start(),
        errors,
        was_followed: false,
    });
}

fn waits(decision: &Decision) -> Vec<&'static str> {
    decision.waiting.iter().map(|waiting| waiting.on.kind()).collect()
}

#[test]
fn eks_is_asked_for_an_update_under_the_same_key_whoever_asks() {
    let (one, other) = (decide("v1.34.2", |_| {}), decide("v1.34.2", |_| {}));
    let [Command { effect: Effect::Group(GroupEffect::UpdateNodegroupVersion { to, force, .. }), key, .. }] =
        one.commands.as_slice()
    else {
        panic!("{:?}", one.commands)
    };
    assert_eq!((&*to.profile.kubelet_version, *force), (NEW, false));
    assert_eq!(*key, other.commands[0].key, "its token follows from the key");
}

#[test]
fn an_update_that_leads_there_is_followed_whoever_has_started_it() {
    let decision = decide("v1.34.2", |group| update(group, NEW, UpdateStatus::InProgress));
    assert_eq!((decision.commands.len(), decision.end.is_none()), (0, true));
    assert_eq!(waits(&decision), ["nodegroupUpdate"]);
    let told = decision.waiting.first().expect("something waits").on.to_string();
    assert!(told.contains("EKS update u-1") && told.contains("2 nodes to replace"), "{told}");
}

#[test]
fn an_update_that_leads_elsewhere_is_waited_for() {
    let decision = decide("v1.34.2", |group| update(group, "v1.35.1", UpdateStatus::InProgress));
    assert_eq!((decision.commands.len(), decision.end.is_none()), (0, true));
    assert_eq!(waits(&decision), ["otherUpdate"]);
}

#[test]
fn an_update_that_has_failed_is_told_and_not_tried_again() {
    let decision = decide("v1.34.2", |group| update(group, NEW, UpdateStatus::Failed));
    assert_eq!(decision.commands, []);
    let Some(End::Blocked(blockers)) = &decision.end else { panic!("{:?}", decision.end) };
    let told = blockers[0].on.to_string();
    assert!(told.contains("EKS update u-1 failed; PodEvictionFailure: pods are left (web-2)"), "{told}");
}

#[test]
fn a_failure_from_before_the_run_does_not_keep_it_from_trying() {
    let decision = decide("v1.34.2", |group| {
        update(group, NEW, UpdateStatus::Failed);
        let before = start() - replank_model::time::Span::from_minutes(60);
        group.update.iter_mut().for_each(|update| update.created = before);
    });
    assert_eq!(decision.commands.len(), 1);
}

#[test]
fn an_update_that_was_adopted_and_fails_is_not_tried_again_either() {
    let decision = decide("v1.34.2", |group| {
        update(group, NEW, UpdateStatus::Failed);
        let before = start() - replank_model::time::Span::from_minutes(5);
        if let Some(update) = &mut group.update {
            (update.created, update.was_followed) = (before, true);
        }
    });
    assert_eq!(decision.commands, []);
    assert!(matches!(decision.end, Some(End::Blocked(_))), "{:?}", decision.end);
}

#[test]
fn no_update_begins_while_a_process_is_suspended_that_it_needs() {
    for process in [ScalingProcess::Launch, ScalingProcess::Terminate] {
        let decision = decide("v1.34.2", |group| group.ways.suspended = [process].into());
        assert_eq!((decision.commands.len(), decision.end.is_none()), (0, true));
        assert_eq!(waits(&decision), ["suspended"]);
        let told = decision.waiting.first().expect("something waits").on.to_string();
        assert!(told.starts_with(&format!("process {process} of Auto Scaling group eks-web-")), "{told}");
    }
}

#[test]
fn an_image_of_another_version_ends_the_run_before_anything_is_asked() {
    let decision = decide("v1.34.2", |group| {
        let mut known = group.template().clone();
        known.image = IMAGE.into();
        group.templates.insert(group.current.clone(), known);
    });
    assert_eq!(decision.commands.len(), 1, "the plan names no image");
    let decision = decide_on("v1.34.2", &json!({"kubernetesVersion": "1.36", "image": IMAGE}), |group| {
        let mut known = group.template().clone();
        known.image = IMAGE.into();
        group.templates.insert(group.current.clone(), known);
    });
    assert_eq!(decision.commands, []);
    let Some(End::Blocked(blockers)) = &decision.end else { panic!("{:?}", decision.end) };
    assert_eq!(
        blockers[0].on.to_string(),
        "manual action needed: image ami-0123 contains kubelet v1.34.2, but the plan requires 1.36: specify an image for 1.36, or omit image"
    );
}

#[test]
fn where_all_nodes_are_as_the_plan_says_nothing_is_asked() {
    let decision = decide(NEW, |_| {});
    assert_eq!((decision.commands.as_slice(), decision.end), (&[][..], Some(End::Done)));
}
