//! What is rehearsed of the number of nodes is what is then done about it: the same commands, in the same order per node, per workload and per group, on a served AWS account.

use std::path::Path;

use super::autoscale_aws::{bounds, replicas};
use super::common::{plan, replank, scratch};
use super::roll_aws_live::{stepped, wait};
use super::roll_aws_parity::{commands, groups};

/// A name, replicas of the workload, the group's bounds, flags, and the plan of a roll at the same time.
type Scenario = (&'static str, u32, (u32, u32), &'static str, Option<&'static str>);

const SCENARIOS: [Scenario; 3] = [
    ("up", 40, (0, 6), "--nodes=0:6:web --scale-down-enabled=false", None),
    (
        "down",
        6,
        (2, 3),
        "--nodes=2:3:web --scale-down-unneeded-time=10s --scale-down-delay-after-add=0s",
        None,
    ),
    (
        "roll",
        36,
        (0, 6),
        "--nodes=0:6:web --scale-down-enabled=false",
        Some("groups: [web], target: {kubernetesVersion: '1.36'}, budget: {surge: 1}"),
    ),
];

fn is_scaled_as_rehearsed((name, count, (min, max), flags, spec): Scenario) {
    let folder = format!("autoscale-parity-{name}");
    let account = stepped(&folder, "group");
    bounds(&account, "web", min, max);
    replicas(&account, count);
    let placed = usize::try_from(count.min(27)).expect("few");
    wait(&account, "pods are where they find room", |account| {
        let pods = account.get("/api/v1/namespaces/default/pods");
        let pods = pods["items"].as_array().expect("a list");
        let on = pods.iter().filter(|pod| pod["status"]["phase"] == "Running").count();
        pods.len() == usize::try_from(count).expect("few") && on == placed
    });
    let at = |name: &str| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&folder).join(name);
        drop(std::fs::remove_file(&file));
        file.to_str().expect("text").to_owned()
    };
    let facts = scratch(&format!("{folder}/groups.json"), groups(&account).to_string());
    let (rehearsed, done, snapshot) = (at("rehearsed.jsonl"), at("done.jsonl"), at("before.json"));
    let taken = account.run(&["snapshot"]);
    assert_eq!(taken.code, Some(0), "{taken:?}");
    std::fs::write(&snapshot, &taken.stdout).expect("it can be written");
    let script = scratch(
        &format!("{folder}/script.txt"),
        "at 5m: somebody scales deployment default/shop to REPLICAS\n"
            .replace("REPLICAS", &count.to_string()),
    );
    let scaler = format!("--autoscaler={flags}");
    let mut rehearse = vec![
        "rehearse",
        &*snapshot,
        "--groups",
        &facts,
        "--group-label",
        "group",
        &scaler,
        "--journal",
        &rehearsed,
    ];
    let file = spec.map(|spec| plan(&format!("{folder}/plan.yaml"), spec));
    match &file {
        Some(file) => rehearse.extend(["-f", file]),
        None => rehearse.extend(["--script", &script]),
    }
    let rehearsal = replank(&rehearse);
    assert!([Some(0), Some(3)].contains(&rehearsal.code), "{rehearsal:?}");
    let besides = format!("--autoscale={flags}");
    let ran = match &file {
        Some(file) => account.run(&[
            "roll",
            "-f",
            file,
            "--yes",
            "--group-label",
            "group",
            &besides,
            "--journal",
            &done,
        ]),
        None => {
            let mut call = vec!["autoscale", "--idle", "25s", "--journal", &done];
            call.extend(flags.split(' '));
            account.run(&call)
        }
    };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let of = |journal: &str| {
        let mut all = commands(journal);
        // The run's record: a rehearsal has none.
        all.remove("node null");
        // What is refused because the group has changed since it was seen, and is asked for once more, counts once.
        all.entry("group".to_owned()).or_default().dedup();
        all
    };
    let (planned, carried) = (of(&rehearsed), of(&done));
    assert!(planned.get("group").is_some_and(|all| !all.is_empty()), "{planned:?}");
    assert_eq!(planned, carried, "{name}: {ran:?}");
    let text = std::fs::read_to_string(&done).expect("it is there");
    let swapped = scratch(&format!("{folder}/swapped.jsonl"), text.replace("\"web\"", "\"swapped\""));
    assert_ne!(planned, of(&swapped), "another group is noticed");
}

#[test]
fn nodes_are_added_and_removed_as_rehearsed() {
    let count = if std::env::var_os("REPLANK_AWS_PARITY").is_some() { SCENARIOS.len() } else { 2 };
    println!("{count} of {} scenarios; all of them with REPLANK_AWS_PARITY", SCENARIOS.len());
    std::thread::scope(|scope| {
        for one in &SCENARIOS[..count] {
            scope.spawn(|| is_scaled_as_rehearsed(*one));
        }
    });
}
