use replank_model::delta::Delta;
use replank_model::labels::TextMap;
use replank_model::object::Object;
use replank_model::object::cloud::{GroupSize, LaunchTemplate, NodeGroup};
use replank_model::text::RunId;
use replank_protocol::command::Effect;
use replank_protocol::mark;
use serde_json::json;

use super::*;
use replank_protocol::command::{GroupEffect, KubernetesEffect, Mark, NodeRole};
use replank_protocol::owner::Owner;

fn time(text: &str) -> Time {
    text.parse().expect("a time")
}

fn now() -> Time {
    time("2026-01-08T12:00:00Z")
}

fn node(name: &str) -> Node {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}, "spec": {}, "status": {}});
    let Object::Node(node) = Object::from_json(node).expect("a node") else {
        unreachable!("a node was written")
    };
    Node::clone(&node)
}

fn marked(name: &str, run: &str, role: NodeRole, expires: &str) -> Node {
    let since = time("2026-01-01T12:00:00Z");
    mark::laid(&node(name), &run.into(), &Mark { owner: Owner::Run, role, since, expires: time(expires) })
}

fn group(size: GroupSize, tags: &[(&str, &str)]) -> NodeGroup {
    NodeGroup {
        tags: tags.iter().copied().collect::<TextMap>(),
        ..NodeGroup::new("web".into(), size, Vec::new(), LaunchTemplate::default())
    }
}

fn view(nodes: Vec<Node>, group: Option<NodeGroup>) -> View {
    let nodes = nodes.into_iter().map(|node| Delta::Put(Object::from(node)));
    nodes.chain(group.map(|group| Delta::Group(group.into()))).collect()
}

/// Does on a copy what the effects say.
fn cleared(view: &View) -> View {
    let mut view = view.clone();
    for effect in find(&view, now()).into_iter().flat_map(|leftover| leftover.effects) {
        let delta = match effect {
            Effect::Kubernetes(KubernetesEffect::Uncordon { node, .. }) => {
                Delta::Put(Object::from(mark::lifted(view.node(&node.name).expect("it is there"))))
            }
            Effect::Group(GroupEffect::Resize { group, from, to }) => {
                let mut group = NodeGroup::clone(&view.groups()[&group.node_group]);
                assert_eq!(group.size, from);
                group.size = to;
                Delta::Group(group.into())
            }
            Effect::Group(GroupEffect::Untag { group, key }) => {
                let mut group = NodeGroup::clone(&view.groups()[&group.node_group]);
                group.tags = group.tags.without(&key);
                Delta::Group(group.into())
            }
            other @ (Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_)) => panic!("{other:?}"),
        };
        view.apply(delta);
    }
    view
}

#[test]
fn what_a_mark_says_decides_whether_it_holds() {
    let view = view(
        vec![
            marked("n1", "r1", NodeRole::Queued, "2026-01-08T12:00:00Z"),
            marked("n2", "r2", NodeRole::Retained, "2026-01-08T12:00:01Z"),
            node("n3"),
        ],
        None,
    );
    let found: Vec<String> = find(&view, now()).iter().map(ToString::to_string).collect();
    assert_eq!(
        found,
        [
            "marked as queued by run r1 since 2026-01-01T12:00:00Z; expired at 2026-01-08T12:00:00Z: the run ended without clearing it",
            "marked as retained by run r2 since 2026-01-01T12:00:00Z, valid until 2026-01-08T12:00:01Z: another run is active or has died"
        ]
    );
}

#[test]
fn everything_on_nodes_can_be_cleared_and_what_is_somebody_elses_stays() {
    let run = RunId::from("r");
    let expired = "2026-01-02T00:00:00Z";
    let at = time("2026-01-01T13:00:00Z");
    let mut foreign = node("foreign");
    foreign.spec.unschedulable = true;
    let since = time("2026-01-01T12:00:00Z");
    let mark = Mark { owner: Owner::Run, role: NodeRole::Queued, since, expires: time(expired) };
    let foreign_marked = mark::laid(&foreign, &run, &mark);
    // Left out, and cordoned by somebody since then.
    let mut skipped = marked("skipped", "r", NodeRole::Skipped, expired);
    skipped.spec.unschedulable = true;
    let mut cordoned = node("skipped");
    cordoned.spec.unschedulable = true;
    let draining = mark::excluded(&marked("n", "r", NodeRole::Draining { from: at }, expired), &run, at);
    let alone = mark::excluded(&node("alone"), &run, at);
    let before = view(vec![alone, draining, foreign_marked, skipped], None);
    let left = find(&before, now());
    let lines: Vec<&str> = left.iter().map(|one| one.lines[0].as_str()).collect();
    assert_eq!(
        lines,
        [
            "kubectl label node alone node.kubernetes.io/exclude-from-external-load-balancers-",
            "kubectl annotate node foreign replank.dev/cordon- replank.dev/expires- replank.dev/owner- replank.dev/role- replank.dev/run- replank.dev/since- \
             replank.dev/version-",
            "kubectl uncordon n",
            "kubectl annotate node skipped replank.dev/expires- replank.dev/owner- replank.dev/role- replank.dev/run- replank.dev/since- \
             replank.dev/version-",
        ]
    );
    assert_eq!(left[0].what, "excluded from load balancers");
    assert_eq!(left[0].since, Some(at));
    let after = cleared(&before);
    assert_eq!(find(&after, now()), []);
    for expected in [node("alone"), node("n"), foreign, cordoned] {
        assert_eq!(**after.node(&expected.name()).expect("it is there"), expected);
    }
}

#[test]
fn tags_hold_for_as_long_as_any_mark_of_their_run_does() {
    let size = GroupSize { min: 0, max: 4, desired: 3 };
    let tags = [
        (mark::BEGUN, "r nodes=3 surge=1"),
        (mark::ORIGINAL_SIZE, "0/3/3"),
        (mark::ORIGINAL_TEMPLATE, "v1 lt-0123456789abcdef0 v1"),
        ("replank.dev/stage-1", "old until=2026-01-03T00:00:00Z"),
        (mark::HEALTH, "what is this"),
    ];
    let state = |expires: &str| {
        let nodes = vec![marked("n", "r", NodeRole::Queued, expires)];
        let all = find(&view(nodes, Some(group(size, &tags))), now());
        let of = |run: &str| {
            all.iter().find(|one| {
                one.on == On::Group("web".into()) && one.run.as_ref().is_some_and(|it| *it == *run)
            })
        };
        assert_eq!(
            of("old").expect("it is found").state,
            State::Expired { at: Some(time("2026-01-03T00:00:00Z")) }
        );
        let unread: Vec<&Leftover> = all.iter().filter(|one| one.state == State::Unreadable).collect();
        assert!(matches!(unread.as_slice(), [one] if *one.keys[0] == *mark::HEALTH), "{unread:?}");
        let ours = of("r").expect("it is found").clone();
        assert_eq!(ours.what, "tags begun, original-size, original-template");
        ours.state
    };
    let until = time("2026-01-09T00:00:00Z");
    assert_eq!(state("2026-01-09T00:00:00Z"), State::Running { until });
    let at = time("2026-01-07T00:00:00Z");
    assert_eq!(state("2026-01-07T00:00:00Z"), State::Expired { at: Some(at) });
}

#[test]
fn a_maximum_that_was_raised_is_given_back_and_the_tags_go() {
    let tags = [(mark::BEGUN, "r nodes=3 surge=1"), (mark::ORIGINAL_SIZE, "0/3/3")];
    let raised = GroupSize { min: 0, max: 4, desired: 3 };
    let before = view(Vec::new(), Some(group(raised, &tags)));
    assert_eq!(
        find(&before, now())[0].lines,
        [
            "aws autoscaling update-auto-scaling-group --auto-scaling-group-name web --max-size 3",
            "aws autoscaling delete-tags --tags ResourceId=web,ResourceType=auto-scaling-group,Key=replank.dev/begun \
             ResourceId=web,ResourceType=auto-scaling-group,Key=replank.dev/original-size"
        ]
    );
    let after = cleared(&before);
    assert_eq!(find(&after, now()), []);
    assert_eq!(after.groups()["web"].size, GroupSize { min: 0, max: 3, desired: 3 });
}

#[test]
fn a_size_that_no_command_brings_back_keeps_its_tags_and_a_foreign_one_is_left_alone() {
    let tags = [
        (mark::BEGUN, "r nodes=3 surge=1"),
        (mark::ORIGINAL_SIZE, "0/3/3"),
        (mark::RESUMED, "r at=2026-01-01T13:00:00Z"),
    ];
    let wanting_more = GroupSize { min: 0, max: 4, desired: 4 };
    let after = cleared(&view(Vec::new(), Some(group(wanting_more, &tags))));
    let left = find(&after, now());
    let keys: Vec<&str> = left[0].keys.iter().map(|key| &**key).collect();
    assert_eq!(keys, [mark::BEGUN, mark::ORIGINAL_SIZE]);
    assert_eq!((left[0].effects.len(), left[0].lines.len()), (0, 0));
    assert!(
        left[0]
            .stays
            .as_ref()
            .is_some_and(|stays| stays.starts_with("its desired size is 4, 3 before the run"))
    );
    // Somebody has meanwhile raised it by far more than the run can have.
    let by_others = GroupSize { min: 0, max: 20, desired: 12 };
    let after = cleared(&view(Vec::new(), Some(group(by_others, &tags))));
    assert_eq!(find(&after, now()), []);
    assert_eq!(after.groups()["web"].size, by_others);
}

#[test]
fn what_a_newer_replank_wrote_is_listed_and_nothing_clears_it() {
    let expired = "2026-01-02T00:00:00Z";
    let mut newer = marked("n", "r2", NodeRole::Queued, expired);
    newer.meta.annotations = newer.meta.annotations.with(mark::VERSION, "2");
    let tags =
        [(mark::BEGUN, "v2 r2 anything"), (mark::ORIGINAL_SIZE, "v1 0/5/3"), (mark::HALTED, "v3 r3 x")];
    let size = GroupSize { min: 0, max: 5, desired: 3 };
    let before = view(vec![newer], Some(group(size, &tags)));
    let left = find(&before, now());
    let found: Vec<(String, usize, usize)> =
        left.iter().map(|one| (one.to_string(), one.effects.len(), one.lines.len())).collect();
    assert_eq!(
        found,
        [
            (
                "marked by run r2: left alone, a newer Replank wrote it (version 2, this one reads 1)"
                    .to_owned(),
                0,
                0
            ),
            ("tag original-size; no node has a valid mark of that run".to_owned(), 1, 1),
            (
                "tag begun: left alone, a newer Replank wrote it (version 2, this one reads 1)".to_owned(),
                0,
                0
            ),
            (
                "tag halted: left alone, a newer Replank wrote it (version 3, this one reads 1)".to_owned(),
                0,
                0
            ),
        ]
    );
    assert!(!left[0].is_expired() && !left[2].is_expired());
}
