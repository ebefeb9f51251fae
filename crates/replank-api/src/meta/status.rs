//! `/statusz` and `/flagz`: what a person asks a server about itself (KEP-4827, KEP-4828).

use std::net::SocketAddr;
use std::time::SystemTime;

use crate::release::Release;

const WARNING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

/// `/statusz`: since when it runs, and what it is.
pub(crate) fn statusz(release: Release, since: SystemTime) -> String {
    let up = since.elapsed().unwrap_or_default().as_secs();
    let started =
        jiff::Timestamp::try_from(since).map(|since| since.strftime("%a %b %-d %H:%M:%S UTC %Y").to_string());
    format!(
        "\n\napiserver statusz\n{WARNING}\n\nStarted  {}\nUp  {} hr {:02} min {:02} sec\nGo version  none\nBinary version  {}\n\
         Emulation version  1.{}\nPaths  /flagz /healthz /livez /metrics /readyz /statusz /version\n",
        started.unwrap_or_default(),
        up / 3600,
        up / 60 % 60,
        up % 60,
        release.to_string().trim_start_matches('v'),
        release.minor,
    )
}

/// `/flagz`: those of kube-apiserver's flags that say something true of this server.
pub(crate) fn flagz(address: SocketAddr) -> String {
    let flags = [
        ("bind-address", address.ip().to_string()),
        ("event-ttl", "1h0m0s".to_owned()),
        ("secure-port", address.port().to_string()),
    ];
    let lines: String = flags.iter().map(|(name, value)| format!("{name} {value}\n")).collect();
    format!("\n\napiserver flagz\n{WARNING}\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_tells_how_long_it_is_up() {
        let since = SystemTime::now() - std::time::Duration::from_secs(3_725);
        let text = statusz(Release::LATEST, since);
        assert!(
            text.contains("\nUp  1 hr 02 min 05 sec\n") && text.contains("\nBinary version  1.36.2\n"),
            "{text}"
        );
    }
}
