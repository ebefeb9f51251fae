//! How long a `preStop` hook takes, where the spec says so.

use replank_model::object::pod::{Container, Pod};
use replank_model::time::Span;

/// Words of a shell after which a command runs nobody knows how often.
const LOOPS: [&str; 3] = ["while", "until", "for"];

/// Whether a hook runs before the signal of which the spec does not tell how long it takes.
#[must_use]
pub fn has_untold_hook(pod: &Pod) -> bool {
    let has_hook = |container: &Container| {
        container.lifecycle.as_ref().is_some_and(|lifecycle| lifecycle.pre_stop.is_some())
    };
    pod.spec.containers.iter().any(|container| has_hook(container) && pre_stop(container).is_none())
}

/// How long a container's hook takes, where it says so: a sleep, or a command that sleeps.
pub(super) fn pre_stop(container: &Container) -> Option<Span> {
    let hook = container.lifecycle.as_ref()?.pre_stop.as_ref()?;
    if let Some(sleep) = &hook.sleep {
        return Some(Span::from_secs(sleep.seconds));
    }
    slept(hook.exec.as_ref()?.command.iter().map(|word| &**word))
}

/// How long a command sleeps that says so: `["sleep", "15"]`, `["/bin/sh", "-c", "sleep 15"]`, `["sh", "-c", "sleep 5; nginx -s quit; sleep 10"]`: all sleeps together, unless
/// they are in a loop or sleep for a variable.
#[must_use]
pub fn slept<'w>(command: impl IntoIterator<Item = &'w str>) -> Option<Span> {
    let breaks = |at: char| at.is_whitespace() || matches!(at, ';' | '&' | '|' | '(' | ')' | '"' | '\'');
    let words: Vec<&str> =
        command.into_iter().flat_map(|text| text.split(breaks)).filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| LOOPS.contains(word)) {
        return None;
    }
    let is_sleep = |word: &&str| *word == "sleep" || word.ends_with("/sleep");
    let each = words.iter().enumerate().filter(|(_, word)| is_sleep(word));
    let spans: Vec<Span> =
        each.map(|(at, _)| words.get(at + 1).and_then(|word| length(word))).collect::<Option<_>>()?;
    (!spans.is_empty()).then(|| spans.into_iter().fold(Span::ZERO, |sum, span| sum + span))
}

/// What `sleep` takes: a number with a unit or without.
fn length(word: &str) -> Option<Span> {
    let unit = |unit: char| match unit {
        's' => Some(1.0),
        'm' => Some(60.0),
        'h' => Some(3600.0),
        'd' => Some(86_400.0),
        _ => None,
    };
    let by = word.chars().next_back().and_then(unit);
    let number = if by.is_some() { &word[..word.len() - 1] } else { word };
    let seconds = number.parse::<f64>().ok()? * by.unwrap_or(1.0);
    // Below a million seconds: the cast holds.
    (0.0..1e6).contains(&seconds).then(|| Span::from_millis((seconds * 1000.0) as i64))
}
