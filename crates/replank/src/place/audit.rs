//! `replank place --audit`.

use replank_model::view::View;

use super::PlaceArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::printer::Printer;

pub(super) fn run(args: &PlaceArgs, _view: &View, _printer: &mut Printer) -> Result<Exit, Failure> {
    debug_assert!(args.audit);
    Err(Failure::usage_message("there are no rules to audit by"))
}
