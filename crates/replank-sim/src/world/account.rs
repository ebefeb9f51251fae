//! What an account of the cloud sees and does of a world, from outside of it.

use replank_model::object::cloud::Instance;
use replank_model::text::Text;

use super::run::World;
use crate::cloud::{Calls, OwnCloud};
use crate::context::Ctx;

impl World {
    /// Has calls of the cloud's API carried out, at the present moment.
    pub fn cloud<T>(&mut self, call: impl FnOnce(&mut dyn OwnCloud) -> T) -> T {
        let mut ctx =
            Ctx { api: &mut self.api, agenda: &mut self.agenda, queue: &mut self.queue, draws: &self.draws };
        let answer = call(&mut Calls::new(&mut self.cloud, &mut ctx));
        self.touched += 1;
        self.settle();
        answer
    }

    /// Somebody beyond the world hears the cloud's events from now on, and takes them: the world's own queue gets none.
    pub fn hear_events(&mut self) {
        self.cloud.hear();
    }

    /// Bodies of the events since this was last asked, as EventBridge delivers them.
    pub fn take_events(&mut self) -> Vec<String> {
        self.cloud.take_heard()
    }

    /// The type of an instance: what it was launched as, or what its node shows.
    #[must_use]
    pub fn instance_type(&self, instance: &Instance) -> Text {
        self.cloud.type_of(self.api.view(), instance)
    }
}
