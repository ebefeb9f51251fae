//! What is rehearsed of interruptions is what is then done about them: the same commands, in the same order per node and per workload, on a served AWS account.

use std::path::Path;

use super::aws_account::Account;
use super::common::{replank, scratch};
use super::handle_aws::{befalls, hook, queue};
use super::roll_aws_live::stepped;
use super::roll_aws_parity::{commands, groups};

const NODE: &str = "ip-10-0-0-2.eu-west-1.compute.internal";
const OTHER: &str = "ip-10-0-0-3.eu-west-1.compute.internal";

/// Words of a script about the nodes that are meant.
fn about(words: &str) -> String {
    words.replace("NODE", NODE).replace("OTHER", OTHER)
}

/// Names of scenarios, the hook's timeout in seconds where there is one, and what happens: more than the first three only where `REPLANK_AWS_PARITY` is set.
///
/// An instance that its group terminates without a hook is none of them: it is gone before anything can be done.
const SCENARIOS: [(&str, Option<u32>, &[&str]); 8] = [
    ("spot", None, &["spot instance NODE is taken back"]),
    ("hook", Some(300), &["spot instance NODE is taken back"]),
    ("retired", Some(300), &["instance NODE is retired in 2h"]),
    ("rebalance", Some(300), &["instance NODE may be taken back"]),
    ("group", Some(300), &["somebody ends instance NODE"]),
    ("two", Some(300), &["spot instance NODE is taken back", "spot instance OTHER is taken back"]),
    ("both", Some(300), &["instances NODE,OTHER are retired in 2h"]),
    ("twice", Some(300), &["instance NODE may be taken back", "spot instance NODE is taken back"]),
];

fn begins(account: &Account, words: &str) {
    match words {
        "somebody ends instance NODE" => {
            let instance = "i-00000000000000002";
            account.auto_scaling(
                "TerminateInstanceInAutoScalingGroup",
                &format!("&InstanceId={instance}&ShouldDecrementDesiredCapacity=false"),
            );
        }
        words => befalls(account, &about(words)),
    }
}

fn is_handled_as_rehearsed((name, timeout, script): (&str, Option<u32>, &[&str])) {
    let folder = format!("handle-parity-{name}");
    let account = stepped(&folder, "group");
    let url = queue(&account);
    let at = |name: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&folder).join(name);
        drop(std::fs::remove_file(&file));
        file.to_str().expect("text").to_owned()
    };
    let facts = scratch(&format!("{folder}/groups.json"), groups(&account).to_string());
    let (rehearsed, handled, snapshot) = (at("rehearsed.jsonl"), at("handled.jsonl"), at("before.json"));
    let taken = account.run(&["snapshot"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    std::fs::write(&snapshot, &taken.stdout).expect("it can be written");
    let mut lines = Vec::new();
    if let Some(seconds) = timeout {
        hook(&account, "replank-drain", seconds);
        lines.push(format!("before: somebody hooks group web with replank-drain for {seconds}s"));
    }
    lines.extend(script.iter().map(|words| format!("at 5s: {}", about(words))));
    let script_file = scratch(&format!("{folder}/script.txt"), lines.join("\n") + "\n");
    let rehearsal = |seed: u64| {
        drop(std::fs::remove_file(&rehearsed));
        let seed = seed.to_string();
        let arguments = ["rehearse", &snapshot, "--script", &script_file, "--groups", &facts];
        let more = ["--group-label", "group", "--seed", &seed, "--journal", &rehearsed];
        let ran = replank(&[&arguments[..], &more].concat());
        assert!([Some(0), Some(3)].contains(&ran.code), "{ran:?}");
    };
    script.iter().for_each(|words| begins(&account, words));
    let ran = account.run(&["handle", "--queue-url", &url, "--idle", "15s", "--journal", &handled]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let of = |journal: &str| {
        let mut all = commands(journal);
        // Messages: a rehearsal has none of instances that come up.
        all.remove("node null");
        if script.iter().any(|words| words.contains("OTHER")) {
            // Which of two nodes is emptied first depends on which message comes first.
            all.retain(|key, _| !key.starts_with("workload "));
        }
        all
    };
    // A seed says how long each message is on its way: up to five seconds, within which a pod moves from one of two nodes to the other, or both are
    // cordoned first. What is done must be what one of them says.
    let seeds = if script.len() > 1 { 1..=20 } else { 1..=1 };
    let done = of(&handled);
    let planned: Vec<_> = seeds
        .map(|seed| {
            rehearsal(seed);
            of(&rehearsed)
        })
        .collect();
    assert!(planned.iter().all(|one| one.keys().any(|key| key.contains(NODE))), "{planned:?}");
    let same = planned.iter().filter(|one| **one == done).count();
    println!("{name}: as {same} of {} rehearsals say", planned.len());
    assert!(same > 0, "{name}: {done:?}, not one of {planned:?}: {ran:?}");
    let text = std::fs::read_to_string(&handled).expect("it is there");
    let swapped = scratch(&format!("{folder}/swapped.jsonl"), text.replace("ip-10-0-0-2.", "ip-10-0-0-1."));
    assert!(!planned.contains(&of(&swapped)), "another node is noticed");
}

#[test]
fn interruptions_are_handled_as_rehearsed() {
    let count = if std::env::var_os("REPLANK_AWS_PARITY").is_some() { SCENARIOS.len() } else { 3 };
    println!("{count} of {} scenarios; all of them with REPLANK_AWS_PARITY", SCENARIOS.len());
    std::thread::scope(|scope| {
        // Scenarios are tried four at a time: a machine that is too busy for more is not what is tried.
        for turn in 0..4 {
            let own = SCENARIOS[..count].iter().skip(turn).step_by(4);
            scope.spawn(|| own.for_each(|one| is_handled_as_rehearsed(*one)));
        }
    });
}
