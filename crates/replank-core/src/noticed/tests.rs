use replank_model::delta::Delta;
use replank_model::object::cloud::{
    GroupId, HealthStatus, InstanceState, LaunchTemplate, LaunchTemplateRef, Lifecycle, Market,
};
use replank_model::object::meta::Key;
use replank_model::time::Time;
use serde_json::{Value, json};

use super::*;
use replank_protocol::command::Expected;
use replank_protocol::command::{CommandKey, GroupEffect, KubernetesEffect, Mark, NodeRole, NodeTarget};
use replank_protocol::owner::Owner;

fn run() -> RunId {
    RunId::from("run")
}

fn time() -> Time {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

fn size(desired: u32) -> GroupSize {
    GroupSize { min: 0, max: 9, desired }
}

/// A group of the run with one node, and eyes that have looked once.
struct Stage {
    view: View,
    external_changes: ExternalChanges,
}

impl Stage {
    fn new() -> Self {
        let mut stage = Self { view: View::default(), external_changes: ExternalChanges::new(&run()) };
        let begun = Begun { run: run(), nodes: 1, surge: 1, extra: 1, dead: 0 };
        let group = NodeGroup {
            tags: [(mark::BEGUN, &*begun.to_text())].into_iter().collect(),
            ..NodeGroup::new("web".into(), size(3), Vec::new(), LaunchTemplate::default())
        };
        stage.put(Delta::Group(group.into()));
        stage.instance(InstanceState::Running);
        stage.put(Delta::from(stage.node()));
        assert_eq!(stage.decide(Vec::new()), [], "what is there from the beginning is not a change");
        stage
    }

    fn put(&mut self, delta: Delta) {
        let change = self.view.apply(delta);
        self.external_changes.observe(&self.view, &change);
    }

    fn node(&self) -> Node {
        let value = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "n"},
            "spec": {"providerID": "aws:///a/i-1"}, "status": {}});
        let Object::Node(node) = Object::from_json(value).expect("a valid node") else {
            unreachable!("a node was written")
        };
        Node::clone(&node)
    }

    fn instance(&mut self, state: InstanceState) {
        let instance = Instance {
            id: "i-1".into(),
            group: "web".into(),
            zone: "a".into(),
            state,
            template: LaunchTemplateRef::invented(&"web".into()),
            launched: None,
            node: Some("n".into()),
            lifecycle: Lifecycle::InService,
            market: Market::OnDemand,
            is_protected: false,
            health: HealthStatus::Healthy,
            targets: Vec::new(),
        };
        self.put(Delta::Instance(instance.into()));
    }

    fn group(&mut self, change: impl FnOnce(&mut NodeGroup)) {
        let mut group = NodeGroup::clone(&self.view.groups()[&GroupName::from("web")]);
        change(&mut group);
        self.put(Delta::Group(group.into()));
    }

    fn object(&mut self, value: Value) {
        self.put(Delta::Put(Object::from_json(value).expect("a valid object")));
    }

    fn decide(&mut self, effects: Vec<Effect>) -> Vec<Noticed> {
        let command = |effect| Command { key: CommandKey("k".into()), run: run(), effect, deadline: time() };
        let commands: Vec<Command> = effects.into_iter().map(command).collect();
        self.external_changes.decided(&commands)
    }

    fn noticed(&mut self) -> Vec<Noticed> {
        self.decide(Vec::new())
    }
}

fn queued() -> Mark {
    Mark { owner: Owner::Run, role: NodeRole::Queued, since: time(), expires: time() }
}

#[test]
fn cordons_of_others_are_told_from_ours() {
    let mut stage = Stage::new();
    let plain = stage.node();
    let ours = mark::laid(&plain, &run(), &queued());
    stage.put(Delta::from(ours.clone()));
    assert_eq!(stage.noticed(), [], "it came with our mark");
    let mut opened = ours.clone();
    opened.spec.unschedulable = false;
    stage.put(Delta::from(opened.clone()));
    assert_eq!(stage.noticed(), [Noticed::Uncordoned("n".into())]);
    stage.put(Delta::from(ours.clone()));
    assert_eq!(stage.noticed(), [Noticed::Cordoned("n".into())]);
    let target = NodeTarget { name: "n".into(), uid: "n".into() };
    stage.decide(vec![Effect::Kubernetes(KubernetesEffect::Uncordon {
        node: target,
        version: ours.meta.resource_version,
    })]);
    stage.put(Delta::from(mark::lifted(&ours)));
    assert_eq!(stage.noticed(), [], "we asked for it");
}

#[test]
fn marks_and_labels_that_others_take_are_noticed() {
    let mut stage = Stage::new();
    let ours = mark::excluded(&mark::laid(&stage.node(), &run(), &queued()), &run(), time());
    stage.put(Delta::from(ours.clone()));
    let mut shown = ours.clone();
    shown.meta.labels = shown.meta.labels.without(mark::EXCLUDE);
    stage.put(Delta::from(shown));
    assert_eq!(stage.noticed(), [Noticed::LabelTaken("n".into())]);
    let mut bare = ours;
    bare.meta.annotations = bare.meta.annotations.without(mark::RUN);
    stage.put(Delta::from(bare));
    assert_eq!(stage.noticed(), [Noticed::MarkTaken("n".into())]);
}

#[test]
fn ends_and_sizes_are_ours_only_if_we_asked_for_them() {
    let mut stage = Stage::new();
    stage.group(|group| group.size = size(5));
    assert_eq!(stage.noticed(), [Noticed::Resized { group: "web".into(), from: size(3), to: size(5) }]);
    stage.decide(vec![Effect::Group(GroupEffect::Resize {
        group: GroupId::self_managed(&"web".into()),
        from: size(5),
        to: size(6),
    })]);
    stage.group(|group| group.size = size(6));
    assert_eq!(stage.noticed(), []);
    stage.decide(vec![Effect::Group(GroupEffect::Terminate {
        instance: "i-1".into(),
        group: "web".into(),
        expected: Expected::Unregistered,
        replacement: Replacement::Decrement { keep: 0 },
    })]);
    stage.group(|group| group.size = size(5));
    stage.instance(InstanceState::ShuttingDown);
    assert_eq!(stage.noticed(), [], "one was ended with one wanted less");
    stage.group(|group| group.size = size(4));
    assert_eq!(stage.noticed().len(), 1, "a second one was not");
    stage.group(|group| group.tags = group.tags.with(mark::HALTED, "x"));
    stage.group(|group| group.tags = group.tags.without(mark::HALTED));
    assert_eq!(stage.noticed(), [Noticed::TagTaken("web".into(), mark::HALTED.into())]);
}

#[test]
fn an_instance_or_a_node_that_somebody_ends_is_noticed() {
    let mut stage = Stage::new();
    let node = stage.node();
    stage.put(Delta::Gone(Object::Node(node.into()).reference()));
    assert_eq!(stage.noticed(), [Noticed::NodeDeleted("n".into())]);
    stage.instance(InstanceState::ShuttingDown);
    assert_eq!(stage.noticed(), [Noticed::InstanceEnded("i-1".into())]);
    let node = stage.node();
    stage.put(Delta::from(node.clone()));
    stage.put(Delta::Gone(Object::Node(node.into()).reference()));
    assert_eq!(stage.noticed(), [], "its instance was going");
}

#[test]
fn workloads_and_budgets_that_others_change_are_noticed() {
    let mut stage = Stage::new();
    let web = |replicas: i32, annotations: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": replicas, "template": {"metadata": {"annotations": annotations}}}})
    };
    stage.object(web(3, json!({})));
    assert_eq!(stage.noticed(), [], "a new one moves nothing");
    stage.object(web(2, json!({})));
    let key = Key::new("shop", "web");
    assert_eq!(
        stage.noticed(),
        [Noticed::Scaled { kind: Kind::Deployment, key: key.clone(), from: 3, to: 2 }]
    );
    let restarted =
        |by: &str| json!({"kubectl.kubernetes.io/restartedAt": by, "replank.dev/restarted-by": "run"});
    stage.object(web(2, restarted("1")));
    assert_eq!(stage.noticed(), [], "we restarted it");
    stage.object(web(2, json!({"kubectl.kubernetes.io/restartedAt": "2"})));
    assert_eq!(stage.noticed(), [Noticed::RolledOut(Kind::Deployment, key.clone())]);
    let budget = |least: i32| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"minAvailable": least}, "status": {"currentHealthy": least}})
    };
    stage.object(budget(1));
    stage.object(budget(2));
    assert_eq!(stage.noticed(), [Noticed::BudgetChanged(key)]);
}

#[test]
fn a_budget_that_goes_with_its_workflow_is_nobodys_doing() {
    let noticed = |owners: Value| {
        let mut stage = Stage::new();
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "train", "namespace": "shop", "uid": "b", "ownerReferences": owners}, "spec": {"minAvailable": 9999}});
        stage.object(budget.clone());
        stage.put(Delta::Gone(Object::from_json(budget).expect("a budget").reference()));
        stage.noticed().len()
    };
    assert_eq!(noticed(json!([])), 1);
    let workflow = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": "train", "uid": "w", "controller": true}]);
    assert_eq!(noticed(workflow), 0);
}
