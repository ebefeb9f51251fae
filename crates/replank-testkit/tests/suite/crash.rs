//! Promise S6: Replank is started anew after each single command of every scenario, knows nothing but what there is, and comes to the same
//! effects, none of them twice.
//!
//! `REPLANK_SCENARIO=autoscaler` plays those alone that have the word in their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use replank_oracle::tell::tell;
use replank_testkit::scenario::{Effects, Scenario, files, play_restarted, tell_restarted};

/// Scenarios in which the moment at which somebody looks decides, each with the reason.
const BY_THE_SECOND: [(&str, &str); 2] = [
    (
        "interrupt-after-the-run",
        "a drain that begins a second later puts a pod onto another new node, the one that is rolled back after the run",
    ),
    (
        "image-cannot-stop-pods",
        "somebody restarts the Deployment in the second in which the next node may be begun: what comes first decides",
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

#[test]
fn a_process_that_starts_anew_at_any_boundary_comes_to_the_same_effects() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut boundaries, mut failures) = (0, Vec::new());
    let word = std::env::var("REPLANK_SCENARIO").unwrap_or_default();
    let all = files(&directory).expect("the scenarios are there");
    let is_asked =
        |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().contains(&word));
    for path in all.into_iter().filter(is_asked) {
        let text = fs::read_to_string(&path).expect("a scenario can be read");
        let scenario = Scenario::read(&path, &text).expect("a scenario");
        let excused = BY_THE_SECOND.iter().find(|(name, _)| *name == scenario.name);
        if let Some((name, why)) = excused {
            tell(format!("SKIPPED {name}: {why}"));
            continue;
        }
        let Some((sound, commands)) = play_restarted(&scenario, None).expect("it plays") else { continue };
        for after in 1..=commands {
            boundaries += 1;
            let (other, _) = play_restarted(&scenario, Some(after)).expect("it plays").expect("a plan");
            let differences = differences(&sound, &other);
            if !differences.is_empty() {
                if !word.is_empty() {
                    let told = tell_restarted(&scenario, Some(after)).expect("it plays");
                    tell(format!("{} after {after}:\n{told}", scenario.name));
                }
                failures.push(format!("{} after {after}: {}", scenario.name, differences.join("; ")));
            }
        }
    }
    tell(format!("{boundaries} boundaries, {} differ", failures.len()));
    assert!(boundaries > 1_000 || !word.is_empty(), "too few to tell anything: {boundaries}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
