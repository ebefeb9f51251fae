//! `allOf`, `anyOf`, `oneOf` and `not`.

use serde_json::Value;

use super::found::Found;
use crate::problem::{Problem, quoted};
use crate::schema::Schema;

/// What a value is worth by one schema: the alternatives are schemas like any other.
type Judge = fn(&Value, Option<&Value>, &Schema, &str) -> Found;

pub(super) fn check(value: &Value, old: Option<&Value>, schema: &Schema, path: &str, judge: Judge) -> Found {
    let mut found = Found::default();
    let told = |what: &str| Problem::invalid("<nil>", "\"\"", &format!("{} must {what}", quoted(path)));
    if !schema.any_of.is_empty() {
        let (passed, best) = alternatives(&schema.any_of, |one| judge(value, old, one, path));
        if passed == 0 {
            found.problems.push(told("validate at least one schema (anyOf)"));
            found.merge(best);
        }
    }
    if !schema.one_of.is_empty() {
        let (passed, best) = alternatives(&schema.one_of, |one| judge(value, old, one, path));
        if passed == 0 {
            found.problems.push(told("validate one and only one schema (oneOf). Found none valid"));
            found.merge(best);
        } else if passed > 1 {
            let what = format!("validate one and only one schema (oneOf). Found {passed} valid alternatives");
            found.problems.push(told(&what));
        }
    }
    if !schema.all_of.is_empty() {
        let mut passed = 0;
        for one in &schema.all_of {
            let result = judge(value, old, one, path);
            passed += usize::from(result.problems.is_empty());
            found.merge(result);
        }
        if passed == 0 {
            found.problems.push(told("validate all the schemas (allOf). None validated"));
        } else if passed < schema.all_of.len() {
            found.problems.push(told("validate all the schemas (allOf)"));
        }
    }
    if let Some(not) = &schema.not
        && judge(value, old, not, path).problems.is_empty()
    {
        found.problems.push(told("not validate the schema (not)"));
    }
    found
}

/// How many hold, and what is said by the one that fails latest.
fn alternatives(all: &[Schema], judge: impl Fn(&Schema) -> Found) -> (usize, Found) {
    let mut passed = 0;
    let mut best: Option<Found> = None;
    for one in all {
        let result = judge(one);
        if result.problems.is_empty() {
            passed += 1;
        } else if best.as_ref().is_none_or(|best| result.looked_at > best.looked_at) {
            best = Some(result);
        }
    }
    (passed, best.unwrap_or_default())
}
