//! The stages of a roll, and how long it stands still.

use replank_model::int_or_string::Rounding;
use replank_model::time::Span;

use super::care::{Health, Retained, Stage, Waves};
use super::{Canary, Plan, share};

impl Plan {
    /// The stages of a roll of so many nodes, in order, each with more nodes than the one before: the canary, or all waves but
    /// the last. After the last stage there is no pause.
    #[must_use]
    pub fn stages(&self, nodes: u32) -> Vec<Stage> {
        let of_canary = |canary: &Canary| vec![Stage { nodes: canary.count(nodes), pause: canary.soak }];
        let of_waves = |waves: &Waves| {
            let counts = waves.nodes.iter().map(|wave| share(wave, nodes, Rounding::Up).max(1));
            let mut stages: Vec<Stage> =
                counts.map(|count| Stage { nodes: count, pause: waves.bake }).collect();
            stages.sort_by_key(|stage| stage.nodes);
            stages.dedup_by_key(|stage| stage.nodes);
            stages
        };
        let stages = match (&self.canary, &self.care.waves) {
            (Some(canary), _) => of_canary(canary),
            (None, Some(waves)) => of_waves(waves),
            (None, None) => Vec::new(),
        };
        stages.into_iter().filter(|stage| stage.nodes < nodes).collect()
    }

    /// How long the run stands still in all, at most: it is watched after stages, and what was replaced is retained.
    #[must_use]
    pub fn standstill(&self) -> Span {
        let soak = self.canary.as_ref().map_or(Span::ZERO, |canary| canary.soak);
        let bakes = self.care.waves.as_ref().map_or(Span::ZERO, |waves| {
            let pauses = i64::try_from(waves.nodes.len()).unwrap_or(i64::MAX) - 1;
            waves.bake * pauses
        });
        let retained = match self.care.retain.capacity {
            Retained::Cordoned | Retained::Template => self.care.retain.span,
            Retained::None => Span::ZERO,
        };
        soak + bakes + retained
    }

    /// What new nodes and the pods on them are held to while a stage is watched: `health`, or that nothing is wrong at all.
    #[must_use]
    pub fn stage_health(&self) -> Option<Health> {
        let has_stages = self.canary.is_some() || self.care.waves.is_some();
        self.care.health.or_else(|| has_stages.then(Health::default))
    }
}
