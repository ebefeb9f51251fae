//! Lines and what they come to, and what wrong ones are told.

use replank_model::object::Kind;
use replank_model::object::cloud::{Market, ScalingProcess, TerminationPolicy};
use replank_model::object::meta::Key;
use replank_model::time::{Span, Time};
use replank_protocol::intent::Intent;

use super::{Act, Capacity, Hand, Hazard, Meta, PodDoes, Rate, Script, Supply, Way, What, When, forms};
use crate::kubelet::{ImageFault, ImageName, NodeTrouble};

fn what(line: &str) -> What {
    let script = Script::read(line).unwrap_or_else(|flaws| panic!("{flaws}"));
    assert_eq!(script.events.len(), 1, "{line}");
    script.events[0].what.clone()
}

fn flaw(text: &str) -> String {
    Script::read(text).expect_err("it is wrong").to_string()
}

#[test]
fn a_script_is_read_line_by_line_and_ordered_by_time() {
    let text =
        "# after lunch\nat 2d: resume\n\n  at 90s: pause\nbefore: cancel\nat 2026-01-05T09:10:00Z: undo  \n";
    let script = Script::read(text).expect("it is right");
    let start: Time = "2026-01-05T09:00:00Z".parse().expect("a time");
    let told: Vec<(i64, usize, &str)> = script
        .from(start)
        .into_iter()
        .map(|(at, one)| ((at - start).as_secs(), one.line, one.text.as_str()))
        .collect();
    assert_eq!(told, [(0, 5, "cancel"), (90, 4, "pause"), (600, 6, "undo"), (172_800, 2, "resume")]);
    assert_eq!(script.events[1].when, When::After(Span::from_secs(90)));
    assert_eq!(Script::read("# nothing\n").expect("it is right"), Script::default());
}

#[test]
fn words_become_what_they_say() {
    let image = |name: &str| ImageName::Named(name.into());
    let after = |secs| Some(ImageFault::CannotStop { after: Span::from_secs(secs) });
    for (line, expected) in [
        ("at 1m: pause", What::Intend(Intent::Paused)),
        ("at 1m: image ami-9 cannot stop pods", What::Image(image("ami-9"), after(0))),
        ("at 1m: image ami-9 cannot stop pods after 2h", What::Image(image("ami-9"), after(7200))),
        ("at 1m: image ami-9 recovers", What::Image(image("ami-9"), None)),
        (
            "at 1m: image ami-9 gives nodes MemoryPressure after 20m",
            What::Image(
                image("ami-9"),
                Some(ImageFault::Troubles { with: NodeTrouble::Memory, after: Span::from_secs(1200) }),
            ),
        ),
        (
            "at 1m: new image gives nodes NetworkUnavailable",
            What::Image(
                ImageName::New,
                Some(ImageFault::Troubles { with: NodeTrouble::Network, after: Span::ZERO }),
            ),
        ),
        ("at 1m: image ami-9 breaks DNS", What::Image(image("ami-9"), Some(ImageFault::BreaksDns))),
        ("at 1m: new image crashes pods", What::Image(ImageName::New, Some(ImageFault::Crashes))),
        (
            "at 1m: image ami-9 slows starts by 6m",
            What::Image(image("ami-9"), Some(ImageFault::SlowsStarts { by: Span::from_secs(360) })),
        ),
        (
            "at 1m: new image restarts pods every 15m",
            What::Image(ImageName::New, Some(ImageFault::RestartsPods { every: Span::from_secs(900) })),
        ),
        ("at 1m: pod shop/web-0 exits 137", What::Pod(Key::new("shop", "web-0"), PodDoes::Exit(137))),
        (
            "at 1m: pods of Deployment shop/web unready",
            What::Pods(Kind::Deployment, Key::new("shop", "web"), PodDoes::Unready),
        ),
        (
            "at 1m: spot capacity of any in z-a runs out",
            What::Capacity(
                Capacity { market: Some(Market::Spot), instance_type: None, zone: Some("z-a".into()) },
                Supply::RunsOut,
            ),
        ),
        (
            "at 1m: spot instances of m6i.large in any are taken back at 2.5% an hour",
            What::Hazard(Hazard::Spot {
                event: crate::cloud::SpotEvent::Interruption,
                instance_type: Some("m6i.large".into()),
                zone: None,
                rate: Rate::read("2.5%").expect("a rate"),
            }),
        ),
        (
            "at 1m: somebody suspends AZRebalance of group web",
            What::Hand(Hand::Ways("web".into(), Way::Suspend(ScalingProcess::AzRebalance))),
        ),
        (
            "at 1m: somebody gives group web termination policies OldestInstance,Default",
            What::Hand(Hand::Ways(
                "web".into(),
                Way::Policies(vec![TerminationPolicy::OldestInstance, TerminationPolicy::Default]),
            )),
        ),
        ("at 1m: somebody scales group web to 5", What::Hand(Hand::ScaleGroup("web".into(), 5))),
        (
            "at 1m: somebody scales deployments shop/web to 5",
            What::Hand(Hand::Scale(Kind::Deployment, Key::new("shop", "web"), 5)),
        ),
        (
            "at 1m: somebody deletes node ip-1.ec2",
            What::Hand(Hand::Delete(Kind::Node, Key::cluster("ip-1.ec2"))),
        ),
        (
            "at 1m: somebody deletes pdb shop/web",
            What::Hand(Hand::Delete(Kind::PodDisruptionBudget, Key::new("shop", "web"))),
        ),
        (
            "at 1m: somebody removes annotation replank.dev/run from node n1",
            What::Hand(Hand::Write(
                Meta::Annotation,
                Act::Remove("replank.dev/run".to_owned()),
                Kind::Node,
                Key::cluster("n1"),
            )),
        ),
        (
            "at 1m: somebody labels node n1 a/b=c=d",
            What::Hand(Hand::Write(
                Meta::Label,
                Act::Set("a/b".to_owned(), "c=d".to_owned()),
                Kind::Node,
                Key::cluster("n1"),
            )),
        ),
    ] {
        assert_eq!(what(line), expected, "{line}");
    }
}

#[test]
fn what_follows_to_the_end_of_the_line_is_json() {
    let patch = what(r#"at 1m: somebody patches deployment shop/web {"spec": {"paused": true}}"#);
    let What::Hand(Hand::Patch(Kind::Deployment, _, patch)) = patch else { panic!("{patch:?}") };
    assert_eq!(patch["spec"]["paused"], true);
    let made =
        what(r#"at 1m: somebody creates {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a b"}}"#);
    let What::Hand(Hand::Create(made)) = made else { panic!("{made:?}") };
    assert_eq!(made[0]["metadata"]["name"], "a b");
    let wrong = flaw("at 1m: somebody patches deployment shop/web {");
    assert!(wrong.starts_with("line 1, column 45: expected a merge patch in JSON ("), "{wrong}");
    let wrong = flaw("at 1m: somebody creates {}");
    assert_eq!(wrong, "line 1, column 25: expected an object in JSON with apiVersion and kind, found \"{}\"");
}

#[test]
fn a_wrong_line_is_told_where_and_what_was_expected() {
    for (line, expected) in [
        (
            "after 5m: pause",
            "column 1: expected `at 5m: …`, `at 2026-01-05T09:15:00Z: …` or `before: …`, found \"after 5m\"",
        ),
        (
            "at noon: pause",
            "column 4: expected `at 5m: …`, `at 2026-01-05T09:15:00Z: …` or `before: …`, found \"noon\"",
        ),
        (
            "pause",
            "column 1: expected `at 5m: …`, `at 2026-01-05T09:15:00Z: …` or `before: …`, found \"pause\"",
        ),
        ("at 5m: pause now", "column 14: expected the end of the line, found \"now\""),
        (
            "at 5m: image ami-9 cannot stop pods after lunch",
            "column 43: expected a duration such as 30s, 10m or 2d, found \"lunch\"",
        ),
        (
            "at 5m: image ami-9 cannot stop pods later",
            "column 37: expected `after` or the end of the line, found \"later\"",
        ),
        ("at 5m: pod web unready", "column 12: expected NAMESPACE/NAME of a pod, found \"web\""),
        (
            "at 5m: somebody taints n1 spot",
            "column 27: expected a taint such as spot=true:NoSchedule, found \"spot\"",
        ),
        ("at 5m: somebody deletes node", "column 29: expected the name of a node, found the end of the line"),
        (
            "at 5m: somebody deletes deploy shop/web",
            "column 25: expected a kind such as deployment or node, found \"deploy\"",
        ),
        (
            "at 5m: somebody scales pods/web to 3",
            "column 24: expected `group` or a kind such as deployment or node, found \"pods/web\"",
        ),
    ] {
        assert_eq!(flaw(line), format!("line 1, {expected}"));
    }
    let unknown = flaw("at 5m: pod shop/web sleepy");
    assert_eq!(
        unknown,
        "line 1, column 21: expected `exits`, `gets`, `ready` or `unready`, found \"sleepy\""
    );
    let both = flaw("at x: pause\nat 5m: pause\nat 6m: nap\n");
    let lines: Vec<&str> = both.lines().collect();
    assert_eq!(lines.len(), 2, "{both}");
    assert!(lines[1].starts_with("line 3, column 8: expected `cancel`, `changes`, `events`,"), "{both}");
}

#[test]
fn every_form_is_read_as_itself() {
    let mut seen = Vec::new();
    for form in forms() {
        let words = form.pattern.split(' ').map(|part| match part {
            "IMAGE" => "ami-1",
            "POD" | "OBJECT" => "shop/web",
            "KIND" => "deployment",
            "NODE" | "GROUP" => "web-1",
            "NODES" => "web-1,web-2",
            "MARKET" => "spot",
            "CONDITION" => "DiskPressure",
            "TYPE" => "m6i.large",
            "ZONE" => "z-a",
            "RATE" => "5%",
            "PROCESS" => "Launch",
            "POLICIES" => "OldestInstance,Default",
            "COUNT" | "CODE" => "3",
            "DURATION" => "5m",
            "TAINT" => "a=b:NoSchedule",
            "KEY" => "a",
            "KEY=VALUE" => "a=b",
            "PATCH" => "{}",
            "OBJECTS" => r#"{"apiVersion":"v1","kind":"Pod"}"#,
            literal => literal,
        });
        let line = words.collect::<Vec<_>>().join(" ");
        let said = what(&format!("at 1m: {line}"));
        assert!(!seen.contains(&said), "two forms say the same: {line}");
        seen.push(said);
        let cut = line.rsplit_once(' ').map_or("", |(head, _)| head);
        if !cut.is_empty() && !line.contains(" after ") && !form.pattern.ends_with("OBJECTS") {
            assert!(flaw(&format!("at 1m: {cut}")).contains("found the end of the line"), "{cut}");
        }
    }
    assert!(seen.len() > 40, "{}", seen.len());
}
