//! Scripted events of a rehearsal: the script's lines, and their effect.

use std::ops::ControlFlow;

use replank_model::time::{Span, Time};

use super::{Progress, Rehearsal, Stop};
use replank_sim::script::{Hand, Script, ScriptEvent, Side, What, happen};

pub(super) use super::script_event::Happened;
pub use super::script_event::ScriptEventEntry;

impl Rehearsal {
    /// Runs to the end, as [`Rehearsal::run`] does, and lets happen meanwhile what a script says. An intent that is given
    /// after the end takes the run up again; whatever else comes after the end and behind the last intent is noted as too late.
    pub fn play(
        &mut self,
        script: &Script,
        limit: Span,
        watch: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Stop {
        let until = self.settings.start + limit;
        let all = script.from(self.settings.start);
        let last = all.iter().rposition(|(_, event)| event.what.side() == Side::Intent);
        for (number, (at, event)) in all.into_iter().enumerate() {
            if at > until {
                self.note(at, event, Some("the rehearsal reached its time limit before".to_owned()));
                continue;
            }
            if let ControlFlow::Break(stop) = self.run_to(at, watch) {
                return stop;
            }
            let is_over = self.world.end().is_some() && self.world.looked_at_until(at) < at;
            if is_over && last.is_none_or(|last| number > last) {
                self.note(at, event, Some("the run had finished".to_owned()));
                continue;
            }
            self.world.run_until(at);
            let names = self.names.clone();
            let came = happen(&mut self.world, &names, &event.what);
            self.note(at, event, came.err().map(|why| why.to_string()));
        }
        self.run(limit, watch)
    }

    pub(super) fn note(&mut self, at: Time, event: &ScriptEvent, refused: Option<String>) {
        let (line, side, what) = (event.line, event.what.side(), event.text.clone());
        let entry =
            ScriptEventEntry { at: at.floor_seconds(), origin: event.origin, line, side, what, refused };
        let image = match &event.what {
            What::Image(image, Some(_)) => Some(image.clone()),
            What::Image(_, None)
            | What::Intend(_)
            | What::Pod(..)
            | What::Pods(..)
            | What::Silence(_)
            | What::Wake(_)
            | What::Status(..)
            | What::Targets(..)
            | What::UnhealthyTarget(_)
            | What::Cloud(..)
            | What::Some(..)
            | What::Post(_)
            | What::Queue(_)
            | What::Capacity(..)
            | What::Hazard(_)
            | What::Hand(_)
            | What::Restart => None,
        };
        let is_drain = matches!(&event.what, What::Hand(Hand::Drain(_)));
        self.happened.push(Happened { entry, image, is_drain });
    }

    /// Drains of the script that could not begin.
    pub(super) fn refused_drains(&self) -> impl Iterator<Item = &ScriptEventEntry> {
        let drains = self.happened.iter().filter(|happened| happened.is_drain);
        drains.map(|happened| &happened.entry).filter(|entry| entry.refused.is_some())
    }

    /// What happened so far. A fault that no pod has felt is told as such: most often the image is misspelt.
    pub(super) fn happened(&self) -> Vec<ScriptEventEntry> {
        let entries = self.happened.iter().map(|happened| {
            let mut entry = happened.entry.clone();
            let was_felt = happened.image.as_ref().is_none_or(|image| self.world.image_was_met(image));
            if !was_felt && entry.refused.is_none() {
                entry.refused = Some("no pod met it on a node of that image".to_owned());
            }
            entry
        });
        entries.collect()
    }
}
