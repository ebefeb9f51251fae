//! How rehearsals are divided among the pods of a Job.

use std::path::PathBuf;

use clap::Args;
use replank_model::text::{Namespace, Text};

use crate::failure::Failure;

/// Seeds of one part, where nobody says how many.
pub(super) const SEEDS_PER_PART: u64 = 50;

/// Rehearsals in parts.
#[derive(Args, Clone, Debug)]
pub(crate) struct OnClusterArgs {
    /// Prints an Indexed Job that rehearses the seeds in the pods of a cluster, and the ConfigMaps with its input; docs/on-cluster.md.
    #[arg(long, requires_all = ["seeds", "container_image"])]
    pub(crate) on_cluster: bool,

    /// Creates the Job in the cluster of the current context, waits for it, and prints the report. If the Job exists already, waits for it and collects its results.
    #[arg(long, requires = "on_cluster")]
    pub(crate) apply: bool,

    /// Container image of the pods. Its entrypoint must be replank, in the same version as this command.
    #[arg(long, value_name = "IMAGE", requires = "on_cluster")]
    pub(crate) container_image: Option<Text>,

    /// Namespace of the Job. By default, the context's with --apply, and `default` without.
    #[arg(short = 'n', long, value_name = "NAME", requires = "on_cluster")]
    pub(crate) namespace: Option<Namespace>,

    /// PersistentVolumeClaim with the snapshot, if it is too large for ConfigMaps. The command writes the file; copy it onto the volume before you pass --apply.
    #[arg(long, value_name = "CLAIM", requires = "on_cluster")]
    pub(crate) input_claim: Option<Text>,

    /// Pods of the Job that run at the same time.
    #[arg(long, value_name = "PODS", default_value_t = 10, requires = "on_cluster", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pods: u32,

    /// Seeds that one pod rehearses. Their result must fit into the pod's termination message.
    #[arg(long, value_name = "SEEDS", default_value_t = SEEDS_PER_PART, requires = "seeds", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds_per_part: u64,

    /// Rehearses only this part of the seeds on this machine, counted from 0, as a pod of the Job does. Without --on-cluster.
    #[arg(long, value_name = "INDEX", requires_all = ["seeds", "part_file"], conflicts_with_all = ["html", "reports"])]
    pub(crate) part: Option<u64>,

    /// File for the result of a part; /dev/termination-log in a pod.
    #[arg(long, value_name = "FILE", requires = "part")]
    pub(crate) part_file: Option<PathBuf>,
}

impl OnClusterArgs {
    /// # Errors
    /// Where a part is to be rehearsed both here and in a Job. What clap says of it is a usage line of all flags.
    pub(crate) fn checked(&self) -> Result<(), Failure> {
        if self.on_cluster && self.part.is_some() {
            return Err(Failure::usage_message(
                "--part rehearses one part on this machine, and --on-cluster all of them in a Job",
            )
            .next("omit --on-cluster and --container-image; keep --seeds and --seeds-per-part"));
        }
        Ok(())
    }
}

/// Some seeds, from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seeds {
    pub(super) first: u64,
    pub(super) last: u64,
}

impl Seeds {
    /// Those of a part; `None` beyond the last one.
    pub(super) fn of_part(part: u64, each: u64, all: u64) -> Option<Self> {
        let first = part.checked_mul(each)?.checked_add(1)?;
        (first <= all).then(|| Self { first, last: all.min(first - 1 + each) })
    }

    pub(super) fn count(self) -> u64 {
        self.last - self.first + 1
    }
}

/// How many parts there are.
pub(super) fn parts(seeds: u64, each: u64) -> u64 {
    seeds.div_ceil(each)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_each_seed_once() {
        for (all, each) in [(1, 50), (50, 50), (51, 50), (100, 7), (3, 1)] {
            let parts: Vec<Seeds> = (0..parts(all, each))
                .map(|part| Seeds::of_part(part, each, all).expect("one of them"))
                .collect();
            let seeds: Vec<u64> = parts.iter().flat_map(|part| part.first..=part.last).collect();
            assert_eq!(seeds, (1..=all).collect::<Vec<_>>(), "{all} by {each}");
            assert_eq!(Seeds::of_part(parts.len() as u64, each, all), None);
        }
    }
}
