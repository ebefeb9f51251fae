//! What the scheduler is told at its start.

use std::str::FromStr;

/// Settings of the scheduler. The default is kube-scheduler 1.36 with its default configuration, every node scored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Feature gates that change answers.
    pub gates: FeatureGates,
}

/// Feature gates that change what the scheduler answers, with the defaults of 1.36
/// (`pkg/features/kube_features.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    on: [bool; Gate::ALL.len()],
}

macro_rules! gates {
    ($( $(#[$doc:meta])* $name:ident = $default:literal; )*) => {
        /// A feature gate, by its upstream name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Gate { $( $(#[$doc])* $name, )* }

        impl Gate {
            /// All that are known here.
            pub const ALL: &'static [Gate] = &[ $( Gate::$name ),* ];

            /// Upstream's name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $( Self::$name => stringify!($name) ),* }
            }

            /// Whether it is on unless said otherwise.
            #[must_use]
            pub fn is_on_by_default(self) -> bool {
                match self { $( Self::$name => $default ),* }
            }
        }
    };
}

gates! {
    /// Tolerations with `Lt` and `Gt`.
    TaintTolerationComparisonOperators = false;
    /// Nodes declare abilities, and pods that need one go only where it is.
    NodeDeclaredFeatures = true;
    /// Pods may use the host's network with a user namespace of their own. Decides at the API server whether such pods
    /// are let in; the scheduler places them where the ability is declared either way.
    UserNamespacesHostNetworkSupport = false;
    /// Victims are deleted while the next pod is scheduled. The decision is the same.
    SchedulerAsyncPreemption = true;
}

/// No gate of this name changes what the scheduler answers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no feature gate \"{0}\" is known to change scheduling")]
pub struct UnknownGate(pub String);

impl FromStr for Gate {
    type Err = UnknownGate;

    fn from_str(name: &str) -> Result<Self, UnknownGate> {
        Self::ALL.iter().copied().find(|gate| gate.name() == name).ok_or_else(|| UnknownGate(name.to_owned()))
    }
}

impl Default for FeatureGates {
    fn default() -> Self {
        let mut gates = Self { on: [false; Gate::ALL.len()] };
        for gate in Gate::ALL {
            gates.set(*gate, gate.is_on_by_default());
        }
        gates
    }
}

impl FeatureGates {
    /// Turns a gate on or off.
    pub fn set(&mut self, gate: Gate, on: bool) {
        self.on[gate as usize] = on;
    }

    /// Whether a gate is on.
    #[must_use]
    pub fn is_on(&self, gate: Gate) -> bool {
        self.on[gate as usize]
    }
}
