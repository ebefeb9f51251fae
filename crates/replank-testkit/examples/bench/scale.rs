//! How long it takes to choose nodes for tens of thousands of pods that wait, on one core.
//!
//! `cargo run --release -p replank-testkit --example bench -- scale 5` takes the fastest of five runs.

use replank_testkit::scale::big;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    let runs = arguments.first().map_or(Ok(1), |runs| runs.parse())?;
    if cfg!(debug_assertions) {
        eprintln!("built without optimisation: the figures say nothing; run it with --release");
    }
    println!("{}\n", big::WORKLOADS);
    print!("{}", big::table(runs)?);
    Ok(())
}
