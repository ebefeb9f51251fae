//! Macros that go through a list or a map.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::walk::{Evaluated, Evaluation};
use crate::ast::{Each, Expr, What};
use crate::equal::compare;
use crate::value::{Failure, Key, Val};

/// Index or key, and value.
type Entry = (Val, Val);

impl Evaluation<'_> {
    pub(super) fn each(&mut self, each: &Each) -> Evaluated {
        let range = self.value(&each.range)?;
        let entries: Vec<Entry> = match &range {
            Val::List(list) => {
                let index = |index: usize| Val::Int(i64::try_from(index).unwrap_or(i64::MAX));
                list.items.iter().enumerate().map(|(at, item)| (index(at), item.clone())).collect()
            }
            Val::Map(map) => map.iter().map(|(key, value)| (key.value(), value.clone())).collect(),
            _ => return Err(Failure::no_overload()),
        };
        let is_list = matches!(range, Val::List(_));
        match each.what {
            What::All => self.quantified(each, &entries, is_list, false),
            What::Exists => self.quantified(each, &entries, is_list, true),
            What::ExistsOne => {
                let mut count = 0;
                for entry in &entries {
                    count += usize::from(self.holds(each, entry, is_list, &each.body)?);
                }
                Ok(Val::Bool(count == 1))
            }
            What::Filter => {
                let mut kept = Vec::new();
                for entry in &entries {
                    if self.holds(each, entry, is_list, &each.body)? {
                        kept.push(if is_list { entry.1.clone() } else { entry.0.clone() });
                    }
                }
                Ok(Val::list(kept))
            }
            What::Map | What::TransformList => {
                let made = self.made(each, &entries, is_list)?;
                Ok(Val::list(made.into_iter().map(|(_, value)| value).collect()))
            }
            What::TransformMap => {
                let mut map: BTreeMap<Key, Val> = BTreeMap::new();
                for ((key, _), value) in self.made(each, &entries, is_list)? {
                    map.insert(key.key().ok_or_else(Failure::no_overload)?, value);
                }
                Ok(Val::Map(Arc::new(map)))
            }
            What::SortBy => {
                let mut made = self.made(each, &entries, is_list)?;
                made.sort_by(|one, other| compare(&one.1, &other.1).unwrap_or(Ordering::Equal));
                Ok(Val::list(made.into_iter().map(|((_, value), _)| value).collect()))
            }
        }
    }

    /// The value of an expression about an entry.
    fn about(&mut self, each: &Each, (key, value): &Entry, is_list: bool, of: &Expr) -> Evaluated {
        self.spend()?;
        let Some(second) = &each.second else {
            let item = if is_list { value } else { key };
            return self.with(&each.first, item.clone(), of);
        };
        self.bound.push((each.first.clone(), key.clone()));
        let made = self.with(second, value.clone(), of);
        self.bound.pop();
        made
    }

    fn holds(&mut self, each: &Each, entry: &Entry, is_list: bool, of: &Expr) -> Result<bool, Failure> {
        match self.about(each, entry, is_list, of)? {
            Val::Bool(flag) => Ok(flag),
            _ => Err(Failure::no_overload()),
        }
    }

    /// `all` and `exists`: an entry that decides makes up for an error at another.
    fn quantified(&mut self, each: &Each, entries: &[Entry], is_list: bool, decides: bool) -> Evaluated {
        let mut failure = None;
        for entry in entries {
            match self.holds(each, entry, is_list, &each.body) {
                Ok(flag) if flag == decides => return Ok(Val::Bool(decides)),
                Ok(_) => {}
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(error) => Err(error),
            None => Ok(Val::Bool(!decides)),
        }
    }

    /// What is made of each entry that counts.
    fn made(&mut self, each: &Each, entries: &[Entry], is_list: bool) -> Result<Vec<(Entry, Val)>, Failure> {
        let mut made = Vec::new();
        for entry in entries {
            if let Some(filter) = &each.filter
                && !self.holds(each, entry, is_list, filter)?
            {
                continue;
            }
            made.push((entry.clone(), self.about(each, entry, is_list, &each.body)?));
        }
        Ok(made)
    }
}
