//! Promise S6: after each single command of every scenario another process takes over, which knows nothing but what is in the cluster and on its groups,
//! neither the plan nor the intent. It comes to the same effects, none of them twice.
//!
//! `REPLANK_SCENARIO=autoscaler` plays those alone that have the word in their names; `REPLANK_EVERY=2` has another process take over after every second command.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use replank_oracle::sched_random::setting;
use replank_oracle::tell::tell;
use replank_testkit::scenario::{Effects, Scenario, files, play_restarted};

/// A place in a scenario where the second at which somebody looks decides what comes of it.
struct BySecond {
    scenario: &'static str,
    /// After which commands; none are named where it is so after nearly all.
    after: &'static [usize],
    why: &'static str,
}

const fn by_second(scenario: &'static str, after: &'static [usize], why: &'static str) -> BySecond {
    BySecond { scenario, after, why }
}

const BY_SECOND: [BySecond; 11] = [
    by_second(
        "interrupt-after-the-run",
        &[],
        "a drain that begins a second later puts a pod onto another new node, the one that is rolled back after the run",
    ),
    by_second(
        "image-cannot-stop-pods",
        &[],
        "somebody restarts the Deployment in the second in which the next node may be begun: what comes first decides",
    ),
    by_second(
        "interrupt-hook-batch",
        &[3],
        "the nodes are cordoned in the second in which an instance is terminated: where its pod goes depends on what comes first",
    ),
    by_second(
        "interrupt-lost-event",
        &[3],
        "the nodes are cordoned in the second in which an instance is lost: where its pod goes depends on what comes first",
    ),
    by_second(
        "interrupt-lost-event",
        &[8],
        "two nodes can be replaced in the same second: which of them is first depends on what is seen first",
    ),
    by_second(
        "interrupt-restart",
        &[3],
        "the nodes are cordoned in the second in which an instance is lost: where its pod goes depends on what comes first",
    ),
    by_second(
        "interrupt-hook-of-others",
        &[],
        "the hook times out in the second in which its instance is looked at: the last pod is evicted, or goes with the instance",
    ),
    by_second(
        "undo-target-group",
        &[7],
        "the drain begins two seconds later, and the pod goes to the other one of two equal nodes",
    ),
    by_second(
        "undo-target-group-gone",
        &[8, 11, 14, 16, 19],
        "the drain begins some seconds later, and a pod goes to the node that the target group had before, where it stays",
    ),
    by_second(
        "undo-target-groups-gone",
        &[11, 21],
        "the drain begins some seconds later, and a pod goes to the node that the target group had before, where it stays",
    ),
    by_second(
        "workflow-pod-gc",
        &[7, 8, 9, 10, 11, 13, 14],
        "a new node is Ready in the second in which the last batch pod is recorded: one or the other of the two last nodes is drained first",
    ),
];

/// What of one run is not of the other.
fn differences(sound: &Effects, other: &Effects) -> Vec<String> {
    let mut all = Vec::new();
    if sound.ending != other.ending || sound.replaced != other.replaced {
        all.push(format!(
            "ends {:?} with {} replaced, not {:?} with {}",
            other.ending, other.replaced, sound.ending, sound.replaced
        ));
    }
    if sound.wanted != other.wanted {
        all.push(format!("groups want {:?}, not {:?}", other.wanted, sound.wanted));
    }
    let names = sound.done.keys().chain(other.done.keys());
    let by_name: BTreeMap<&String, (usize, usize)> = names
        .map(|name| {
            let count = |of: &Effects| of.done.get(name).copied().unwrap_or(0);
            (name, (count(sound), count(other)))
        })
        .collect();
    all.extend(
        by_name
            .into_iter()
            .filter(|(_, (a, b))| a != b)
            .map(|(name, (a, b))| format!("{name}: {b}, not {a}")),
    );
    all
}

/// What came of scenarios so far.
#[derive(Default)]
struct Tried {
    boundaries: usize,
    from_objects: usize,
    failures: Vec<String>,
}

/// Of how many commands one is followed by another process.
fn every() -> usize {
    setting("REPLANK_EVERY").and_then(|every| usize::try_from(every).ok()).unwrap_or(1).max(1)
}

/// Plays one scenario, and once more after each of its commands with another process.
fn each_boundary(path: &Path, is_told: bool) -> Tried {
    let mut tried = Tried::default();
    let text = fs::read_to_string(path).expect("a scenario can be read");
    let scenario = Scenario::read(path, &text).expect("a scenario");
    let excused: Vec<&BySecond> = BY_SECOND.iter().filter(|place| place.scenario == scenario.name).collect();
    for place in &excused {
        let at: String = place.after.iter().map(|after| format!(", after command {after}")).collect();
        tell(format!("SKIPPED {}{at}: {}", place.scenario, place.why));
    }
    if excused.iter().any(|place| place.after.is_empty()) {
        return tried;
    }
    let Some(sound) = play_restarted(&scenario, None).expect("it plays") else { return tried };
    let is_excused = |after: &usize| excused.iter().any(|place| place.after.contains(after));
    // In half of the scenarios those with odd numbers.
    let is_tried = |after: &usize| (after + scenario.name.len()).is_multiple_of(every());
    for after in (1..=sound.commands).filter(|after| is_tried(after) && !is_excused(after)) {
        tried.boundaries += 1;
        let other = play_restarted(&scenario, Some(after)).expect("it plays").expect("a plan");
        tried.from_objects += usize::from(other.starts.from_objects > sound.starts.from_objects);
        let differences = differences(&sound.effects, &other.effects);
        if !differences.is_empty() {
            if is_told {
                tell(format!("{} after {after}:\n{}", scenario.name, other.story));
            }
            tried.failures.push(format!("{} after {after}: {}", scenario.name, differences.join("; ")));
        }
    }
    tried
}

#[test]
fn a_process_that_starts_anew_at_any_boundary_comes_to_the_same_effects() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let word = std::env::var("REPLANK_SCENARIO").unwrap_or_default();
    let is_asked =
        |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(&word));
    let all: Vec<PathBuf> =
        files(&directory).expect("the scenarios are there").into_iter().filter(is_asked).collect();
    // It takes longer than all other tests: by itself it would keep one core busy, and the others idle.
    let (next, tried) = (AtomicUsize::new(0), Mutex::new(Tried::default()));
    let work = || {
        while let Some(path) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let one = each_boundary(path, !word.is_empty());
            let mut tried = tried.lock().expect("a thread that panics ends the test");
            tried.boundaries += one.boundaries;
            tried.from_objects += one.from_objects;
            tried.failures.extend(one.failures);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let Tried { boundaries, from_objects, mut failures } =
        tried.into_inner().expect("no thread has panicked");
    failures.sort();
    let percent = from_objects * 100 / boundaries.max(1);
    tell(format!(
        "{boundaries} boundaries, {percent} % started from objects alone, {} differ",
        failures.len()
    ));
    assert!(boundaries * every() > 1_000 || !word.is_empty(), "too few to tell anything: {boundaries}");
    assert!(percent >= 90 || !word.is_empty(), "{percent} % of the processes found a record");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
