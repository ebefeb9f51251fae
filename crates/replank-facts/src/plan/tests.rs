use replank_model::object::cloud::GroupSize;
use replank_model::time::Span;
use replank_protocol::policy::StuckAction;
use serde_json::{Value, json};

use super::*;

fn whole() -> Value {
    json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "web-to-1-36"}, "spec": {
        "groups": ["web", "batch", "web"],
        "target": {"kubernetesVersion": "1.36", "image": "ami-0def", "labels": {"tier": "web", "old": null},
            "taints": ["dedicated=web:NoSchedule", "spot:NoSchedule-"]},
        "budget": {"surge": 2, "maxUnavailable": 0, "minReadyPerZone": 1},
        "order": "zoneByZone",
        "canary": {"nodes": 1, "soak": "10m"},
        "pace": {"betweenNodes": "30s", "parallel": 4},
        "batch": {"selector": {"matchLabels": {"tier": "batch"}}, "wait": "6h", "onDeadline": "skip"},
        "health": {"maxCrashLooping": 1, "maxRestarting": 2, "maxNotReady": 3, "maxBadNodes": 4}, "retain": {"capacity": "cordoned", "for": "72h"},
        "windows": [{"start": "Mon-Fri 01:00", "duration": "4h", "timeZone": "Asia/Tokyo"}],
        "stuckTerminating": {"after": "10m", "action": "replaceNode"}, "singletons": "surge", "spread": "lastPending",
        "deadNodes": {"after": "15m", "action": "leave"},
        "loadBalancer": {"exclude": true, "deregistrationDelay": "300s"}, "blockingFindings": "refuse", "atEnd": "keep",
        "localStorage": "refuse", "barePods": "evict", "onFailure": "pause",
        "progressDeadline": "30m", "deadline": "96h",
        "nodeGroups": [{"name": "web", "max": 9, "instanceTypes": ["m6i.large", "m6a.large"], "capacityType": "spot",
            "zones": ["b", "a"], "tags": {"team": "shop", "empty": ""}}, {"name": "batch", "min": 2, "max": 4}]}})
}

fn with_spec(spec: &Value) -> Value {
    json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "p"}, "spec": spec})
}

fn errors(value: &Value) -> String {
    Plan::read(value).expect_err("the plan is wrong").to_string()
}

/// A spec that is right but for one field.
fn errors_of(field: &str, value: &Value) -> String {
    let mut spec = json!({"groups": ["web"]});
    let (head, tail) = field.split_once('.').map_or((field, None), |(head, tail)| (head, Some(tail)));
    spec[head] = match tail {
        Some(tail) => json!({tail: value}),
        None => value.clone(),
    };
    errors(&with_spec(&spec))
}

#[test]
fn every_field_is_read() {
    let plan = Plan::read(&whole()).expect("the plan is right");
    assert_eq!(plan.nodes.by, ChosenBy::Groups(vec!["batch".into(), "web".into()]));
    assert_eq!(plan.target.labels, [("old".into(), None), ("tier".into(), Some("web".into()))]);
    assert!(matches!(plan.target.taints[1], TaintChange::Remove(_)));
    assert_eq!(plan.budget.surge, Surge::from(2));
    assert_eq!(plan.order, Order::ZoneByZone);
    assert_eq!(plan.canary.map(|canary| canary.soak), Some(Span::from_minutes(10)));
    assert_eq!(plan.pace, Pace { between_nodes: Span::from_secs(30), parallel: 4 });
    assert_eq!((plan.batch.wait, plan.batch.on_deadline), (Span::from_minutes(360), OnDeadline::Skip));
    assert_eq!((plan.local_storage, plan.bare_pods), (LocalStorage::Refuse, BarePods::Evict));
    assert_eq!(plan.deadline, Span::from_minutes(96 * 60));
    let sizes: Vec<_> = plan.node_groups.iter().map(|group| (group.name.as_str(), group.size)).collect();
    let size = |min, max| Some(GroupSize { min, max, desired: min });
    assert_eq!(sizes, [("web", size(0, 9)), ("batch", size(2, 4))]);
    let web = &plan.node_groups[0];
    assert_eq!((web.types.len(), web.market), (2, Some(replank_protocol::scaling::Market::Spot)));
    assert_eq!(web.zones, ["a", "b"]);
    let tags: Vec<(&str, &str)> = web.tags.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(tags, [("empty", ""), ("team", "shop")]);
    let health = Health {
        crash_looping_max: 1,
        restarting_max: 2,
        stuck_terminating_max: 0,
        not_ready_max: 3,
        bad_nodes_max: 4,
    };
    assert_eq!(plan.care.health, Some(health));
    assert_eq!(plan.care.windows.0[0].to_string(), "Mon,Tue,Wed,Thu,Fri 01:00 for 4h (Asia/Tokyo)");
    assert_eq!(plan.care.retain, Retain { capacity: Retained::Cordoned, span: Span::from_minutes(72 * 60) });
    let stuck = StuckTerminating { after: Span::from_minutes(10), action: StuckAction::ReplaceNode };
    assert_eq!((plan.care.stuck, plan.care.singletons), (stuck, Singletons::Surge));
    assert_eq!(plan.care.spread, Spread::LastPending);
    assert_eq!(plan.care.instance_kept(), Span::from_secs(300));
    assert_eq!((plan.care.blocking_findings, plan.care.at_end), (BlockingFindings::Refuse, AtEnd::Keep));
}

#[test]
fn a_short_plan_has_defaults() {
    let plan = Plan::read(&with_spec(&json!({"groups": ["web"]}))).expect("the plan is right");
    assert_eq!(plan, Plan::of_groups("p", vec!["web".into()], Target::default()));
    assert!(plan.target.is_empty());
    let plan = Plan::read(&with_spec(&json!({"kubeletVersion": "<1.36"}))).expect("the plan is right");
    assert!(matches!(plan.nodes.by, ChosenBy::Selector(selector) if selector.is_empty()));
}

#[test]
fn percentages_are_rounded_as_kubernetes_does() {
    let of = |surge: &str, max_unavailable: &str, nodes| {
        let surge = surge.parse().expect("a surge");
        let budget = Budget { surge, max_unavailable: max_unavailable.into(), min_ready_per_zone: 0 };
        let allowance = budget.allowance(nodes, 3);
        (allowance.surge, allowance.max_unavailable)
    };
    assert_eq!(of("25%", "25%", 10), (3, 2));
    assert_eq!(of("10%", "10%", 3), (1, 0));
    assert_eq!(of("0%", "10%", 3), (0, 1), "both come out as 0: one node may be unavailable");
    assert_eq!(of("2", "0", 3), (2, 0));
    assert_eq!(of("perZone", "0", 16), (3, 0), "one in each zone");
    assert_eq!(Canary { nodes: "10%".into(), soak: Span::ZERO }.count(16), 2);
}

#[test]
fn every_error_is_reported_at_once_with_path_and_remedy() {
    let mut plan = whole();
    plan["kind"] = json!("NodeRole");
    plan["spec"]["budget"] = json!({"sugre": 2, "maxUnavailable": "half"});
    plan["spec"]["pace"]["betweenNodes"] = json!(30);
    plan["spec"]["orders"] = json!("oldest");
    plan["spec"]["batch"]["onDeadline"] = json!("kill");
    assert_eq!(
        errors(&plan),
        "kind: found \"NodeRole\", expected NodeRoll; did you mean \"NodeRoll\"?\n\
         spec.budget.maxUnavailable: found \"half\", expected a number of nodes or a percentage such as \"25%\"\n\
         spec.budget.sugre: found the unknown field \"sugre\", expected maxUnavailable, minReadyPerZone or surge; \
         did you mean \"surge\"?\n\
         spec.pace.betweenNodes: found the number 30, expected a duration such as \"30s\", \"10m\" or \"6h\"; \
         write \"30s\" if seconds are meant\n\
         spec.batch.onDeadline: found \"kill\", expected pause, evict or skip\n\
         spec.orders: found the unknown field \"orders\", expected atEnd, bake, barePods, batch, blockingFindings, budget, canary, \
         deadNodes, deadline, external, groups, health, kubeletVersion, lifecycleHooks, loadBalancer, localStorage, nodeGroups, onFailure, order, pace, progressDeadline, \
         provider, retain, selector, singletons, spread, stuckTerminating, target, waves or windows; \
         did you mean \"order\"?"
    );
}

#[test]
fn a_deadline_leaves_time_for_all_that_is_watched_and_retained() {
    let spec = |deadline: &str| {
        json!({"groups": ["web"], "waves": [1, "50%", "100%"], "bake": "10h", "retain": {"for": "20h"},
            "deadline": deadline})
    };
    assert!(Plan::read(&with_spec(&spec("41h"))).is_ok());
    assert_eq!(
        errors(&with_spec(&spec("40h"))),
        "spec.deadline: found 40h, expected more than 40h, for which new nodes are watched and old ones \
         retained; set a later deadline, or shorten canary.soak, bake or retain.for"
    );
    let forgotten = json!({"groups": ["web"], "retain": {"for": "200h"}});
    assert!(errors(&with_spec(&forgotten)).starts_with("spec.deadline: found the default 168h"));
    let nothing = json!({"groups": ["web"], "retain": {"capacity": "none", "for": "200h"}});
    assert!(Plan::read(&with_spec(&nothing)).is_ok(), "nothing is kept");
}

#[test]
fn each_kind_of_mistake_is_named() {
    let cases = [
        (
            "target.kubernetesVersion",
            json!(1.3),
            "spec.target.kubernetesVersion: found the number 1.3, expected a version such as \"1.36\" or \"1.36.2\"; quote it: YAML reads 1.30 as the number 1.3",
        ),
        (
            "target.kubernetesVersion",
            json!("latest"),
            "spec.target.kubernetesVersion: found \"latest\", expected a version such as \"1.36\" or \"1.36.2\"",
        ),
        (
            "target.group",
            json!(7),
            "spec.target.group: found the number 7, expected the name of a node group; quote it: YAML reads 1.30 as the number 1.3",
        ),
        (
            "target.group",
            json!("web"),
            "spec.target.group: found \"web\", expected a group other than those whose nodes are replaced; remove it: without it, nodes are replaced within their group",
        ),
        ("target.labels", json!({"a b": "c"}), "spec.target.labels.a b: found \"c\", expected a label's key"),
        (
            "target.taints",
            json!(["web"]),
            "spec.target.taints[0]: found \"web\", expected a taint such as \"dedicated=web:NoSchedule\", or \"dedicated:NoSchedule-\" to remove it",
        ),
        (
            "budget.surge",
            json!("2"),
            "spec.budget.surge: found \"2\", expected a number of nodes, a percentage such as \"25%\", or perZone; remove the quotes",
        ),
        (
            "budget.surge",
            json!(-1),
            "spec.budget.surge: found the number -1, expected a number of nodes, a percentage such as \"25%\", or perZone",
        ),
        ("budget.surge", json!("120%"), "spec.budget.surge: found \"120%\", expected"),
        (
            "budget.surge",
            json!(0),
            "spec.budget.surge: found 0 together with a maxUnavailable of 0, expected at least one of them above 0: with both 0 no node could be replaced; set surge: perZone",
        ),
        (
            "pace.parallel",
            json!(0),
            "spec.pace.parallel: found the number 0, expected a whole number, 1 or more",
        ),
        (
            "canary.nodes",
            json!(0),
            "spec.canary.nodes: found the number 0, expected 1 or more: to run without a canary, omit canary",
        ),
        (
            "batch.wait",
            json!("1d"),
            "spec.batch.wait: found \"1d\", expected a duration such as \"30s\", \"10m\" or \"6h\"; the duration \"1d\" has the unknown unit \"d\"",
        ),
        (
            "batch.wait",
            json!("-1h"),
            "spec.batch.wait: found \"-1h\", expected a duration such as \"30s\", \"10m\" or \"6h\"; remove the minus sign",
        ),
        (
            "batch.selector",
            json!({"matchLabel": {}}),
            "spec.batch.selector: found an object, expected matchLabels or matchExpressions\nspec.batch.selector.matchLabel: found the unknown field \"matchLabel\", expected matchExpressions or matchLabels; did you mean \"matchLabels\"?",
        ),
        (
            "batch.selector",
            json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            "spec.batch.selector: found an object, expected a label selector; spec.batch.selector.matchExpressions[0].operator",
        ),
        ("onFailure", json!("retry"), "spec.onFailure: found \"retry\", expected pause or rollback"),
        (
            "groups",
            json!("web"),
            "spec.groups: found \"web\", expected a list of node groups, such as [web, batch]; write [web]",
        ),
        ("groups", json!([]), "spec.groups: found an empty list, expected a list of node groups"),
        ("groups", json!([1, true]), "spec.groups[0]: found the number 1, expected the name of a node group"),
        (
            "selector",
            json!({"matchLabels": {"a": "b"}}),
            "spec.selector: found a selector together with groups, expected groups or a selector; remove one of them",
        ),
        (
            "kubeletVersion",
            json!("<=new"),
            "spec.kubeletVersion: found \"<=new\", expected a condition on a version, such as \"<1.36\"",
        ),
        ("progressDeadline", json!("0s"), "spec.progressDeadline: found \"0s\", expected a duration above 0"),
        ("localStorage", json!(true), "spec.localStorage: found the boolean true, expected allow or refuse"),
        (
            "order",
            json!("Oldest"),
            "spec.order: found \"Oldest\", expected leastDisruption, oldest or zoneByZone; did you mean \"oldest\"?",
        ),
    ];
    for (field, value, message) in cases {
        let found = errors_of(field, &value);
        assert!(found.starts_with(message), "{field}\nexpected {message}\nfound    {found}");
    }
}

#[test]
fn a_group_to_move_into_is_read_beside_groups_only() {
    let plan = |spec: Value| Plan::read(&with_spec(&spec));
    let moving = plan(json!({"groups": ["web"], "target": {"group": "web-new"}})).expect("the plan is right");
    assert_eq!(moving.target.group, Some("web-new".into()));
    assert!(moving.target.lands_in(&"web-new".into()) && !moving.target.lands_in(&"web".into()));
    assert!(!moving.target.is_empty());
    let error = "spec.target.group: found \"web-new\", expected no group together with a selector; \
        name the groups: spec.groups instead of spec.selector; kubeletVersion may narrow them";
    for by in [json!({"kubeletVersion": "<1.36"}), json!({"selector": {"matchLabels": {"tier": "web"}}})] {
        let mut spec = by;
        spec["target"] = json!({"group": "web-new"});
        assert_eq!(errors(&with_spec(&spec)), error);
    }
}

#[test]
fn what_somebody_else_cannot_be_asked_for_is_refused() {
    let with = |extra: Value| {
        let mut spec = json!({"groups": ["web"], "provider": "external"});
        for (key, value) in extra.as_object().expect("an object") {
            spec[key] = value.clone();
        }
        with_spec(&spec)
    };
    let plan = Plan::read(&with(json!({}))).expect("a plan");
    assert_eq!(plan.external().map(|external| external.wait), Some(Span::from_minutes(24 * 60)));
    let allowance = |budget: Value| {
        let plan = Plan::read(&with(json!({"budget": budget}))).expect("a plan");
        let allowance = plan.budget.allowance(8, 2);
        (allowance.surge, allowance.max_unavailable)
    };
    assert_eq!(plan.budget.allowance(8, 2).max_unavailable, 1);
    assert_eq!(allowance(json!({"maxUnavailable": 0})), (0, 0), "a new node comes before an old one goes");
    assert_eq!(allowance(json!({"maxUnavailable": "25%"})), (0, 2));
    assert_eq!(allowance(json!({"maxUnavailable": "5%"})), (0, 1), "what is rounded away is not meant");
    for (extra, wanted) in [
        (
            json!({"budget": {"surge": 2}}),
            "spec.budget.surge: found 2 together with provider: external, expected 0 or nothing: Replank launches no nodes then; remove it; see budget.maxUnavailable",
        ),
        (json!({"target": {"group": "new"}}), "spec.target.group: found new together with"),
        (json!({"target": {"image": "ami-1"}}), "spec.target.image: found ami-1 together with"),
        (
            json!({"target": {"releaseVersion": "1.36.1-20260610"}}),
            "spec.target.releaseVersion: found 1.36.1-20260610 together with provider: external, expected nothing: not every node shows its release; remove it",
        ),
        (json!({"retain": {"capacity": "cordoned"}}), "spec.retain.capacity: found retained nodes together"),
        (
            json!({"stuckTerminating": {"action": "forceDelete"}}),
            "spec.stuckTerminating.action: found forceDelete together",
        ),
        (json!({"onFailure": "rollback"}), "spec.onFailure: found rollback together with"),
        (json!({"external": {"wait": "0s"}}), "spec.external.wait: found \"0s\""),
        (
            json!({"provider": "externel"}),
            "spec.provider: found \"externel\", expected external; did you mean",
        ),
        (
            json!({"provider": null, "external": {}}),
            "spec.external: found external without a provider, expected provider: external together with it; add provider: external, or remove it",
        ),
    ] {
        let found = errors(&with(extra));
        assert!(found.starts_with(wanted), "{found}");
    }
}

#[test]
fn a_release_is_read_written_and_held_to_what_is_said_beside_it() {
    let of = |target: Value| with_spec(&json!({"groups": ["web"], "target": target}));
    let target =
        json!({"releaseVersion": "1.36.1-20260610", "badReleases": ["1.36.2-20260714", "v20260625"]});
    let plan = Plan::read(&of(target.clone())).expect("a plan");
    assert_eq!(
        plan.target.release_version.as_ref().map(ToString::to_string).as_deref(),
        Some("1.36.1-20260610")
    );
    assert_eq!(plan.target.version().map(|version| version.to_string()).as_deref(), Some("1.36.1"));
    assert_eq!(plan.to_json()["spec"]["target"], target);
    assert_eq!(Plan::read(&plan.to_json()).as_ref(), Ok(&plan));
    let only_bad = Plan::read(&of(json!({"badReleases": ["v20260625"]}))).expect("a plan");
    assert!(only_bad.target.is_empty(), "a list says nothing of new nodes");
    for right in [
        json!({"releaseVersion": "1.36.1-20260610", "kubernetesVersion": "1.36"}),
        json!({"releaseVersion": "1.36.1-20260610", "kubernetesVersion": "1.36.1"}),
        // Another minor version, and another day.
        json!({"releaseVersion": "1.36.1-20260610", "badReleases": ["1.35.6-20260610", "v20260611"]}),
        json!({"image": "ami-1", "kubernetesVersion": "1.36", "badReleases": ["v20260610"]}),
    ] {
        assert!(Plan::read(&of(right.clone())).is_ok(), "{right}");
    }
    for (wrong, said) in [
        (
            json!({"releaseVersion": "1.36.1"}),
            "spec.target.releaseVersion: found \"1.36.1\", expected a release such as \"1.36.1-20260610\"",
        ),
        (
            json!({"releaseVersion": "1.36.1-20260610", "image": "ami-1"}),
            "spec.target.releaseVersion: found 1.36.1-20260610 together with image ami-1, expected one of them: a release is an image; remove one of them",
        ),
        (
            json!({"releaseVersion": "1.36.1-20260610", "kubernetesVersion": "1.35"}),
            "spec.target.releaseVersion: found 1.36.1-20260610 together with kubernetesVersion 1.35, expected a release of 1.35; name a release of this version",
        ),
        (
            json!({"releaseVersion": "1.36.1-20260610", "badReleases": ["1.36.1-20260610"]}),
            "spec.target.releaseVersion: found 1.36.1-20260610, which is on badReleases, expected a release that is not on it; name another release",
        ),
        (
            json!({"releaseVersion": "1.36.1-20260610", "badReleases": ["v20260610"]}),
            "spec.target.releaseVersion: found 1.36.1-20260610, which is on badReleases",
        ),
        (
            json!({"badReleases": ["1.36-20260610"]}),
            "spec.target.badReleases[0]: found \"1.36-20260610\", expected a release such as \"1.36.1-20260610\", or the day of one such as v20260610",
        ),
        (
            json!({"badReleases": ["ami-1"]}),
            "spec.target.badReleases[0]: found \"ami-1\", expected a release such as",
        ),
        (
            json!({"kubernetesVersion": "1.36", "badReleases": ["1.36.1-20260610"]}),
            "spec.target.badReleases: found a list together with kubernetesVersion 1.36 and without releaseVersion, expected releaseVersion: which release is the newest, only EKS knows when it is asked; name the release",
        ),
    ] {
        let found = errors(&of(wrong));
        assert!(found.starts_with(said), "{found}");
    }
}

#[test]
fn what_is_no_plan_is_said_to_be_none() {
    assert_eq!(errors(&json!([])), "the plan: found an empty list, expected an object");
    assert_eq!(
        errors(&json!({"spec": {}})),
        "apiVersion: found nothing, expected replank.dev/v1alpha1\n\
         kind: found nothing, expected NodeRoll\n\
         metadata: found nothing, expected an object with a name\n\
         spec.groups: found nothing, expected groups, selector or kubeletVersion: which nodes are to be replaced; \
         name the node groups: groups: [web]"
    );
}

#[test]
fn waves_are_stages_of_the_nodes_there_are() {
    let plan = |waves: Value| {
        let spec = json!({"groups": ["web"], "waves": waves, "bake": "12h"});
        Plan::read(&with_spec(&spec)).expect("the plan is right")
    };
    let counts = |plan: &Plan, nodes: u32| -> Vec<u32> {
        plan.stages(nodes).iter().map(|stage| stage.nodes).collect()
    };
    let waves = plan(json!([1, "10%", "50%", "100%"]));
    assert_eq!(counts(&waves, 40), [1, 4, 20]);
    assert_eq!(counts(&waves, 6), [1, 3], "10% of 6 is one node, as the first wave");
    assert_eq!(counts(&waves, 1), [0; 0]);
    assert_eq!(waves.stages(40)[0].pause, Span::from_minutes(12 * 60));
    assert_eq!(waves.stage_health(), Some(Health::default()));
    let canary = Plan::read(&with_spec(&json!({"groups": ["web"], "canary": {"nodes": 2}}))).expect("right");
    assert_eq!(canary.stages(5), [Stage { nodes: 2, pause: Span::from_minutes(10) }]);
}

#[test]
fn what_is_wrong_with_waves_windows_and_the_like() {
    for (field, value, expected) in [
        ("waves", json!([1, "50%"]), "end it with \"100%\""),
        ("waves", json!(["50%", "10%", "100%"]), "list them in ascending order, each once"),
        ("waves", json!([0, "100%"]), "spec.waves[0]: found the number 0, expected 1 node or more"),
        ("bake", json!("24h"), "a bake time without waves"),
        ("windows", json!([{"start": "Monday 01:00", "duration": "4h"}]), "spec.windows[0].start"),
        ("windows", json!([{"start": "Mon 01:00"}]), "spec.windows[0].duration: found nothing"),
        ("windows", json!([{"start": "01:00", "duration": "170h"}]), "a week at most"),
        ("windows", json!([{"start": "01:00", "duration": "1h", "timeZone": "Mars/Base"}]), "IANA"),
        ("stuckTerminating.action", json!("forceDelte"), "did you mean \"forceDelete\"?"),
        ("deadNodes.action", json!("leaf"), "expected replace or leave"),
        ("singletons", json!("move"), "expected evict, surge or skip"),
        ("spread", json!("ignore"), "expected honour or lastPending"),
        ("retain.capacity", json!("all"), "expected cordoned, template or none"),
        ("health.maxCrashLooping", json!(-1), "a whole number, 0 or more"),
        ("health.maxRestarting", json!("many"), "a whole number, 0 or more"),
        ("health.maxBadNodes", json!(0.5), "a whole number, 0 or more"),
        ("loadBalancer.exclude", json!("yes"), "expected true or false"),
    ] {
        let told = errors_of(field, &value);
        assert!(told.contains(expected), "{field}: {told}");
    }
    let both = json!({"groups": ["web"], "canary": {"nodes": 1}, "waves": [1, "100%"]});
    assert!(errors(&with_spec(&both)).contains("waves together with a canary"));
}

#[test]
fn what_is_wrong_with_node_groups_is_named() {
    let told = |value: Value| errors_of("nodeGroups", &value);
    assert!(told(json!([{"max": 3}])).contains("spec.nodeGroups[0].name: found nothing"));
    let none = told(json!([{"name": "a", "maxUnavailable": 0}]));
    assert!(
        none.contains("spec.nodeGroups[0].maxUnavailable: found the number 0, expected at least 1 node"),
        "{none}"
    );
    assert!(
        told(json!([{"name": "a", "min": 4, "max": 3}]))
            .contains("spec.nodeGroups[0].min: found 4 with a max of 3")
    );
    assert!(
        told(json!([{"name": "a", "min": 4}])).contains("spec.nodeGroups[0].min: found a min without a max")
    );
    assert!(
        told(json!([{"name": "a"}, {"name": "a"}]))
            .contains("spec.nodeGroups[1].name: found \"a\" a second time")
    );
    assert!(told(json!([{"name": "a", "capacityType": "SPOT"}])).contains("expected spot or on-demand"));
    let tag = told(json!([{"name": "a", "tags": {"x": true}}]));
    assert!(
        tag.contains("spec.nodeGroups[0].tags.x: found the boolean true") && tag.contains("quote it"),
        "{tag}"
    );
    assert!(told(json!([{"name": "a", "types": []}])).contains("the unknown field \"types\""));
}

#[test]
fn a_plan_is_named_so_that_the_names_of_its_runs_fit_tags() {
    let named = |name: &str| {
        let mut plan = whole();
        plan["metadata"]["name"] = json!(name);
        Plan::read(&plan)
    };
    let longest = "n".repeat(100);
    assert!(named(&longest).is_ok());
    let told = named(&format!("{longest}n")).expect_err("it is too long").to_string();
    assert!(told.contains("metadata.name") && told.contains("expected at most 100 characters"), "{told}");
    let told = named("web*").expect_err("AWS takes no asterisk").to_string();
    assert!(told.contains("metadata.name: found \"web*\"") && told.contains("AWS"), "{told}");
    assert!(named("web to 1.36").is_ok());
}

/// Plans that say different things, each as it is written in a file.
fn some() -> Vec<Value> {
    let specs = [
        json!({"groups": ["web", "batch"]}),
        json!({"selector": {"matchLabels": {"a": "b"}, "matchExpressions": [
            {"key": "a", "operator": "NotIn", "values": ["c", "d"]}, {"key": "e", "operator": "Exists"},
            {"key": "f", "operator": "DoesNotExist"}, {"key": "a", "operator": "In", "values": ["b"]}]}}),
        json!({"kubeletVersion": "<=1.35", "lifecycleHooks": ["drain", "backup"]}),
        json!({"groups": ["web"], "kubeletVersion": ">1.34.2", "target": {"group": "new", "kubernetesVersion": "1.36.2", "image": "ami-1",
            "labels": {"a": "b", "gone": null, "empty": ""}, "taints": ["x=y:NoSchedule", "z:NoExecute-", "q:PreferNoSchedule"]}}),
        json!({"groups": ["web"], "budget": {"surge": "25%", "maxUnavailable": 1, "minReadyPerZone": 2}, "order": "oldest",
            "pace": {"betweenNodes": "1m30s", "parallel": 7}, "localStorage": "refuse", "barePods": "evict", "onFailure": "rollback",
            "canary": {"nodes": "5%", "soak": "1h"}, "progressDeadline": "90m", "deadline": "240h"}),
        json!({"groups": ["web"], "waves": [1, "10%", "100%"], "bake": "36h", "retain": {"for": "5h"},
            "stuckTerminating": {"after": "7m", "action": "forceDelete"}, "singletons": "surge", "spread": "lastPending", "blockingFindings": "refuse",
            "atEnd": "uncordon", "deadNodes": {"after": "20m", "action": "leave"},
            "loadBalancer": {"deregistrationDelay": "120s"}, "health": {"maxNotReady": 4},
            "batch": {"selector": {"matchLabels": {"tier": "batch"}}, "wait": "26h", "onDeadline": "skip"},
            "windows": [{"start": "Sat-Mon 23:30", "duration": "4h", "timeZone": "Asia/Tokyo"}, {"start": "02:00", "duration": "30m"}]}),
        json!({"groups": ["web"], "provider": "external", "external": {"wait": "90m", "oldNodes": "avoid"}, "budget": {"maxUnavailable": 0}}),
        json!({"kubeletVersion": "<1.36", "provider": "external", "budget": {"surge": 0, "maxUnavailable": "10%"}}),
        json!({"groups": ["web"], "retain": {"capacity": "cordoned"}, "stuckTerminating": {"action": "replaceNode"}, "singletons": "skip",
            "nodeGroups": [{"name": "web", "min": 1, "max": 9, "instanceTypes": ["m6i.large", "m6a.large"], "capacityType": "spot",
                "zones": ["b", "a"], "tags": {"team": "shop", "empty": ""}}, {"name": "batch", "capacityType": "on-demand"},
                {"name": "gpu", "managedBy": "eks", "maxUnavailable": "33%"}]}),
    ];
    let mut all: Vec<Value> = specs.iter().map(with_spec).collect();
    all.push(whole());
    let mut elsewhere = with_spec(&json!({"groups": ["web"]}));
    elsewhere["metadata"]["namespace"] = json!("replank");
    all.push(elsewhere);
    all
}

#[test]
fn a_plan_that_is_written_is_read_as_the_same_plan_and_says_every_default() {
    for value in some() {
        let plan = Plan::read(&value).unwrap_or_else(|errors| panic!("{errors}\n{value:#}"));
        let written = plan.to_json();
        let again = Plan::read(&written).unwrap_or_else(|errors| panic!("{errors}\n{written:#}"));
        assert_eq!(again, plan, "{written:#}");
        assert_eq!(again.to_json(), written);
    }
    let plain = Plan::of_groups("web", vec!["web".into()], Target::default());
    assert_eq!(Plan::read(&plain.to_json()), Ok(plain.clone()));
    assert_eq!(plain.to_json()["metadata"]["namespace"], "kube-system");
    assert_eq!(plain.to_json()["spec"]["deadline"], "168h0m0s");
}
