//! Stages: the canary, and waves. So many nodes are replaced, then the run stands still and is watched.
//!
//! When a stage's nodes are replaced, its end is written on the group (tag [`mark::STAGE`] with the stage's number): until when the run
//! stands still. So the pause outlives a restart, and its length is the plan's, whenever anybody looks.

use replank_model::text::Text;
use replank_model::time::{Span, Time};

use super::context::{Context, GroupRoll};
use super::dead;
use super::external;
use super::prepare::{tag, untag};
use replank_facts::plan::Stage;
use replank_protocol::mark::{self, Until};
use replank_protocol::waiting::{RollWait, WaitingOn};

/// How far a group is with its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// So many nodes belong to this stage, of which so many are replaced.
    Under { number: u32, stage: Stage, replaced: u32 },
    /// The stage's nodes are replaced, and nothing is written yet of how long it is watched.
    Unwritten { number: u32, stage: Stage },
    /// It is watched until then.
    Watched { number: u32, until: Time },
    /// All stages are over, or there are none.
    Over,
}

/// How far a group is with its stages.
pub(super) fn standing(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> Standing {
    let Some(begun) = &roll.begun else { return Standing::Over };
    // A dead node's replacement tries nothing out.
    let dead = begun.dead - begun.dead.min(dead::left(ctx, roll));
    let mut replaced = roll.gone().saturating_sub(dead);
    if ctx.scope.is_external() {
        // Nobody has promised a new node.
        replaced = replaced.saturating_sub(external::without_successor(roll));
    }
    for (number, stage) in (1..).zip(ctx.scope.plan.stages(begun.nodes - begun.dead.min(begun.nodes))) {
        if replaced < stage.nodes {
            return Standing::Under { number, stage, replaced };
        }
        if stage.pause == Span::ZERO {
            continue;
        }
        match roll.until(&ctx.scope.run, &key(number)) {
            None => return Standing::Unwritten { number, stage },
            Some(until) if until > ctx.now => return Standing::Watched { number, until },
            Some(_) => {}
        }
    }
    Standing::Over
}

/// Whether new nodes are still on trial.
pub(super) fn is_on_trial(ctx: &Context<'_>, rolls: &[GroupRoll<'_>]) -> bool {
    rolls.iter().any(|roll| standing(ctx, roll) != Standing::Over)
}

/// Whether one more node of a group may be begun, beside those that are being drained; says why not.
pub(super) fn is_open(ctx: &mut Context<'_>, roll: &GroupRoll<'_>, active: u32) -> bool {
    let is_canary = ctx.scope.plan.canary.is_some();
    match standing(ctx, roll) {
        Standing::Over => true,
        Standing::Under { number, stage, replaced } => {
            if replaced + active < stage.nodes {
                return true;
            }
            let nodes = stage.nodes;
            ctx.wait(
                roll.subject(),
                if is_canary {
                    WaitingOn::Roll(RollWait::Canary { replaced, nodes })
                } else {
                    WaitingOn::Roll(RollWait::Wave { wave: number, replaced, nodes })
                },
            );
            false
        }
        Standing::Unwritten { .. } | Standing::Watched { .. } => false,
    }
}

/// Whether the nodes that are chosen next are a canary, be it as the first wave: what runs on them is to show something.
pub(super) fn is_canary_next(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> bool {
    match standing(ctx, roll) {
        Standing::Under { number, stage, .. } => number == 1 && stage.pause > Span::ZERO,
        Standing::Unwritten { .. } | Standing::Watched { .. } | Standing::Over => false,
    }
}

/// Writes down until when a stage that is through is watched, and says what is watched.
pub(super) fn watch(ctx: &mut Context<'_>, roll: &GroupRoll<'_>) {
    match standing(ctx, roll) {
        Standing::Unwritten { number, stage } => {
            let key = key(number);
            if roll.group.is_some_and(|group| group.tags.contains_key(&key)) {
                // A run that is over has left it.
                untag(ctx, roll.name, &key);
                return;
            }
            let until = Until { run: ctx.scope.run.clone(), until: ctx.now + stage.pause };
            tag(ctx, roll.name, "end of a stage", &key, until.to_text());
        }
        Standing::Watched { number, until } => {
            let is_canary = ctx.scope.plan.canary.is_some();
            let on = if is_canary {
                WaitingOn::Roll(RollWait::Soak { until })
            } else {
                WaitingOn::Roll(RollWait::Bake { wave: number, until })
            };
            ctx.wait_until(roll.subject(), on, until);
        }
        Standing::Under { .. } | Standing::Over => {}
    }
}

/// The last moment at which a stage of a group ended, if one has.
pub(super) fn last_end(ctx: &Context<'_>, roll: &GroupRoll<'_>) -> Option<Time> {
    let tags = roll.group?.tags.iter().filter(|(key, _)| key.starts_with(mark::STAGE));
    let ends = tags.filter_map(|(_, value)| Until::read(value)).filter(|until| until.run == ctx.scope.run);
    ends.map(|until| until.until).filter(|until| *until <= ctx.now).max()
}

fn key(number: u32) -> Text {
    Text::from(format!("{}{number}", mark::STAGE))
}
