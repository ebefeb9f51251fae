//! The way back of a control plane: EKS has one since the middle of 2026.
//!
//! EKS user guide "Rollback cluster": `UpdateClusterVersion` to the version before (`VersionRollback`), within 7 days of the upgrade, of
//! clusters that were upgraded in place to the version they run; not after EKS has upgraded one at the end of extended
//! support. Data, workloads, add-ons and node groups stay as they are, so that nodes that are newer have to go back first (no kubelet is newer
//! than its API server), and pods on Fargate are deleted. Into a version in extended support it goes only under
//! `upgradePolicy` EXTENDED. Insights of the category ROLLBACK_READINESS with an error block it, unless forced.
//!
//! So nodes are upgraded last: while they are behind, nothing stands in the way back of the control plane.

use replank_model::time::{Span, Time};

use super::minor::{Hop, Minor};
use super::skew;

/// How long after an upgrade.
pub const WITHIN: Span = Span::from_minutes(7 * 24 * 60);

/// From when on: the first that is known of it is eksctl 0.229.0 of about this day.
const SINCE: &str = "2026-07-01T00:00:00Z";

/// Whether a control plane can go back after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollback {
    /// It can.
    Until {
        /// To this version.
        to: Minor,
        /// Until then, counted from the upgrade.
        within: Span,
    },
    /// It cannot, as the moment is before there was such a thing.
    NotYet,
    /// The platform has none that is known.
    None,
}

/// Whether EKS takes a control plane back after a step that is taken at a moment.
#[must_use]
pub fn after(hop: Hop, at: Time) -> Rollback {
    let since: Time = SINCE.parse().expect("a moment");
    if at < since { Rollback::NotYet } else { Rollback::Until { to: hop.from, within: WITHIN } }
}

/// Whether nodes of this version stand in the way back to a version: they have to go back first.
#[must_use]
pub fn is_in_the_way(kubelet: Minor, to: Minor) -> bool {
    !skew::kubelet(kubelet, to, to).fits() && kubelet > to
}

/// How much is left of a way back, where the upgrade was then; `None` where it is over.
#[must_use]
pub fn left(upgraded: Time, now: Time) -> Option<Span> {
    let left = upgraded + WITHIN - now;
    (left > Span::ZERO).then_some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Time {
        text.parse().expect("a moment")
    }

    #[test]
    fn there_is_one_since_the_middle_of_2026_for_seven_days() {
        let hop = Hop { from: Minor(35), to: Minor(36) };
        assert_eq!(after(hop, at("2026-06-30T23:00:00Z")), Rollback::NotYet);
        let days = Span::from_minutes(7 * 24 * 60);
        assert_eq!(after(hop, at("2026-07-01T00:00:00Z")), Rollback::Until { to: Minor(35), within: days });
        assert_eq!(
            left(at("2026-11-01T00:00:00Z"), at("2026-11-07T23:00:00Z")),
            Some(Span::from_minutes(60))
        );
        assert_eq!(left(at("2026-11-01T00:00:00Z"), at("2026-11-08T00:00:00Z")), None);
    }

    #[test]
    fn nodes_go_back_before_the_control_plane() {
        for (kubelet, to, expected) in [(36, 35, true), (35, 35, false), (34, 35, false), (31, 35, false)] {
            assert_eq!(
                is_in_the_way(Minor(kubelet), Minor(to)),
                expected,
                "nodes of 1.{kubelet}, back to 1.{to}"
            );
        }
    }
}
