//! The calendar of Kubernetes versions on Amazon EKS: when each came, and when its support ends.
//!
//! Standard support lasts 14 months from the day on which EKS offers a version, extended support 12 more, at a price (EKS user
//! guide "Understand the Kubernetes version lifecycle on EKS"; versions before 1.23 differ, and their rows say so). What
//! happens at the end of standard support is the cluster's own `upgradePolicy`: with `STANDARD` EKS upgrades the control
//! plane, with `EXTENDED` (the default) it costs more, until the end of extended support, when EKS upgrades the control
//! plane without further notice. Nodes and add-ons are left as they are either way.
//!
//! The rows are built in (`data/eks-calendar.json`, each with its source); a file in the same form, or what `aws eks
//! describe-cluster-versions` prints, replaces or adds rows ([`Calendar::overlay`]).

mod read;
mod row;

pub use row::{Calendar, Day, Row};
#[cfg(test)]
mod tests;

use replank_model::time::{Span, Time};

pub use read::CalendarError;

const DAY: Span = Span::from_minutes(24 * 60);

impl Day {
    /// The day of a moment.
    pub fn of(moment: Time) -> Self {
        let millis = moment.as_millis();
        Self(Time::from_millis(millis - millis.rem_euclid(DAY.as_millis())))
    }

    /// Whole days from another one to this one; negative where this one is the earlier.
    pub fn since(self, other: Self) -> i64 {
        (self.0 - other.0).as_millis() / DAY.as_millis()
    }
}

/// What becomes of a cluster at the end of standard support (`upgradePolicy.supportType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// EKS upgrades the control plane.
    Standard,
    /// Extended support begins, at a price.
    #[default]
    Extended,
}

impl Policy {
    /// From `STANDARD` or `EXTENDED`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "STANDARD" => Some(Self::Standard),
            "EXTENDED" => Some(Self::Extended),
            _ => None,
        }
    }

    /// As EKS writes it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Standard => "STANDARD",
            Self::Extended => "EXTENDED",
        }
    }
}

/// How EKS supports a version on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// The dates are not known.
    Unknown,
    /// EKS does not offer it yet.
    ToCome {
        /// When it will.
        from: Day,
    },
    /// In standard support.
    Standard {
        /// When that ends.
        until: Day,
    },
    /// In extended support, at a price.
    Extended {
        /// When that ends.
        until: Day,
    },
    /// Not any more: EKS has upgraded the control planes that were left, or is about to.
    Over {
        /// Since when.
        since: Day,
    },
}

impl Support {
    /// The day on which it changes for the worse, where it has not come to the end and the day is known.
    pub const fn next_end(self) -> Option<Day> {
        match self {
            Self::Standard { until } | Self::Extended { until } => Some(until),
            Self::Unknown | Self::ToCome { .. } | Self::Over { .. } => None,
        }
    }

    /// Whether support ends before `until`, or is over: standard support, or extended support once that has begun.
    pub fn ends_before(self, until: Time) -> bool {
        match self {
            Self::Standard { until: end } | Self::Extended { until: end } => end.begin() <= until,
            Self::Over { .. } => true,
            Self::Unknown | Self::ToCome { .. } => false,
        }
    }

    /// One or two words.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::ToCome { .. } => "to come",
            Self::Standard { .. } => "standard",
            Self::Extended { .. } => "extended",
            Self::Over { .. } => "over",
        }
    }
}

impl Row {
    /// How EKS supports it on a day: on the day on which support ends it has ended.
    pub fn support(&self, on: Day) -> Support {
        if let Some(from) = self.release.filter(|from| on < *from) {
            return Support::ToCome { from };
        }
        match (self.standard_end, self.extended_end) {
            (Some(until), _) if on < until => Support::Standard { until },
            (Some(_), Some(until)) if on < until => Support::Extended { until },
            (Some(_) | None, Some(since)) if since <= on => Support::Over { since },
            (Some(since), Some(_) | None) => Support::Over { since },
            // In one of the two, and nobody knows in which.
            (None, Some(_)) | (None, None) => Support::Unknown,
        }
    }

    /// When EKS upgrades the control plane of a cluster by itself, where the day is known.
    pub fn forced(&self, policy: Policy) -> Option<Day> {
        match policy {
            Policy::Standard => self.standard_end,
            // Before there was extended support, its end was that of standard support.
            Policy::Extended => self.extended_end.or(self.standard_end),
        }
    }
}

impl Calendar {
    /// Takes in rows: in the form of the file that is built in, where those of the same version are replaced; or what `aws
    /// eks describe-cluster-versions` prints, which replaces EKS's own dates only. The number of rows taken in.
    ///
    /// # Errors
    /// Where the text is neither; nothing is taken in then.
    pub fn overlay(&mut self, text: &str) -> Result<usize, CalendarError> {
        let rows = read::rows(text, self)?;
        let count = rows.len();
        self.rows.extend(rows.into_iter().map(|row| (row.version, row)));
        Ok(count)
    }
}
