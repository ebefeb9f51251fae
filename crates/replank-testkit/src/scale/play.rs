//! From a story to what is decided.

use anyhow::{Context, ensure};
use replank_core::scale::{
    self, Given, Groups, InFlight, Options, Prices, Priorities, merged, priorities_text, read_facts,
};
use replank_facts::budget::{Healths, Ledger};
use replank_facts::groups::GroupBy;
use replank_schedule::Scheduler;

use super::file::Story;
use super::{groups, memory, story};
use crate::scenario::Staged;

/// What is decided, as text.
pub(super) fn play(name: &str, file: &Story) -> anyhow::Result<String> {
    let Staged { view, now, names } = Staged::of(name, &file.cluster, &file.objects)?;
    let mut options = Options::default();
    let flags: Vec<String> = file.flags().collect();
    let unknown = options.read(flags.iter().map(String::as_str))?;
    ensure!(unknown.is_empty(), "unknown flags: {}", unknown.join(", "));
    let facts = merged(read_facts(&groups::answer(&file.groups())?)?);
    let prices = match file.prices.trim() {
        "" => Prices::default(),
        text => Prices::read(&serde_json::from_str(text).context("prices")?)?,
    };
    let (priorities, bad_lines) = Priorities::read(&priorities_text(&view).unwrap_or_default());
    let mut state = memory::read(&file.memory(), now, &options)?;
    let known = Groups::of(&view, &GroupBy::default(), &facts, &options);
    state.time_out(&known.all, now, &options);
    let given = Given {
        view: &view,
        groups: &known,
        options: &options,
        prices: &prices,
        priorities: &priorities,
        state: &state,
        in_flight: &InFlight::default(),
        now,
    };
    let mut scheduler = Scheduler::load(&view);
    let up = scale::up(given, &mut scheduler);
    let mut text = String::new();
    for line in bad_lines {
        text.push_str(&format!("malformed  {line}\n"));
    }
    text.push_str(&story::groups(&known));
    text.push_str(&story::up(&up, &view, &names));
    if up == scale::Up::default() {
        let mut healths = Healths::default();
        let down = scale::down(given, &mut scheduler, &mut Ledger::new(&view, &mut healths), &up);
        text.push_str(&story::down(&down, &names, now));
    }
    Ok(text)
}
