//! What is given for a decision about the number of nodes.

use replank_model::time::Time;
use replank_model::view::View;

use super::backoff::State;
use super::group::Groups;
use super::in_flight::InFlight;
use super::options::Options;
use super::prices::Prices;
use super::priorities::Priorities;

/// What a decision is taken on.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The cluster.
    pub view: &'a View,
    /// Its groups.
    pub groups: &'a Groups,
    /// Settings.
    pub options: &'a Options,
    /// What instances cost.
    pub prices: &'a Prices,
    /// What the expander `priority` goes by.
    pub priorities: &'a Priorities,
    /// What is remembered.
    pub state: &'a State,
    /// What others have in flight.
    pub in_flight: &'a InFlight,
    /// When.
    pub now: Time,
}
