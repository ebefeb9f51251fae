//! `replank autoscale --dry-run`: what would be added and removed now.

use replank_facts::coverage::Coverage;
use replank_model::time::Time;

use super::scene::Scaled;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{AnswerFormat, EventsFormat};
use crate::printer::Printer;
use crate::scale::{Shown, show};

/// Shows it.
///
/// # Errors
/// Where it cannot be printed.
pub(super) fn look(
    scaled: Scaled,
    (name, now, coverage): (String, Time, Coverage),
    output: EventsFormat,
    printer: &mut Printer,
) -> Result<Exit, Failure> {
    let Scaled { autoscaler, origin, view, groups, .. } = scaled;
    let format = match output {
        EventsFormat::Text => AnswerFormat::Text,
        EventsFormat::Json => AnswerFormat::Json,
    };
    show(Shown { name, now, origin, view, groups, autoscaler, coverage }, format, printer)
}
