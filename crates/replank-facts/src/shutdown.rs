//! How a pod that is told to stop takes leave of those who talk to it: one formula for findings, rehearsals and reports.
//!
//! At zero the pod gets its deletion timestamp. From there two things run side by side and do not wait for each other: the pod
//! runs its preStop hook, gets SIGTERM and ends ([`Leave`]), and load balancers and proxies learn that it is no longer a target ([`Path`]). What
//! still comes when nobody accepts it is refused; what is still open when the process ends is cut.
//!
//! Sources: kubelet `kuberuntime_container.go` (the hook's time is taken from the grace, two seconds at least are left for
//! the signal), `endpointslice/utils.go`, Istio `pkg/envoy/agent.go` and `mesh.go`, ELBv2's `deregistration_delay`. What load
//! balancers take until they send no new connection is not promised by anybody; the spans here are what users measured.

mod drain;
mod hook;
mod ingress_nginx;
mod istio;
mod leave;
mod path;
mod route;
mod settings;

use replank_model::time::Span;

pub use drain::{Listener, Serving};
pub use hook::{has_untold_hook, slept};
pub use istio::{ISTIO_DRAIN, proxy_of};
pub use leave::{Leave, stops_after};
pub use route::{paths_of, services_of};

pub use path::{Balancer, Path, SIGNAL_MIN};
/// Grace left over that is not worth a word.
pub const SPARE: Span = Span::from_secs(5);

/// How a node that is ended takes leave of a load balancer whose target it is, `excluded` so long before its end. Pods do not come into
/// it: a node passes on what comes for pods of other nodes, too. `delay` is how long the load balancer lets open connections go on.
#[must_use]
pub fn node_timing(balancer: Balancer, delay: Span, excluded: Span) -> Timing {
    let cut_at = match balancer {
        // What is open is cut at the deregistration, or at the end of the connection draining.
        Balancer::Classic => Some(delay),
        Balancer::Alb | Balancer::Nlb => None,
    };
    Timing { accepts_until: excluded, exit: excluded, routed_until: balancer.routed_until(), cut_at }
}

/// When what ends, from the deletion timestamp on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// From when nothing new is accepted.
    pub accepts_until: Span,
    /// When the last container is gone.
    pub exit: Span,
    /// Until when new connections are sent to the pod.
    pub routed_until: Span,
    /// When the load balancer cuts what is open.
    pub cut_at: Option<Span>,
}

/// What is wrong with how a pod takes its leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// New connections come for so long and nobody accepts them.
    Refused {
        /// From the end of acceptance to the last connection.
        span: Span,
    },
    /// Requests may be cut that take longer than this; zero: any that comes last.
    Cut {
        /// The longest that is safe.
        beyond: Span,
    },
    /// The preStop hook takes all of the grace and is cut itself.
    HookCut {
        /// How much longer than the grace it takes.
        over: Span,
    },
    /// SIGKILL comes before the pod is through.
    Killed {
        /// How much grace it lacks.
        lacks: Span,
    },
    /// The grace is there and nobody uses it, while connections are lost.
    Wasted {
        /// How much of it.
        unused: Span,
    },
}

/// How a pod's leave goes on a path, the longest request given.
#[must_use]
pub fn timing(leave: &Leave, path: Path, longest: Span) -> Timing {
    let routed_until = path.routed_until();
    let exit = leave.exit(routed_until + longest);
    Timing { accepts_until: leave.accepts_until(exit), exit, routed_until, cut_at: path.cuts_at() }
}

/// What is wrong with it; nothing: every request up to `longest` gets its answer.
#[must_use]
pub fn faults(leave: &Leave, path: Path, longest: Span) -> Vec<Fault> {
    let timing = timing(leave, path, longest);
    let mut faults = Vec::new();
    if leave.pre_stop >= leave.grace && leave.pre_stop > Span::ZERO {
        faults.push(Fault::HookCut { over: leave.pre_stop - leave.grace });
    } else if leave.wanted(timing.routed_until + longest) > leave.grace {
        let lacks = leave.wanted(timing.routed_until + longest) - leave.grace;
        faults.push(Fault::Killed { lacks });
    }
    let refused = timing.routed_until - timing.accepts_until;
    if refused > Span::ZERO {
        faults.push(Fault::Refused { span: refused });
    }
    let beyond = timing.safe_length();
    if longest.min(path.delay().unwrap_or(longest)) > beyond {
        faults.push(Fault::Cut { beyond });
    }
    let unused = leave.grace - timing.exit;
    if !faults.is_empty() && unused > SPARE {
        faults.push(Fault::Wasted { unused });
    }
    faults
}

impl Timing {
    /// The longest request that gets its answer whenever it came.
    #[must_use]
    pub fn safe_length(&self) -> Span {
        let last = self.routed_until.min(self.accepts_until);
        let end = self.cut_at.map_or(self.exit, |at| at.min(self.exit));
        (end - last).max(Span::ZERO)
    }

    /// Requests of one length that come evenly, `per_second` of them to this pod while it is routed to: how many find nobody,
    /// and how many are cut. Upper bounds: word does not spread to all senders in the last moment.
    #[must_use]
    pub fn lost(&self, per_second: f64, length: Span) -> Lost {
        let last = self.routed_until.min(self.accepts_until);
        let end = self.cut_at.map_or(self.exit, |at| at.min(self.exit));
        // Those that came later than their length before the end are still open then.
        let open = (last - (end - length).min(last)).min(length);
        Lost {
            refused: per_second * (self.routed_until - last).as_secs_f64(),
            cut: per_second * open.as_secs_f64(),
        }
    }
}

/// Requests that got no answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lost {
    /// Nobody accepted them.
    pub refused: f64,
    /// They were under way when the process ended, or the load balancer gave up.
    pub cut: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALB: Path = Path::AlbIp { delay: Path::DELAY };
    const NLB: Path = Path::NlbIp { delay: Path::DELAY };

    fn secs(secs: i64) -> Span {
        Span::from_secs(secs)
    }

    /// As the table in the sources has it: hook, time of serving after the signal, grace.
    fn leave(pre_stop: i64, serving: i64, grace: i64) -> Leave {
        Leave {
            pre_stop: secs(pre_stop),
            serving: Serving::For(secs(serving)),
            listener: Listener::For(secs(45)),
            grace: secs(grace),
        }
    }

    #[test]
    fn the_gateway_of_2021_refuses_for_minutes_and_does_not_use_its_grace() {
        let gateway = leave(0, 5, 30);
        let found = faults(&gateway, NLB, secs(1));
        // Nothing is routed any more that could be cut at the last moment, but what is accepted last has no time left.
        assert_eq!(
            found,
            [
                Fault::Refused { span: secs(175) },
                Fault::Cut { beyond: Span::ZERO },
                Fault::Wasted { unused: secs(25) }
            ]
        );
        assert_eq!(timing(&gateway, NLB, secs(1)).exit, secs(5), "what is open and takes longer is cut");
        assert!(faults(&gateway, ALB, secs(1)).contains(&Fault::Refused { span: secs(10) }));
        let inside = faults(&gateway, Path::Proxy, secs(8));
        assert_eq!(inside, [Fault::Cut { beyond: Span::ZERO }, Fault::Wasted { unused: secs(25) }]);
    }

    #[test]
    fn a_longer_drain_alone_does_not_outlast_a_network_load_balancer() {
        let found = faults(&leave(0, 25, 30), NLB, Span::ZERO);
        assert_eq!(found, [Fault::Refused { span: secs(155) }]);
    }

    #[test]
    fn a_hook_that_waits_for_the_load_balancer_is_safe_up_to_a_length() {
        for (timing, path, longest) in
            [(leave(15, 5, 30), ALB, 5), (leave(15, 15, 35), ALB, 15), (leave(180, 30, 215), NLB, 30)]
        {
            assert_eq!(faults(&timing, path, secs(longest)), [], "{timing:?} {path:?}");
            let longer = faults(&timing, path, secs(longest + 1));
            assert!(longer.contains(&Fault::Cut { beyond: secs(longest) }), "{longer:?}");
        }
    }

    #[test]
    fn a_hook_longer_than_the_grace_is_cut_and_leaves_two_seconds() {
        let hook = leave(40, 5, 30);
        assert_eq!(timing(&hook, Path::Proxy, secs(1)).exit, secs(32));
        assert!(faults(&hook, Path::Proxy, secs(1)).contains(&Fault::HookCut { over: secs(10) }));
        assert_eq!(faults(&leave(20, 5, 30), Path::Proxy, secs(1)), []);
    }

    #[test]
    fn what_serves_longer_than_its_grace_is_killed() {
        let found = faults(&leave(0, 303, 30), Path::Proxy, secs(1));
        assert_eq!(found, [Fault::Killed { lacks: secs(273) }]);
    }

    #[test]
    fn waiting_for_the_last_connection_is_safe_as_long_as_the_listener_stays() {
        let idle = |listener| Leave {
            pre_stop: Span::ZERO,
            serving: Serving::UntilIdle { at_least: secs(180), at_most: None },
            listener,
            grace: secs(300),
        };
        assert_eq!(faults(&idle(Listener::For(secs(180))), NLB, secs(120)), []);
        assert!(
            faults(&idle(Listener::For(secs(180))), NLB, secs(121))
                .contains(&Fault::Killed { lacks: secs(1) })
        );
        let refused = faults(&idle(Listener::For(secs(45))), NLB, secs(120));
        assert!(refused.contains(&Fault::Refused { span: secs(135) }), "{refused:?}");
    }

    #[test]
    fn local_targets_are_found_by_health_checks() {
        let path = Path::Local { balancer: Balancer::Nlb, interval: secs(10), failures: 3 };
        assert_eq!(path.routed_until(), secs(70));
        assert!(faults(&leave(15, 5, 30), path, secs(1)).contains(&Fault::Refused { span: secs(50) }));
    }

    #[test]
    fn an_alb_cuts_at_its_delay_what_the_pod_would_have_served() {
        let path = Path::AlbIp { delay: secs(20) };
        let patient = leave(15, 300, 400);
        assert_eq!(timing(&patient, path, secs(60)).safe_length(), secs(5));
        assert!(faults(&patient, path, secs(60)).contains(&Fault::Cut { beyond: secs(5) }));
    }

    #[test]
    fn a_node_that_is_ended_while_it_is_a_target_loses_what_passes_through_it() {
        let at_once = node_timing(Balancer::Nlb, Path::DELAY, Span::ZERO).lost(1.0, secs(10));
        assert_eq!(at_once, Lost { refused: 180.0, cut: 10.0 });
        let after_delay = node_timing(Balancer::Nlb, Path::DELAY, secs(300)).lost(1.0, secs(10));
        assert_eq!(after_delay, Lost::default());
        let barely = node_timing(Balancer::Nlb, Path::DELAY, secs(185)).lost(1.0, secs(10));
        assert_eq!(barely, Lost { refused: 0.0, cut: 5.0 });
        // A Classic Load Balancer without draining cuts what is open when the node is deregistered; with it, what takes longer.
        let undrained = node_timing(Balancer::Classic, Span::ZERO, secs(300)).lost(1.0, secs(10));
        assert_eq!(undrained, Lost { refused: 0.0, cut: 10.0 });
        let drained = node_timing(Balancer::Classic, secs(60), secs(300)).lost(1.0, secs(10));
        assert_eq!(drained, Lost::default());
    }

    #[test]
    fn lost_requests_are_counted() {
        // Ten a second; the process ends at 5 s, connections come until 15 s, each takes 2 s.
        let lost = timing(&leave(0, 5, 30), ALB, secs(2)).lost(10.0, secs(2));
        assert_eq!(lost, Lost { refused: 100.0, cut: 20.0 });
        // The hook lasts as long as connections come, and five seconds more.
        let none = timing(&leave(15, 5, 30), ALB, secs(2)).lost(10.0, secs(2));
        assert_eq!(none, Lost::default());
        let long = timing(&leave(15, 5, 30), ALB, secs(8)).lost(10.0, secs(8));
        assert_eq!(long, Lost { refused: 0.0, cut: 30.0 }, "those of the last three seconds");
        // A connection that outlasts everything was open from before.
        let stream = timing(&leave(0, 5, 30), Path::Proxy, secs(3600)).lost(0.1, secs(3600));
        assert_eq!(stream, Lost { refused: 0.0, cut: 360.0 });
    }
}
