//! How plans are watched and taken back, and what they say of single pods and load balancers.
//!
//! Drawn from a stream of its own, so that clusters are what they were without it.

use replank_facts::plan::{AtEnd, Plan, Retain, Retained, Singletons, Waves, Window, Windows};
use replank_model::int_or_string::IntOrString;
use replank_model::time::Span;
use serde_json::{Value, json};

use replank_oracle::sched_random::Random;

/// Sets the stream apart from the cluster's.
const CARE: u64 = 0x6361_7265;

/// Of a hundred plans: so many have waves (where they have no canary), keep their old nodes or the template for a while, have windows,
/// move single pods by a restart, leave their nodes out, take nodes out of load balancers.
const WAVES: u64 = 12;
const KEEPS_NODES: u64 = 10;
const KEEPS_TEMPLATE: u64 = 10;
const WINDOWS: u64 = 8;
const SURGES: u64 = 15;
const SKIPS: u64 = 5;
const EXCLUDES: u64 = 12;

/// Beyond all that is drawn.
const DEADLINE_MAX: Span = Span::from_minutes(60 * 24 * 30);

pub(super) fn draw(seed: u64, plan: &mut Plan) {
    let mut random = Random::new(seed ^ CARE);
    let random = &mut random;
    if random.percent(WAVES) && plan.canary.is_none() {
        let nodes = random.one(&[&["1", "100%"][..], &["1", "50%", "100%"], &["20%", "100%"]]);
        let bake = Span::from_minutes(random.one(&[0, 2, 30]));
        plan.care.waves = Some(Waves { nodes: nodes.iter().map(|wave| wave_of(wave)).collect(), bake });
    }
    let capacity = match random.below(100) {
        drawn if drawn < KEEPS_NODES => Retained::Cordoned,
        drawn if drawn < KEEPS_NODES + KEEPS_TEMPLATE => Retained::Template,
        _ => Retained::None,
    };
    plan.care.retain = Retain { capacity, span: Span::from_minutes(random.one(&[1, 20, 120])) };
    if random.percent(WINDOWS) {
        plan.care.windows = every_hour(random.one(&[20, 45]));
    }
    plan.care.singletons = match random.below(100) {
        drawn if drawn < SURGES => Singletons::Surge,
        drawn if drawn < SURGES + SKIPS => Singletons::Skip,
        _ => Singletons::Evict,
    };
    if random.percent(EXCLUDES) {
        plan.care.load_balancer.exclude = true;
        plan.care.load_balancer.deregistration_delay = Span::from_secs(random.one(&[10, 60, 300]));
    }
    plan.care.at_end = random.one(&[AtEnd::KeepBegun, AtEnd::KeepBegun, AtEnd::Uncordon, AtEnd::Keep]);
    // Nobody could have written one whose deadline is shorter than what it watches and retains.
    while Plan::read(&plan.to_json()).is_err() {
        plan.deadline += Span::from_minutes(60);
        assert!(
            plan.deadline < DEADLINE_MAX,
            "no deadline makes it valid: {:?}",
            Plan::read(&plan.to_json())
        );
    }
}

fn wave_of(text: &str) -> IntOrString {
    text.parse().map_or_else(|_| IntOrString::String(text.into()), IntOrString::Int)
}

/// Windows of so many minutes, one in every hour.
fn every_hour(minutes: i64) -> Windows {
    let windows: Vec<Value> = (0..24)
        .map(|hour| json!({"start": format!("{hour:02}:00"), "duration": format!("{minutes}m")}))
        .collect();
    let plan = json!({"apiVersion": "replank.dev/v1alpha1", "kind": "NodeRoll", "metadata": {"name": "windows"},
        "spec": {"groups": ["any"], "windows": windows}});
    let windows: Vec<Window> = Plan::read(&plan).expect("a plan").care.windows.0;
    Windows(windows)
}
