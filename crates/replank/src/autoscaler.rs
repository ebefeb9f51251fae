//! The autoscaler of a simulated cluster, as the command line sets it.

use std::path::PathBuf;

use clap::Args;
use replank_core::scale::{self, Autoscaler, own_autoscaler};
use replank_facts::groups::{GroupBy, LearntGroup};
use replank_facts::plan::Plan;
use replank_model::view::View;
use replank_sim::{Assumption, Source};
use serde_json::Value;

use crate::failure::Failure;
use crate::made_like;
use crate::printer::Printer;
use crate::scale::{input, words};

/// Node groups, and whether their number of nodes is kept to what is needed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AutoscalerArgs {
    /// Has Replank's autoscaler keep the number of nodes to what is needed, by Cluster Autoscaler's flags: those of its Deployment in the snapshot, then
    /// these, such as --autoscaler='--expander=least-waste --scale-down-unneeded-time=5m'. docs/elasticity.md tells how it goes together with a roll.
    #[arg(long, value_name = "FLAGS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) autoscaler: Option<String>,

    /// Bounds, tags and types of groups: the JSON of `aws autoscaling describe-auto-scaling-groups` or `aws eks describe-nodegroup`.
    /// May be given several times, and counts more than the plan's nodeGroups.
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Vec<PathBuf>,

    /// Hourly prices of instance types, in JSON, for the expander price: {"m6i.xlarge": {"onDemand": 0.192, "spot": 0.08}}.
    #[arg(long, value_name = "FILE", requires = "autoscaler")]
    pub(crate) prices: Option<PathBuf>,
}

/// Groups and their autoscaler, as they are simulated.
pub(crate) struct Scaled {
    /// `None` where the number of nodes is nobody's business.
    pub(crate) autoscaler: Option<Autoscaler>,
    /// What had to be assumed.
    pub(crate) assumptions: Vec<Assumption>,
    /// What the cloud says of groups, as it was given.
    pub(crate) facts: Vec<scale::Facts>,
}

impl AutoscalerArgs {
    /// Gives groups what the cloud says of them (where it says nothing, what the plan does), and sets the autoscaler: where it is asked for, or,
    /// if `finds` says so, where the snapshot has one.
    ///
    /// # Errors
    /// Where a file or a flag is not right.
    pub(crate) fn apply(
        &self,
        (view, by): (&View, &GroupBy),
        plan: Option<&Plan>,
        groups: &mut Vec<LearntGroup>,
        finds: bool,
        printer: &mut Printer,
    ) -> Result<Scaled, Failure> {
        let said = plan.map_or(&[][..], |plan| &plan.node_groups);
        let mut facts = input::groups(&self.groups)?;
        let mut answers = Vec::new();
        if let Some(plan) = plan {
            answers = made_like::with_assumed(input::answers(&self.groups)?, plan, groups);
            let all = scale::read_facts(&Value::Array(answers.clone())).map_err(Failure::usage)?;
            facts = scale::merged(all);
        }
        let facts = scale::completed(facts, said);
        let released = |groups: &mut Vec<LearntGroup>| {
            if let Some(plan) = plan {
                made_like::released(groups, &answers, plan);
            }
        };
        let own = own_autoscaler(view);
        let flags = words("--autoscaler", self.autoscaler.as_deref().unwrap_or_default())?;
        if self.autoscaler.is_none() && (own.is_none() || !finds) {
            if facts.is_empty() {
                return Ok(Scaled { autoscaler: None, assumptions: Vec::new(), facts });
            }
            let apply_facts = scale::apply_facts(groups, view, by, &facts, &scale::Options::default(), false);
            released(groups);
            apply_facts.bad_tags.iter().for_each(|bad| printer.warning(&bad.to_string()));
            return Ok(Scaled { autoscaler: None, assumptions: Vec::new(), facts });
        }
        let settings = input::settings(&flags, view, printer)?;
        let prices = input::prices(self.prices.as_deref(), &settings.options)?;
        let priorities = input::priorities(view, &settings.options, printer);
        let apply_facts = scale::apply_facts(groups, view, by, &facts, &settings.options, true);
        released(groups);
        apply_facts.bad_tags.iter().for_each(|bad| printer.warning(&bad.to_string()));
        let hint =
            if plan.is_some() { "pass --groups, or set nodeGroups in the plan" } else { "pass --groups" };
        let mut assumptions = vec![Assumption {
            about: "the number of nodes".to_owned(),
            value: format!("scaled by Replank's autoscaler, configured by {}", settings.origin),
            source: Source::Default,
        }];
        assumptions.extend(apply_facts.assumed.iter().map(|assumed| Assumption {
            about: format!("node group {}", assumed.group()),
            value: match assumed {
                scale::Assumed::Bounds(_) => {
                    format!(
                        "bounds unknown, assuming 0 to {} nodes, EKS's quota ({hint})",
                        scale::SIMULATED_MAX
                    )
                }
                other @ (scale::Assumed::Computed(..)
                | scale::Assumed::LeastOf(..)
                | scale::Assumed::ZonesInTurn(_)) => other.words(),
            },
            source: Source::Default,
        }));
        let autoscaler = Autoscaler {
            options: settings.options,
            facts: apply_facts.facts,
            prices,
            priorities,
            group_by: by.clone(),
        };
        Ok(Scaled { autoscaler: Some(autoscaler), assumptions, facts })
    }
}
