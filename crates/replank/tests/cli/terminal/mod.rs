//! `replank drain` and `roll` on a terminal: the table and how it renews itself, the question before a roll, Ctrl-C.

mod pty;
mod screen;

use serde_json::{Value, json};

use crate::common::{Ran, plan, replank};
use crate::drive::ground::Ground;
use crate::roll_live::{NEW, Person, SPEC};
use pty::Terminal;

const SIZE: (u16, u16) = (110, 24);
const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
const RECORDS: &str = "/api/v1/namespaces/kube-system/configmaps?labelSelector=replank.dev%2Frecord";

fn run(arguments: &[&str], ground: &Ground) -> Ran {
    let file = ground.kubeconfig().to_str().expect("it is text");
    replank(&[arguments, &["--kubeconfig", file]].concat())
}

fn is_cordoned(ground: &Ground, node: &str) -> bool {
    ground.get(&format!("/api/v1/nodes/{node}"))["spec"]["unschedulable"] == true
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn records(ground: &Ground) -> usize {
    ground.get(RECORDS)["items"].as_array().map_or(0, Vec::len)
}

/// The columns of the table that is drawn last.
fn row<'s>(lines: &'s [String], node: &str) -> Vec<&'s str> {
    let found = lines.iter().rev().find(|line| line.split_whitespace().next() == Some(node));
    found.map(|line| line.split_whitespace().collect()).unwrap_or_default()
}

#[test]
fn a_drain_renews_its_table_and_says_where_its_eta_is_from() {
    let ground = Ground::served("terminal-drain");
    ground.workload("web", 6);
    for (node, how, source) in
        [("node-1", &[][..], "ETA by grace periods"), ("node-2", &["--rehearse"], "ETA as rehearsed")]
    {
        let arguments = [&["drain", node, "--ignore-daemonsets"], how].concat();
        let terminal = Terminal::run(&arguments, ground.kubeconfig(), SIZE);
        terminal.until("there is a table", |lines| {
            let columns = row(lines, node);
            let eta = columns.get(3).copied().unwrap_or_default();
            let is_eta = match how {
                [] => eta.starts_with(['<', '>']) && eta.ends_with('s'),
                _ => eta.ends_with('s') || columns.get(4) == Some(&"late"),
            };
            columns.get(1) == Some(&"draining") && is_eta
        });
        terminal.until_word(source);
        let (code, seen) = terminal.end();
        assert_eq!(code, Some(0), "{seen}");
        assert_eq!(seen.matches("nodes drained, ").count(), 1, "what was drawn before is gone: {seen}");
        assert!(
            seen.contains("1/1 nodes drained, ") && seen.contains(&format!("node/{node} drained")),
            "{seen}"
        );
        assert!(seen.contains("NODE    PHASE      PODS  ETA     WAITS FOR"), "{seen}");
    }
}

#[test]
fn a_table_that_does_not_fit_shows_what_is_under_way_and_is_drawn_over_all_the_same() {
    let ground = Ground::served("terminal-small");
    ground.workload("web", 9);
    let all = ["drain", "node-1", "node-2", "--parallel", "2"];
    let terminal = Terminal::run(&all, ground.kubeconfig(), (36, 4));
    terminal.until_word("and 2 more");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(seen.matches("nodes drained, ").count(), 1, "{seen}");
    assert!(seen.lines().all(|line| line.chars().count() <= 36), "{seen}");
}

#[test]
fn ctrl_c_of_a_drain_leaves_a_stated_state() {
    let ground = Ground::served("terminal-interrupt");
    ground.workload("web", 3);
    ground.merge(BUDGET, &json!({"spec": {"maxUnavailable": 0}}));
    ground.wait("the budget is counted", |ground| ground.get(BUDGET)["status"]["disruptionsAllowed"] == 0);
    let node = ["node-1", "node-2", "node-3"].into_iter().find(|node| !ground.pods_on(node).is_empty());
    let node = node.expect("there are pods");
    for (how, is_kept) in [("keep", true), ("uncordon", false)] {
        let arguments = ["drain", node, "--on-interrupt", how];
        let mut terminal = Terminal::run(&arguments, ground.kubeconfig(), SIZE);
        terminal.until("what is waited for is named, with its remedy", |lines| {
            let text = flat(&lines.join(" "));
            let remedy = "next: it ends when more than 3 pods are healthy;";
            text.contains("disruption budget default/web: 3 healthy, 3 needed")
                && text.contains(remedy)
                && text.contains("kubectl -n default edit pdb web")
        });
        assert!(is_cordoned(&ground, node));
        terminal.press("\u{3}");
        let (code, seen) = terminal.end();
        assert_eq!(code, Some(130), "{seen}");
        assert_eq!(is_cordoned(&ground, node), is_kept, "{how}: {seen}");
        let said =
            if is_kept { format!("kubectl uncordon {node}") } else { "no node stays cordoned".to_owned() };
        assert!(flat(&seen).contains("interrupted: ") && flat(&seen).contains(&said), "{seen}");
        if is_kept {
            assert_eq!(run(&["uncordon", node], &ground).code, Some(0));
        }
    }
}

#[test]
fn a_roll_asks_and_only_yes_is_taken_for_one_and_ctrl_c_ends_the_process_and_not_the_run() {
    let ground = Ground::served("terminal-roll");
    ground.workload("web", 6);
    let file = plan("terminal-roll/plan.yaml", SPEC);
    let upgraded = |ground: &Ground| {
        let nodes = ground.get("/api/v1/nodes");
        let is_new = |node: &&Value| node["status"]["nodeInfo"]["kubeletVersion"] == NEW;
        nodes["items"].as_array().map_or(0, |all| all.iter().filter(is_new).count())
    };
    let question = "3 nodes? Only yes is taken for one: ";
    for answer in ["n\n", "y\n", "\n"] {
        let mut terminal = Terminal::run(&["roll", "-f", &file], ground.kubeconfig(), SIZE);
        terminal.until("it asks", |lines| flat(&lines.join(" ")).contains(question.trim_end()));
        terminal.press(answer);
        let (code, seen) = terminal.end();
        assert_eq!(code, Some(5), "{seen}");
        assert!(
            flat(&seen).contains("Verdict") && flat(&seen).contains("not confirmed: nothing was changed"),
            "{seen}"
        );
        assert!(records(&ground) == 0 && !is_cordoned(&ground, "node-1"), "{seen}");
    }
    let mut terminal = Terminal::run(&["roll", "-f", &file], ground.kubeconfig(), SIZE);
    terminal.until("it asks", |lines| flat(&lines.join(" ")).contains(question.trim_end()));
    terminal.press("yes\n");
    terminal.until("a node is drained", |lines| {
        ["node-1", "node-2", "node-3"].iter().any(|node| row(lines, node).get(1) == Some(&"drained"))
    });
    terminal.until_word("0/3 nodes replaced, ");
    terminal.until_word("ETA as rehearsed");
    terminal.press("\u{3}");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(130), "{seen}");
    assert!(flat(&seen).contains("replank roll resume test"), "what stays, and how it goes on: {seen}");
    assert_eq!(records(&ground), 1, "{seen}");

    let person = Person::begins(&ground);
    let terminal = Terminal::run(&["roll", "resume"], ground.kubeconfig(), SIZE);
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    // A node that is replaced before that is no longer its own.
    assert!(["3/3", "2/2"].iter().any(|all| seen.contains(&format!("{all} nodes replaced, "))), "{seen}");
    assert!(seen.contains("run test is done"), "{seen}");
    assert_eq!(seen.matches("nodes replaced, ").count(), 1, "{seen}");
    assert_eq!((upgraded(&ground), records(&ground)), (3, 0), "{seen}");
    drop(person);
}

#[test]
fn a_migration_asks_before_it_changes_anything() {
    let ground = Ground::served("terminal-migrate");
    ground.workload("web", 2);
    let arguments = ["migrate", "deployment/web", "--selector", "app=web,tier=front", "--apply"];
    for answer in ["n\n", "y\n"] {
        let mut terminal = Terminal::run(&arguments, ground.kubeconfig(), SIZE);
        terminal.until_word("Only yes is taken for one:");
        terminal.press(answer);
        let (code, seen) = terminal.end();
        assert_eq!(code, Some(5), "{seen}");
        assert!(flat(&seen).contains("not confirmed: nothing was changed"), "{seen}");
    }
    let maps = "/api/v1/namespaces/default/configmaps?labelSelector=replank.dev%2Frecord";
    assert_eq!(ground.get(maps)["items"].as_array().map_or(0, Vec::len), 0);
}
