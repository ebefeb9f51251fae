//! The section `memory`: what the autoscaler remembers from earlier looks.

use anyhow::{Context, bail};
use replank_core::scale::{Options, Request, State};
use replank_model::time::{Span, Time};
use replank_protocol::scaling::{Market, Scope};

/// Lines such as `5m ago: no capacity of m6i.xlarge in a`, the oldest first.
pub(super) fn read(lines: &[(usize, &str)], now: Time, options: &Options) -> anyhow::Result<State> {
    let mut state = State::default();
    for (number, line) in lines {
        take(&mut state, line, now, options).with_context(|| format!("line {number}: {line:?}"))?;
    }
    Ok(state)
}

fn take(state: &mut State, line: &str, now: Time, options: &Options) -> anyhow::Result<()> {
    let (ago, what) = line.split_once(" ago: ").context("expected `5m ago: …`")?;
    let at = now - ago.parse::<Span>()?;
    let words: Vec<&str> = what.split(' ').collect();
    match words.as_slice() {
        ["no", "capacity", "of", kind, "in", zone] | ["no", "spot", "capacity", "of", kind, "in", zone] => {
            let market = if words[1] == "spot" { Market::Spot } else { Market::OnDemand };
            let scope = Scope::Capacity { instance_type: (*kind).into(), zone: (*zone).into(), market };
            state.fail(scope, "InsufficientInstanceCapacity", at, options);
        }
        ["group", group, "failed"] => {
            state.fail(Scope::Group((*group).into()), "the cloud refused", at, options);
        }
        ["asked", "group", group, "for", count] => {
            state.requests.insert((*group).into(), Request { at, count: count.parse()? });
        }
        ["node", node, "was", "not", "needed"] => {
            state.unneeded.insert((*node).into(), at);
        }
        ["a", "node", "was", "added"] => state.added = Some(at),
        ["a", "node", "was", "taken", "away"] => state.deleted = Some(at),
        ["taking", "a", "node", "away", "failed"] => state.failed = Some(at),
        _ => bail!(
            "expected `no capacity of TYPE in ZONE`, `no spot capacity of TYPE in ZONE`, `group NAME failed`, `asked group NAME for 2`, \
             `node NAME was not needed`, `a node was added`, `a node was taken away` or `taking a node away failed`"
        ),
    }
    Ok(())
}
