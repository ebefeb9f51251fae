//! Clusters that are tried several at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, bail};

/// What is tried of each, so many at a time: in the order of the items. One that fails does not keep the others from being tried.
pub(crate) fn tried<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    of: impl Fn(&T) -> Result<R> + Sync,
) -> Vec<Result<R>> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Result<R>>>> = items.iter().map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1).min(items.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    let outcome = of(item);
                    *done[index].lock().expect("nothing panicked with it") = Some(outcome);
                }
            });
        }
    });
    let outcomes = done.into_iter().map(|cell| cell.into_inner().expect("nothing panicked with it"));
    outcomes.map(|outcome| outcome.unwrap_or_else(|| bail!("it was not tried"))).collect()
}

/// Those that are named, in that order; all of them if none is.
///
/// # Errors
/// Where there is none of such a name.
pub(crate) fn named<T: Clone>(all: Vec<T>, names: &[String], name_of: impl Fn(&T) -> &str) -> Result<Vec<T>> {
    if names.is_empty() {
        return Ok(all);
    }
    let known = all.iter().map(&name_of).collect::<Vec<_>>().join(", ");
    let find = |name: &String| {
        let found = all.iter().find(|one| name_of(one) == name.as_str()).cloned();
        found.with_context(|| format!("there is no cluster {name:?}: there are {known}"))
    };
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_come_in_the_order_of_the_items_whatever_fails() {
        let outcomes =
            tried(&[3, 0, 2, 1], 2, |number| if *number == 0 { bail!("none") } else { Ok(number * 2) });
        let values: Vec<Option<i32>> = outcomes.into_iter().map(Result::ok).collect();
        assert_eq!(values, [Some(6), None, Some(4), Some(2)]);
    }

    #[test]
    fn a_name_that_is_none_is_told_with_those_there_are() {
        let all = || vec!["plain", "tight"];
        assert_eq!(named(all(), &[], |name| name).expect("all"), all());
        assert_eq!(named(all(), &["tight".to_owned()], |name| name).expect("one"), ["tight"]);
        let error = named(all(), &["plan".to_owned()], |name| name).expect_err("there is none");
        assert_eq!(error.to_string(), "there is no cluster \"plan\": there are plain, tight");
    }
}
