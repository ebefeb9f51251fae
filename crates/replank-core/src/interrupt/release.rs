//! Cases that are released although their instances keep running: every case ends.
//!
//! What a group holds ends by its hook, what is taken away at a moment that is known ends then. Two kinds of cases end here:
//!
//! - A recommendation, which may never come true: pods are moved off its node for [`Options::patience`], and those that are batch pods waited for beforehand, as
//!   long as no visibility timeout of a queue is longer. What is left on the node then has a budget, a want of room or a person in its way, and a node that is closed
//!   for ever is of no use to anybody.
//! - What was announced for a moment and has not happened: the instance runs on, long after.
//!
//! The node's mark is taken off, and its cordon, so that it takes pods again; a run that wants the node takes it over as it is, cordoned. The message is deleted
//! when that is seen. Should the instance be taken away after all, a message says so then, or its group does.

use replank_model::object::cloud::Message;
use replank_model::time::{Span, Time};

use super::Options;
use super::case::{Case, MARGIN};
use super::context::Context;
use replank_facts::batch::wait::wait_of;
use replank_protocol::cause::Cause;
use replank_protocol::release::Release;
use replank_protocol::waiting::{InterruptionEnd, Subject, WaitingOn};

/// How long a recommendation is heeded at most: as long as its message can be kept from others.
const HEEDED_MAX: Span = Message::HIDDEN_MAX;

/// Why a case is released at a moment, if it is; or when it will be, if known.
pub(super) fn standing(case: &Case, options: &Options, now: Time) -> Result<Release, Option<Time>> {
    // Its group ends it; or it is on its way down.
    if case.held_since().is_some() || case.by() == Cause::Down || !case.runs_on() {
        return Err(None);
    }
    let (at, why) = match case.certain() {
        Some(until) => (until + options.patience, Release::Spared { until }),
        None => {
            let since = case.told_since();
            (heeded_until(case, options, since), Release::GivenUp { since })
        }
    };
    if at <= now { Ok(why) } else { Err(Some(at)) }
}

/// Until when a recommendation is heeded.
fn heeded_until(case: &Case, options: &Options, since: Time) -> Time {
    let most = since + HEEDED_MAX;
    // A change that is scheduled will come, though nobody knows when.
    if case.by() == Cause::Scheduled {
        return most;
    }
    // A case that was released, or that is too late, is not begun.
    if case.marked_node().is_none() {
        return since + options.patience;
    }
    // Only its instance's end is still to come.
    if case.pods_left() == 0 {
        return most;
    }
    let batch = case.node_pods.batch.iter().map(|batch| {
        let pod = &batch.bound.pod;
        since + wait_of(pod, options.plan.batch.wait) + options.patience
    });
    let leaving = case.node_pods.leaving.iter().map(|leaving| leaving.due + MARGIN);
    batch.chain(leaving).chain([since + options.patience]).max().map_or(most, |until| until.min(most))
}

/// Reports the release, and why.
pub(super) fn say(ctx: &mut Context<'_>, case: &Case, why: Release) {
    if let Some(node) = case.marked_node() {
        let on = WaitingOn::InterruptionEnd(InterruptionEnd::Release {
            by: case.by(),
            why,
            pods: case.pods_left(),
        });
        ctx.wait(Subject::Node(node.name()), on);
    }
}
