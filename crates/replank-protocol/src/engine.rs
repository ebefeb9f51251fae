//! Who decides, as a driver sees it.

use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::time::Time;

use crate::command::Outcome;
use crate::decision::Decision;
use crate::intent::Intent;

/// Kinds that are not shown to an engine that says nothing of them: few decide on them.
const UNWATCHED: [Kind; 3] = [Kind::EndpointSlice, Kind::ControllerRevision, Kind::VolumeAttachment];

/// Decides what is to be done: the core, a migration, or something around one of them that a test puts there.
pub trait Engine {
    /// Takes in an observation. Those of one kind come in order; kinds may lag behind each other.
    fn observe(&mut self, delta: Delta);

    /// Takes in what became of a command.
    fn outcome(&mut self, outcome: Outcome);

    /// Decides at a moment. The first decision is asked for when everything that is there has been observed once.
    fn decide(&mut self, now: Time) -> Decision;

    /// Takes in what the operator asks of the run.
    fn intend(&mut self, intent: Intent);

    /// Forgets everything, as another process that takes over; it is shown what there is right after.
    fn start_anew(&mut self);

    /// Whether it goes on deciding when its run is over.
    fn stands_by(&self) -> bool {
        false
    }

    /// Whether it is shown changes of such objects. Each watch costs events, so what no decision reads is left out.
    fn watches(&self, kind: Kind) -> bool {
        !UNWATCHED.contains(&kind)
    }
}

/// Whoever has an engine only for a while can hand it on.
impl<T: Engine + ?Sized> Engine for &mut T {
    fn observe(&mut self, delta: Delta) {
        (**self).observe(delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        (**self).outcome(outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        (**self).decide(now)
    }

    fn intend(&mut self, intent: Intent) {
        (**self).intend(intent);
    }

    fn start_anew(&mut self) {
        (**self).start_anew();
    }

    fn stands_by(&self) -> bool {
        (**self).stands_by()
    }

    fn watches(&self, kind: Kind) -> bool {
        (**self).watches(kind)
    }
}
