//! Which of our interchangeable pods and nodes is which of the recorded.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::log::Seen;
use super::stage::Run;

/// What each of ours is called.
pub(super) type Renaming = BTreeMap<String, String>;

/// All ways to permute nodes within their groups.
pub(super) fn permutations(groups: &[Vec<String>]) -> Vec<Renaming> {
    let mut all = vec![Renaming::new()];
    for group in groups {
        let orders = orders(group.len());
        all = all
            .into_iter()
            .flat_map(|renaming| {
                orders.iter().map(move |order| {
                    let mut renaming = renaming.clone();
                    for (at, to) in order.iter().enumerate() {
                        renaming.insert(group[at].clone(), group[*to].clone());
                    }
                    renaming
                })
            })
            .collect();
    }
    all
}

fn orders(length: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..length {
        all = all
            .into_iter()
            .flat_map(|order| {
                (0..length)
                    .filter(|next| !order.contains(next))
                    .map(|next| {
                        let mut order = order.clone();
                        order.push(next);
                        order
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

/// The assignment of ours to theirs that costs least in sum (Hungarian algorithm, with potentials).
pub(super) fn assign(group: &[String], cost: impl Fn(&str, &str) -> i64) -> Renaming {
    let n = group.len();
    let costs: Vec<Vec<i64>> =
        group.iter().map(|ours| group.iter().map(|theirs| cost(ours, theirs)).collect()).collect();
    // Rows and columns count from 1; 0 is the row or column that is not yet matched.
    let (mut row_potential, mut column_potential) = (vec![0i64; n + 1], vec![0i64; n + 1]);
    let mut row_of = vec![0usize; n + 1];
    for row in 1..=n {
        row_of[0] = row;
        let mut column = 0;
        let (mut least, mut seen, mut way) = (vec![i64::MAX; n + 1], vec![false; n + 1], vec![0usize; n + 1]);
        loop {
            seen[column] = true;
            let (from, mut delta, mut next) = (row_of[column], i64::MAX, 0);
            for to in 1..=n {
                if seen[to] {
                    continue;
                }
                let reduced = costs[from - 1][to - 1] - row_potential[from] - column_potential[to];
                if reduced < least[to] {
                    (least[to], way[to]) = (reduced, column);
                }
                if least[to] < delta {
                    (delta, next) = (least[to], to);
                }
            }
            for to in 0..=n {
                if seen[to] {
                    row_potential[row_of[to]] += delta;
                    column_potential[to] -= delta;
                } else {
                    least[to] = least[to].saturating_sub(delta);
                }
            }
            column = next;
            if row_of[column] == 0 {
                break;
            }
        }
        while column != 0 {
            let previous = way[column];
            row_of[column] = row_of[previous];
            column = previous;
        }
    }
    (1..=n).map(|column| (group[row_of[column] - 1].clone(), group[column - 1].clone())).collect()
}

/// The run with names put in the place of others, wherever they stand.
pub(super) fn rename(run: &Run, renaming: &Renaming) -> Run {
    if renaming.iter().all(|(from, to)| from == to) {
        return run.clone();
    }
    let text = |text: &str| rename_text(text, renaming);
    let events = run
        .events
        .iter()
        .map(|seen| Seen {
            name: text(&seen.name),
            value: rename_value(&seen.value, renaming),
            ..seen.clone()
        })
        .collect();
    let finals = run
        .finals
        .iter()
        .map(|((kind, name), state)| {
            let state = state.iter().map(|(key, value)| (key.clone(), rename_value(value, renaming)));
            ((kind.clone(), text(name)), state.collect())
        })
        .collect();
    Run { events, finals, problems: run.problems.clone() }
}

/// A whole name, a name behind `Kind/`, or a node's name in the braces of a daemon pod's.
fn rename_text(text: &str, renaming: &Renaming) -> String {
    if let Some(to) = renaming.get(text) {
        return to.clone();
    }
    if let Some((kind, name)) = text.split_once('/')
        && let Some(to) = renaming.get(name)
    {
        return format!("{kind}/{to}");
    }
    for (from, to) in renaming {
        let (from, to) = (format!("{{{from}}}"), format!("{{{to}}}"));
        if text.contains(&from) {
            return text.replacen(&from, &to, 1);
        }
    }
    text.to_owned()
}

fn rename_value(value: &Value, renaming: &Renaming) -> Value {
    match value {
        Value::String(text) => Value::from(rename_text(text, renaming)),
        Value::Array(items) => items.iter().map(|item| rename_value(item, renaming)).collect(),
        Value::Object(members) => {
            let renamed: Map<String, Value> = members
                .iter()
                .map(|(key, value)| (rename_text(key, renaming), rename_value(value, renaming)))
                .collect();
            Value::Object(renamed)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_assignment_is_found() {
        let group: Vec<String> = ["a", "b", "c"].map(str::to_owned).into();
        let costs = [[4, 1, 3], [2, 0, 5], [3, 2, 2]];
        let at = |name: &str| group.iter().position(|known| known == name).unwrap();
        let found = assign(&group, |ours, theirs| costs[at(ours)][at(theirs)]);
        let sum: i64 = found.iter().map(|(ours, theirs)| costs[at(ours)][at(theirs)]).sum();
        assert_eq!(sum, 5);
    }

    #[test]
    fn permutations_are_all_there() {
        let groups =
            [vec!["a".to_owned(), "b".to_owned(), "c".to_owned()], vec!["d".to_owned(), "e".to_owned()]];
        assert_eq!(permutations(&groups).len(), 12);
        assert_eq!(permutations(&[]).len(), 1);
    }

    #[test]
    fn names_are_renamed_wherever_they_stand() {
        let renaming = Renaming::from([("p".to_owned(), "q".to_owned()), ("n1".to_owned(), "n2".to_owned())]);
        assert_eq!(rename_text("Pod/p", &renaming), "Pod/q");
        assert_eq!(rename_text("agent-{n1}-{pod-1}", &renaming), "agent-{n2}-{pod-1}");
        assert_eq!(
            rename_value(&serde_json::json!({"p": ["p", 1]}), &renaming),
            serde_json::json!({"q": ["q", 1]})
        );
    }
}
