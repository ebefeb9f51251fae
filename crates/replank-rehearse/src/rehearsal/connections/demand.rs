//! What clients ask of a workload.

use std::fmt;

use replank_facts::shutdown::{Balancer, Path};
use replank_model::object::meta::Key;
use replank_model::time::Span;

/// Requests, or connections, of one length that come evenly.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// Namespace and name of the workload.
    pub workload: Key,
    /// How many begin each second, on all of its pods together.
    pub per_second: f64,
    /// How long each takes.
    pub length: Span,
    /// By which way they come; `None`: as the Services and Ingresses of the snapshot say.
    pub path: Option<Path>,
}

/// What is wrong in a demand.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected NAMESPACE/NAME=RATE,LENGTH such as web/frontend=50/s,20s, found {text:?}: {why}")]
pub struct DemandError {
    text: String,
    why: &'static str,
}

/// Words for a way, and the way.
const PATHS: [(&str, Path); 7] = [
    ("cluster", Path::Proxy),
    ("alb-ip", Path::AlbIp { delay: Path::DELAY }),
    ("nlb-ip", Path::NlbIp { delay: Path::DELAY }),
    ("alb-instance", Path::Nodes { balancer: Balancer::Alb, delay: Path::DELAY }),
    ("nlb-instance", Path::Nodes { balancer: Balancer::Nlb, delay: Path::DELAY }),
    ("classic", Path::Nodes { balancer: Balancer::Classic, delay: Span::ZERO }),
    ("local", Path::Local { balancer: Balancer::Nlb, interval: Span::from_secs(10), failures: 3 }),
];

impl Demand {
    /// Reads `web/frontend=50/s,20s` or `web/frontend=3000/m,20s,nlb-ip`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, DemandError> {
        let wrong = |why| DemandError { text: text.to_owned(), why };
        let (workload, what) = text.trim().split_once('=').ok_or(wrong("there is no ="))?;
        let key = match workload.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Key::new(namespace, name)
            }
            Some(_) | None => return Err(wrong("the workload lacks its namespace or name")),
        };
        let mut parts = what.split(',').map(str::trim);
        let per_second =
            parts.next().and_then(rate).ok_or(wrong("the rate must be a number with /s, /m or /h"))?;
        let length =
            parts.next().and_then(|part| part.parse::<Span>().ok()).filter(|span| *span > Span::ZERO);
        let length = length.ok_or(wrong("the length must be a duration above 0, such as 20s"))?;
        let path = match parts.next() {
            None => None,
            Some(word) => {
                let known = PATHS.iter().find(|(known, _)| *known == word);
                let unknown =
                    "the path must be cluster, alb-ip, nlb-ip, alb-instance, nlb-instance, classic or local";
                Some(known.ok_or(wrong(unknown))?.1)
            }
        };
        if parts.next().is_some() {
            return Err(wrong("unexpected text after the path"));
        }
        Ok(Self { workload: key, per_second, length, path })
    }

    /// Reads a file: one demand a line; empty lines and lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn read_all(text: &str) -> Result<Vec<Self>, DemandError> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(Self::read).collect()
    }
}

fn rate(text: &str) -> Option<f64> {
    let (count, unit) = text.split_once('/')?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let count: f64 = count.parse().ok()?;
    (count.is_finite() && count > 0.0).then(|| count / seconds)
}

/// As a person reads it: `50/s of 20s`.
impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.per_second >= 1.0 {
            write!(f, "{}/s of {}", shown(self.per_second), self.length)
        } else {
            write!(f, "{}/h of {}", shown(self.per_second * 3600.0), self.length)
        }
    }
}

/// With one decimal where it is not whole.
fn shown(rate: f64) -> String {
    let text = format!("{rate:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demands_are_read_and_shown() {
        let demand = Demand::read("web/frontend=50/s,20s").expect("it is right");
        assert_eq!(demand.workload, Key::new("web", "frontend"));
        assert_eq!((demand.per_second, demand.length, demand.path), (50.0, Span::from_secs(20), None));
        assert_eq!(demand.to_string(), "50/s of 20s");
        let slow = Demand::read(" chat/ws=90/m,2h,nlb-ip ").expect("it is right");
        assert_eq!(slow.path, Some(Path::NlbIp { delay: Path::DELAY }));
        assert_eq!(slow.to_string(), "1.5/s of 2h");
        assert_eq!(Demand::read("a/b=9/h,1m").expect("it is right").to_string(), "9/h of 1m");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, why) in [
            ("frontend", "there is no ="),
            ("frontend=50/s,20s", "the workload lacks its namespace or name"),
            ("web/frontend=50,20s", "the rate must be a number with /s, /m or /h"),
            ("web/frontend=0/s,20s", "the rate must be a number with /s, /m or /h"),
            ("web/frontend=50/s", "the length must be a duration above 0, such as 20s"),
            ("web/frontend=50/s,0s", "the length must be a duration above 0, such as 20s"),
            (
                "web/frontend=50/s,20s,tram",
                "the path must be cluster, alb-ip, nlb-ip, alb-instance, nlb-instance, classic or local",
            ),
            ("web/frontend=50/s,20s,local,x", "unexpected text after the path"),
        ] {
            let told = Demand::read(text).expect_err(text).to_string();
            assert!(told.ends_with(&format!("found {text:?}: {why}")), "{told}");
        }
        let all = "# peak\nweb/frontend=50/s,20s\n\nweb/api=1/s,1s\n";
        assert_eq!(Demand::read_all(all).expect("it is right").len(), 2);
        assert!(Demand::read_all("web/api=1/s,1s\nweb\n").is_err());
    }
}
