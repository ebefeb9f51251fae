//! What is tried by a seed: which verb, what goes wrong and for how long, and when the process is killed.

use std::fmt;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// A self-managed group is rolled.
    Roll,
    /// The same, and an instance is interrupted meanwhile.
    RollBeside,
    /// EKS updates a managed group.
    Managed,
    /// A spot instance is taken back.
    Handle,
}

impl Verb {
    pub(super) const ALL: [Self; 4] = [Self::Roll, Self::RollBeside, Self::Managed, Self::Handle];

    pub(super) fn is_managed(self) -> bool {
        self == Self::Managed
    }
}

/// Something that goes wrong for a while.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) words: String,
    /// How long after the process has begun to change something; `None` before the process begins.
    pub(super) after: Option<Duration>,
    pub(super) lasts: Duration,
}

/// When a process is killed: a while after it has said so many lines about what it does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kill {
    pub(super) lines: usize,
    pub(super) after: Duration,
}

#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) verb: Verb,
    pub(super) faults: Vec<Fault>,
    pub(super) kill: Option<Kill>,
}

impl fmt::Display for Case {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "seed {} {:?}", self.seed, self.verb)?;
        for fault in &self.faults {
            let from = fault.after.map_or("before".to_owned(), |after| format!("{after:?}"));
            write!(out, ", {} ({from} for {:?})", fault.words, fault.lasts)?;
        }
        match self.kill {
            Some(kill) => write!(out, ", killed {:?} after line {}", kill.after, kill.lines),
            None => Ok(()),
        }
    }
}

/// A part of the words of each kind of fault.
pub(super) const KINDS: [&str; 12] = [
    "throttles one call",
    "throttles the next",
    "fails one call",
    "fails the next",
    "loses one answer",
    "loses the next",
    "loses one request",
    "credentials expire",
    "shows new instances",
    "twice",
    "runs out",
    "somebody scales group",
];

/// Draws, each made of its seed alone.
struct Draws(u64);

impl Draws {
    /// One of as many numbers.
    fn below(&mut self, count: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut drawn = self.0;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (drawn ^ (drawn >> 31)) % count.max(1)
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).expect("it is small")]
    }

    fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

const WRITES: [&str; 6] = [
    "autoscaling:UpdateAutoScalingGroup",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
    "autoscaling:CreateOrUpdateTags",
    "autoscaling:DeleteTags",
    "autoscaling:SuspendProcesses",
    "autoscaling:ResumeProcesses",
];
const OF_EKS: [&str; 4] =
    ["eks:UpdateNodegroupVersion", "eks:TagResource", "eks:UntagResource", "eks:DescribeUpdate"];
const OF_QUEUE: [&str; 4] = [
    "sqs:ReceiveMessage",
    "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibility",
    "autoscaling:CompleteLifecycleAction",
];

impl Case {
    pub(super) fn drawn(seed: u64, is_kill: bool) -> Self {
        let mut draws = Draws(seed.wrapping_mul(2).wrapping_add(u64::from(is_kill)));
        let verb = draws.one(&Verb::ALL);
        let count = if is_kill { draws.below(2) } else { 1 + draws.below(3) };
        let faults = (0..count).map(|_| fault(&mut draws, verb)).collect();
        // About as many lines as each tells of.
        let most = match verb {
            Verb::Roll | Verb::RollBeside => 28,
            Verb::Managed => 5,
            Verb::Handle => 6,
        };
        let kill = is_kill.then(|| Kill {
            lines: usize::try_from(1 + draws.below(most)).expect("it is small"),
            after: draws.millis(0, 400),
        });
        Self { seed, verb, faults, kill }
    }

    /// Whether somebody changes the size of the group meanwhile.
    pub(super) fn is_resized(&self) -> bool {
        self.faults.iter().any(|fault| fault.words.starts_with("somebody scales"))
    }

    /// Whether messages come late.
    pub(super) fn has_late_messages(&self) -> bool {
        self.faults.iter().any(|fault| fault.words.contains(" late by "))
    }
}

fn fault(draws: &mut Draws, verb: Verb) -> Fault {
    let action = match verb {
        Verb::Roll => draws.one(&WRITES),
        Verb::RollBeside if draws.below(2) == 0 => draws.one(&WRITES),
        Verb::RollBeside | Verb::Handle => draws.one(&OF_QUEUE),
        Verb::Managed => draws.one(&OF_EKS),
    };
    let service = action.split(':').next().expect("it has one");
    let of = draws.one(&["any", "reads", "writes", service, action]);
    let (share, few) = (2 + draws.below(8), 1 + draws.below(3));
    let words = match draws.below(12) {
        0 => format!("aws throttles one call in {share} of {of}"),
        1 => format!("aws throttles the next {few} calls of {of}"),
        2 => format!("aws fails one call in {share} of {of}"),
        3 => format!("aws fails the next {few} calls of {action}"),
        4 | 5 => format!("aws loses one answer in {share} of {of}"),
        6 => format!("aws loses the next {few} answers of {action}"),
        7 => format!("aws loses one request in {share} of {of}"),
        8 => "aws credentials expire".to_owned(),
        9 => "aws shows new instances after 10s".to_owned(),
        10 => {
            let how = ["twice", "late by 15s"][usize::try_from(draws.below(2)).expect("it is small")];
            format!("queue delivers one message in {} {how}", 1 + draws.below(3))
        }
        // EKS gives an update up that comes to no new node: that is told, and tried elsewhere.
        _ if verb.is_managed() => "aws shows new instances after 5s".to_owned(),
        _ => "any capacity of any in any runs out".to_owned(),
    };
    // Of what somebody does before the run nothing is to be seen in it.
    if verb == Verb::Roll && draws.below(5) == 0 {
        let words = format!("somebody scales group web to {}", 2 + draws.below(4));
        return Fault { words, after: Some(draws.millis(0, 12_000)), lasts: draws.millis(0, 1_000) };
    }
    let after = (draws.below(4) > 0).then(|| draws.millis(0, 12_000));
    Fault { words, after, lasts: draws.millis(2_000, 25_000) }
}
