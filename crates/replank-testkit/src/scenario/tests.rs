//! What is wrong in a file is told with its line and what was expected.

use std::path::Path;

use super::{Scenario, play};

const GOOD: &str = "# Title\nA sentence.\n\n-- cluster --\ngroup web: 2 nodes in a,b\ndeployment shop/web: 2 replicas, cpu 1\n\n\
    -- plan --\napiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {name: p}\nspec: {groups: [web], target: {image: b}}\n\n\
    -- events --\nat 65s: pod shop/web-1 unready\n\n-- expect --\nold\n";

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::read(Path::new("x.txt"), text).map_err(|problem| problem.to_string())
}

#[track_caller]
fn wrong(old: &str, new: &str, expected: &str) {
    assert!(GOOD.contains(old), "{old:?} is to be replaced");
    let problem = read(&GOOD.replacen(old, new, 1)).expect_err("it is wrong");
    assert!(problem.starts_with(expected), "{problem}");
}

#[test]
fn a_file_is_read_played_and_renewed() {
    let scenario = read(GOOD).expect("it is right");
    assert_eq!((scenario.name.as_str(), scenario.title.as_str()), ("x", "Title"));
    assert_eq!(scenario.expected, "old\n");
    let story = play(&scenario).expect("it can be played");
    assert!(
        story.contains("* pod shop/web-1 unready") && story.contains("nodes: 2 of 2 replaced"),
        "{story}"
    );
    assert_eq!(story, play(&scenario).expect("it can be played again"), "the same every time");
    assert_eq!(scenario.renewed(&story), GOOD.replace("old\n", &story));
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    wrong("# Title\n", "Title\n", "x.txt:1: expected a title on the first line");
    wrong(
        "A sentence.\n",
        "",
        "x.txt:2: expected a title on the first line, `# Like this`, and below it a sentence",
    );
    wrong(
        "-- plan --",
        "-- plam --",
        "x.txt:8: unknown section \"plam\": expected one of cluster, objects, plan",
    );
    wrong("-- events --", "-- plan --", "x.txt:14: duplicate section \"plan\"");
    wrong("group web: 2 nodes in a,b", "group web: in a,b", "x.txt:5: expected `3 nodes in a,b,c`");
    wrong("group web: 2 nodes in a,b", "", "x.txt:6: expected a node group");
    wrong(
        "deployment shop/web",
        "deploy shop/web",
        "x.txt:6: unknown line \"deploy\": expected one of group, deployment",
    );
    wrong("deployment shop/web", "deployment web", "x.txt:6: expected namespace/name, found \"web\"");
    wrong("cpu 1", "cpus 1", "x.txt:6: expected `3 replicas`, `pdb minAvailable 2`");
    wrong(
        "cpu 1",
        "ready after 5",
        "x.txt:6: expected a duration such as 30s, 10m or 2d, found \"ready after 5\"",
    );
    wrong("cpu 1", "pdb atLeast 2", "x.txt:6: expected `minAvailable 2` or `maxUnavailable 25%`");
    wrong("at 65s: ", "after 65s: ", "x.txt:15: expected `at 5m: …`");
    wrong("unready", "sleepy", "x.txt:15: expected `exits`, `gets`, `ready` or `unready`, found \"sleepy\"");
}

#[test]
fn what_cannot_be_is_told_when_it_is_played() {
    let fails = |old: &str, new: &str| {
        let scenario = read(&GOOD.replacen(old, new, 1)).expect("its form is right");
        format!("{:#}", play(&scenario).expect_err("it cannot be"))
    };
    assert!(
        fails("shop/web-1 unready", "shop/web-9 unready")
            .contains("line 15: pod shop/web-9 unready: pod shop/web-9 not found")
    );
    assert!(fails("at 65s", "at 5h").contains("line 15: the roll is over before 5h"));
    let unread = fails("metadata: {name: p}", "metadata: {name: p");
    assert!(unread.contains("plan") && unread.contains("line 1"), "{unread}");
    let unknown = fails("cpu 1", "cpu 1, on web-7");
    assert!(unknown.contains("shop/web: node web-7 not found"), "{unknown}");
}
