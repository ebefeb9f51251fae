//! What an audit costs: of the big clusters of the benchmark, or of snapshots (whose findings are printed).
//!
//! `cargo run --release -p replank-testkit --example bench -- audit [NODES… | SNAPSHOT…]`

use std::ffi::OsStr;
use std::time::Instant;

use replank_advice::audit::{self, Finding, Options};
use replank_intake::snapshot::{Options as Reading, Snapshot};
use replank_intake::source::Source;
use replank_model::delta::Delta;
use replank_model::object::Projector;
use replank_model::view::View;
use replank_testkit::big::BigCluster;

pub(crate) fn run(arguments: &[String]) {
    let usual = ["500", "5000"].map(str::to_owned);
    for argument in if arguments.is_empty() { &usual[..] } else { arguments } {
        match argument.parse().ok() {
            Some(nodes) => {
                let mut projector = Projector::default();
                let objects = BigCluster::of_nodes(nodes).objects();
                let object = |value| projector.object(value).expect("the cluster is sound");
                let view: View = objects.map(object).map(Delta::Put).collect();
                let findings = timed(&view);
                println!("{} findings", findings.len());
            }
            None => {
                let sources = vec![Source::from_argument(OsStr::new(argument))];
                let snapshot = Snapshot::load(sources, &Reading::default()).expect("a snapshot");
                let view: View = snapshot.objects.into_iter().map(Delta::Put).collect();
                for finding in timed(&view) {
                    println!("{finding}\n{}\n", finding.remedy);
                }
            }
        }
    }
}

fn timed(view: &View) -> Vec<Finding> {
    let clock = Instant::now();
    let findings = audit::run(view, &Options::default());
    println!(
        "{} nodes, {} pods: audited in {:.2} s",
        view.nodes.len(),
        view.pods.len(),
        clock.elapsed().as_secs_f64()
    );
    findings
}
