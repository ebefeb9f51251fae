//! One rehearsal as part of something greater.

use replank_model::object::Object;
use replank_rehearse::RehearsalResult;

use super::run;
use super::scene::Scene;
use crate::interrupt::Interrupt;

/// The same, and everything there is when it is over.
pub(crate) fn once_and_after(
    scene: &Scene,
    seed: u64,
    interrupt: &Interrupt,
) -> (RehearsalResult, Vec<Object>) {
    run::one_and_after(scene, seed, interrupt)
}
