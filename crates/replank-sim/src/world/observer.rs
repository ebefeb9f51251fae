//! Who looks on.

use replank_model::delta::Delta;
use replank_model::object::cloud::Instance;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_protocol::decision::Decision;

use crate::asked::Asked;
use crate::cloud::Told;
use crate::driver::Sent;

/// Somebody who is shown every change, and changes nothing.
pub trait Observer {
    /// `change` has just happened; `view` has it.
    fn changed(&mut self, at: Time, change: &Change, view: &View);

    /// The cloud has said something about an instance.
    #[expect(unused_variables, reason = "most observers look at changes only")]
    fn told(&mut self, at: Time, instance: &Instance, told: Told, view: &View) {}

    /// Somebody has asked for an eviction; `view` is how things are right after.
    #[expect(unused_variables, reason = "most observers look at changes only")]
    fn asked(&mut self, at: Time, asked: &Asked, view: &View) {}

    /// The engine has decided.
    #[expect(unused_variables, reason = "most observers look at changes only")]
    fn decided(&mut self, at: Time, decision: &Decision) {}

    /// The engine is shown a change, with its delay; `view` is the present state.
    #[expect(unused_variables, reason = "most observers look at changes only")]
    fn shown(&mut self, at: Time, delta: &Delta, view: &View) {}

    /// A command has taken effect or was refused; `view` is how things are right after, before anybody else acts.
    #[expect(unused_variables, reason = "most observers look at changes only")]
    fn executed(&mut self, at: Time, sent: &Sent, view: &View) {}
}
