//! Whose remedies `rehearse --with-remedies` makes.

use replank_advice::check::Rule;

use super::gate::rule;

/// Whose remedies are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Everybody's.
    All,
    /// Those of one rule's findings.
    Of(Rule),
}

impl Asked {
    /// Reads `all`, or the id of a rule.
    ///
    /// # Errors
    /// Where there is no such rule.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        if text == "all" { Ok(Self::All) } else { rule(text).map(Self::Of) }
    }

    /// As it is given.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Of(rule) => rule.id(),
        }
    }
}
