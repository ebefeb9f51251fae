//! How long the cloud takes.

use replank_model::time::Span;

use replank_apiserver::draw::Draw;

/// A span between two bounds, all equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Shortest.
    pub low: Span,
    /// Longest.
    pub high: Span,
}

impl Range {
    /// From `low` to `high` seconds.
    #[must_use]
    pub const fn secs(low: i64, high: i64) -> Self {
        Self { low: Span::from_secs(low), high: Span::from_secs(high) }
    }

    /// Always the same.
    #[must_use]
    pub const fn exactly(span: Span) -> Self {
        Self { low: span, high: span }
    }

    /// One span of the range.
    #[must_use]
    pub fn draw(self, draw: Draw) -> Span {
        draw.between(self.low, self.high)
    }
}

/// How long each step of an instance's life takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloudTimings {
    /// A change of a group until it acts. EC2 Auto Scaling reacts within seconds.
    pub react: Range,
    /// Launch until the kubelet registers. Users report 28 to 80 s, by AMI and type.
    pub boot: Range,
    /// Registration until Ready: the CNI's DaemonSet pod has to start first.
    pub ready: Range,
    /// The order to terminate until the machine is off.
    pub shut_down: Range,
    /// Machine off until the cloud controller manager has deleted the node: it looks at nodes that stopped being Ready.
    pub node_gone: Range,
    /// A status check that fails until the group marks the instance Unhealthy. EC2 checks every minute; Auto Scaling does not say how often it looks.
    pub health_check: Range,
    /// A target that is registered until its first health check is over: load balancers check every 30 s where nobody has changed it.
    pub target_check: Range,
    /// A change of a node until a controller registers or deregisters it.
    pub controller: Range,
    /// A drained node until somebody else takes its machine away: a person, or a controller of theirs.
    pub replace: Range,
    /// A claim until the storage driver has made its volume.
    pub provision: Range,
    /// The order to attach a volume until it is attached. Block storage takes seconds.
    pub attach: Range,
    /// The order to detach a volume until it is detached.
    pub detach: Range,
    /// How EKS looks after managed node groups.
    pub eks: EksTimings,
}

/// How long EKS takes in managed node groups, and how long it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EksTimings {
    /// Between two looks of an update at what it waits for, and tries again what was refused. EKS does not say.
    pub update_looks: Span,
    /// From a node's last eviction to its termination.
    pub cordoned_for: Span,
    /// An instance that the termination hook holds until EKS hears of it.
    pub hears: Range,
    /// Between two looks at a node that the hook's drain empties.
    pub drain_looks: Span,
    /// How long pods of one node have to leave it ("Managed node group update behavior").
    pub drains_for: Span,
    /// How long new nodes have to become Ready. EKS does not say; managed groups are reported to give up after a quarter of an hour and more.
    pub creates_for: Span,
}

impl EksTimings {
    fn faster(self, times: f64) -> Self {
        let Range { low, high } = self.hears;
        Self {
            update_looks: self.update_looks.divided(times),
            cordoned_for: self.cordoned_for.divided(times),
            hears: Range { low: low.divided(times), high: high.divided(times) },
            drain_looks: self.drain_looks.divided(times),
            drains_for: self.drains_for.divided(times),
            creates_for: self.creates_for.divided(times),
        }
    }
}

impl Default for EksTimings {
    fn default() -> Self {
        Self {
            update_looks: Span::from_secs(15),
            cordoned_for: Span::from_secs(60),
            hears: Range::secs(2, 10),
            drain_looks: Span::from_secs(10),
            drains_for: Span::from_minutes(15),
            creates_for: Span::from_minutes(15),
        }
    }
}

/// What takes a time that can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// From a drained node until somebody takes its machine away.
    Replacement,
    /// From an instance's launch until its node is Ready.
    Start,
    /// From the order to terminate an instance until its node is gone.
    Stop,
    /// From a change until the run sees it, at most.
    Sight,
}

impl CloudTimings {
    /// Something takes exactly so long.
    pub(crate) fn set(&mut self, what: Lasting, span: Span) {
        let none = Range::exactly(Span::ZERO);
        match what {
            Lasting::Replacement => self.replace = Range::exactly(span),
            Lasting::Start => (self.react, self.boot, self.ready) = (none, Range::exactly(span), none),
            // It is the driver's.
            Lasting::Sight => {}
            Lasting::Stop => (self.shut_down, self.node_gone) = (Range::exactly(span), none),
        }
    }

    /// The same, so many times as fast.
    #[must_use]
    pub fn faster(self, times: f64) -> Self {
        let of = |range: Range| Range { low: range.low.divided(times), high: range.high.divided(times) };
        Self {
            react: of(self.react),
            boot: of(self.boot),
            ready: of(self.ready),
            shut_down: of(self.shut_down),
            node_gone: of(self.node_gone),
            health_check: of(self.health_check),
            target_check: of(self.target_check),
            controller: of(self.controller),
            replace: of(self.replace),
            provision: of(self.provision),
            attach: of(self.attach),
            detach: of(self.detach),
            eks: self.eks.faster(times),
        }
    }
}

impl Default for CloudTimings {
    fn default() -> Self {
        Self {
            react: Range::secs(2, 10),
            boot: Range::secs(30, 75),
            ready: Range::secs(10, 25),
            shut_down: Range::secs(5, 30),
            node_gone: Range::secs(5, 45),
            health_check: Range::secs(60, 180),
            target_check: Range::secs(5, 35),
            controller: Range::secs(1, 5),
            replace: Range::secs(120, 600),
            provision: Range::secs(1, 4),
            attach: Range::secs(1, 6),
            detach: Range::secs(1, 10),
            eks: EksTimings::default(),
        }
    }
}
