//! Arguments that several commands have in common.

use clap::ValueEnum;
use replank_model::time::Span;

/// A duration that is more than nothing.
pub(crate) fn limit(text: &str) -> Result<Span, String> {
    match text.parse::<Span>() {
        Ok(span) if span > Span::ZERO => Ok(span),
        Ok(_) => Err("expected a duration above 0".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// In files and pipes too.
    Always,
    /// Not at all.
    Never,
}
