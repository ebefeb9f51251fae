//! Arguments that several commands have in common.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use replank_facts::plan::{Surge, VersionPrefix};
use replank_model::text::Text;
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

/// What to do: a plan, or groups with the defaults of a plan.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlanArgs {
    /// The plan: a file with a NodeRoll; docs/plan.md lists every field.
    #[arg(short = 'f', long = "filename", value_name = "PLAN", conflicts_with_all = ["roll", "to_version", "image", "surge", "parallel"])]
    pub(crate) plan: Option<PathBuf>,

    /// Node groups to replace, with the defaults of a plan.
    #[arg(long, value_name = "GROUP", value_delimiter = ',')]
    pub(crate) roll: Vec<Text>,

    /// Kubernetes version of the new nodes, such as 1.36.
    #[arg(long, value_name = "VERSION", requires = "roll")]
    pub(crate) to_version: Option<VersionPrefix>,

    /// Machine image of the new nodes.
    #[arg(long, value_name = "AMI", requires = "roll")]
    pub(crate) image: Option<Text>,

    /// Nodes above each group's desired size during the roll: a number, a percentage, or perZone (the default), one in each zone of the group.
    #[arg(long, value_name = "NODES", requires = "roll")]
    pub(crate) surge: Option<Surge>,

    /// Nodes that are drained at the same time, 1 by default.
    #[arg(long, value_name = "NODES", requires = "roll", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) parallel: Option<u32>,
}

impl PlanArgs {
    /// Whether a plan or groups were named.
    pub(crate) fn is_given(&self) -> bool {
        self.plan.is_some() || !self.roll.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_must_be_more_than_nothing() {
        assert_eq!(limit("90m"), Ok(Span::from_minutes(90)));
        assert!(limit("0s").is_err() && limit("-1h").is_err() && limit("2 days").is_err());
    }
}
