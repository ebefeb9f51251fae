//! Random clusters whose nodes somebody else replaces: every promise is checked on the truth after every event.
//!
//! `REPLANK_SEED=7` rolls one and tells what happened; `REPLANK_CLUSTERS=1000` rolls more.

use std::collections::BTreeMap;

use replank_oracle::sched_random::setting;
use replank_oracle::tell::tell;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_testkit::clusters::Cluster;
use replank_testkit::trial::{self, Trial};

const CLUSTERS: u64 = 40;

fn roll(seed: u64) -> Trial {
    let trial = trial::run(&Cluster::external(seed).disturbed());
    let is_kubernetes = |effect: &Effect| matches!(effect, Effect::Kubernetes(_));
    assert!(trial.commands.iter().all(|(_, _, effect)| is_kubernetes(effect)), "seed {seed} asks a cloud");
    trial
}

fn name(end: Option<&End>) -> &'static str {
    match end {
        Some(End::Done) => "done",
        Some(End::Blocked(_)) => "blocked",
        Some(End::Cancelled(_)) => "cancelled",
        Some(End::RolledBack(_)) => "rolled back",
        Some(End::Refused(_)) => "refused",
        None => "none",
    }
}

#[test]
fn nodes_that_somebody_else_replaces_break_no_promise() {
    if let Some(seed) = setting("REPLANK_SEED") {
        let trial = roll(seed);
        for (at, key, effect) in &trial.commands {
            tell(format!("{at} {key} {effect:?}"));
        }
        trial.waiting.iter().for_each(|waiting| tell(format!("{waiting}")));
        trial.violations.iter().for_each(tell);
        tell(format!("seed {seed}: {}", name(trial.end.as_ref())));
        assert!(trial.violations.is_empty(), "seed {seed} breaks a promise");
        return;
    }
    let mut ends: BTreeMap<&str, u32> = BTreeMap::new();
    let mut broken = Vec::new();
    let (mut evictions, mut starts) = (0, 0);
    for seed in 1..=setting("REPLANK_CLUSTERS").unwrap_or(CLUSTERS) {
        let trial = roll(seed);
        *ends.entry(name(trial.end.as_ref())).or_default() += 1;
        let is_eviction =
            |effect: &Effect| matches!(effect, Effect::Kubernetes(KubernetesEffect::Evict { .. }));
        evictions += trial.commands.iter().filter(|(_, _, effect)| is_eviction(effect)).count();
        if setting("REPLANK_CLUSTERS").is_some() && matches!(trial.end, Some(End::Blocked(_))) {
            let kinds: std::collections::BTreeSet<&str> =
                trial.waiting.iter().map(|waiting| waiting.on.kind()).collect();
            tell(format!("seed {seed} blocked: {kinds:?}"));
        }
        starts += trial.starts.from_objects;
        for violation in &trial.violations {
            tell(format!("seed {seed}: {violation}"));
            broken.push(seed);
        }
    }
    tell(format!("{ends:?}, {evictions} evictions, {starts} starts from objects alone"));
    assert!(
        broken.is_empty(),
        "seeds {broken:?}: REPLANK_SEED=N cargo test -p replank-testkit --test suite external"
    );
    assert!(ends.contains_key("done") && ends.contains_key("blocked"), "{ends:?}");
    assert!(evictions > 100 && starts > 5, "{evictions} evictions, {starts} starts");
}
