//! `replank upgrade watch`: the dates ahead for one cluster, and whether what is installed in it is compatible with its version: for a job that runs once a month.

use replank_advice::upgrade::controllers::{Controller, Goes};
use replank_advice::upgrade::finding::Severity;
use replank_advice::upgrade::minor::Minor;
use replank_advice::upgrade::survey::{ControlPlane, KnownBy, survey};
use replank_facts::groups::GroupBy;
use replank_lifecycle::calendar::{Calendar, Day, Policy, Row, Support};
use replank_lifecycle::release::Release;
use replank_lifecycle::table::DATA_DATE;
use replank_model::time::Span;
use serde::Serialize;

use super::args::UpgradeWatchArgs;
use super::calendar::{in_words, support};
use super::plan::{Making, Planned, input, planned, words};
use crate::coverage;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::output::AnswerFormat;
use crate::printer::Printer;
use crate::report::words::count;
use crate::report::{Look, Page, Tone};
use crate::snapshot::Origin;

/// The version of the form of the JSON.
const VERSION: &str = "replank.dev/watch/v1alpha1";
/// Versions of which the time from Kubernetes' release to EKS's is taken.
const LAGS: usize = 5;
/// Versions to come that are listed without --all: an upgrade goes to one of them.
const VERSIONS_AHEAD: usize = 2;
const DAY: Span = Span::from_minutes(24 * 60);

/// Looks, and prints what is ahead.
///
/// # Errors
/// Where what was asked for is not right, or the machine fails.
pub(super) fn run(
    args: &UpgradeWatchArgs,
    printer: &mut Printer,
    interrupt: &Interrupt,
) -> Result<Exit, Failure> {
    let (way, given) = (args.way(), args.from.map(|from| Minor(from.minor)));
    // Which version is next is known once the cluster is.
    let first = Release::minor(1, 0);
    let origin = Origin::of(&args.snapshots, &args.live)?;
    let mut taken = input::take(origin, args.now, &args.read, &way, first, printer)?;
    let by = GroupBy::Label(taken.label.clone());
    let control_plane = survey(&taken.view, &by, &taken.facts, given)
        .map_err(|error| {
            Failure::usage(error)
                .next("pass --eks with the output of `aws eks describe-cluster`, or --from 1.35")
        })?
        .control_plane;
    taken.options.to = control_plane.version.next();
    let support = taken.facts.cluster.as_ref().and_then(|cluster| cluster.support.as_deref());
    let policy = support.and_then(Policy::parse).unwrap_or(args.policy);
    let making = Making {
        manifests: &args.scan,
        objects: origin,
        seed: None,
        snapshots: input::arguments(origin, &taken.name),
    };
    let planned = planned(&taken, making, printer, interrupt)?;
    let watched = Watched::of(&planned, control_plane, policy, args);
    let text = match args.output {
        AnswerFormat::Text => watched.text(&planned, printer.look()),
        AnswerFormat::Json => watched.json(&planned)?,
    };
    printer.data(&text)?;
    let exit = if watched.attention.is_empty() { Exit::Passes } else { Exit::Findings };
    Ok(coverage::end(&planned.coverage, exit))
}

/// What is ahead of a cluster.
struct Watched<'p> {
    at: Minor,
    known_by: KnownBy,
    today: Day,
    policy: Policy,
    within: Span,
    support: Support,
    dates: Vec<Date>,
    /// Dates of later versions that are not listed.
    later: usize,
    modules: &'p [Controller],
    /// What stands before the next step of the control plane: blocking findings, and warnings. None where the data ends before it.
    next: Option<(usize, usize)>,
    /// Why the exit code is 3.
    attention: Vec<String>,
}

/// A day ahead.
struct Date {
    day: Day,
    what: String,
    /// Whether it is only expected.
    expected: bool,
}

impl Date {
    /// Whether it is still to come. A day that is only expected, and that the data did not see come, was wrong.
    fn is_ahead(&self, today: Day) -> bool {
        // Days are written so that their texts sort as they do.
        let is_refuted = self.expected && self.day.to_string().as_str() <= DATA_DATE;
        self.day >= today && !is_refuted
    }
}

impl<'p> Watched<'p> {
    fn of(
        planned: &'p Planned,
        ControlPlane { version: at, known_by }: ControlPlane,
        policy: Policy,
        args: &UpgradeWatchArgs,
    ) -> Self {
        let within = args.within;
        let (calendar, today) = (&planned.calendar, Day::of(planned.now));
        let row = calendar.row(Release::minor(1, at.0));
        let support = row.map_or(Support::Unknown, |row| support(row, today, policy));
        let number =
            |severity| planned.plan.findings().filter(|(_, finding)| finding.severity == severity).count();
        let mut attention: Vec<String> = assumed(at, known_by).into_iter().collect();
        match support {
            Support::Unknown => attention.push(format!(
                "EKS's dates of {at} are not known: pass --calendar with the output of `aws eks describe-cluster-versions`"
            )),
            Support::Standard { .. } | Support::Extended { .. } | Support::Over { .. } | Support::ToCome { .. } => {
                if support.ends_before(planned.now + within) {
                    attention.push(format!("support of {at}: {}", in_words(support, today)));
                }
            }
        }
        for module in &planned.plan.inventory {
            match module.goes(at) {
                Goes::NotMadeFor { .. } | Goes::TooNew { .. } | Goes::Stops { .. } => {
                    attention.push(format!("{}: {}", module.known.name, words::goes(module, at)));
                }
                Goes::Yes | Goes::BestEffort { .. } | Goes::Unknown => {}
            }
        }
        let mut dates: Vec<Date> = row.map(|row| ends(row, policy)).unwrap_or_default();
        let mut releases = releases(calendar, at);
        releases.retain(|date| date.is_ahead(today));
        let listed = if args.all { releases.len() } else { releases.len().min(VERSIONS_AHEAD) };
        let later = releases.split_off(listed).len();
        dates.extend(releases);
        dates.retain(|date| date.is_ahead(today));
        dates.sort_by(|a, b| (a.day, &a.what).cmp(&(b.day, &b.what)));
        Self {
            at,
            known_by,
            today,
            policy,
            within,
            support,
            dates,
            later,
            modules: &planned.plan.inventory,
            next: coverage::data_end(Release::minor(1, at.next().0))
                .is_none()
                .then(|| (number(Severity::Blocking), number(Severity::Warning))),
            attention,
        }
    }

    fn text(&self, planned: &Planned, look: Look) -> String {
        let mut page = Page::new(look);
        let verdict = match self.attention.len() {
            0 => page.paint("nothing needs attention", Tone::Good),
            some => page.paint(&format!("{} attention", needs(some)), Tone::Bad),
        };
        page.heading("Watch", &verdict);
        let name = planned.cluster.as_deref().unwrap_or(&planned.name);
        page.wrapped(
            2,
            &format!(
                "{name} on {}: control plane {} ({}), {}; upgradePolicy {}; data as of {DATA_DATE}",
                self.today,
                self.at,
                words::known_by(self.known_by),
                in_words(self.support, self.today),
                self.policy.word()
            ),
            Tone::Faint,
        );
        for one in &self.attention {
            page.wrapped(2, one, Tone::Bad);
        }
        page.heading("Dates", "ahead");
        if self.dates.is_empty() {
            page.wrapped(2, "none is known", Tone::Faint);
        }
        for date in &self.dates {
            let days = count(usize::try_from(date.day.since(self.today)).unwrap_or(0), "day");
            let about = if date.expected { "about " } else { "" };
            page.wrapped(2, &format!("{about}{}  in {days}: {}", date.day, date.what), Tone::Plain);
        }
        if self.later > 0 {
            page.wrapped(
                2,
                &format!("{} of later versions: --all lists them", count(self.later, "date")),
                Tone::Faint,
            );
        }
        page.heading("Modules", "in the cluster, installed separately");
        if self.modules.is_empty() {
            page.wrapped(2, "none is known by its image", Tone::Faint);
        }
        for module in self.modules {
            let (kind, key) = &module.workload;
            page.wrapped(2, &format!("{}: {}", module.known.name, self.goes(module)), Tone::Plain);
            page.wrapped(4, &format!("{kind} {key}: {}", module.image), Tone::Faint);
        }
        page.heading("Next version", &self.at.next().to_string());
        page.wrapped(2, &self.next_in_words(), Tone::Plain);
        coverage::write(&mut page, &planned.coverage);
        page.into_text()
    }

    /// With this version and the next.
    fn goes(&self, module: &Controller) -> String {
        let (here, next) = (module.goes(self.at), module.goes(self.at.next()));
        match (here, next) {
            (Goes::Unknown, Goes::Unknown) => words::goes(module, self.at),
            _ => format!("{}; {}", words::goes(module, self.at), words::goes(module, self.at.next())),
        }
    }

    fn next_in_words(&self) -> String {
        let next = self.at.next();
        let Some((blocking, warnings)) = self.next else {
            return format!("the built-in data ends with {}: what {next} removes is not known", self.at);
        };
        match (blocking, warnings) {
            (0, 0) => format!("nothing stands before the step to {next}, as far as it was looked at"),
            (0, _) => format!(
                "{} before the step to {next}: replank upgrade plan --to {next} shows them",
                count(warnings, "warning")
            ),
            _ => format!(
                "{} and {} before the step to {next}: replank upgrade plan --to {next} shows them",
                count(blocking, "blocking finding"),
                count(warnings, "warning")
            ),
        }
    }

    fn json(&self, planned: &Planned) -> Result<String, Failure> {
        let date = |date: &Date| PrintedDate {
            day: date.day.to_string(),
            days_left: date.day.since(self.today),
            what: date.what.clone(),
            expected: date.expected,
        };
        let module = |module: &Controller| PrintedModule {
            name: module.known.name,
            workload: format!("{} {}", module.workload.0, module.workload.1),
            image: module.image.clone(),
            current: state(module.goes(self.at)),
            next: state(module.goes(self.at.next())),
            look: module.known.look,
        };
        let printed = Printed {
            version: VERSION,
            data_date: DATA_DATE,
            today: self.today.to_string(),
            cluster: planned.cluster.clone(),
            control_plane: self.at.to_string(),
            control_plane_known_by: words::known_by_in_a_word(self.known_by),
            control_plane_assumed: is_assumed(self.known_by),
            policy: self.policy.word(),
            support: self.support.word(),
            days_left: self.support.next_end().map(|end| end.since(self.today)),
            within_days: self.within.as_millis() / DAY.as_millis(),
            attention: &self.attention,
            dates: self.dates.iter().map(date).collect(),
            later_dates: self.later,
            modules: self.modules.iter().map(module).collect(),
            next: PrintedNext {
                version: self.at.next().to_string(),
                blocking: self.next.map(|(blocking, _)| blocking),
                warnings: self.next.map(|(_, warnings)| warnings),
            },
            complete: planned.coverage.complete,
        };
        Ok(serde_json::to_string_pretty(&printed).map_err(Failure::internal)? + "\n")
    }
}

/// A version that nothing tells: support and compatibility may be those of another one.
fn assumed(at: Minor, known_by: KnownBy) -> Option<String> {
    is_assumed(known_by).then(|| {
        format!(
            "control plane: {at} is assumed from the newest kubelet, and it may be newer; pass --eks with the output of `aws eks describe-cluster`, or --from VERSION, or read the live cluster"
        )
    })
}

const fn is_assumed(known_by: KnownBy) -> bool {
    match known_by {
        KnownBy::NewestKubelet => true,
        KnownBy::Eks | KnownBy::Servers | KnownBy::Given => false,
    }
}

fn needs(number: usize) -> String {
    if number == 1 { "1 thing needs".to_owned() } else { format!("{number} things need") }
}

/// The ends of a version's support.
fn ends(row: &Row, policy: Policy) -> Vec<Date> {
    let version = row.version;
    let standard = match policy {
        Policy::Extended => "then the cluster costs more, in extended support",
        Policy::Standard => "then EKS upgrades the control plane",
    };
    let dated = |day: Option<Day>, what: String| day.map(|day| Date { day, what, expected: false });
    let extended = match policy {
        Policy::Extended => row.extended_end,
        Policy::Standard => None,
    };
    let first = dated(row.standard_end, format!("standard support of {version} ends; {standard}"));
    let second =
        dated(extended, format!("extended support of {version} ends; then EKS upgrades the control plane"));
    first.into_iter().chain(second).collect()
}

/// When EKS offers later versions, as far as it is announced; else as long after Kubernetes as the versions before.
fn releases(calendar: &Calendar, at: Minor) -> Vec<Date> {
    let later = calendar.rows().filter(|row| row.version.minor > at.0);
    let of = |row: &Row| match (row.release, row.upstream_release, lag(calendar)) {
        (Some(day), _, _) => Some(Date { day, what: format!("EKS offers {}", row.version), expected: false }),
        (None, Some(upstream), Some(lag)) => Some(Date {
            day: Day::of(upstream.begin() + lag),
            what: format!(
                "EKS offers {}, if it takes {} after Kubernetes' release of {upstream}, as for the versions before; no day is announced in the data",
                row.version,
                count(usize::try_from(lag.as_millis() / DAY.as_millis()).unwrap_or(0), "day")
            ),
            expected: true,
        }),
        (None, _, _) => None,
    };
    later.filter_map(of).collect()
}

/// How long after Kubernetes EKS offered its last versions: the middle.
fn lag(calendar: &Calendar) -> Option<Span> {
    let both = calendar.rows().rev().filter_map(|row| Some((row.release?, row.upstream_release?)));
    let mut lags: Vec<Span> = both.take(LAGS).map(|(eks, upstream)| eks.begin() - upstream.begin()).collect();
    lags.sort_unstable();
    lags.get(lags.len() / 2).copied()
}

/// In a word, for a program.
const fn state(goes: Goes) -> &'static str {
    match goes {
        Goes::Yes => "compatible",
        Goes::BestEffort { .. } => "bestEffort",
        Goes::NotMadeFor { .. } | Goes::TooNew { .. } => "notMadeFor",
        Goes::Stops { .. } => "stops",
        Goes::Unknown => "unknown",
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    version: &'static str,
    data_date: &'static str,
    today: String,
    cluster: Option<String>,
    control_plane: String,
    control_plane_known_by: &'static str,
    control_plane_assumed: bool,
    policy: &'static str,
    support: &'static str,
    days_left: Option<i64>,
    within_days: i64,
    attention: &'a [String],
    dates: Vec<PrintedDate>,
    later_dates: usize,
    modules: Vec<PrintedModule>,
    next: PrintedNext,
    complete: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrintedDate {
    day: String,
    days_left: i64,
    what: String,
    expected: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrintedModule {
    name: &'static str,
    workload: String,
    image: String,
    current: &'static str,
    next: &'static str,
    look: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PrintedNext {
    version: String,
    blocking: Option<usize>,
    warnings: Option<usize>,
}
