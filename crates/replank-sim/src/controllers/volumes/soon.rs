//! Something to be done to volumes after a while.

use replank_model::time::Span;

use crate::controllers::Ctx;
use crate::event::{ControlDue, Event, VolumesDue as Due};

pub(super) fn later(ctx: &mut Ctx<'_>, span: Span, due: Due) {
    ctx.agenda.after(span, Event::Control(ControlDue::Volumes(due)));
}
