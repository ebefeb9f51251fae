//! From arguments to what a decision is taken on: flags, groups, prices.

use std::path::{Path, PathBuf};

use anyhow::Context;
use replank_core::scale::{
    Facts, Options, Prices, Priorities, merged, own_autoscaler, priorities_text, read_facts,
};
use replank_model::view::View;
use serde_json::Value;

use crate::failure::Failure;
use crate::printer::Printer;

/// Flags, and where they come from.
pub(crate) struct Settings {
    pub(crate) options: Options,
    /// In words, for the report.
    pub(crate) origin: String,
}

/// What is asked for by flags: those of the cluster's own autoscaler, then those of the command line.
pub(crate) fn settings(flags: &[String], view: &View, printer: &mut Printer) -> Result<Settings, Failure> {
    let mut options = Options::default();
    let mut origins = Vec::new();
    if let Some(own) = own_autoscaler(view) {
        let unknown = options.read(own.words.iter().map(String::as_str)).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("Deployment {}", own.deployment)))
                .next("correct the Deployment, or remove it from the snapshot")
        })?;
        tell_unknown(&unknown, printer);
        origins.push(format!("flags of Deployment {}", own.deployment));
    }
    if !flags.is_empty() {
        if let Some(word) = flags.iter().find(|word| !word.starts_with("--")) {
            return Err(Failure::usage_message(format!("{word:?} is not a flag of Cluster Autoscaler"))
                .next("write flags as --name=value"));
        }
        let unknown = options.read(flags.iter().map(String::as_str)).map_err(Failure::usage)?;
        if let Some(name) = unknown.first() {
            return Err(Failure::usage_message(format!("unsupported flag --{name}"))
                .next("docs/scale.md lists the supported flags"));
        }
        origins.push("flags of the command line".to_owned());
    }
    if origins.is_empty() {
        origins.push("Cluster Autoscaler's defaults".to_owned());
    }
    Ok(Settings { options, origin: origins.join(", then ") })
}

fn tell_unknown(unknown: &[String], printer: &mut Printer) {
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("--{name}")).collect();
        printer.warning(&format!("unsupported and ignored: {}", names.join(", ")));
    }
}

/// What the expander `priority` goes by.
pub(crate) fn priorities(view: &View, options: &Options, printer: &mut Printer) -> Priorities {
    let Some(text) = priorities_text(view) else {
        if options.expanders.contains(&replank_core::scale::Expander::Priority) {
            printer.warning(
                "the expander priority has no priorities: ConfigMap cluster-autoscaler-priority-expander is not in the snapshot",
            );
        }
        return Priorities::default();
    };
    let (read, bad) = Priorities::read(&text);
    bad.iter().for_each(|line| printer.warning(&line.to_string()));
    read
}

/// What the cloud says of groups.
pub(crate) fn groups(files: &[PathBuf]) -> Result<Vec<Facts>, Failure> {
    let mut all = Vec::new();
    for path in files {
        let value = json(path)?;
        let facts = read_facts(&value).map_err(|error| {
            Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
        })?;
        all.extend(facts);
    }
    Ok(merged(all))
}

/// The same answers, as they are.
pub(crate) fn answers(files: &[PathBuf]) -> Result<Vec<Value>, Failure> {
    files.iter().map(|path| json(path)).collect()
}

/// What instances cost.
pub(crate) fn prices(file: Option<&Path>, options: &Options) -> Result<Prices, Failure> {
    let Some(path) = file else {
        if options.expanders.contains(&replank_core::scale::Expander::Price) {
            return Err(Failure::usage_message("the expander price needs prices").next(
                "pass --prices FILE: {\"m6i.xlarge\": {\"onDemand\": 0.192, \"spot\": 0.08}}, per hour",
            ));
        }
        return Ok(Prices::default());
    };
    let value = json(path)?;
    let prices = Prices::read(&value).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{} cannot be read", path.display())))
    })?;
    Ok(prices)
}

fn json(path: &Path) -> Result<Value, Failure> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{} cannot be read", path.display()))
        .map_err(Failure::usage)?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} is not JSON", path.display()))
        .map_err(Failure::usage)
}
