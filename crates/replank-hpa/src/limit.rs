//! How far a single sync may go: bounds of the spec, policies, and without behavior twice as many at most
//! (`convertDesiredReplicasWithRules`, `convertDesiredReplicasWithBehaviorRate`).

use replank_model::time::Time;

use super::behavior::{ChangePolicy, Direction, PolicyKind, Rules, Select};
use super::memory::{Memory, changed_within};
use super::number::to_i32;
use super::steps::{Limited, PolicyStep};

const FASTER_UP: (&str, &str) =
    ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate");
const FASTER_DOWN: (&str, &str) =
    ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate");
const TOO_MANY: (&str, &str) =
    ("TooManyReplicas", "the desired replica count is more than the maximum replica count");
const TOO_FEW: (&str, &str) =
    ("TooFewReplicas", "the desired replica count is less than the minimum replica count");
const WITHIN: (&str, &str) = ("DesiredWithinRange", "the desired count is within the acceptable range");

/// Without behavior no sync more than doubles the replicas, or makes more than four of fewer.
pub(super) fn without_behavior(now: i32, wanted: i32, (min, max): (i32, i32)) -> Limited {
    let rate = to_i32((2.0 * f64::from(now)).max(4.0));
    let limited = |replicas, (reason, message)| Limited {
        replicas,
        reason,
        message,
        rate: Some(rate),
        policies: Vec::new(),
    };
    let (most, why) = if max > rate { (rate, FASTER_UP) } else { (max, TOO_MANY) };
    if wanted < min {
        limited(min, TOO_FEW)
    } else if wanted > most {
        limited(most, why)
    } else {
        limited(wanted, WITHIN)
    }
}

/// With behavior, what the policies of the direction allow.
pub(super) fn with_behavior(
    memory: &Memory,
    replicas_now: i32,
    wanted: i32,
    (min, max): (i32, i32),
    (up, down): (&Rules, &Rules),
    now: Time,
) -> Limited {
    let limited =
        |replicas, (reason, message), rate, policies| Limited { replicas, reason, message, rate, policies };
    if wanted > replicas_now {
        let (rate, policies) = rate(memory, replicas_now, up, Direction::Up, now);
        // What was added lately may be more than the policies allow; it stays.
        let rate = rate.max(replicas_now);
        let (most, why) = if max > rate { (rate, FASTER_UP) } else { (max, TOO_MANY) };
        if wanted > most {
            return limited(most, why, Some(rate), policies);
        }
        limited(wanted, WITHIN, Some(rate), policies)
    } else if wanted < replicas_now {
        let (rate, policies) = rate(memory, replicas_now, down, Direction::Down, now);
        let rate = rate.min(replicas_now);
        let (least, why) = if min < rate { (rate, FASTER_DOWN) } else { (min, TOO_FEW) };
        if wanted < least {
            return limited(least, why, Some(rate), policies);
        }
        limited(wanted, WITHIN, Some(rate), policies)
    } else {
        limited(wanted, WITHIN, None, Vec::new())
    }
}

/// How far the policies let the replicas go, and what each says.
fn rate(
    memory: &Memory,
    replicas_now: i32,
    rules: &Rules,
    direction: Direction,
    now: Time,
) -> (i32, Vec<PolicyStep>) {
    let all: Vec<PolicyStep> =
        rules.policies.iter().map(|policy| allowed(memory, replicas_now, policy, direction, now)).collect();
    let each = all.iter().map(|step| step.allows);
    // Without a policy upstream is left with the number that it began with.
    let rate = match (rules.select, direction) {
        (Select::Disabled, _) => return (replicas_now, Vec::new()),
        (Select::Max, Direction::Up) => each.max().unwrap_or(i32::MIN),
        (Select::Min, Direction::Up) => each.min().unwrap_or(i32::MAX),
        (Select::Max, Direction::Down) => each.min().unwrap_or(i32::MAX),
        (Select::Min, Direction::Down) => each.max().unwrap_or(i32::MIN),
    };
    (rate, all)
}

fn allowed(
    memory: &Memory,
    replicas_now: i32,
    policy: &ChangePolicy,
    direction: Direction,
    now: Time,
) -> PolicyStep {
    let added = changed_within(&memory.ups, policy.period, now);
    let removed = changed_within(&memory.downs, policy.period, now);
    let at_start = replicas_now.wrapping_sub(added).wrapping_add(removed);
    let share = f64::from(policy.value) / 100.0;
    let allows = match (policy.kind, direction) {
        (PolicyKind::Pods, Direction::Up) => at_start.wrapping_add(policy.value),
        (PolicyKind::Pods, Direction::Down) => at_start.wrapping_sub(policy.value),
        (PolicyKind::Percent, Direction::Up) => to_i32((f64::from(at_start) * (1.0 + share)).ceil()),
        (PolicyKind::Percent, Direction::Down) => to_i32(f64::from(at_start) * (1.0 - share)),
    };
    PolicyStep { policy: *policy, at_start, allows }
}
