//! In which order it is told what waits.
//!
//! It is told by name, and nearly all of it was told by the decision before, which found it in the same order. So each thing is looked for where that one found
//! it next: to compare names, each of them somewhere else in memory, would take longer than to find what waits.

use std::cmp::Ordering;

use replank_model::text::Text;
use replank_protocol::wait_list::WaitList;
use replank_protocol::waiting::{Subject, Waiting};

/// How many things that wait no more are passed over at once.
const AHEAD: usize = 8;

/// Of what is in no place.
const NOWHERE: u32 = u32::MAX;

/// Puts what waits in order; of several reasons for one thing the first stays. Tells the place of each, in the order in which they were found.
pub(crate) fn sort(waits: &mut Vec<Waiting>, last: &WaitList) -> Vec<u32> {
    let (mut order, left) = order(waits, last);
    let mut places = vec![NOWHERE; waits.len()];
    for (place, number) in (0..).zip(&order[..left]) {
        places[*number] = place;
    }
    places.retain(|place| *place != NOWHERE);
    // Each wait is as large as a dozen numbers, and is moved once.
    for place in 0..order.len() {
        let mut from = order[place];
        // What was there at first has been moved to where another one was taken from.
        while from < place {
            from = order[from];
        }
        order[place] = from;
        waits.swap(place, from);
    }
    waits.truncate(left);
    places
}

/// The numbers of what waits, in order, then those of what is said already; how many the former are.
fn order(waits: &[Waiting], last: &WaitList) -> (Vec<usize>, usize) {
    let mut again = Vec::new();
    let mut known = vec![None; last.own().len()];
    let mut new: Vec<(usize, usize)> = Vec::new();
    let mut following = Following::new(last);
    for (number, one) in waits.iter().enumerate() {
        match following.place(&one.what) {
            Ok(place) if known[place].is_none() => known[place] = Some(number),
            Ok(_) => again.push(number),
            Err(place) => new.push((place, number)),
        }
    }
    let name = |number: usize| &waits[number].what;
    let by_name =
        |a: &(usize, usize), b: &(usize, usize)| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(name(b.1)));
    // Stable: of two reasons for one thing the first stays.
    new.sort_by(by_name);
    new.dedup_by(|later, first| {
        let is_again = by_name(later, first) == Ordering::Equal;
        again.extend(is_again.then_some(later.1));
        is_again
    });
    let mut order = Vec::with_capacity(waits.len());
    let mut new = new.into_iter().peekable();
    for (place, number) in known.into_iter().enumerate() {
        while let Some((_, number)) = new.next_if(|(before, _)| *before <= place) {
            order.push(number);
        }
        order.extend(number);
    }
    order.extend(new.map(|(_, number)| number));
    let left = order.len();
    order.append(&mut again);
    (order, left)
}

/// Goes through what was told last, in the order in which that was found.
struct Following<'w> {
    last: &'w WaitList,
    /// Which of it comes next.
    next: usize,
    /// Which of it is at each place; made when it is first asked for.
    at: Option<Vec<usize>>,
}

impl<'w> Following<'w> {
    fn new(last: &'w WaitList) -> Self {
        Self { last, next: 0, at: None }
    }

    /// The place of something in the last list; otherwise the one that it would be put before.
    fn place(&mut self, what: &Subject) -> Result<usize, usize> {
        let (own, found) = (self.last.own(), self.last.found());
        let ahead = found[self.next..].iter().take(AHEAD).map(|place| *place as usize);
        let is_this = |place: usize| {
            let known = &own[place].what;
            address(known) == address(what) && known == what
        };
        for (passed, place) in ahead.enumerate() {
            if is_this(place) {
                self.next += passed + 1;
                return Ok(place);
            }
        }
        let place = own.binary_search_by(|one| one.what.cmp(what))?;
        if !found.is_empty() {
            let at = self.at.get_or_insert_with(|| {
                let mut at = vec![0; found.len()];
                found.iter().enumerate().for_each(|(number, place)| at[*place as usize] = number);
                at
            });
            self.next = at[place] + 1;
        }
        Ok(place)
    }
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
    use replank_protocol::wait_list::Shelves;
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
                let places = sort(&mut last, &WaitList::default());
                for places in [places, Vec::new()] {
                    let last = WaitList::found_as(last.clone(), places, Shelves::default());
                    let mut told = found.clone();
                    let places = sort(&mut told, &last);
                    assert_eq!(told, wanted);
                    let again = |place: &u32| told[*place as usize].clone();
                    let mut first = found.clone();
                    first.retain(|one| told.contains(one));
                    assert_eq!(places.iter().map(again).collect::<Vec<_>>(), first);
                }
            }
        }
    }
}
