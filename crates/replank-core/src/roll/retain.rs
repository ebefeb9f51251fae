//! Keeping what was replaced for a while, so that `undo` has something to go back to.
//!
//! - `cordoned`: an empty old node is marked as retained instead of being ended, and its group is raised by one for the node that
//!   takes its place. Trouble that shows days later is met by uncordoning what is still there.
//! - `template`: nodes are ended as ever; what the run wrote of the launch template from before stays.
//!
//! When the last old node is empty, the moment until which all of this is kept is written on the group (tag [`mark::RETAINED`]). Only after
//! it is the run over.

use replank_model::time::Time;

use super::evict::end_instance;
use super::member::{Member, Scope};
use super::prepare::{MARK_LIFE, tag, untag};
use super::start;
use super::turn::{Track, Turn};
use replank_facts::load::Load;
use replank_facts::plan::Retained;
use replank_protocol::command::{Mark, NodeRole, Replacement};
use replank_protocol::mark::{self, Until};
use replank_protocol::waiting::WaitingOn;

/// What is kept. On the way back, of what failed, nothing is.
fn kept(scope: &Scope) -> Retained {
    if scope.is_way_back() { Retained::None } else { scope.plan.care.retain.capacity }
}

/// Whether nodes are kept that are empty.
pub(super) fn keeps_nodes(scope: &Scope) -> bool {
    kept(scope) == Retained::Cordoned
}

/// Keeps a node that is empty.
pub(super) fn keep(turn: &mut Turn<'_>, member: &Member, since: Time) {
    let mark = Mark { role: NodeRole::Retained, since, expires: turn.now + MARK_LIFE };
    let key = turn.key("retain", &member.uid);
    turn.mark(member, "node to be kept", key, mark);
}

/// Whether nothing is kept any more.
pub(super) fn is_over(turn: &mut Turn<'_>, track: &Track<'_>) -> bool {
    if kept(turn.scope) == Retained::None || track.begun.is_none() {
        return true;
    }
    let Some(until) = track.retained_until else {
        if track.group.is_some_and(|group| group.tags.contains_key(mark::RETAINED)) {
            // A run that is over has left it.
            untag(turn, track.name, mark::RETAINED);
        } else {
            let until = turn.now + turn.scope.plan.care.retain.span;
            let value = Until { run: turn.scope.run.clone(), until }.to_text();
            tag(turn, track.name, "end of retention", mark::RETAINED, value);
        }
        return false;
    };
    if turn.now < until {
        turn.wait_until(track.subject(), WaitingOn::Retained { until }, until);
        return false;
    }
    end(turn, track);
    track.lane.retained.is_empty()
}

/// Ends the nodes that were kept. One that has got pods since then is drained once more.
pub(super) fn end(turn: &mut Turn<'_>, track: &Track<'_>) {
    for name in &track.lane.retained {
        if Load::of(turn.view, &turn.scope.plan, name).is_empty() {
            end_instance(turn, turn.member(name), Vec::new(), Replacement::Decrement);
        } else {
            start::begin(turn, name, turn.now, turn.now);
        }
    }
}
