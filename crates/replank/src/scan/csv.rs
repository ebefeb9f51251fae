//! Findings for a spreadsheet (RFC 4180).

use replank_lifecycle::finding::Finding;
use replank_lifecycle::table::Gvk;

use super::found::Scanned;

const HEAD: &str = "severity,path,line,kind,namespace,name,holder,apiVersion,product,deprecated,removed,replacement,changes,evidence,confidence\r\n";

pub(super) fn csv(scanned: &Scanned) -> String {
    let mut text = HEAD.to_owned();
    for finding in &scanned.findings {
        let row: Vec<String> = fields(finding).iter().map(|field| quoted(field)).collect();
        text.push_str(&row.join(","));
        text.push_str("\r\n");
    }
    text
}

fn fields(finding: &Finding) -> [String; 15] {
    let release = |release: Option<replank_lifecycle::release::Release>| {
        release.map(|release| release.to_string()).unwrap_or_default()
    };
    [
        finding.severity.word().to_owned(),
        finding.place.source.to_string(),
        finding.place.line.to_string(),
        finding.used.kind.clone(),
        finding.namespace.clone().unwrap_or_default(),
        finding.name.clone(),
        finding.holder.clone().unwrap_or_default(),
        finding.used.api_version(),
        finding.product.to_string(),
        release(finding.deprecated),
        release(finding.removed),
        finding.replacement.as_ref().map(Gvk::to_string).unwrap_or_default(),
        finding.changes.join("; "),
        finding.evidence.to_string(),
        finding.confidence.word().to_owned(),
    ]
}

/// In quotes where it must be. What a spreadsheet would take for a formula is told to be text (OWASP, CSV injection).
fn quoted(field: &str) -> String {
    let field = match field.starts_with(['=', '+', '-', '@']) {
        true => format!("'{field}"),
        false => field.to_owned(),
    };
    match field.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
    }
}
