//! What a cluster meets besides the roll: load on the targets of autoscalers, and instances that are taken away.

use std::path::Path;

use anyhow::Context;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::cloud::Market;
use replank_model::text::{NodeName, Zone};
use replank_model::time::{Span, Time};
use replank_sim::script::{Befalls, CloudSays, ScriptEvent, Target, What, interruptions, rates};

use super::Scene;
use super::args::RehearseArgs;
use crate::failure::Failure;
use crate::hpa::trace::Trace;

/// So long it goes on after the last interruption: longer than the two minutes of a spot instance and the usual launch of another.
const AFTERMATH: Span = Span::from_minutes(20);
const FORM: &str = "docs/load.md describes the forms: a file with time,target,kind and one row for each interruption, or rates such as spot=5%/h";

/// Files, read before the snapshot: most mistakes are found in no time.
pub(super) struct Besides {
    load: Option<Trace>,
    taken: Option<Taken>,
}

/// How instances are taken away.
enum Taken {
    /// One by one: the name of a table, and its text.
    Table(String, String),
    /// At rates, as they were given.
    Rates(String),
}

impl Besides {
    pub(super) fn read(args: &RehearseArgs) -> Result<Self, Failure> {
        let load = args.load.as_deref().map(Trace::read).transpose()?;
        let taken = args.interruptions.as_deref().map(taken).transpose()?;
        Ok(Self { load, taken })
    }

    /// Adds it to what is rehearsed.
    pub(super) fn join(self, scene: &mut Scene) -> Result<(), Failure> {
        if let Some(load) = &self.load {
            let all = scene.view.horizontal_pod_autoscalers.sorted();
            let all: Vec<&HorizontalPodAutoscaler> = all.into_iter().map(|(_, hpa)| &**hpa).collect();
            if all.is_empty() {
                return Err(Failure::usage_message(format!(
                    "no HorizontalPodAutoscaler in {} that could meet the load of {}",
                    scene.name,
                    load.name()
                ))
                .next("take a snapshot with them: kubectl get hpa -A -o json"));
            }
            scene.loads = load.loads(&all, scene.now)?;
            load.has_targets(&scene.loads, &scene.view, "take a snapshot that has it")?;
            scene.until = Some(scene.now + load.length());
        }
        match &self.taken {
            None => Ok(()),
            Some(Taken::Table(name, text)) => table(scene, name, text),
            Some(Taken::Rates(text)) => at_rates(scene, text),
        }
    }
}

/// Text that is not a file and contains `=` is read as rates.
fn taken(path: &Path) -> Result<Taken, Failure> {
    let name = path.display().to_string();
    if name.contains('=') && !path.exists() {
        return Ok(Taken::Rates(name));
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{name} cannot be read"))
        .map_err(|error| Failure::usage(error).next(FORM))?;
    Ok(Taken::Table(name, text))
}

fn table(scene: &mut Scene, name: &str, text: &str) -> Result<(), Failure> {
    let rows = interruptions(text, &|target| meant(scene, target)).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context(format!("{name} is invalid"))).next(FORM)
    })?;
    let last = rows.iter().map(|row| ends(row, scene.now)).max();
    scene.until = scene.until.max(last.map(|last| last + AFTERMATH));
    scene.script = std::mem::take(&mut scene.script).and(rows);
    Ok(())
}

/// As long as there is something to be seen: a rate has no last row.
fn at_rates(scene: &mut Scene, text: &str) -> Result<(), Failure> {
    let groups = scene.groups.iter().map(|learnt| &learnt.group);
    let mut zones: Vec<Zone> = groups.flat_map(|group| group.zones.iter().cloned()).collect();
    zones.sort();
    zones.dedup();
    let all = rates(text, &zones).map_err(|error| {
        Failure::usage(anyhow::Error::new(error).context("--interruptions is invalid")).next(FORM)
    })?;
    let has_spot = scene.groups.iter().any(|learnt| {
        let templates = learnt.group.templates.values();
        templates.map(|template| Market::of(&template.profile.labels)).any(|market| market == Market::Spot)
            || learnt.instances.iter().any(|instance| instance.market == Market::Spot)
    });
    if !has_spot {
        return Err(Failure::usage_message(format!(
            "--interruptions {text}: no group of {} has spot instances; rates apply only to spot instances",
            scene.name
        ))
        .next(
            "spot nodes have the label eks.amazonaws.com/capacityType or karpenter.sh/capacity-type; in a file, the kinds ended and retirement also apply to other instances",
        ));
    }
    scene.script = std::mem::take(&mut scene.script).and(all);
    Ok(())
}

/// When what a row begins has come to its end.
fn ends(row: &ScriptEvent, start: Time) -> Time {
    let notice = if let What::Cloud(_, CloudSays::Retirement(notice))
    | What::Some(_, _, _, Befalls::Cloud(CloudSays::Retirement(notice))) = &row.what
    {
        *notice
    } else {
        Span::ZERO
    };
    row.when.at(start) + notice
}

fn meant(scene: &Scene, target: &str) -> Option<Target> {
    let is_group = |name: &str| scene.groups.iter().any(|group| group.group.name.as_str() == name);
    if scene.view.node(&NodeName::from(target)).is_some() {
        return Some(Target::Node);
    }
    match target.split_once('+') {
        Some((group, number)) if is_group(group) && number.parse::<u32>().is_ok() => Some(Target::Node),
        Some(_) | None => is_group(target).then_some(Target::Group),
    }
}
