//! Writes random scheduling cases, one JSON object per line, for `peers/kube-scheduler` to answer.
//!
//! ```text
//! sched_cases GROUP COUNT [SEED]            cases of one group, or of `all`
//! sched_cases mutate COUNT SEED FILE...     cases made from recorded ones (JSON lines, gzip or not)
//! ```

use std::io::{Write, stdout};

use anyhow::{Context, bail};
use replank_oracle::recordings::{Kind, Recording};
use replank_oracle::sched_cases::{GROUPS, Mutator, case};

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let mut out = std::io::BufWriter::new(stdout().lock());
    let number = |at: usize, default: u64| -> anyhow::Result<u64> {
        arguments
            .get(at)
            .map_or(Ok(default), |text| text.parse().with_context(|| format!("{text} is not a number")))
    };
    match arguments.first().map(String::as_str) {
        Some("mutate") => {
            let mut mutator = Mutator::default();
            for path in arguments.iter().skip(3) {
                let recording = Recording { path: path.into(), kind: Kind::Scheduler(String::new()) };
                for line in recording.lines()? {
                    mutator.learn(serde_json::from_str(&line)?);
                }
            }
            if mutator.is_empty() {
                bail!("there is nothing to make cases from");
            }
            let (count, seed) = (number(1, 100)?, number(2, 1)?);
            for i in 0..count {
                writeln!(out, "{}", mutator.case(seed + i))?;
            }
        }
        Some(group) => {
            let (count, seed) = (number(1, 100)?, number(2, 1)?);
            for of in GROUPS.into_iter().filter(|of| group == "all" || group == *of) {
                for i in 0..count {
                    writeln!(out, "{}", case(of, seed + i))?;
                }
            }
        }
        None => bail!("which group? all, mutate, or one of {GROUPS:?}"),
    }
    Ok(())
}
