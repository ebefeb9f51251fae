//! Random migrations: a Deployment with Services, a budget, an autoscaler, pods that are slow, somebody who gets in before, a process
//! that starts anew; and a checker of what is promised that shares no code with core.

mod case;
mod play;
mod stage;
mod watch;

pub use case::{Case, Races, Restarts, Way, definition};
pub use play::{Played, judged, naive, play, without_endpoints};
pub use stage::{Stage, is_there, wants};
pub use watch::{Breach, Watch};
