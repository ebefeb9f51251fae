//! What has been made to go wrong in a served cluster, in the words of scripts, and how it ends.

use replank_aws::{Account, trouble};
use replank_model::time::Time;
use replank_sim::World;
use replank_sim::script::{AsGiven, forms, happen, what_of};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What has been made to go wrong, in the order in which it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Faults(Vec<Fault>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fault {
    number: usize,
    words: String,
    started: Time,
    /// The words that end it, where it goes on until somebody does.
    ends_with: Option<String>,
    cleared: Option<Time>,
}

/// Where something can go wrong: in the world, and in the account beside it.
pub(crate) struct Ground<'g> {
    world: &'g mut World,
    account: Option<&'g mut Account>,
}

impl<'g> Ground<'g> {
    pub(crate) fn of(world: &'g mut World, account: Option<&'g mut Account>) -> Self {
        Self { world, account }
    }

    fn make(&mut self, words: &str) -> Result<(), String> {
        if let Some(read) = trouble::read(words) {
            let trouble = read?;
            return match &mut self.account {
                Some(account) => {
                    account.begin(&trouble);
                    Ok(())
                }
                // Without an account, the world's own queue is meant.
                None if words.starts_with("queue ") => make(self.world, words),
                None => Err("no account is served: start the cluster with --aws".to_owned()),
            };
        }
        make(self.world, words)
    }

    /// The words that end what has been made to go wrong with some words.
    fn ending(&self, words: &str) -> Option<String> {
        let of_account = trouble::ending(words).filter(|_| self.account.is_some());
        of_account.or_else(|| ending(words))
    }
}

/// How the words of what goes on end, and how those begin that end it.
const ENDS: [(&str, &str); 6] = [
    (" runs out", " is back"),
    (" gets stuck", " gets unstuck"),
    (" get stuck", " get unstuck"),
    (" unready", " ready"),
    (" falls silent", " speaks again"),
    (" fails its status checks", " passes its status checks"),
];

/// The words that end what has been made to go wrong with some words.
fn ending(words: &str) -> Option<String> {
    for image in [
        " cannot stop pods",
        " crashes pods",
        " keeps pods unready",
        " slows starts by ",
        " restarts pods every ",
        " gives nodes ",
        " breaks DNS",
    ] {
        if let Some((which, _)) = words.split_once(image) {
            return Some(format!("{which} recovers"));
        }
    }
    if let Some((rate, period)) = rate(words) {
        return Some(words.replace(&format!(" {rate} {period}"), &format!(" 0% {period}")));
    }
    let of_targets =
        words.strip_prefix("new targets of group ").and_then(|rest| rest.strip_suffix(" stay unhealthy"));
    if let Some(group) = of_targets {
        return Some(format!("targets of group {group} recover"));
    }
    if words.starts_with("queue delivers one message in ") {
        return match words.ends_with(" twice") {
            true => Some("queue delivers one message in 10 twice".to_owned()),
            false => Some("queue delivers one message in 0 late by 0s".to_owned()),
        };
    }
    ENDS.iter().find_map(|(begun, over)| Some(format!("{}{over}", words.strip_suffix(begun)?)))
}

/// The rate in some words, and its period.
fn rate(words: &str) -> Option<(&str, &'static str)> {
    ["an hour", "a day"].into_iter().find_map(|period| {
        let before = words.split_once(&format!(" {period}"))?.0;
        let rate = before.rsplit(' ').next()?;
        rate.ends_with('%').then_some((rate, period))
    })
}

impl Faults {
    /// What can go wrong, and what has been made to.
    pub(crate) fn list(&self, has_account: bool) -> Value {
        let of_account = trouble::FORMS.into_iter().filter(|_| has_account);
        let forms: Vec<Value> = forms()
            .map(|form| (form.pattern, form.meaning))
            .chain(of_account)
            .map(|(words, meaning)| json!({"words": words, "meaning": meaning}))
            .collect();
        json!({"started": self.0, "known": forms})
    }

    /// Makes something go wrong.
    ///
    /// # Errors
    /// The words mean nothing, or it cannot be at present.
    pub(crate) fn start(&mut self, ground: &mut Ground<'_>, words: &str) -> Result<Value, String> {
        let words = words.trim();
        ground.make(words)?;
        let (number, started) = (self.0.len() + 1, ground.world.now());
        let ends_with = ground.ending(words);
        let fault = Fault { number, words: words.to_owned(), started, ends_with, cleared: None };
        let told = json!({"started": [fault]});
        self.0.push(fault);
        Ok(told)
    }

    /// Ends what goes on: all of it, or one.
    ///
    /// # Errors
    /// There is none of this number, it ends by itself, or it cannot be ended at present.
    pub(crate) fn clear(&mut self, ground: &mut Ground<'_>, number: Option<usize>) -> Result<Value, String> {
        if let Some(number) = number {
            let known = self.0.iter().find(|fault| fault.number == number);
            let known = known.ok_or_else(|| format!("there is no fault {number}"))?;
            if known.ends_with.is_none() {
                return Err(format!("`{}` is over: there is nothing to end", known.words));
            }
        }
        let mut cleared = Vec::new();
        let is_meant = |fault: &&mut Fault| {
            fault.cleared.is_none() && number.is_none_or(|number| fault.number == number)
        };
        for fault in self.0.iter_mut().filter(is_meant) {
            let Some(words) = &fault.ends_with else { continue };
            match ground.make(words) {
                Ok(()) => fault.cleared = Some(ground.world.now()),
                Err(why) if number.is_some() => return Err(why),
                // What it was about is gone, and it with it.
                Err(_) => fault.cleared = Some(ground.world.now()),
            }
            cleared.push(fault.clone());
        }
        Ok(json!({"cleared": cleared}))
    }

    /// How many go on.
    pub(crate) fn going_on(&self) -> usize {
        self.0.iter().filter(|fault| fault.ends_with.is_some() && fault.cleared.is_none()).count()
    }
}

fn make(world: &mut World, words: &str) -> Result<(), String> {
    let what = what_of(1, 1, words).map_err(|flaw| flaw.message)?;
    happen(world, &AsGiven, &what).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use replank_sim::script::forms;

    use super::*;

    #[test]
    fn what_goes_on_has_words_that_end_it() {
        let ends = |words: &str| ending(words).unwrap_or_default();
        assert_eq!(ends("image ami-1 cannot stop pods after 1h"), "image ami-1 recovers");
        assert_eq!(ends("new image crashes pods"), "new image recovers");
        assert_eq!(ends("new image slows starts by 6m"), "new image recovers");
        assert_eq!(ends("image ami-1 restarts pods every 15m"), "image ami-1 recovers");
        assert_eq!(ends("image ami-1 gives nodes DiskPressure after 2h"), "image ami-1 recovers");
        assert_eq!(ends("new image breaks DNS"), "new image recovers");
        assert_eq!(ends("spot capacity of any in any runs out"), "spot capacity of any in any is back");
        assert_eq!(
            ends("spot instances of any in any are taken back at 5% an hour"),
            "spot instances of any in any are taken back at 0% an hour"
        );
        assert_eq!(
            ends("instances of group a are retired at 1% a day with 2h notice"),
            "instances of group a are retired at 0% a day with 2h notice"
        );
        assert_eq!(ends("node a falls silent"), "node a speaks again");
        assert_eq!(ends("new targets of group a stay unhealthy"), "targets of group a recover");
        assert_eq!(ending("spot instance a is taken back"), None);
    }

    #[test]
    fn words_that_end_something_are_words_of_scripts() {
        let fill = |pattern: &str| {
            let of = |word: &str| match word {
                "KIND" => "Deployment".to_owned(),
                "OBJECT" | "POD" => "a/b".to_owned(),
                "DURATION" => "1h".to_owned(),
                "MARKET" => "spot".to_owned(),
                "CONDITION" => "DiskPressure".to_owned(),
                "RATE" => "5%".to_owned(),
                "COUNT" | "CODE" => "1".to_owned(),
                word if word.chars().all(|letter| letter.is_ascii_uppercase()) => "any".to_owned(),
                word => word.to_owned(),
            };
            pattern.split(' ').map(of).collect::<Vec<_>>().join(" ")
        };
        let mut count = 0;
        for form in forms() {
            if let Some(words) = ending(&fill(form.pattern)) {
                assert!(what_of(1, 1, &words).is_ok(), "{}: {words}", form.pattern);
                count += 1;
            }
        }
        assert!(count >= 15, "{count}");
    }
}
