//! `replank hpa simulate`: a load replayed on autoscalers, pods and nodes.

use std::fmt::Write as _;

use anyhow::Context;
use replank_model::object::meta::Key;
use replank_model::time::Span;
use replank_rehearse::failing;
use replank_rehearse::replay::{Rule, figures};
use serde_json::{Value, json};

use super::args::HpaSimulateArgs;
use super::input::{self, Tried};
use super::replay::{STEP, Stage};
use super::{svg, text};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::LoadFormat;
use crate::printer::Printer;

pub(super) use super::simulation::Simulation;

/// Version of the JSON.
const VERSION: &str = "replank.dev/hpa-simulation/v1alpha1";

/// Rows that a table has if nobody says how many.
const ROWS: i64 = 24;

/// Replays, and prints the outcome.
///
/// # Errors
/// Where what was asked for is not right.
pub(super) fn run(
    args: &HpaSimulateArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let attempts = args.tries.iter().map(|path| input::attempt(path)).collect::<Result<Vec<_>, Failure>>()?;
    let stage = Stage::set(args, printer)?;
    interrupt.hold();
    let rules: Vec<Rule> = args.no_scale_down.iter().chain(&args.min_replicas).cloned().collect();
    stage.bears(&rules)?;
    let mut tried = vec![Tried::AsItIs];
    tried.extend((!rules.is_empty()).then_some(Tried::Rules(&rules)));
    tried.extend(attempts.iter().map(Tried::Fields));
    let mut variants = Vec::new();
    for tried in tried {
        match stage.replay(tried, args.seed, interrupt)? {
            Some(variant) => variants.push(variant),
            None => return Ok(Exit::Interrupted),
        }
    }
    let usual = Span::from_millis((stage.length.as_millis() / ROWS).max(STEP.as_millis()));
    let simulation = Simulation {
        every: args.every.unwrap_or(usual).max(STEP),
        load: args.load.display().to_string(),
        seed: args.seed,
        rules,
        stage,
        variants,
    };
    if let Some(path) = &args.svg {
        std::fs::write(path, svg::svg(&simulation))
            .with_context(|| format!("{} cannot be written", path.display()))
            .map_err(Failure::usage)?;
        printer.story(&format!("written: {}", path.display()));
    }
    let data = match args.output {
        LoadFormat::Text => {
            let look = printer.look();
            text::text(&simulation, look) + &coverage::section(&simulation.stage.coverage, look)
        }
        LoadFormat::Csv => csv(&simulation),
        LoadFormat::Json => json(&simulation)?,
    };
    printer.data(&data)?;
    let mut statuses = simulation.variants.iter().flat_map(|variant| &variant.statuses);
    let is_failing = statuses.any(|status| !failing(&status.conditions).is_empty());
    let exit = if is_failing { Exit::Findings } else { Exit::Passes };
    Ok(coverage::end(&simulation.stage.coverage, exit))
}

/// One row for each stretch, autoscaler and variant.
fn csv(simulation: &Simulation) -> String {
    let mut text =
        "time,autoscaler,variant,metric,load,replicas,ready,pending,needed,load_over_target,over_s,nodes\n"
            .to_owned();
    for variant in &simulation.variants {
        for (target, hpa) in variant.autoscalers.iter().enumerate() {
            let key = hpa.meta.key();
            let metrics: Vec<String> =
                simulation.stage.loads_of(&key).map(|load| load.of.to_string()).collect();
            for row in simulation.rows(variant, target) {
                for (metric, load) in metrics.iter().zip(&row.loads) {
                    let number = |number: Option<f64>| match number {
                        Some(number) if number.is_finite() => format!("{number:.3}"),
                        Some(_) | None => String::new(),
                    };
                    let written = writeln!(
                        text,
                        "{},{key},{},{},{load},{},{},{},{},{},{},{}",
                        row.since.as_secs(),
                        quoted(&variant.name),
                        quoted(metric),
                        row.replicas,
                        row.ready,
                        row.pending,
                        number(row.needed),
                        number(row.pressure),
                        row.over.as_secs(),
                        row.nodes
                    );
                    assert!(written.is_ok(), "a string takes everything");
                }
            }
        }
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

fn json(simulation: &Simulation) -> Result<String, Failure> {
    let keys = simulation.keys();
    let autoscalers: Vec<Value> =
        keys.iter().enumerate().map(|(target, key)| of_autoscaler(simulation, key, target)).collect();
    let value = json!({
        "apiVersion": VERSION,
        "cluster": simulation.stage.name,
        "load": simulation.load,
        "seed": simulation.seed,
        "coverage": simulation.stage.coverage,
        "start": simulation.stage.start(),
        "lengthMs": simulation.stage.length.as_millis(),
        "rowMs": simulation.every.as_millis(),
        "assumptions": simulation.stage.assumed,
        "rules": simulation.rules.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "autoscalers": autoscalers,
    });
    let mut text = serde_json::to_string_pretty(&value).map_err(Failure::internal)?;
    text.push('\n');
    Ok(text)
}

fn of_autoscaler(simulation: &Simulation, key: &Key, target: usize) -> Value {
    let metrics: Vec<String> = simulation.stage.loads_of(key).map(|load| load.of.to_string()).collect();
    let finite = |number: Option<f64>| number.filter(|number| number.is_finite());
    let variants = simulation.variants.iter().map(|variant| {
        let figures = figures(&variant.moments, target);
        let rows = simulation.rows(variant, target).into_iter().map(|row| {
            json!({"sinceMs": row.since.as_millis(), "loads": row.loads, "replicas": row.replicas, "ready": row.ready,
                "pending": row.pending, "needed": finite(row.needed), "loadOverTarget": finite(row.pressure),
                "overMs": row.over.as_millis(), "nodes": row.nodes})
        });
        let told = variant.told.iter().filter(|told| told.autoscaler == *key).map(|told| {
            json!({"type": if told.is_warning { "Warning" } else { "Normal" }, "reason": told.reason, "message": told.message,
                "count": told.count, "first": told.first, "last": told.last})
        });
        json!({"name": variant.name, "overMs": figures.over.as_millis(),
            "unknownMs": figures.unknown.as_millis(), "worstLoadOverTarget": finite(Some(figures.worst)),
            "replicasMin": figures.replicas.0, "replicasMax": figures.replicas.1, "replicasMean": figures.mean,
            "podHours": figures.pod_hours, "scaleUps": figures.changes.0, "scaleDowns": figures.changes.1,
            "pendingMax": figures.pending, "pendingMs": figures.waited.as_millis(), "nodesMin": figures.nodes.0,
            "nodesMax": figures.nodes.1, "conditions": variant.statuses.get(target).map(|status| &status.conditions),
            "rows": rows.collect::<Vec<_>>(), "events": told.collect::<Vec<_>>()})
    });
    json!({"name": key.to_string(), "metrics": metrics, "variants": variants.collect::<Vec<_>>()})
}
