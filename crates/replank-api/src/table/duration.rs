//! Ages, as people read them (apimachinery `util/duration`).

/// So many seconds, in two units at the most.
pub(super) fn human(seconds: i64) -> String {
    let pair = |large: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{part}"),
    };
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    match seconds {
        // Clocks may differ by a second.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 24 * 8 => pair(hours / 24, "d", hours % 24, "h"),
        _ if hours < 24 * 365 * 2 => format!("{}d", hours / 24),
        _ if hours < 24 * 365 * 8 => pair(hours / 24 / 365, "y", hours / 24 % 365, "d"),
        _ => format!("{}y", hours / 24 / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn ages_have_two_units_at_the_most() {
        let day = 86_400;
        let told = [
            -2,
            -1,
            119,
            120,
            185,
            600,
            10_800,
            11_000,
            30 * 3_600,
            3 * day,
            3 * day + 7_200,
            40 * day,
            900 * day,
            4_000 * day,
        ];
        let ages = [
            "<invalid>",
            "0s",
            "119s",
            "2m",
            "3m5s",
            "10m",
            "3h",
            "3h3m",
            "30h",
            "3d",
            "3d2h",
            "40d",
            "2y170d",
            "10y",
        ];
        assert_eq!(told.map(human), ages);
    }
}
