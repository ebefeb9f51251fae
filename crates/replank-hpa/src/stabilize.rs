//! A recommendation is held against those of the last minutes (`stabilizeRecommendation`,
//! `stabilizeRecommendationWithBehaviors`).

use replank_model::time::{Span, Time};

use super::memory::Memory;
use super::steps::{Bound, Stabilized};

/// Without behavior: as many as the most that was asked for in the window.
pub(super) fn without_behavior(memory: &mut Memory, wanted: i32, window: Span, now: Time) -> Stabilized {
    let cutoff = now - window;
    let recent = memory.recommendations.iter().filter(|known| known.at >= cutoff);
    let most = recent.max_by_key(|known| (known.replicas, known.at)).copied();
    let most = most.filter(|known| known.replicas > wanted);
    memory.recommend(wanted, now, |at| at < cutoff);
    let floor = Bound { window, replicas: most.map_or(wanted, |known| known.replicas), from: most };
    Stabilized { wanted, floor, ceiling: None, replicas: floor.replicas }
}

/// With behavior: no more than the least that was asked for in the window upwards, no fewer than the most in that
/// downwards; in between, as many as there are.
pub(super) fn with_behavior(
    memory: &mut Memory,
    wanted: i32,
    replicas_now: i32,
    (up, down): (Span, Span),
    now: Time,
) -> Stabilized {
    let within = |window: Span| memory.recommendations.iter().filter(move |known| known.at > now - window);
    let least = within(up).min_by_key(|known| (known.replicas, known.at)).copied();
    let least = least.filter(|known| known.replicas < wanted);
    let most = within(down).max_by_key(|known| (known.replicas, known.at)).copied();
    let most = most.filter(|known| known.replicas > wanted);
    let ceiling = Bound { window: up, replicas: least.map_or(wanted, |known| known.replicas), from: least };
    let floor = Bound { window: down, replicas: most.map_or(wanted, |known| known.replicas), from: most };
    memory.recommend(wanted, now, |at| at < now - up && at < now - down);
    let replicas = replicas_now.max(ceiling.replicas).min(floor.replicas);
    Stabilized { wanted, floor, ceiling: Some(ceiling), replicas }
}
