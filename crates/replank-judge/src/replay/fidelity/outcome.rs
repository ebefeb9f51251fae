//! What one case came to, as a row of a table.

use std::fmt;
use std::time::Duration;

/// The outcome of one case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cluster.
    pub cluster: String,
    /// The rehearsal's verdict, and nodes replaced of all.
    pub verdict: String,
    /// Whether the roll ended as rehearsed, and was kept from the same by the same.
    pub ended: bool,
    /// Evictions of the rehearsal.
    pub evictions: usize,
    /// Workloads whose evictions are the same, in the same order, node by node; of all.
    pub order: (usize, usize),
    /// The seed of the rehearsal that it is compared with: among equally good nodes kube-scheduler draws, too.
    pub seed: usize,
    /// Workloads whose fewest Ready pods are the same; of all.
    pub lowest: (usize, usize),
    /// How long it took in the rehearsal, and live.
    pub took: (Duration, Duration),
    /// Evictions refused, in the rehearsal and live.
    pub refused: (usize, usize),
    /// The lowest share of the pods of any workload that was Ready.
    pub available: String,
    /// By hand, where it was tried.
    pub hand: Option<Hand>,
    /// Every difference, in words.
    pub differences: Vec<String>,
}

/// What `rehearse --as kubectl` said of it.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// Nodes replaced, of all.
    pub nodes: String,
    /// How long it took.
    pub took: Duration,
    /// Evictions refused.
    pub refused: usize,
    /// The lowest share of the pods of any workload that was Ready.
    pub available: String,
}

/// What `kubectl drain` came to.
#[derive(Clone, Debug)]
pub struct Hand {
    /// What was rehearsed of it.
    pub foreseen: Foreseen,
    /// Nodes replaced, of all.
    pub nodes: String,
    /// How long it took.
    pub took: Duration,
    /// Evictions refused.
    pub refused: usize,
    /// The lowest share of the pods of any workload that was Ready.
    pub available: String,
}

impl Outcome {
    /// By how much the roll took longer than rehearsed: a share.
    #[must_use]
    pub fn longer(&self) -> f64 {
        self.took.1.as_secs_f64() / self.took.0.as_secs_f64().max(1.0) - 1.0
    }

    /// Whether everything is as rehearsed, with `tolerance` for the time.
    #[must_use]
    pub fn agrees(&self, tolerance: f64) -> bool {
        self.ended
            && self.order.0 == self.order.1
            && self.lowest.0 == self.lowest.1
            && self.longer().abs() <= tolerance
    }

    /// The cells of a row; [`Outcome::heading`] names them.
    #[must_use]
    pub fn cells(&self) -> Vec<String> {
        let seconds = |span: Duration| format!("{} s", span.as_secs());
        let share = |(same, all): (usize, usize)| format!("{same}/{all}");
        let mut cells = vec![
            self.cluster.clone(),
            self.verdict.clone(),
            if self.ended { "same" } else { "differs" }.to_owned(),
            self.evictions.to_string(),
            share(self.order),
            self.seed.to_string(),
            share(self.lowest),
            seconds(self.took.0),
            seconds(self.took.1),
            format!("{:+.1}%", self.longer() * 100.0),
            self.refused.1.to_string(),
            self.available.clone(),
        ];
        if let Some(hand) = &self.hand {
            let (took, refused) = (seconds(hand.took), hand.refused.to_string());
            cells.extend([hand.nodes.clone(), took, refused, hand.available.clone()]);
            let Foreseen { nodes, took, refused, available } = &hand.foreseen;
            cells.extend([nodes.clone(), seconds(*took), refused.to_string(), available.clone()]);
        }
        cells
    }

    /// The heading of a table.
    #[must_use]
    pub fn heading() -> Vec<&'static str> {
        vec![
            "cluster",
            "verdict",
            "end",
            "evictions",
            "order",
            "seed",
            "lowest",
            "rehearsed",
            "live",
            "differs",
            "refused",
            "available",
            "kubectl",
            "took",
            "refused",
            "available",
            "--as kubectl",
            "took",
            "refused",
            "available",
        ]
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cells().join("  "))
    }
}
