//! How a request reaches a pod.

use replank_model::time::Span;

/// Least time that the kubelet leaves between the signal and the kill, if the hook has used up the grace
/// (`minimumGracePeriodInSeconds`).
pub const SIGNAL_MIN: Span = Span::from_secs(2);

/// By which way clients reach a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// From within the cluster, through the proxies of the nodes.
    Proxy,
    /// Through a load balancer whose targets are nodes (`externalTrafficPolicy: Cluster`): to any node, and from its proxy to the
    /// pod, on whichever node that is.
    Nodes {
        /// What balances.
        balancer: Balancer,
        /// `deregistration_delay.timeout_seconds`; of a Classic Load Balancer its connection draining, zero if that is off.
        delay: Span,
    },
    /// Through an Application Load Balancer whose targets are pods.
    AlbIp {
        /// `deregistration_delay.timeout_seconds`.
        delay: Span,
    },
    /// Through a Network Load Balancer whose targets are pods.
    NlbIp {
        /// `deregistration_delay.timeout_seconds`.
        delay: Span,
    },
    /// Through a load balancer that finds the nodes with pods by its health checks (`externalTrafficPolicy: Local`).
    Local {
        /// What balances.
        balancer: Balancer,
        /// Between two checks.
        interval: Span,
        /// Failures in a row that count.
        failures: u32,
    },
}

/// Kinds of load balancers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Balancer {
    /// Application Load Balancer.
    Alb,
    /// Network Load Balancer.
    Nlb,
    /// Classic Load Balancer (ELB), whose targets are always nodes.
    Classic,
}

impl Balancer {
    /// From the deregistration of a target to the last new connection to it.
    #[must_use]
    pub fn routed_until(self) -> Span {
        match self {
            // The controller's reconciliation and about 10 s.
            Self::Alb | Self::Classic => Span::from_secs(15),
            // 120 s whatever the delay, up to 180 s.
            Self::Nlb => Span::from_secs(180),
        }
    }

    /// For how long an unhealthy target gets new connections still.
    fn unhealthy_for(self) -> Span {
        match self {
            // 30 to 40 s.
            Self::Nlb => Span::from_secs(40),
            Self::Alb | Self::Classic => Span::ZERO,
        }
    }
}

impl Path {
    /// ELBv2's default deregistration delay.
    pub const DELAY: Span = Span::from_secs(300);

    /// Until when new connections may be sent to the pod.
    #[must_use]
    pub fn routed_until(self) -> Span {
        match self {
            // EndpointSlice controller, watch and kube-proxy's minSyncPeriod of 1 s, with a margin.
            Self::Proxy | Self::Nodes { .. } => Span::from_secs(5),
            Self::AlbIp { .. } => Balancer::Alb.routed_until(),
            Self::NlbIp { .. } => Balancer::Nlb.routed_until(),
            Self::Local { balancer, interval, failures } => {
                Span::from_millis(interval.as_millis() * i64::from(failures)) + balancer.unhealthy_for()
            }
        }
    }

    /// How long the load balancer itself waits for what is open; `None` where nobody waits.
    #[must_use]
    pub fn delay(self) -> Option<Span> {
        match self {
            Self::AlbIp { delay } | Self::NlbIp { delay } => Some(delay),
            Self::Proxy | Self::Nodes { .. } | Self::Local { .. } => None,
        }
    }

    /// When the load balancer cuts what is open, however well the pod behaves: an ALB at the delay; an NLB does not for TCP.
    #[must_use]
    pub fn cuts_at(self) -> Option<Span> {
        match self {
            Self::AlbIp { delay } => Some(delay),
            Self::NlbIp { .. } | Self::Proxy | Self::Nodes { .. } | Self::Local { .. } => None,
        }
    }

    /// As a person would say it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Proxy => "within the cluster",
            Self::Nodes { balancer: Balancer::Alb, .. } => "ALB to nodes",
            Self::Nodes { balancer: Balancer::Nlb, .. } => "NLB to nodes",
            Self::Nodes { balancer: Balancer::Classic, .. } => "Classic Load Balancer to nodes",
            Self::AlbIp { .. } => "ALB to pods",
            Self::NlbIp { .. } => "NLB to pods",
            Self::Local { .. } => "load balancer to nodes with pods",
        }
    }
}
