//! When something falls due by the clock alone: nothing is looked at again before, unless something changes.

use replank_model::time::Time;
use replank_protocol::scaling::Hold;
use replank_protocol::waiting::Blocks;

use super::down::Keep;
use super::pending::NotAsked;
use super::scaler::ScaleDecision;
use super::up::Given;

/// The moments at which the same look could come to something else.
pub(super) fn dues(given: Given<'_>, decision: &ScaleDecision) -> Vec<Time> {
    let holds = decision.down.unneeded.iter().filter_map(|one| match &one.hold {
        Some(Hold::Until(at) | Hold::After(_, at) | Hold::Window { until: Some(at) }) => Some(*at),
        Some(
            Hold::Window { until: None }
            | Hold::ScaleUp
            | Hold::Enough { .. }
            | Hold::EnoughDrains { .. }
            | Hold::Unready { .. }
            | Hold::Disabled,
        )
        | None => None,
    });
    let kept = decision.down.kept.iter().filter_map(|(node, keep)| match keep {
        Keep::Pod { why: Blocks::System { until }, .. } => Some(*until),
        Keep::Starting => Some(given.view.node(node)?.meta.creation_timestamp? + given.options.provision_max),
        Keep::Marked { until, .. } => Some(*until),
        Keep::Pod { .. }
        | Keep::NoGroup
        | Keep::LeftOut(_)
        | Keep::Rolling
        | Keep::NewerVersion { .. }
        | Keep::Disabled
        | Keep::Leaving
        | Keep::Unready
        | Keep::AtMinimum { .. }
        | Keep::AtLimit(_)
        | Keep::Busy { .. }
        | Keep::NoPlace { .. }
        | Keep::Awaited { .. }
        | Keep::Receives { .. } => None,
    });
    let young = decision.up.not_asked.iter().filter_map(|(_, why)| match why {
        NotAsked::TooYoung { from } => Some(*from),
        NotAsked::Gated(_) | NotAsked::Expendable { .. } | NotAsked::Daemon | NotAsked::Preempts(_) => None,
    });
    let requests = decision.state.requests.iter().map(|(name, request)| {
        let own = given.groups.get(name).and_then(|group| group.own.provision_max);
        request.at + own.unwrap_or(given.options.provision_max)
    });
    let backoffs = decision.state.backoffs.values().map(super::backoff::Backoff::until);
    let backoffs = backoffs.filter(|_| !decision.up.refusals.is_empty());
    let all = holds.chain(kept).chain(young).chain(requests).chain(backoffs);
    all.filter(|at| *at > given.now).collect()
}
