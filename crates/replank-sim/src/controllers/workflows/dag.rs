//! Tasks of a `dag`, and what each waits for (argo-workflows `workflow/controller/dag.go`, `common/ancestry.go`, docs/enhanced-depends-logic).

use std::collections::BTreeMap;

use serde_json::Value;

use super::conditions::holds;
use super::flow::goes_on;
use super::run::State;

/// The tasks of one template.
pub(super) struct Dag<'a> {
    tasks: Vec<Task<'a>>,
    states: BTreeMap<usize, State>,
    /// Whether a task that failed keeps others from being begun.
    fails_fast: bool,
    targets: Vec<usize>,
}

struct Task<'a> {
    value: &'a Value,
    name: &'a str,
    /// What must be, as a text.
    condition: String,
    /// Those that must have ended before it can be told.
    waits_for: Vec<usize>,
}

impl<'a> Dag<'a> {
    pub(super) fn of(dag: &'a Value) -> Self {
        let values = dag["tasks"].as_array().map_or(&[][..], Vec::as_slice);
        let names: Vec<&str> = values.iter().map(|task| task["name"].as_str().unwrap_or_default()).collect();
        let continues = |name: &str| values.iter().any(|task| task["name"] == name && goes_on(task));
        let tasks: Vec<Task<'a>> = values
            .iter()
            .zip(&names)
            .map(|(value, name)| {
                let condition = condition(value, &continues);
                let is_named = |other: &str| words(&condition).any(|word| subject(word).0 == other);
                let waits_for = names.iter().enumerate().filter(|(_, other)| is_named(other));
                let waits_for = waits_for.map(|(at, _)| at).collect();
                Task { value, name, condition, waits_for }
            })
            .collect();
        let targets: Vec<usize> = match dag["target"].as_str().filter(|target| !target.is_empty()) {
            Some(target) => {
                let wanted: Vec<&str> = target.split_whitespace().collect();
                (0..tasks.len()).filter(|at| wanted.contains(&names[*at])).collect()
            }
            None => {
                let is_last = |at: &usize| !tasks.iter().any(|task| task.waits_for.contains(at));
                (0..tasks.len()).filter(is_last).collect()
            }
        };
        Self { tasks, states: BTreeMap::new(), fails_fast: dag["failFast"] != false, targets }
    }

    pub(super) fn task(&self, number: usize) -> &'a Value {
        self.tasks[number].value
    }

    /// The next task whose turn has come; those that nothing asks for are left out on the way.
    pub(super) fn next(&mut self) -> Option<usize> {
        loop {
            let is_ready = |at: &usize| {
                let ended =
                    |needed: &usize| self.states.get(needed).is_some_and(|state| *state != State::Open);
                !self.states.contains_key(at) && self.tasks[*at].waits_for.iter().all(ended)
            };
            let number = (0..self.tasks.len()).find(is_ready)?;
            if self.is_wanted(number) {
                return Some(number);
            }
            self.settle(number, State::Omitted);
        }
    }

    pub(super) fn settle(&mut self, number: usize, state: State) {
        self.states.insert(number, state);
    }

    fn is_wanted(&self, number: usize) -> bool {
        let task = &self.tasks[number];
        let atom = |words: &[&str]| match words {
            [word] => {
                let (name, result) = subject(word);
                let at = self.tasks.iter().position(|task| task.name == name)?;
                Some(has_result(*self.states.get(&at)?, result))
            }
            _ => None,
        };
        match task.condition.is_empty() {
            true => !self.has_failed(),
            // A text that cannot be read is refused when the Workflow is sent; nobody gets here with one.
            false => holds(&task.condition, &atom).unwrap_or(false),
        }
    }

    /// Whether something ended badly that nobody waits for in order to see to it.
    fn has_failed(&self) -> bool {
        let is_seen_to = |at: usize| {
            goes_on(self.tasks[at].value)
                || self.tasks.iter().any(|task| {
                    words(&task.condition).map(subject).any(|(name, result)| {
                        name == self.tasks[at].name
                            && matches!(result, Some("Failed" | "Errored" | "AllFailed"))
                    })
                })
        };
        self.fails_fast && self.states.iter().any(|(at, state)| *state == State::Bad && !is_seen_to(*at))
    }

    /// What all come to: that of the last ones; one that was left out counts as those before it.
    pub(super) fn state(&self) -> State {
        let is_open = self.states.values().any(|state| *state == State::Open)
            || (0..self.tasks.len()).any(|at| !self.states.contains_key(&at));
        if is_open {
            return State::Open;
        }
        State::of_end(!self.targets.iter().any(|at| self.is_bad_branch(*at, self.tasks.len())))
    }

    fn is_bad_branch(&self, at: usize, left: usize) -> bool {
        match self.states.get(&at) {
            Some(State::Good) => false,
            Some(State::Bad) => !goes_on(self.tasks[at].value),
            Some(State::Omitted | State::Skipped | State::Open) | None => {
                left > 0
                    && self.tasks[at].waits_for.iter().any(|before| self.is_bad_branch(*before, left - 1))
            }
        }
    }
}

/// What a task waits for, as a text: `depends`, or its `dependencies`, each of which must have gone well.
fn condition(task: &Value, continues: &dyn Fn(&str) -> bool) -> String {
    if let Some(text) = task["depends"].as_str() {
        return text.to_owned();
    }
    let listed = task["dependencies"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let one = |name: &str| match continues(name) {
        true => format!("({name} || {name}.Failed)"),
        false => name.to_owned(),
    };
    listed.map(one).collect::<Vec<String>>().join(" && ")
}

fn words(condition: &str) -> impl Iterator<Item = &str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    condition.split(move |c| !is_name(c)).filter(|word| !word.is_empty())
}

/// A task, and which result of it is asked for.
fn subject(word: &str) -> (&str, Option<&str>) {
    word.split_once('.').map_or((word, None), |(name, result)| (name, Some(result)))
}

fn has_result(state: State, result: Option<&str>) -> bool {
    match result {
        None => matches!(state, State::Good | State::Skipped),
        Some("Succeeded" | "AnySucceeded" | "Daemoned") => state == State::Good,
        Some("Failed" | "Errored" | "AllFailed") => state == State::Bad,
        Some("Skipped") => state == State::Skipped,
        Some("Omitted") => state == State::Omitted,
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Plays all tasks, those that are named ending badly: the order in which they came, and what it came to.
    fn played(dag: &Value, bad: &[&str]) -> (String, State) {
        let mut dag = Dag::of(dag);
        let mut order = Vec::new();
        while let Some(number) = dag.next() {
            let name = dag.tasks[number].name;
            order.push(name);
            dag.settle(number, State::of_end(!bad.contains(&name)));
        }
        (order.join(" "), dag.state())
    }

    #[test]
    fn tasks_come_when_what_they_depend_on_is_so() {
        let dag = json!({"tasks": [
            {"name": "late", "dependencies": ["a", "b"]}, {"name": "a"}, {"name": "b", "depends": "a"},
            {"name": "rescue", "depends": "b.Failed || b.Errored"}, {"name": "after", "depends": "late && (rescue || rescue.Omitted)"}]});
        assert_eq!(played(&dag, &[]), ("a b late after".to_owned(), State::Good));
        assert_eq!(
            played(&dag, &["b"]),
            ("a b rescue".to_owned(), State::Bad),
            "what depends on b is left out"
        );
    }

    #[test]
    fn a_failure_that_is_seen_to_does_not_fail_the_whole() {
        let dag = json!({"tasks": [{"name": "a"}, {"name": "rescue", "depends": "a.Failed"}]});
        assert_eq!(played(&dag, &["a"]), ("a rescue".to_owned(), State::Good));
        let dag = json!({"tasks": [{"name": "a", "continueOn": {"failed": true}}, {"name": "b", "dependencies": ["a"]}]});
        assert_eq!(played(&dag, &["a"]), ("a b".to_owned(), State::Good));
    }

    #[test]
    fn nothing_is_begun_after_a_failure_unless_the_dag_says_so() {
        let tasks = json!([{"name": "a"}, {"name": "b"}]);
        assert_eq!(played(&json!({"tasks": tasks}), &["a"]), ("a".to_owned(), State::Bad));
        assert_eq!(
            played(&json!({"tasks": tasks, "failFast": false}), &["a"]),
            ("a b".to_owned(), State::Bad)
        );
    }

    #[test]
    fn targets_are_what_counts_and_circles_wait_for_ever() {
        let dag = json!({"target": "a", "failFast": false, "tasks": [{"name": "a"}, {"name": "b"}]});
        assert_eq!(played(&dag, &["b"]).1, State::Good);
        let circle = json!({"tasks": [{"name": "a", "depends": "b"}, {"name": "b", "depends": "a"}]});
        assert_eq!(played(&circle, &[]), (String::new(), State::Open));
    }
}
