//! In which order it is told what waits.
//!
//! It is told by name, and nearly all of it was told by the decision before, in order. So places in that list are compared, which are found by the addresses of names:
//! to compare the names themselves, each of them somewhere else in memory, would take longer than to find what waits.

use std::cmp::Ordering;

use replank_model::text::Text;
use replank_protocol::waiting::{Subject, Waiting};
use rustc_hash::FxHashMap;

/// Puts what waits in order; of several reasons for one thing the first stays. The last list is in order.
pub(crate) fn sort(waits: &mut Vec<Waiting>, last: &[Waiting]) {
    let mut order = places(waits, last);
    let name = |number: usize| &waits[number].what;
    // Numbers are sorted, for each wait is as large as a dozen of them; then each wait is moved once.
    order.sort_unstable_by(|(a, one), (b, other)| {
        let by_name = || if is_new(*a) { name(*one).cmp(name(*other)) } else { Ordering::Equal };
        a.cmp(b).then_with(by_name).then(one.cmp(other))
    });
    let is_again = |pair: &[(usize, usize)]| {
        let ((a, one), (b, other)) = (pair[0], pair[1]);
        a == b && (!is_new(a) || name(one) == name(other))
    };
    let again: Vec<usize> =
        order.windows(2).enumerate().filter(|(_, pair)| is_again(pair)).map(|(place, _)| place + 1).collect();
    for place in 0..order.len() {
        let (_, mut from) = order[place];
        // What was there at first has been moved to where another one was taken from.
        while from < place {
            (_, from) = order[from];
        }
        order[place].1 = from;
        waits.swap(place, from);
    }
    if !again.is_empty() {
        let mut place = 0;
        waits.retain(|_| {
            place += 1;
            again.binary_search(&(place - 1)).is_err()
        });
    }
}

/// For each of what waits, with its number: its place in the last list, twice and one more; or where it would be put there, twice.
fn places(waits: &[Waiting], last: &[Waiting]) -> Vec<(usize, usize)> {
    let named = last.iter().enumerate().filter_map(|(place, one)| Some((address(&one.what)?, place)));
    let known: FxHashMap<*const u8, usize> = named.collect();
    let place = |what: &Subject| {
        let known = address(what).and_then(|address| known.get(&address).copied());
        if let Some(place) = known.filter(|place| last[*place].what == *what) {
            return 2 * place + 1;
        }
        match last.binary_search_by(|one| one.what.cmp(what)) {
            Ok(place) => 2 * place + 1,
            Err(place) => 2 * place,
        }
    };
    waits.iter().enumerate().map(|(number, one)| (place(&one.what), number)).collect()
}

fn is_new(place: usize) -> bool {
    place.is_multiple_of(2)
}

/// Where its name is in memory. Another of that name may have its own elsewhere.
fn address(what: &Subject) -> Option<*const u8> {
    let name: &Text = match what {
        Subject::Run => return None,
        Subject::Group(name) | Subject::Bounds(name) => name.text(),
        Subject::Instance(id) => id.text(),
        Subject::Node(name) => name.text(),
        Subject::Pod(key) => key.name.text(),
        Subject::Object(text) => text,
        Subject::Message(id) => id.text(),
    };
    Some(name.as_ptr())
}

#[cfg(test)]
mod tests {
    use replank_model::object::meta::Key;
    use replank_model::text::{GroupName, Name, Namespace};
    use replank_protocol::waiting::{RunWait, WaitingOn};

    use super::*;

    fn waiting(what: &Subject, why: usize) -> Waiting {
        let on = WaitingOn::Run(RunWait::Effect { what: why.to_string().into() });
        Waiting { what: what.clone(), on }
    }

    #[test]
    fn the_order_is_that_of_names_whatever_was_told_before() {
        let key = |namespace: &str, name: &Name| {
            Subject::Pod(Key { namespace: Namespace::from(namespace), name: name.clone() })
        };
        let (name, group) = (Name::from("b"), GroupName::from("web"));
        let subjects = [
            key("shop", &name),
            Subject::Bounds(group.clone()),
            key("shop", &Name::from("a")),
            Subject::Run,
            // Of one name with others, and not them.
            key("bank", &name),
            Subject::Group(group),
            key("shop", &Name::from("b")),
            Subject::Run,
        ];
        let found: Vec<Waiting> = subjects
            .iter()
            .chain(&subjects[2..5])
            .enumerate()
            .map(|(why, what)| waiting(what, why))
            .collect();
        let mut wanted = found.clone();
        wanted.sort_by(|a, b| a.what.cmp(&b.what));
        wanted.dedup_by(|later, first| later.what == first.what);
        for count in 0..subjects.len() {
            for from in 0..subjects.len() - count {
                let mut last = found[from..from + count].to_vec();
                sort(&mut last, &[]);
                let mut told = found.clone();
                sort(&mut told, &last);
                assert_eq!(told, wanted);
            }
        }
    }
}
