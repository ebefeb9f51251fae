//! What a cluster meets besides the roll.

use replank_model::object::meta::Key;
use replank_model::time::{Span, Time};
use replank_sim::load::{Curve, Load, Measured};
use replank_sim::script::Delivery;

/// What the target of an autoscaler is asked to do: points since the beginning of the run.
pub(super) type Asked = (Key, Vec<(Span, f64)>);

/// What a cluster meets besides the roll.
#[derive(Clone, Debug, Default)]
pub struct Elastic {
    /// What the targets of autoscalers are asked to do: points since the beginning of the run.
    pub(super) curves: Vec<Asked>,
    /// What befalls instances.
    pub strikes: Vec<Strike>,
    /// How the queue for events about instances delivers, from when on.
    pub queue: Vec<(Span, Delivery)>,
    /// Flags of an autoscaler of nodes, where there is one.
    pub autoscaler: Option<Vec<String>>,
}

/// Something befalls an instance, or the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Since the beginning of the run.
    pub at: Span,
    /// Which instance: the number of it among those that are there, as many times around as need be.
    pub pick: u64,
    /// What.
    pub how: How,
}

/// What befalls an instance, or the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// It is taken back in two minutes.
    Spot,
    /// It may be.
    Rebalance,
    /// It is retired after so long.
    Retirement(Span),
    /// It is ended by somebody.
    End,
    /// A message comes that nobody can use.
    Message(&'static str),
}

impl Elastic {
    /// The loads of a run that begins at a moment.
    #[must_use]
    pub fn loads(&self, start: Time) -> Vec<Load> {
        let load = |(hpa, points): &Asked| Load {
            hpa: hpa.clone(),
            of: Measured::Resource { resource: "cpu".into(), container: None },
            curve: Curve::new(points.iter().map(|(since, cores)| (start + *since, *cores)).collect())
                .expect("points follow each other"),
        };
        self.curves.iter().map(load).collect()
    }

    /// When the last of it is over, since the beginning of the run.
    #[must_use]
    pub fn ends(&self) -> Span {
        let strikes = self.strikes.iter().map(|strike| match strike.how {
            How::Retirement(notice) => strike.at + notice,
            How::Spot | How::Rebalance | How::End | How::Message(_) => strike.at,
        });
        let curves = self.curves.iter().filter_map(|(_, points)| points.last()).map(|(since, _)| *since);
        let queue = self.queue.iter().map(|(at, delivery)| match delivery {
            Delivery::Lost(long) | Delivery::Late(_, long) => *at + *long,
            Delivery::Twice(_) => *at,
        });
        strikes.chain(curves).chain(queue).max().unwrap_or_default()
    }
}
