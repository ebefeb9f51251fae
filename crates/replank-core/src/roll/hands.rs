//! What others have in hand: it is said, and nothing is done about it.

use super::member::Stand;
use super::turn::Turn;
use replank_protocol::waiting::{Subject, WaitingOn};

/// Says which of the chosen nodes are left to whoever made them: Karpenter, EKS Auto Mode, Fargate. They are in nobody's way:
/// the run is done without them.
pub(super) fn kept(turn: &mut Turn<'_>) {
    let fleet = turn.fleet;
    for name in fleet.lanes.values().flat_map(|lane| &lane.kept) {
        if let Stand::Kept { by } = &turn.member(name).stand {
            let on = WaitingOn::ManagedBy { maker: by.clone() };
            turn.wait(Subject::Node(name.clone()), on);
        }
    }
}
