//! What was learnt and what is assumed, for the report.

use super::learnt::Durations;
use super::limits::{RUN_DEFAULT, START_DEFAULT, STOP_DEFAULT};
use crate::timing::{CloudTimings, Range};

/// Something that the rehearsal had to assume, or could learn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// What it is about.
    pub about: String,
    /// What is assumed.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// Where an assumption comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// So many observations in the snapshot.
    Learnt(usize),
    /// Nothing in the snapshot shows it.
    Default,
}

impl Assumption {
    /// One that nothing in the snapshot shows.
    pub(crate) fn default_of(about: &str, value: &str) -> Self {
        default(about, value.to_owned())
    }
}

impl Durations {
    /// What was learnt and what is assumed.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Assumption> {
        let workloads = match self.start.len() {
            1 => "1 workload".to_owned(),
            more => format!("{more} workloads"),
        };
        let started = format!("pods from scheduled to Ready ({workloads})");
        let mut all = vec![match self.start_of_all.bounds() {
            Some((low, high)) => learnt(started, shown(Range { low, high }), self.start_of_all.len()),
            None => default("pods from scheduled to Ready", shown(START_DEFAULT)),
        }];
        self.runs(&mut all);
        all.push(default("containers from the stop signal to their end", stops()));
        let cloud = CloudTimings::default();
        all.push(default("instances from launch to their node's registration", shown(cloud.boot)));
        all.push(match self.join.bounds() {
            Some((low, high)) => {
                learnt("nodes from creation to Ready".into(), shown(Range { low, high }), self.join.len())
            }
            None => default("nodes from creation to Ready", shown(cloud.ready)),
        });
        for (workload, pods) in &self.troubles.workloads {
            let about = format!("new pods of {} {}/{}", workload.kind, workload.namespace, workload.name);
            all.push(learnt(about, "never Ready, like all of its pods in the snapshot".into(), *pods));
        }
        let said = [
            (
                self.troubles.unready,
                "pods that are not Ready",
                "stay so: they crash, or have run for longer than others took to be Ready",
            ),
            (self.troubles.starting, "pods that are starting", "become Ready, as others did"),
        ];
        all.extend(
            said.into_iter()
                .filter(|(pods, ..)| *pods > 0)
                .map(|(pods, about, value)| learnt(about.to_owned(), value.to_owned(), pods)),
        );
        all
    }

    fn runs(&self, all: &mut Vec<Assumption>) {
        let mut runs: Vec<_> = self.run.iter().collect();
        runs.sort_by(|a, b| a.0.cmp(b.0));
        for (workload, samples) in runs {
            let Some((low, high)) = samples.bounds() else { continue };
            let about =
                format!("run time of pods of {} {}/{}", workload.kind, workload.namespace, workload.name);
            all.push(learnt(about, shown(Range { low, high }), samples.len()));
        }
        let without = "run time of batch pods without a finished run in the snapshot";
        let value = format!("{}; longer ones a tenth to as long again", shown(RUN_DEFAULT));
        all.push(default(without, value));
    }
}

fn shown(range: Range) -> String {
    if range.low == range.high { range.low.to_string() } else { format!("{} to {}", range.low, range.high) }
}

fn stops() -> String {
    format!("{}, after preStop sleeps and a proxy's drain, at most the grace period", shown(STOP_DEFAULT))
}

fn learnt(about: String, value: String, samples: usize) -> Assumption {
    Assumption { about, value, source: Source::Learnt(samples) }
}

fn default(about: &str, value: String) -> Assumption {
    Assumption { about: about.into(), value, source: Source::Default }
}
