//! What a cluster meets besides the roll: load on the targets of autoscalers, and instances that are taken away.

use std::path::Path;

use anyhow::Context;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_sim::script::{Befalls, CloudSays, Happening, Target, What, interruptions};

use super::Scene;
use crate::cli::RehearseArgs;
use crate::failure::Failure;
use crate::hpa::trace::Trace;

/// So long it goes on after the last interruption: longer than the two minutes of a spot instance and the usual launch of another.
const AFTERMATH: Span = Span::from_minutes(20);
const FORM: &str = "docs/load.md describes the form: time,target,kind and one row for each interruption";

/// Files, read before the snapshot: most mistakes are found in no time.
pub(super) struct Besides {
    load: Option<Trace>,
    /// The name of a table of interruptions, and its text.
    table: Option<(String, String)>,
}

impl Besides {
    pub(super) fn read(args: &RehearseArgs) -> Result<Self, Failure> {
        let load = args.load.as_deref().map(Trace::read).transpose()?;
        let table = args.interruptions.as_deref().map(table).transpose()?;
        Ok(Self { load, table })
    }

    /// Adds it to what is rehearsed.
    pub(super) fn join(self, scene: &mut Scene) -> Result<(), Failure> {
        if let Some(load) = &self.load {
            let all = scene.view.horizontal_pod_autoscalers.sorted();
            let all: Vec<&HorizontalPodAutoscaler> = all.into_iter().map(|(_, hpa)| &**hpa).collect();
            if all.is_empty() {
                return Err(Failure::usage_message(format!(
                    "there is no HorizontalPodAutoscaler in {} that could meet the load of {}",
                    scene.name,
                    load.name()
                ))
                .next("take a snapshot that has them: kubectl get hpa -A -o json"));
            }
            scene.loads = load.loads(&all, scene.now)?;
            load.has_targets(&scene.loads, &scene.view, "take a snapshot that has it")?;
            scene.until = Some(scene.now + load.length());
        }
        if let Some((name, text)) = &self.table {
            let rows = interruptions(text, &|target| meant(scene, target)).map_err(|error| {
                Failure::usage(anyhow::Error::new(error).context(format!("{name} is not right"))).next(FORM)
            })?;
            let last = rows.iter().map(|row| ends(row, scene.now)).max();
            scene.until = scene.until.max(last.map(|last| last + AFTERMATH));
            scene.script = std::mem::take(&mut scene.script).and(rows);
        }
        Ok(())
    }
}

fn table(path: &Path) -> Result<(String, String), Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{name} cannot be read"))
        .map_err(|error| Failure::usage(error).next(FORM))?;
    Ok((name, text))
}

/// When what a row begins has come to its end.
fn ends(row: &Happening, start: Time) -> Time {
    let notice = match &row.what {
        What::Cloud(_, CloudSays::Retirement(notice))
        | What::Some(_, _, _, Befalls::Cloud(CloudSays::Retirement(notice))) => *notice,
        _ => Span::ZERO,
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
